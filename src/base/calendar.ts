/**
 * The proleptic Gregorian calendar: dates as days since 1970, and back.
 *
 * JavaScript's Date is not enough: a BSON date may lie 292 million years away, and SQL dates are finer than a
 * millisecond. Day numbers of that size are still exact as doubles. Each query language adds its own unit of
 * time, its range and its week numbers.
 */

export interface CivilDate {
  readonly year: number
  /** January is 1. */
  readonly month: number
  readonly day: number
}

/** A date and the time of day, down to whole seconds. */
export interface CivilDateTime extends CivilDate {
  readonly hour: number
  readonly minute: number
  readonly second: number
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

/** The date of a day counted from 1970-01-01. */
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
