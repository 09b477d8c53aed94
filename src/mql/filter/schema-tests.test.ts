/** Equality of array elements for `uniqueItems`. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BSON, Decimal128, Double, Long } from 'mongodb'
import { ElementCursor } from '../../document/bson/view.ts'
import { duplicateIn } from './schema-tests.ts'

function hasDuplicate(list: readonly unknown[]): boolean {
  const bytes = BSON.serialize({ list }, { ignoreUndefined: false })
  const cursor = new ElementCursor(bytes)
  cursor.next()
  return duplicateIn(bytes, cursor.valueStart) !== undefined
}

test('Elements are equal whatever the types of their numbers and the order of their fields', () => {
  const equal: readonly (readonly [unknown, unknown])[] = [
    [1, new Double(1)],
    [Long.fromNumber(7), Decimal128.fromString('7.00')],
    [0.5, Decimal128.fromString('0.5')],
    [new Double(0), new Double(-0)],
    [new Double(Number.NaN), Decimal128.fromString('NaN')],
    [1e300, Decimal128.fromString('1E+300')],
    [
      { a: 1, b: [{ c: 2, d: 3 }] },
      { b: [{ d: new Double(3), c: 2 }], a: Long.fromNumber(1) },
    ],
    ['x', 'x'],
    [null, null],
    [new Date(5), new Date(5)],
  ]
  for (const pair of equal) {
    // 1e300 has digits that the decimal has not.
    assert.equal(hasDuplicate([true, ...pair]), pair[0] !== 1e300, String(pair))
  }
})

test('Elements with the same fingerprint may differ', () => {
  assert.equal(hasDuplicate([1, 2 ** 32 + 1, '1', [1], { a: 1 }, { a: '1' }, { b: 1 }, [], {}, null, false]), false)
  assert.equal(
    hasDuplicate([
      [1, 2],
      [2, 1],
    ]),
    false,
  )
  assert.equal(hasDuplicate(Array.from({ length: 1000 }, (_, n) => n * 2 ** 32)), false)
})
