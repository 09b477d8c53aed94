import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../../test/support/property.ts'
import { changedLines, commonLines } from './line-diff.ts'
import { mergeTexts, withCommas } from './merge.ts'

const text = (value: unknown) => JSON.stringify(value, null, 2)
const base = {
  id: 's1',
  cart: [
    { sku: 'a', qty: 1 },
    { sku: 'b', qty: 1 },
  ],
  locale: 'de-CH',
}

test('changes in different places go together, also where a comma moves', () => {
  const theirs = { ...base, ttl: 1800 }
  const mine = { ...base, cart: [{ sku: 'a', qty: 3 }, base.cart[1]] }
  const merge = mergeTexts(text(base), text(theirs), text(mine))
  assert.equal(merge.merged, text({ ...mine, ttl: 1800 }))
  assert.deepEqual([merge.conflicts, merge.onlyTheirs, merge.onlyMine, merge.myNames], [0, 1, 1, ['qty']])
})

test('where both changed the same, the merge takes mine, and says that it is a conflict', () => {
  const theirs = { ...base, locale: 'fr-CH', ttl: 5 }
  const mine = { ...base, locale: 'it-CH' }
  const merge = mergeTexts(text(base), text(theirs), text(mine))
  assert.equal(merge.conflicts, 1)
  assert.ok(merge.rows.some(({ mark }) => mark === 'both'))
  assert.equal(JSON.parse(merge.merged!).locale, 'it-CH')
})

test('what they added beside a line that I changed is kept', () => {
  const from = '{\n  "id": "a",\n  "n": 1,\n  "m": 1\n}'
  const theirs = '{\n  "id": "a",\n  "new": true,\n  "n": 1,\n  "m": 1\n}'
  const merge = mergeTexts(from, theirs, from.replace('"n": 1', '"n": 2'))
  assert.equal(merge.merged, theirs.replace('"n": 1', '"n": 2'))
  assert.deepEqual([merge.conflicts, merge.onlyTheirs, merge.onlyMine], [0, 1, 1])
})

test('where one side would lose elements of the other, no merge is offered', () => {
  const list = (...elements: number[]) => text({ list: elements })
  assert.equal(mergeTexts(list(1, 2), list(1, 5, 6, 7), list(1, 9)).merged, undefined)
})

test('digits that no number holds survive a merge', () => {
  const from = '{\n  "big": 12345678901234567890,\n  "a": 1\n}'
  const merge = mergeTexts(from, from.replace('"a": 1', '"a": 2'), from.replace('{\n', '{\n  "mine": 1.10,\n'))
  assert.equal(merge.merged, '{\n  "mine": 1.10,\n  "big": 12345678901234567890,\n  "a": 2\n}')
})

test('a text that is no JSON is not offered', () => {
  assert.equal(mergeTexts(text(base), text({ ...base, ttl: 1 }), '{ "id": ').merged, undefined)
})

test('the same change on both sides is no conflict', () => {
  const merge = mergeTexts(text(base), text({ ...base, ttl: 1 }), text({ ...base, ttl: 1 }))
  assert.deepEqual([merge.conflicts, merge.onlyMine, merge.onlyTheirs], [0, 0, 0])
})

test('every line of both texts is shown once, in order', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 12 })
  fc.assert(
    fc.property(lines, lines, lines, (one, two, three) => {
      const { rows } = mergeTexts(one.join('\n'), two.join('\n'), three.join('\n'))
      assert.equal(rows.flatMap(row => row.theirs?.text ?? []).join('\n'), two.join('\n'))
      assert.equal(rows.flatMap(row => row.mine?.text ?? []).join('\n'), three.join('\n'))
    }),
  )
})

test('common lines are equal, ascending, and as many as there can be', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 10 })
  fc.assert(
    fc.property(lines, lines, (a, b) => {
      const pairs = commonLines(a, b)
      for (const [index, pair] of pairs.entries()) {
        assert.equal(a[pair.a], b[pair.b])
        if (index > 0) assert.ok(pair.a > pairs[index - 1]!.a && pair.b > pairs[index - 1]!.b)
      }
      assert.equal(pairs.length, longest(a, b))
    }),
  )
})

/** The length of the longest common subsequence, by the plain recursion. */
function longest(a: readonly string[], b: readonly string[], memory = new Map<string, number>()): number {
  if (a.length === 0 || b.length === 0) return 0
  const key = `${a.length} ${b.length}`
  const known = memory.get(key)
  if (known !== undefined) return known
  const found =
    a[0] === b[0]
      ? 1 + longest(a.slice(1), b.slice(1), memory)
      : Math.max(longest(a.slice(1), b, memory), longest(a, b.slice(1), memory))
  memory.set(key, found)
  return found
}

test('changed lines are those that the stored text does not have', () => {
  assert.deepEqual(changedLines('a\nb\nc', 'a\nx\nc\nd'), { lines: [1, 3], places: 2 })
  assert.deepEqual(changedLines('a\nb', 'a'), { lines: [], places: 1 })
  assert.deepEqual(changedLines('a', 'a'), { lines: [], places: 0 })
})

test('commas follow from the structure', () => {
  assert.equal(withCommas(['{', '"a": [', '1', '2', ']', '"b": {}', '}']), '{\n"a": [\n1,\n2\n],\n"b": {}\n}')
})
