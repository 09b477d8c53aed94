/** Tests of the predicate: how a policy and a moment become two thresholds, and how they judge an item. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toEpochSeconds } from '../base/clock.ts'
import { neverDeadline } from '../store/policy.ts'
import { isAlive, livingAt } from './living.ts'

describe('the thresholds of a moment', () => {
  // Default and the two marks; then the two thresholds at second 1000, for inheriting items and for own
  // deadlines.
  const rows: [number | null, number, number, number, number][] = [
    [null, -1, -1, -1, -1],
    [null, 300, 400, 300, 400],
    [-1, -1, -1, -1, 1000],
    [-1, 300, 400, 300, 1000],
    [100, -1, -1, 900, 1000],
    [100, 950, 960, 950, 1000],
    [100, 900, 1000, 900, 1000],
    [100, 899, 999, 900, 1000],
    // A default longer than all time since 1970.
    [2_147_483_647, -1, -1, -1, 1000],
  ]
  for (const [defaultTtl, inheritedDeadAt, ownDeadAt, inheritedAfter, ownAfter] of rows) {
    test(`default ${defaultTtl ?? 'off'}, marks ${inheritedDeadAt} and ${ownDeadAt}`, () => {
      const living = livingAt({ defaultTtl, inheritedDeadAt, ownDeadAt }, toEpochSeconds(1000))
      assert.deepEqual(living, { inheritedAfter, ownAfter })
    })
  }
})

describe('an item is alive', () => {
  const living = { inheritedAfter: 100, ownAfter: 200 }

  test('when it inherits and was written after the threshold, not at it', () => {
    assert.equal(isAlive(living, { ts: 99, deadline: null }), false)
    assert.equal(isAlive(living, { ts: 100, deadline: null }), false)
    assert.equal(isAlive(living, { ts: 101, deadline: null }), true)
  })

  test('when its own deadline is after the threshold, not at it, whenever it was written', () => {
    for (const ts of [0, 100, 101, 199]) {
      assert.equal(isAlive(living, { ts, deadline: 199 }), false)
      assert.equal(isAlive(living, { ts, deadline: 200 }), false)
      assert.equal(isAlive(living, { ts, deadline: 201 }), true)
      assert.equal(isAlive(living, { ts, deadline: neverDeadline }), true)
    }
  })
})
