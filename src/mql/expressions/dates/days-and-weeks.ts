/** BSON dates split into days, time of day and parts, and the ways in which MongoDB numbers weeks. */

import { type CivilDateTime, civilFromDays, daysFromCivil } from '../../../base/calendar.ts'

const msPerSecond = 1000
export const msPerDay = 86_400_000

export interface BsonDateParts extends CivilDateTime {
  readonly millisecond: number
}

/** Splits a local time into whole days since 1970 and the milliseconds of that day. */
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

export function datePartsOf(localMs: bigint): BsonDateParts {
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
