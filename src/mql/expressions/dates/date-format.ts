/** Formats dates: the formats of `$dateToString`, and ISO 8601. */

import { spend } from '../../../base/work.ts'
import { refuse } from '../core/define-operator.ts'
import { datePartsOf, dayOfWeek, dayOfYear, isoDayOfWeek, isoWeek, splitDays, weekOfYear } from './days-and-weeks.ts'
import { localMsOf, type TimeZone, utc } from './time-zone.ts'

export const monthNames: readonly string[] =
  'January February March April May June July August September October November December'.split(' ')

const outputLetters = new Set('bBdGHjLmMSwuUVYzZ%')
const inputLetters = new Set('bBdGHjLmMSuVYzZ%')

function checkFormat(format: string, letters: ReadonlySet<string>): void {
  for (let at = format.indexOf('%'); at !== -1; at = format.indexOf('%', at + 2)) {
    const letter = format.charAt(at + 1)
    if (letter === '') refuse(18535, "Unmatched '%' at end of format string")
    if (!letters.has(letter)) refuse(18536, `Invalid format character '%${letter}' in format string`)
  }
}

export function checkOutputFormat(format: string): void {
  checkFormat(format, outputLetters)
}

export function checkInputFormat(format: string): void {
  checkFormat(format, inputLetters)
}

function padded(value: number, width: number): string {
  if (value < 0 || value > 9999) {
    refuse(
      18537,
      `Could not convert date to string: date component was outside the supported range of 0-9999: ${value}`,
    )
  }
  return String(value).padStart(width, '0')
}

const isoFormat = '%Y-%m-%dT%H:%M:%S.%LZ'

export function printIsoDate(utcMs: bigint): string {
  return formatDate(utcMs, isoFormat, utc)
}

export function formatDate(utcMs: bigint, format: string | undefined, zone: TimeZone): string {
  spend((format?.length ?? 0) >> 1)
  const localMs = localMsOf(utcMs, zone)
  const parts = datePartsOf(localMs)
  const { days } = splitDays(localMs)
  const offsetMinutes = () => Math.trunc(zone.offsetMs(utcMs) / 60_000)
  const write = (letter: string): string => {
    switch (letter) {
      case 'Y':
        return padded(parts.year, 4)
      case 'm':
        return padded(parts.month, 2)
      case 'd':
        return padded(parts.day, 2)
      case 'H':
        return padded(parts.hour, 2)
      case 'M':
        return padded(parts.minute, 2)
      case 'S':
        return padded(parts.second, 2)
      case 'L':
        return padded(parts.millisecond, 3)
      case 'B':
        return monthNames[parts.month - 1]!
      case 'b':
        return monthNames[parts.month - 1]!.slice(0, 3)
      case 'j':
        return padded(dayOfYear(days), 3)
      case 'w':
        return String(dayOfWeek(days))
      case 'u':
        return String(isoDayOfWeek(days))
      case 'U':
        return padded(weekOfYear(days), 2)
      case 'V':
        return padded(isoWeek(days).week, 2)
      case 'G':
        return padded(isoWeek(days).year, 4)
      case 'z': {
        const minutes = offsetMinutes()
        const size = Math.abs(minutes)
        return `${minutes < 0 ? '-' : '+'}${padded(Math.floor(size / 60), 2)}${padded(size % 60, 2)}`
      }
      case 'Z':
        return String(offsetMinutes())
      default:
        return '%'
    }
  }
  return (format ?? isoFormat).replace(/%(.)/gs, (_, letter: string) => write(letter))
}
