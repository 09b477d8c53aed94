/** Tests of the calendar: against JavaScript's own, and round trips between text and ticks. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { formatDateTime, parseDateTime, partsOf, ticksOf } from './date-time-value.ts'

const ticks = fc.bigInt({ min: -621_355_968_000_000_000n, max: 2_534_023_007_999_999_999n })

test('text and ticks convert into each other', () => {
  fc.assert(
    fc.property(ticks, value => {
      assert.equal(parseDateTime(formatDateTime(value) as string), value)
      assert.equal(ticksOf(partsOf(value)), value)
    }),
    { numRuns: 3000 },
  )
})

test('dates are those of the Gregorian calendar', () => {
  fc.assert(
    fc.property(ticks, value => {
      const milliseconds = Number(value / 10_000n) - (value % 10_000n < 0n ? 1 : 0)
      assert.equal(formatDateTime(value)?.slice(0, 23), new Date(milliseconds).toISOString().slice(0, 23))
    }),
    { numRuns: 3000 },
  )
})

test('only ISO 8601 is accepted', () => {
  for (const text of [
    ...['', '2020', '2020-1-1', '2020-01-01 00:00', '2020-01-01T24:00:00Z', '2020-01-01T00:60:00Z'],
    ...[
      '2020-00-01',
      '2020-04-31',
      '0000-01-01',
      '2020-01-01T00:00:00.12345678Z',
      ' 2020-01-01',
      '2020-01-01T00:00:00z',
    ],
  ]) {
    assert.equal(parseDateTime(text), undefined, text)
  }
})

test('an offset is applied', () => {
  assert.equal(parseDateTime('2020-01-01T01:00:00+01:00'), parseDateTime('2020-01-01T00:00:00Z'))
  assert.equal(parseDateTime('2019-12-31T19:00:00.5-05:00'), parseDateTime('2020-01-01T00:00:00.5000000Z'))
  assert.equal(parseDateTime('0001-01-01T00:00:00+01:00'), undefined)
})
