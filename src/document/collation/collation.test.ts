/** Sort keys of collations have the order of Intl.Collator, for texts of many scripts in many languages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { RequestError } from '../../base/error.ts'
import { assignedCharacters } from './code-points.ts'
import { type Collation, type CollationOptions, collatedTextMax, collationOf, collationVersion } from './collation.ts'

function options(language: string, changes: Partial<CollationOptions> = {}): CollationOptions {
  const { ignorePunctuation } = new Intl.Collator(language).resolvedOptions()
  return {
    ...{ language, strength: 3, caseLevel: false, caseFirst: 'off', numericOrdering: false },
    ...{ isShifted: ignorePunctuation, isBackwards: false, version: collationVersion },
    ...changes,
  }
}

const scripts = [
  ...['Latin', 'Greek', 'Cyrillic', 'Arabic', 'Hebrew', 'Thai', 'Lao', 'Devanagari', 'Bengali', 'Tamil', 'Hangul'],
  ...['Hiragana', 'Katakana', 'Han', 'Armenian', 'Georgian', 'Khmer', 'Myanmar', 'Tibetan', 'Ethiopic'],
  ...['Common', 'Inherited'],
]

function allCharacters(): readonly string[] {
  const making = assignedCharacters()
  for (;;) {
    const { done, value } = making.next()
    if (done === true) return value
  }
}

function oneOf(characters: readonly string[]) {
  return fc.nat(characters.length - 1).map(at => characters[at]!)
}

const all = allCharacters()
const syllables = Array.from({ length: 500 }, (_, index) => String.fromCharCode(0xac00 + 22 * index))
const byScript = scripts.map(script => {
  const pattern = new RegExp(`\\p{Script=${script}}`, 'u')
  const found = all.filter(character => pattern.test(character))
  return oneOf(script === 'Hangul' ? [...found, ...syllables] : found)
})
const marks = byScript.at(-1)!
const any = oneOf(all)
const ascii = fc.integer({ min: 0x20, max: 0x7e }).map(code => String.fromCharCode(code))
/** What languages treat in their own ways, and what makes contractions and expansions. */
const tricky = fc.constantFrom(
  ...[...'aAbBcCdDeéÉèzZsSßœŒæÆåÅöÖäÄøØüÜñÑlLjJnNgGyYhHtTđðþžŽşı0123456789'],
  ...['\u0301', '\u0308', '\u030a', '\u0327', '\u0323', '\u030c', '-', ' ', '.', '①', 'ﬀ', 'ǆ', 'Ǆ', 'ĳ', '\u00ad'],
  ...[
    'ch',
    'dž',
    'aa',
    'ccs',
    'dzs',
    'll',
    'カー',
    'ガー',
    'メートル',
    'ヽ',
    'เก',
    '\u0378',
    '\ue000',
    '\u0000',
    '١٢',
    '１',
  ],
)

const text = fc
  .oneof(
    fc.array(tricky, { maxLength: 7 }),
    fc.array(ascii, { maxLength: 8 }),
    fc.array(any, { maxLength: 3 }),
    ...byScript.map(script => fc.array(fc.oneof({ weight: 8, arbitrary: script }, marks, any), { maxLength: 6 })),
  )
  .map(parts => parts.join(''))

/** Two texts that are often nearly the same. */
const pair = fc.oneof(
  fc.tuple(text, text),
  text.map(each => [each, each.toUpperCase()] as const),
  text.map(each => [each, each.normalize('NFKD')] as const),
  text.map(each => [each.toLowerCase().normalize('NFC'), each] as const),
  fc.tuple(text, any).map(([each, more]) => [each, each + more] as const),
  fc.tuple(text, marks).map(([each, more]) => [each, more + each] as const),
  fc.tuple(text, text, text).map(([before, a, b]) => [before + a, before + b] as const),
)

/** Sign, so that -0 is 0. */
function sign(order: number): number {
  return order < 0 ? -1 : order > 0 ? 1 : 0
}

/** Texts that are refused must be rare. What has a key has the right one. */
function checkOrder(wanted: CollationOptions, numRuns: number): void {
  const collation = collationOf(wanted)
  let refused = 0
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const [left, right] = [keyOrRefusal(collation, a), keyOrRefusal(collation, b)]
      if (left === undefined || right === undefined) {
        refused += 1
        return
      }
      assert.equal(left < right ? -1 : left > right ? 1 : 0, sign(collation.compare(a, b)), JSON.stringify([a, b]))
    }),
    { numRuns },
  )
  assert.ok(refused <= numRuns / 100, `${refused} of ${numRuns} are refused`)
}

