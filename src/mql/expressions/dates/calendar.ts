/**
 * The proleptic Gregorian calendar over the whole range of BSON dates, and the ways to number its weeks.
 *
 * A BSON date may lie 292 million years away, which JavaScript's Date does not reach. Its days still fit a
 * double exactly.
 */

const msPerSecond = 1000
export const msPerDay = 86_400_000

interface CivilDate {
  readonly year: number
  /** January is 1. */
  readonly month: number
  readonly day: number
}

export interface DateTimeParts extends CivilDate {
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly millisecond: number
}

/** Days since 1970-01-01 (Howard Hinnant's algorithm). Months and days may lie outside their ranges. */
export function daysFromCivil(givenYear: number, givenMonth: number, day: number): number {
  const year = givenYear + Math.floor((givenMonth - 1) / 12)
  const month = ((((givenMonth - 1) % 12) + 12) % 12) + 1
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5)
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468 + day - 1
}

export function civilFromDays(days: number): CivilDate {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthIndex = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return { year, month, day: dayOfYear - Math.floor((153 * monthIndex + 2) / 5) + 1 }
}

export function daysInMonth(year: number, month: number): number {
  return daysFromCivil(year, month + 1, 1) - daysFromCivil(year, month, 1)
}

/** Whole days since 1970 and the milliseconds of the day, of a time without a zone. */
export function splitDays(localMs: bigint): { readonly days: number; readonly ms: number } {
  const number = Number(localMs)
  if (Number.isSafeInteger(number)) {
    const days = Math.floor(number / msPerDay)
    return { days, ms: number - days * msPerDay }
  }
  const day = BigInt(msPerDay)
  const rest = localMs % day
  const ms = Number(rest < 0n ? rest + day : rest)
  return { days: Number((localMs - BigInt(ms)) / day), ms }
}

export function joinDays(days: number, ms: number): bigint {
  return BigInt(days) * BigInt(msPerDay) + BigInt(ms)
}

export function partsOf(localMs: bigint): DateTimeParts {
  const { days, ms } = splitDays(localMs)
  return {
    ...civilFromDays(days),
    hour: Math.floor(ms / 3_600_000),
    minute: Math.floor(ms / 60_000) % 60,
    second: Math.floor(ms / msPerSecond) % 60,
    millisecond: ms % msPerSecond,
  }
}

/** Monday is 1, Sunday 7. */
export function isoDayOfWeek(days: number): number {
  return ((((days + 3) % 7) + 7) % 7) + 1
}

/** Sunday is 1, Saturday 7. */
export function dayOfWeek(days: number): number {
  return (isoDayOfWeek(days) % 7) + 1
}

export function dayOfYear(days: number): number {
  return days - daysFromCivil(civilFromDays(days).year, 1, 1) + 1
}

/** Weeks begin on Sunday; the days before the first Sunday of a year are in week 0. */
export function weekOfYear(days: number): number {
  return Math.floor((dayOfYear(days) - dayOfWeek(days) + 7) / 7)
}

/** Weeks begin on Monday; the first of a year is the one with its first Thursday. */
export function isoWeek(days: number): { readonly year: number; readonly week: number } {
  const thursday = days + 4 - isoDayOfWeek(days)
  const { year } = civilFromDays(thursday)
  return { year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1 }
}

export function daysFromIsoWeek(year: number, week: number, weekday: number): number {
  const fourth = daysFromCivil(year, 1, 4)
  return fourth - isoDayOfWeek(fourth) + (week - 1) * 7 + weekday
}
