/** Durations: what is one, and how long it is. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { parseDuration } from './duration.ts'

test('a duration is a whole number and a unit, or seconds alone', () => {
  for (const [given, seconds] of [
    ['60s', 60],
    ['60', 60],
    [60, 60],
    ['0', 0],
    ['5m', 300],
    ['5 minutes', 300],
    ['1 hour', 3600],
    ['24h', 86_400],
    ['90d', 7_776_000],
    ['1w', 604_800],
    ['2 weeks', 1_209_600],
    ['1 second', 1],
  ] as const) {
    assert.equal(parseDuration(given), seconds, String(given))
  }
})

test('anything else is refused, and quoted', () => {
  for (const wrong of ['', 's', 'ss', '1.5h', '-1', '1e3', '1  h', ' 1h', '1y', '1constructor', '999999999999w', 1.5]) {
    assert.throws(() => parseDuration(wrong), { message: new RegExp(`^'${wrong}' is not a duration`) }, String(wrong))
  }
  assert.throws(() => parseDuration(undefined), /'undefined' is not a duration/)
  assert.throws(() => parseDuration({}), /is not a duration/)
})
