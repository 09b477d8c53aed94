/** Tests of equality and order: one total order over all values, strings by code point. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { canonicalKey, comparePrimitives, compareStrings, compareValues, equalValues } from './compare.ts'
import type { SqlValue } from './value.ts'

const value = fc.oneof(
  fc.constant(undefined),
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
) as fc.Arbitrary<SqlValue>
const twins = fc.tuple(value, value)

test('types come in the order of the service', () => {
  const inOrder: readonly SqlValue[] = [undefined, null, false, true, -1, 0, 1.5, '', 'a', [], [0], {}, { a: 1 }]
  const shuffled = [...inOrder].reverse()
  assert.deepEqual(
    shuffled.map(value => ({ value })).sort((left, right) => compareValues(left.value, right.value)),
    inOrder.map(value => ({ value })),
  )
})

describe('the order is total', () => {
  test('it is antisymmetric', () => {
    fc.assert(
      fc.property(twins, ([left, right]) => {
        assert.equal(Math.sign(compareValues(left, right)) + Math.sign(compareValues(right, left)), 0)
      }),
      { numRuns: 2000 },
    )
  })

  test('it is transitive', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const [low, middle, high] = [a, b, c].map(value => ({ value })).sort((x, y) => compareValues(x.value, y.value))
        assert.ok(compareValues(low?.value, middle?.value) <= 0)
        assert.ok(compareValues(middle?.value, high?.value) <= 0)
        assert.ok(compareValues(low?.value, high?.value) <= 0)
      }),
      { numRuns: 2000 },
    )
  })

  test('values are equal in the order exactly if they are equal, and if they have the same key', () => {
    fc.assert(
      fc.property(twins, ([left, right]) => {
        const isEqual = equalValues(left, right)
        assert.equal(compareValues(left, right) === 0, isEqual)
        assert.equal(canonicalKey(left) === canonicalKey(right), isEqual)
      }),
      { numRuns: 2000 },
    )
  })
})

test('strings are ordered as their UTF-8 bytes are', () => {
  const wellFormed = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(wellFormed, wellFormed, (left, right) => {
      assert.equal(Math.sign(compareStrings(left, right)), Buffer.compare(Buffer.from(left), Buffer.from(right)))
    }),
    { numRuns: 2000 },
  )
  assert.ok(compareStrings('\uFFFD', '😀') < 0)
})

test('the order of properties does not matter for equality', () => {
  assert.ok(equalValues({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }))
  assert.ok(!equalValues({ a: 1 }, { a: 1, b: undefined }))
  assert.ok(!equalValues([], {}))
  assert.ok(!equalValues({ length: 0 }, []))
})

test('inherited names are not properties', () => {
  assert.ok(!equalValues(JSON.parse('{"toString": 1}'), JSON.parse('{"valueOf": 1}')))
  assert.ok(!equalValues(JSON.parse('{"__proto__": {}}'), JSON.parse('{"x": {}}')))
  assert.ok(equalValues(JSON.parse('{"__proto__": [1]}'), JSON.parse('{"__proto__": [1]}')))
})

test('less and greater are defined within one primitive type only', () => {
  assert.equal(comparePrimitives(1, '1'), undefined)
  assert.equal(comparePrimitives(undefined, undefined), undefined)
  assert.equal(comparePrimitives([], []), undefined)
  assert.equal(comparePrimitives(null, null), 0)
  assert.ok((comparePrimitives(false, true) as number) < 0)
})
