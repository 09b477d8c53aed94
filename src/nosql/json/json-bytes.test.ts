/** Tests that the byte scanner accepts what JSON.parse accepts, finds equal values, and limits the depth. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax } from '../../base/limits.ts'
import { FoundTexts, Names, scanObject, scanObjects } from './json-bytes.ts'

const asked = new Names(['kind', 'body', 'é', '__proto__'], { body: new Names(['id', 'body']) })

type Scanned = { texts: (string | undefined)[]; objects: Record<string, unknown>[] } | 'other' | 'invalid' | 'too deep'

function scan(text: string): Scanned {
  const bytes = Buffer.from(text)
  try {
    const all = scanObjects(bytes, asked)
    if (all === undefined) return 'other'
    const found = new FoundTexts(bytes)
    const texts = all.map(members => members.get('body') && found.textOf(members.get('body')!))
    return { texts, objects: all.map(members => found.objectOf(members)) }
  } catch (error) {
    assert.ok(error instanceof RequestError && error.kind === 'malformed', String(error))
    return error.message.includes('nested deeper') ? 'too deep' : 'invalid'
  }
}

/** The expected result of `scan`, computed with JSON.parse. */
function expected(text: string): unknown {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return 'not JSON'
  }
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!Array.isArray(parsed) || !parsed.every(isObject)) return 'other'
  return parsed.map(object =>
    Object.fromEntries(
      Object.keys(object)
        .filter(name => ['kind', 'body', 'é', '__proto__'].includes(name))
        .map(name => [name, object[name]]),
    ),
  )
}

test('a single object is accepted like the same object in a list, and nothing else is', () => {
  const single = (text: string) => {
    const bytes = Buffer.from(text)
    try {
      return new FoundTexts(bytes).objectOf(scanObject(bytes, asked))
    } catch (error) {
      assert.ok(error instanceof RequestError && error.kind === 'malformed', String(error))
      return error.message.includes('nested deeper') ? 'too deep' : 'invalid'
    }
  }
  const objects = ['{}', ' { } ', '{"a":1}', '\n{"kind":"a\\n","body":{"id":[]},"kind":2}\t']
  for (const text of objects)
    assert.deepEqual([single(text)], (scan(`[${text}]`) as { objects: unknown }).objects, text)
  const others = [
    '',
    ' ',
    '[]',
    '[{}]',
    '1',
    'null',
    '"{}"',
    '{',
    '{}}',
    '{}{}',
    '{},',
    '{"a":1',
    '{"a":1}]',
    '\ufeff{}',
  ]
  for (const text of others) assert.equal(single(text), 'invalid', text)
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  assert.equal(typeof single(nested(nestingDepthMax)), 'object')
  assert.equal(single(nested(nestingDepthMax + 1)), 'too deep')
  assert.equal(single('['.repeat(100_000)), 'too deep')
})

test('members are returned as they are written', () => {
  const text = ' [ {"a":1, "body" : {"b":[1.50,{"body":2}]} },{"body":"x,}\\"]"},\n{}, {"body":[[ ]]}] '
  const { texts } = scan(text) as { texts: unknown }
  assert.deepEqual(texts, ['{"b":[1.50,{"body":2}]}', '"x,}\\"]"', undefined, '[[ ]]'])
})

test('the last of two members with the same name counts, however it is written', () => {
  assert.deepEqual((scan('[{"body":1,"b\\u006fdy":2,"b\\u006fdi":3}]') as { texts: unknown }).texts, ['2'])
})

test('nested members are found, and those of other objects are not', () => {
  const bytes = Buffer.from('[{"kind":{"id":1},"body":{"id":"\\u0041","x":{"id":2},"body":{"id":3}}}]')
  const [members] = scanObjects(bytes, asked)!
  const found = new FoundTexts(bytes)
  assert.deepEqual({ ...found.objectOf(members!.get('body')!.members!) }, { id: 'A', body: { id: 3 } })
  assert.equal(members!.get('kind')!.members, undefined)
})

