/** Compares the calendar with JavaScript's own, and tests time zones around clock changes. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { civilFromDays, daysFromCivil } from '../../../base/calendar.ts'
import { formatDate, printIsoDate } from './date-format.ts'
import {
  datePartsOf,
  dayOfWeek,
  daysFromIsoWeek,
  isoDayOfWeek,
  isoWeek,
  joinDays,
  splitDays,
} from './days-and-weeks.ts'
import { localMsOf, timeZoneNamed, utc, utcMsOf } from './time-zone.ts'

/** Pseudo-random moments over the whole range of JavaScript dates, the same in every run. */
function* moments(): Generator<number> {
  let state = 12345
  for (let round = 0; round < 3000; round += 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    const share = state / 2 ** 32 - 0.5
    yield Math.trunc(share * 2 * (round % 3 === 0 ? 8.64e15 : 4e12))
  }
}

test('the parts of a date equal those of JavaScript', () => {
  for (const ms of moments()) {
    const date = new Date(ms)
    const parts = datePartsOf(BigInt(ms))
    assert.deepEqual(
      [parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second, parts.millisecond],
      [
        date.getUTCFullYear(),
        date.getUTCMonth() + 1,
        date.getUTCDate(),
        date.getUTCHours(),
        date.getUTCMinutes(),
        date.getUTCSeconds(),
        date.getUTCMilliseconds(),
      ],
    )
    const { days } = splitDays(BigInt(ms))
    assert.equal(dayOfWeek(days), date.getUTCDay() + 1)
    const isPrinted = date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999
    if (isPrinted) assert.equal(printIsoDate(BigInt(ms)), date.toISOString())
  }
})

test('days convert to dates and back over the whole range of BSON', () => {
  for (const days of [0, -1, 1, 59, 60, 365, -719_468, 106_751_991_167, -106_751_991_168, 2_932_896, -25_567]) {
    const { year, month, day } = civilFromDays(days)
    assert.equal(daysFromCivil(year, month, day), days)
    const { year: isoYear, week } = isoWeek(days)
    assert.equal(daysFromIsoWeek(isoYear, week, isoDayOfWeek(days)), days)
  }
  assert.deepEqual(splitDays(2n ** 63n - 1n), { days: 106_751_991_167, ms: 25_975_807 })
  assert.equal(joinDays(106_751_991_167, 25_975_807), 2n ** 63n - 1n)
})

test('months and days outside their range carry over', () => {
  assert.equal(daysFromCivil(2017, 14, 1), daysFromCivil(2018, 2, 1))
  assert.equal(daysFromCivil(2017, 0, 1), daysFromCivil(2016, 12, 1))
  assert.equal(daysFromCivil(2017, -11, 1), daysFromCivil(2016, 1, 1))
  assert.equal(daysFromCivil(2017, 1, 0), daysFromCivil(2016, 12, 31))
})

describe('time zones', () => {
  const at = (text: string) => BigInt(Date.parse(text))

  test('a moment converts to local time', () => {
    const summer = at('2021-07-01T12:00:00Z')
    assert.equal(formatDate(summer, '%H:%M %z', timeZoneNamed('Europe/Paris')), '14:00 +0200')
    assert.equal(formatDate(summer, '%H:%M %z', timeZoneNamed('Asia/Kathmandu')), '17:45 +0545')
    assert.equal(formatDate(summer, '%H:%M %z', timeZoneNamed('-0330')), '08:30 -0330')
    assert.equal(formatDate(summer, '%H:%M %z', utc), '12:00 +0000')
  })

  test('a local time in a skipped hour moves forward by the length of the gap', () => {
    const local = at('2021-03-14T02:30:00Z')
    assert.equal(utcMsOf(local, timeZoneNamed('America/New_York')), at('2021-03-14T07:30:00Z'))
    assert.equal(utcMsOf(at('2021-03-28T02:30:00Z'), timeZoneNamed('Europe/Paris')), at('2021-03-28T01:30:00Z'))
  })

  test('every unambiguous local time converts back to its moment, also on days of clock changes', () => {
    for (const name of ['America/New_York', 'Europe/Paris', 'Australia/Lord_Howe', 'America/St_Johns', 'Asia/Tokyo']) {
      const zone = timeZoneNamed(name)
      for (let hour = 0; hour < 24 * 365 * 2; hour += 7) {
        const moment = at('2021-01-01T00:00:00Z') + BigInt(hour) * 3_600_000n
        const local = localMsOf(moment, zone)
        const back = utcMsOf(local, zone)
        assert.equal(localMsOf(back, zone), local, `${name} ${new Date(Number(moment)).toISOString()}`)
      }
    }
  })

  test('unknown zones are refused', () => {
    for (const name of ['Nowhere/City', '', '+5', '+05:3', 'UTC+1 ', '5']) {
      assert.throws(() => timeZoneNamed(name), /unrecognized time zone identifier/, name)
    }
  })
})
