/** Tests of work in steps. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sortInSteps } from './steps.ts'

test('a list that is sorted in steps is like one that is sorted at once, and equal items keep their order', () => {
  for (const count of [0, 1, 2, 1999, 2000, 2001, 7777, 12_000]) {
    const items = Array.from({ length: count }, (_, at) => ({ key: (at * 7919) % 101, at }))
    const compare = (left: { key: number }, right: { key: number }) => left.key - right.key
    const steps = sortInSteps(items, compare)
    let turns = 0
    let next = steps.next()
    for (; next.done !== true; next = steps.next()) turns++
    assert.deepEqual(next.value, items.toSorted(compare))
    assert.ok(turns >= Math.floor(count / 2000))
  }
})
