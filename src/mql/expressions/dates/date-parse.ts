/**
 * Parses dates: by a format of `$dateFromString`, or in the usual notations.
 *
 * MongoDB parses the latter with timelib, which also understands "tomorrow" and "last Friday of". This parser
 * knows a month or day of a year, or an ISO week, with or without a time, an offset or a common zone
 * abbreviation.
 */

import { daysFromCivil, daysInMonth } from '../../../base/calendar.ts'
import { spend } from '../../../base/work.ts'
import { refuse } from '../core/define-operator.ts'
import { monthNames } from './date-format.ts'
import { daysFromIsoWeek, joinDays } from './days-and-weeks.ts'
import { offsetOf, type TimeZone, utcMsOf } from './time-zone.ts'

const conversionFailure = 241

interface Parts {
  year?: number
  month?: number
  day?: number
  dayOfYear?: number
  isoYear?: number
  isoWeek?: number
  isoDay?: number
  hour?: number
  minute?: number
  second?: number
  millisecond?: number
  /** Set if the text itself names a zone. */
  offsetMs?: number
  zoneName?: string
}

function refuseText(text: string, at: number, reason: string): never {
  return refuse(
    conversionFailure,
    `Error parsing date string '${text}'; ${at}: ${reason} '${at < text.length ? text.charAt(at) : '\0'}'`,
  )
}

/** The moment that the parts mean: local time of the given zone, unless they have their own offset. */
function momentOf(parts: Parts, text: string, zone: TimeZone): bigint {
  const { year, month, day, hour, minute, second, millisecond = 0, offsetMs } = parts
  const days = daysOf(parts, text)
  const hasNoTime = hour === undefined && minute === undefined && second === undefined
  if (days === undefined || (!hasNoTime && (hour === undefined || minute === undefined))) {
    const missing = 'an incomplete date/time string has been found, with elements missing:'
    return refuse(conversionFailure, `${missing} "${text}"`)
  }
  if (year !== undefined && month !== undefined && day !== undefined && day > daysInMonth(year, month)) {
    refuseText(text, text.length, 'The parsed date was invalid')
  }
  if ((hour ?? 0) > 24 || (minute ?? 0) > 59 || (second ?? 0) > 59) {
    refuseText(text, text.length, 'The parsed time was invalid')
  }
  const localMs = joinDays(days, (hour ?? 0) * 3_600_000 + (minute ?? 0) * 60_000 + (second ?? 0) * 1000 + millisecond)
  if (offsetMs === undefined) return utcMsOf(localMs, zone)
  if (!zone.isUtc) {
    const given =
      parts.zoneName === undefined
        ? 'you cannot pass in a date/time string with GMT offset together with a timezone argument'
        : `you cannot pass in a date/time string with time zone information ('${parts.zoneName}') together with a ` +
          'timezone argument'
    refuse(conversionFailure, given)
  }
  return localMs - BigInt(offsetMs)
}

function daysOf({ year, month, day, dayOfYear, isoYear, isoWeek, isoDay }: Parts, text: string): number | undefined {
  if (isoYear !== undefined) {
    if (year !== undefined || month !== undefined || day !== undefined) {
      refuseText(text, text.length, 'Mixing of ISO dates with natural dates is not allowed')
    }
    if (isoWeek !== undefined && (isoWeek < 1 || isoWeek > 53)) {
      refuseText(text, text.length, 'The parsed week was invalid')
    }
    return daysFromIsoWeek(isoYear, isoWeek ?? 1, isoDay ?? 1)
  }
  if (year === undefined) return undefined
  if (dayOfYear !== undefined) return daysFromCivil(year, 1, dayOfYear)
  return month === undefined || day === undefined ? undefined : daysFromCivil(year, month, day)
}

/** Numeric fields of a format: their number of digits, and their name in messages. */
const fields: Readonly<Record<string, { part: keyof Parts; least: number; most: number; what: string }>> = {
  Y: { part: 'year', least: 4, most: 4, what: 'A four digit year could not be found' },
  G: { part: 'isoYear', least: 4, most: 4, what: 'A four digit ISO year could not be found' },
  m: { part: 'month', least: 1, most: 2, what: 'A two digit month could not be found' },
  d: { part: 'day', least: 1, most: 2, what: 'A two digit day could not be found' },
  j: { part: 'dayOfYear', least: 1, most: 3, what: 'A three digit day-of-year could not be found' },
  H: { part: 'hour', least: 1, most: 2, what: 'A two digit hour could not be found' },
  M: { part: 'minute', least: 2, most: 2, what: 'A two digit minute could not be found' },
  S: { part: 'second', least: 2, most: 2, what: 'A two digit second could not be found' },
  L: { part: 'millisecond', least: 1, most: 3, what: 'A three digit millisecond could not be found' },
  u: { part: 'isoDay', least: 1, most: 1, what: 'A single digit day of week could not be found' },
  V: { part: 'isoWeek', least: 1, most: 2, what: 'A two digit week could not be found' },
}