function keyOrRefusal(collation: Collation, each: string): string | undefined {
  try {
    return collation.keyOf(each)
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

const languages = ['en', 'sv', 'da', 'de-u-co-phonebk', 'hu', 'cs', 'hr', 'es-u-co-trad', 'tr', 'lt', 'vi']
const others = ['ja', 'ko', 'zh', 'zh-u-co-stroke', 'th', 'lo', 'ar', 'hi', 'ru', 'sk']

for (const language of [...languages, ...others]) {
  test(`keys of ${language} have the order of the collation at every strength`, () => {
    for (const strength of [1, 2, 3] as const) checkOrder(options(language, { strength }), 300)
  })
}

const variants: Record<string, CollationOptions> = {
  'a case level': options('en', { strength: 1, caseLevel: true }),
  'accents and a case level': options('en', { strength: 2, caseLevel: true }),
  'all levels and a case level': options('en', { caseLevel: true }),
  'upper case first': options('en', { caseFirst: 'upper' }),
  'lower case first': options('da', { caseFirst: 'lower' }),
  'numbers by value': options('en', { numericOrdering: true, strength: 2 }),
  'punctuation that is ignored': options('en', { isShifted: true }),
  'accents from the end': options('fr-CA', { isBackwards: true }),
  'identity at the end': options('en', { strength: 5 }),
}

for (const [name, wanted] of Object.entries(variants)) {
  test(`keys have the order of a collation with ${name}`, () => checkOrder(wanted, 600))
}

test('marks behind punctuation that is ignored are ignored, also where the punctuation ends a letter', () => {
  const { keyOf, compare } = bound(options('en', { isShifted: true }))
  for (const text of ['(', 'a(', '㈠', '⑴', '(\u0000', '(\u0302']) {
    assert.equal(compare(`${text}\u0301`, text), 0)
    assert.equal(keyOf(`${text}\u0301`), keyOf(text), text)
  }
  for (const text of ['a', '(a', '㈠a', '\u0302']) assert.notEqual(keyOf(`${text}\u0301`), keyOf(text), text)
})

test('numbers compare by value, however long they are', () => {
  const { keyOf, compare } = bound(options('en', { numericOrdering: true }))
  const numbers = [
    '0',
    '1',
    '9',
    '10',
    '007',
    '99',
    '100',
    `1${'0'.repeat(253)}`,
    `1${'0'.repeat(254)}`,
    '1'.repeat(600),
  ]
  for (const a of numbers) {
    for (const b of numbers)
      assert.equal(sign(keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0), sign(compare(a, b)))
  }
})

function bound(wanted: CollationOptions) {
  const collation = collationOf(wanted)
  return { keyOf: (each: string) => collation.keyOf(each), compare: collation.compare }
}

test('every character has a key, and equal characters have equal keys', () => {
  const { keyOf, compare } = bound(options('en', { strength: 2 }))
  const sorted = all.toSorted(compare)
  for (let at = 1; at < sorted.length; at += 1) {
    const [before, here] = [sorted[at - 1]!, sorted[at]!]
    const [a, b] = [keyOf(before), keyOf(here)]
    assert.equal(a < b ? -1 : a > b ? 1 : 0, sign(compare(before, here)), JSON.stringify([before, here]))
  }
})

test('a table is made in slices', async () => {
  const collation = collationOf(options('pl'))
  let turns = 0
  const ticking = setInterval(() => turns++, 0)
  await collation.prepare()
  clearInterval(ticking)
  assert.ok(turns > 5, `${turns} turns`)
  assert.equal(collation.prepare(), undefined)
})

test('a long text has the beginning of its key, for an index, and no whole key', () => {
  const { compare } = bound(options('en'))
  const collation = collationOf(options('en'))
  const [long, longer] = ['é'.repeat(collatedTextMax + 1), `${'e'.repeat(200)}f${'e'.repeat(collatedTextMax)}`]
  assert.throws(() => collation.keyOf(long), { message: /more than 2048 characters/ })
  assert.throws(() => collation.keyOf('\u00ad'.repeat(collatedTextMax + 1), 256), { message: /more than 2048/ })
  const whole = collation.keyOf(long.slice(0, 1_000))
  assert.equal(collation.keyOf(long, 256).slice(0, 256), whole.slice(0, 256))
  assert.equal(compare(long, longer), -1)
  assert.ok(collation.keyOf(long, 512) > collation.keyOf('e'.repeat(90), 512))
})
