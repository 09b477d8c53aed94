/** Cluster time: what drivers get with every answer, also when timestamps have come to their end. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, manualSecondMax, toEpochSeconds } from '../../base/clock.ts'
import { ClusterTime } from './cluster-time.ts'

test('after the last second of a timestamp, in 2106, answers carry that second', () => {
  const clock = new ManualClock(toEpochSeconds(2 ** 32 - 2))
  const time = new ClusterTime(clock, () => 6)
  const seconds = () => time.now().value >> 32n
  assert.equal(seconds(), 2n ** 32n - 2n)
  for (const later of [2 ** 32 - 1, 2 ** 32, manualSecondMax]) {
    clock.set(later)
    assert.equal(seconds(), 2n ** 32n - 1n)
    assert.equal(time.now().value & 0xffffffffn, 7n)
    assert.ok(time.elements().length > 0)
  }
})