const ranges: Readonly<Partial<Record<keyof Parts, readonly [number, number]>>> = {
  month: [1, 12],
  day: [1, 31],
  dayOfYear: [1, 999],
  isoDay: [1, 7],
}

/** The caller has checked the format. */
export function parseByFormat(text: string, format: string, zone: TimeZone): bigint {
  spend(format.length)
  const parts: Record<string, number> = {}
  let at = 0
  for (let index = 0; index < format.length; index += 1) {
    const sign = format.charAt(index)
    if (sign !== '%') {
      if (text.charAt(at) !== sign) refuseText(text, at, 'Format literal not found')
      at += 1
      continue
    }
    index += 1
    const letter = format.charAt(index)
    const field = fields[letter]
    if (field !== undefined) {
      const digits = /^\d*/.exec(text.slice(at, at + field.most))![0]
      if (digits.length < field.least) refuseText(text, at, field.what)
      const value = Number(digits)
      const [low, high] = ranges[field.part] ?? [0, 9999]
      if (value < low || value > high) refuseText(text, at, 'The parsed date was invalid')
      parts[field.part] = field.part === 'millisecond' ? value * 10 ** (3 - digits.length) : value
      at += digits.length
    } else {
      at = parseSpecial(letter, text, at, parts)
    }
  }
  if (at < text.length) refuseText(text, at, 'Trailing data')
  return momentOf(parts, text, zone)
}

function parseSpecial(letter: string, text: string, at: number, parts: Record<string, number>): number {
  if (letter === '%') {
    if (text.charAt(at) !== '%') refuseText(text, at, 'Format literal not found')
    return at + 1
  }
  if (letter === 'b' || letter === 'B') {
    const name = /^[A-Za-z]*/.exec(text.slice(at, at + 9))![0]
    parts.month = monthNumber(name) ?? refuseText(text, at, 'A textual month could not be found')
    return at + name.length
  }
  if (letter === 'z') {
    const zone = /^(?:(?:GMT|UTC)?[+-]\d\d(?::?\d\d)?|[A-Za-z]{1,5})/.exec(text.slice(at))?.[0] ?? ''
    const offsetMs = offsetOf(zone.replace(/^(?:GMT|UTC)(?=[+-])/, '')) ?? abbreviatedOffset(zone)
    parts.offsetMs = offsetMs ?? refuseText(text, at, 'The timezone could not be found in the database')
    return at + zone.length
  }
  const minutes = /^[+-]\d{1,3}/.exec(text.slice(at))?.[0]
  if (minutes === undefined) return refuseText(text, at, 'Invalid timezone offset in minutes')
  parts.offsetMs = Number(minutes) * 60_000
  return at + minutes.length
}

function monthNumber(name: string): number | undefined {
  const lower = name.toLowerCase()
  const at = monthNames.findIndex(month => {
    const full = month.toLowerCase()
    return full === lower || full.slice(0, 3) === lower || (lower === 'sept' && full === 'september')
  })
  return at === -1 ? undefined : at + 1
}

/** A longer text cannot be a date. */
const textCharsMax = 100