test('an inherited name is an ordinary name', () => {
  const { objects } = scan('[{"__proto__":{"a":1}}]') as { objects: object[] }
  assert.deepEqual(Object.entries(objects[0]!), [['__proto__', { a: 1 }]])
})

test('the nesting depth is counted', () => {
  const nested = (levels: number) => `[{"body":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}]`
  assert.notEqual(scan(nested(nestingDepthMax)), 'too deep')
  assert.equal(scan(nested(nestingDepthMax + 1)), 'too deep')
  assert.equal(scan(`[{"x":${'{"x":'.repeat(100_000)}`), 'too deep')
})

const name = fc.oneof(
  fc.constantFrom('body', 'kind', 'é', 'id', '__proto__'),
  fc.string({ unit: fc.constantFrom('"', '\\', ',', '}', ']', ':', 'b', 'é', '\n') }),
)
const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.dictionary(name, fc.jsonValue({ maxDepth: 2 })))
const written = fc
  .tuple(fc.array(fc.dictionary(name, value, { maxKeys: 4 }), { maxLength: 4 }), fc.constantFrom(undefined, 1, '\t'))
  .map(([list, space]) => JSON.stringify(list, undefined, space))

/** Pieces that turn valid texts into invalid ones, or into other valid ones. */
const piece = fc.constantFrom(
  ...[
    '',
    ' ',
    '\n',
    '\f',
    '\u0000',
    '\u001f',
    '\u00a0',
    '\ufeff',
    '0',
    '00',
    '-',
    '-0',
    '1.',
    '.5',
    '1e',
    '1e+',
    'E9',
    '1E-2',
    '+1',
    '1e400',
  ],
  ...[
    '"',
    '\\',
    '\\u',
    '\\u12',
    '\\ud800',
    '\\x',
    '\\/',
    "'",
    'é',
    '\u2028',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '[]',
    '{}',
    '"a":',
    '""',
    ',,',
  ],
  ...['true', 'tru', 'True', 'false', 'null', 'nul', 'undefined', 'NaN', 'Infinity', '//', '/**/', 'a'],
)

function check(text: string): void {
  const scanned = scan(text)
  const should = expected(text)
  if (scanned === 'other') assert.equal(should, 'other', text)
  else if (scanned === 'invalid') assert.equal(should, 'not JSON', text)
  else if (scanned !== 'too deep') {
    const objects = scanned.objects.map(object => Object.fromEntries(Object.entries(object)))
    assert.deepEqual(objects, should, text)
  }
}

test('texts that JSON.parse accepts are accepted, with the same values', () => {
  fc.assert(fc.property(written, check), { numRuns: 2000 })
})

test('in a long string every byte counts, wherever it lies in a word', () => {
  const long = 200
  const marks = ['"', '\\', '\\n', '\\u0041', '\u001f', '\n', ' ', '~', '\u007f', '\u0080', 'é', '€', '\u{1f600}']
  for (const [mark, before] of marks.flatMap(mark => Array.from({ length: long }, (_, at) => [mark, at] as const))) {
    const text = `[{"body":"${'x'.repeat(before)}${mark}${'x'.repeat(long - before)}"}]`
    for (let shift = 0; shift < 4; shift++) {
      const bytes = Buffer.from(new Uint8Array(Buffer.byteLength(text) + shift).buffer, shift)
      bytes.write(text)
      const isValid = expected(text) !== 'not JSON'
      if (!isValid) assert.throws(() => scanObjects(bytes, asked), JSON.stringify([mark, before]))
      else
        assert.deepEqual(new FoundTexts(bytes).objectOf(scanObjects(bytes, asked)![0]!).body, JSON.parse(text)[0].body)
    }
  }
})

test('texts that JSON.parse refuses are refused', () => {
  const damaged = fc
    .tuple(written, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), piece), { minLength: 1, maxLength: 3 }))
    .map(([text, damages]) => {
      let result = text
      for (const [where, length, insert] of damages) {
        const at = where % (result.length + 1)
        result = result.slice(0, at) + insert + result.slice(at + length)
      }
      return result.toWellFormed()
    })
  fc.assert(fc.property(damaged, check), { numRuns: 10_000 })
})
