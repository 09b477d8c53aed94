import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutTurns } from '../base/steps.ts'
import { parseJsonInSteps } from './json-value.ts'
import { pieceChars } from './long-text.ts'

/** With so much white space, it is long enough to be read in steps. */
const parse = (text: string) => withoutTurns(parseJsonInSteps(' '.repeat(pieceChars) + text))

const long = 'x'.repeat(pieceChars - 3)

for (const value of [
  {},
  [],
  [[], {}, [[]]],
  { a: [1, -0, 1.5e300, 'x', null, true, false], b: { c: { d: [] } } },
  `${long}\\\\\\"\n\u0001\u{1f600}"`.repeat(5),
  { [`"${long}"`]: `${long}"`, [`${long}\\`]: '\\'.repeat(3 * pieceChars) },
  '"'.repeat(3 * pieceChars),
  ...Array.from({ length: 14 }, (_, shift) => `${'x'.repeat(shift)}${'\u0001\\\ud83d'.repeat(pieceChars)}`),
]) {
  test(`steps make the same value as JSON.parse: ${JSON.stringify(value).slice(0, 40)}`, () => {
    const text = JSON.stringify(value)
    assert.deepEqual(parse(text), JSON.parse(text))
    assert.deepEqual(parse(JSON.stringify(value, undefined, 1)), JSON.parse(text))
  })
}

test('the last of repeated names counts, and __proto__ is a name', () => {
  const text = '{"a":1,"__proto__":{"b":2},"a":3}'
  assert.deepEqual(Object.entries(parse(text) as object), Object.entries(JSON.parse(text) as object))
})

test('what JSON.parse refuses is refused', () => {
  for (const text of [
    '',
    '{',
    '[1,]',
    '{"a"}',
    '"\t"',
    `"${long}\\x${long}"`,
    `"${long}${long}`,
    '01',
    '[1] 2',
    'nul',
  ]) {
    assert.throws(() => JSON.parse(text))
    assert.throws(() => parse(text))
  }
})

test('a long string and many values have many steps', () => {
  for (const text of [JSON.stringify('x'.repeat(20 * pieceChars)), JSON.stringify(Array(40_000).fill(0))]) {
    const steps = parseJsonInSteps(text)
    let count = 0
    while (steps.next().done !== true) count++
    assert.ok(count >= 20, `${count} steps`)
  }
})
