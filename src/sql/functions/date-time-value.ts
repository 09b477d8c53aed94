/**
 * Dates as the language writes them, `YYYY-MM-DDThh:mm:ss.fffffffZ`, and as ticks: units of 100 ns since
 * 1970.
 *
 * Ticks are bigints, because current ones do not fit into the 53 bits of a double. base/calendar.ts computes
 * the calendar, not JavaScript's Date, which knows only milliseconds and accepts more than ISO 8601.
 */

import { type CivilDateTime, civilFromDays, daysFromCivil, daysInMonth } from '../../base/calendar.ts'

export const ticksPerMillisecond = 10_000n
export const ticksPerSecond = 10_000_000n
export const ticksPerDay = 864_000_000_000n

export interface DateTimeParts extends CivilDateTime {
  /** Units of 100 nanoseconds within the second. */
  readonly fraction: number
}

/** The ticks of a date; undefined if there is no such date. */
export function ticksOf(parts: DateTimeParts): bigint | undefined {
  const { year, month, day, hour, minute, second, fraction } = parts
  if (!Object.values(parts).every(Number.isInteger)) return undefined
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return undefined
  if (fraction < 0 || fraction > 9_999_999) return undefined
  const seconds = BigInt(daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
  return seconds * ticksPerSecond + BigInt(fraction)
}

const ticksMin = ticksOf({ year: 1, month: 1, day: 1, hour: 0, minute: 0, second: 0, fraction: 0 }) as bigint
const ticksMax = ticksOf({
  year: 9999,
  month: 12,
  day: 31,
  hour: 23,
  minute: 59,
  second: 59,
  fraction: 9_999_999,
}) as bigint

/** Division rounded towards minus infinity, so that dates before 1970 fall into the right bin. */
export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

export function partsOf(ticks: bigint): DateTimeParts {
  const days = floorDivide(ticks, ticksPerDay)
  const ofDay = ticks - days * ticksPerDay
  const seconds = Number(ofDay / ticksPerSecond)
  return {
    ...civilFromDays(Number(days)),
    hour: Math.floor(seconds / 3600),
    minute: Math.floor(seconds / 60) % 60,
    second: seconds % 60,
    fraction: Number(ofDay % ticksPerSecond),
  }
}

export function isInRange(ticks: bigint): boolean {
  return ticks >= ticksMin && ticks <= ticksMax
}

export function pad(number: number, width: number): string {
  return String(number).padStart(width, '0')
}

/** The language's own notation; undefined outside the years 1 to 9999. */
export function formatDateTime(ticks: bigint): string | undefined {
  if (!isInRange(ticks)) return undefined
  const { year, month, day, hour, minute, second, fraction } = partsOf(ticks)
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
  return `${date}T${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}.${pad(fraction, 7)}Z`
}

/** A fixed pattern over a short string. Text from users never becomes a pattern. */
const iso8601 = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,7}))?)?(Z|[+-]\d{2}:\d{2})?)?$/

/** The ticks of an ISO 8601 date, with or without time, fraction and offset. Without an offset it is UTC. */
export function parseDateTime(text: string): bigint | undefined {
  if (text.length > 33) return undefined
  const match = iso8601.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match
  const ticks = ticksOf({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    fraction: Number(fraction.padEnd(7, '0')),
  })
  if (ticks === undefined || offset === 'Z') return ticks
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))
  const utc = ticks - BigInt(offset.startsWith('-') ? -minutes : minutes) * 60n * ticksPerSecond
  return isInRange(utc) ? utc : undefined
}
