/** Sort keys compare like the order of their rows, and each names the index entry it was made from. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { encodeFullKey } from '../document/ordered-key.ts'
import { identityBytes, identityOf, splitSortKey, tieOf } from './sort-key.ts'

const sequence = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const row = fc.integer({ min: 0, max: 2 ** 32 - 1 })

test('a tie-breaker is ordered by item, ascending or descending, and then by row', () => {
  fc.assert(
    fc.property(sequence, row, sequence, row, fc.boolean(), (a, rowOfA, b, rowOfB, isReverse) => {
      const order = Buffer.compare(tieOf(a, rowOfA, isReverse), tieOf(b, rowOfB, isReverse))
      const expected = a === b ? rowOfA - rowOfB : isReverse ? b - a : a - b
      assert.equal(Math.sign(order), Math.sign(expected))
    }),
  )
})

test('a sort key names its index entry', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.double(), fc.boolean())),
      sequence,
      row,
      (values, item, rowOfItem) => {
        const key = encodeFullKey(values.map(value => ({ value })))
        const turned = encodeFullKey(values.map(value => ({ value, isDescending: true })))
        const forward = splitSortKey(Buffer.concat([key, tieOf(item, rowOfItem, false)]), false)
        const reverse = splitSortKey(Buffer.concat([turned, tieOf(item, rowOfItem, true)]), true)
        for (const found of [forward, reverse]) {
          assert.equal(found.sequence, item)
          assert.equal(Buffer.compare(found.key, key), 0)
        }
      },
    ),
  )
})

test('the identity is the end of a sort key, also when the sort key is a slice of a larger buffer', () => {
  const identity = Buffer.alloc(identityBytes, 0xe9)
  const large = Buffer.concat([Buffer.from('before'), Buffer.from('key'), identity, Buffer.from('after')])
  const sortKey = large.subarray(6, 9 + identityBytes)
  assert.equal(identityOf(sortKey), identity.toString('latin1'))
  assert.equal(identityOf(identity), identity.toString('latin1'))
})