const month = '[A-Za-z]{3,9}'
const dateForms: readonly (readonly [form: RegExp, parts: readonly (keyof Parts | 'name')[]])[] = [
  [/^(\d{4})-(\d{1,2})-(\d{1,2})/, ['year', 'month', 'day']],
  [/^(\d{4})\/(\d{1,2})\/(\d{1,2})/, ['year', 'month', 'day']],
  [/^(\d{4})-?W(\d\d)-?([1-7])/, ['isoYear', 'isoWeek', 'isoDay']],
  [/^(\d{4})-?W(\d\d)/, ['isoYear', 'isoWeek']],
  [/^(\d{4})-(\d{3})(?!\d)/, ['year', 'dayOfYear']],
  [/^(\d{4})-(\d\d)(?!\d)/, ['year', 'month']],
  [/^(\d{4})(\d\d)(\d\d)(?!\d)/, ['year', 'month', 'day']],
  [/^(\d{1,2})\/(\d{1,2})\/(\d{4})/, ['month', 'day', 'year']],
  [/^(\d{1,2})[-.](\d{1,2})[-.](\d{4})/, ['day', 'month', 'year']],
  [new RegExp(`^(\\d{1,2})(?:st|nd|rd|th)?[ \\t.-]*(${month})[ \\t.,-]*(\\d{4})`), ['day', 'name', 'year']],
  [new RegExp(`^(${month})[ \\t.-]*(\\d{1,2})(?:st|nd|rd|th)?[ \\t,.-]+(\\d{4})`), ['name', 'day', 'year']],
  [new RegExp(`^(${month})[ \\t.-]*(\\d{4})`), ['name', 'year']],
]

const timeForm = /^(?:[tT]|,?[ \t]+)?(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[ \t]*([AaPp])\.?[Mm]\.?)?/
const compactTimeForm = /^[tT](\d\d)(\d\d)(?:(\d\d)(?:[.,](\d{1,9}))?)?/
const zoneForm = /^[ \t]*(?:(GMT|UTC)?([+-]\d{1,2}(?::?\d\d)?)|([A-Za-z]{1,5}))$/

/** Common zone abbreviations and their hours ahead of UTC. */
const abbreviations: Readonly<Record<string, number>> = {
  z: 0,
  utc: 0,
  gmt: 0,
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  cet: 1,
  cest: 2,
  bst: 1,
  wet: 0,
  west: 1,
  eet: 2,
  eest: 3,
  msk: 3,
  jst: 9,
}

function abbreviatedOffset(name: string): number | undefined {
  const hours = Object.hasOwn(abbreviations, name.toLowerCase()) ? abbreviations[name.toLowerCase()] : undefined
  return hours === undefined ? undefined : hours * 3_600_000
}

export function parseFreely(text: string, zone: TimeZone): bigint {
  if (text.length > textCharsMax) refuseText(text, 0, 'Unexpected character')
  const parts: Parts = {}
  let at = /^\s*(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[,. ]\s*)?/i.exec(text)![0].length
  at += parseDate(text.slice(at), text, parts)
  at += parseTime(text.slice(at), parts)
  at += parseZone(text.slice(at), text, at, parts)
  if (at < text.length && text.slice(at).trim() !== '') refuseText(text, at, 'Unexpected character')
  return momentOf(parts, text, zone)
}

function parseDate(rest: string, text: string, parts: Parts): number {
  for (const [form, names] of dateForms) {
    const match = form.exec(rest)
    if (match === null) continue
    const found = parts as Record<string, number>
    for (const [index, name] of names.entries()) {
      const part = match[index + 1]!
      if (name === 'name') found.month = monthNumber(part) ?? refuseText(text, 0, 'Unexpected character')
      else found[name] = Number(part)
    }
    if (parts.month !== undefined) {
      parts.day ??= 1
      if (parts.month < 1 || parts.month > 12 || parts.day < 1 || parts.day > 31) {
        refuseText(text, 0, 'Unexpected character')
      }
    }
    return match[0].length
  }
  return 0
}

function parseTime(rest: string, parts: Parts): number {
  const match = timeForm.exec(rest) ?? compactTimeForm.exec(rest)
  if (match === null) return 0
  const [all, hour, minute, second = '0', fraction = '', half] = match
  parts.hour = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0)
  parts.minute = Number(minute)
  parts.second = Number(second)
  parts.millisecond = Number(fraction.padEnd(3, '0').slice(0, 3))
  return all.length
}

function parseZone(rest: string, text: string, at: number, parts: Parts): number {
  const match = zoneForm.exec(rest.trimEnd())
  if (match === null) return 0
  const [all, , offset, name] = match
  if (offset !== undefined) {
    const digits = offset.slice(1).replace(':', '')
    const padded = digits.length % 2 === 1 ? `0${digits}` : digits
    parts.offsetMs = offsetOf(`${offset.charAt(0)}${padded}`)!
  } else {
    parts.offsetMs = abbreviatedOffset(name!) ?? refuseText(text, at, 'The timezone could not be found in the database')
    if (name !== 'Z') parts.zoneName = name!
  }
  return all.length
}
