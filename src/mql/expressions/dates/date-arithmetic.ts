/** Adds to dates, counts units between them, and rounds them down, in units from milliseconds to years. */

import { civilFromDays, daysFromCivil, daysInMonth } from '../../../base/calendar.ts'
import { int64Max, int64Min } from '../../../document/bson/number.ts'
import { refuse } from '../core/define-operator.ts'
import { isoDayOfWeek, joinDays, msPerDay, splitDays } from './days-and-weeks.ts'
import { localMsOf, type TimeZone, utcMsOf } from './time-zone.ts'

/** Units have a fixed number of milliseconds, of days (which vary where clocks change), or of months. */
const units = {
  millisecond: { ms: 1 },
  second: { ms: 1000 },
  minute: { ms: 60_000 },
  hour: { ms: 3_600_000 },
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { months: 12 },
} as const

export type Unit = keyof typeof units

export function isUnit(name: string): name is Unit {
  return Object.hasOwn(units, name)
}

/** Monday is 1. */
export function weekdayNamed(name: string): number | undefined {
  const lower = name.toLowerCase()
  const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
  const at = names.findIndex(day => day === lower || day.slice(0, 3) === lower)
  return at === -1 ? undefined : at + 1
}

function inRange(utcMs: bigint, code: number, what: string): bigint {
  return utcMs < int64Min || utcMs > int64Max ? refuse(code, `${what} overflowed`) : utcMs
}

/** More days than the whole range of dates has. */
const rangeDays = 2n ** 64n / BigInt(msPerDay) + 1n

export function addToDate(utcMs: bigint, unit: Unit, amount: bigint, zone: TimeZone): bigint {
  const length = units[unit]
  if (unit === 'millisecond') return inRange(utcMs + amount, 5166406, 'dateAdd')
  const size = amount < 0n ? -amount : amount
  const days =
    'ms' in length
      ? (size * BigInt(length.ms)) / BigInt(msPerDay)
      : 'days' in length
        ? size * BigInt(length.days)
        : size * BigInt(length.months) * 28n
  if (days > rangeDays) refuse(5976500, `invalid dateAdd 'amount' parameter value: ${amount} ${unit}`)
  if ('ms' in length) return inRange(utcMs + amount * BigInt(length.ms), 5166406, 'dateAdd')
  const local = splitDays(localMsOf(utcMs, zone))
  const moved =
    'days' in length ? local.days + Number(amount) * length.days : addMonths(local.days, Number(amount) * length.months)
  return inRange(utcMsOf(joinDays(moved, local.ms), zone), 5166406, 'dateAdd')
}

/** The same day in another month, or the last day of that month if it is shorter. */
function addMonths(days: number, months: number): number {
  const { year, month, day } = civilFromDays(days)
  const index = year * 12 + month - 1 + months
  const [toYear, toMonth] = [Math.floor(index / 12), (((index % 12) + 12) % 12) + 1]
  return daysFromCivil(toYear, toMonth, Math.min(day, daysInMonth(toYear, toMonth)))
}

/** Counts the unit boundaries between two calendar days. */
function unitsBetween(start: number, end: number, unit: Unit, startOfWeek: number): number {
  const length = units[unit]
  if ('months' in length) return Math.floor(monthsOf(end) / length.months) - Math.floor(monthsOf(start) / length.months)
  if (unit !== 'week') return end - start
  const weekday = (days: number) => (isoDayOfWeek(days) - startOfWeek + 7) % 7
  return (end - weekday(end) - (start - weekday(start))) / 7
}

function monthsOf(days: number): number {
  const { year, month } = civilFromDays(days)
  return year * 12 + month - 1
}

export function dateDifference(start: bigint, end: bigint, unit: Unit, zone: TimeZone, startOfWeek: number): bigint {
  if (unit === 'millisecond') return inRange(end - start, 5166308, 'dateDiff')
  const length = units[unit]
  const [from, to] = [localMsOf(start, zone), localMsOf(end, zone)]
  if (!('ms' in length)) {
    return BigInt(unitsBetween(splitDays(from).days, splitDays(to).days, unit, startOfWeek))
  }
  const ms = BigInt(length.ms)
  // Boundaries are those of local time; clock changes between the two dates do not count.
  const changed = BigInt(Math.trunc((zone.offsetMs(start) - zone.offsetMs(end)) / length.ms))
  return floorDivide(to, ms) - floorDivide(from, ms) + changed
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

/** Bins start at the year 2000 in local time; bins of weeks start at the first week that begins in 2000. */
const originDays = daysFromCivil(2000, 1, 1)

interface Bins {
  readonly unit: Unit
  readonly size: bigint
  readonly zone: TimeZone
  /** Monday is 1. */
  readonly startOfWeek: number
}

export function truncateDate(utcMs: bigint, { unit, size, zone, startOfWeek }: Bins): bigint {
  const length = units[unit]
  const untilWeek = unit === 'week' ? (startOfWeek - isoDayOfWeek(originDays) + 7) % 7 : 0
  const origin = utcMsOf(joinDays(originDays, 0), zone) + BigInt(untilWeek * msPerDay)
  if ('ms' in length) {
    const width = inRange(size * BigInt(length.ms), 5439002, 'dateTrunc')
    return inRange(origin + floorDivide(utcMs - origin, width) * width, 5439001, 'dateTrunc')
  }
  if (size > 100_000_000_000n) refuse(5439006, 'dateTrunc unsupported binSize value')
  const { days } = splitDays(localMsOf(utcMs, zone))
  const distance = BigInt(unitsBetween(originDays + untilWeek, days, unit, startOfWeek))
  return addToDate(origin, unit, floorDivide(distance, size) * size, zone)
}
