/**
 * Date and time functions. The current time is the moment of the run, the same for every row. So the STATIC
 * functions and the others return the same.
 */

import { daysInMonth } from '../../base/calendar.ts'
import type { RunContext } from '../values/run-context.ts'
import type { SqlValue } from '../values/value.ts'
import { formatPattern } from './date-time-format.ts'
import {
  floorDivide,
  formatDateTime,
  isInRange,
  parseDateTime,
  partsOf,
  ticksOf,
  ticksPerDay,
  ticksPerMillisecond,
  ticksPerSecond,
} from './date-time-value.ts'
import { type BuiltIn, define, type FunctionFamily, onString } from './define.ts'

/** A part of a date. Months have different lengths; every other part is a fixed number of ticks. */
interface DatePart {
  readonly months?: number
  readonly ticks?: bigint
  readonly extract: (ticks: bigint) => number
}

const parts: readonly (readonly [names: string, part: DatePart])[] = [
  ['year yyyy yy', { months: 12, extract: ticks => partsOf(ticks).year }],
  ['month mm m', { months: 1, extract: ticks => partsOf(ticks).month }],
  ['day dd d', { ticks: ticksPerDay, extract: ticks => partsOf(ticks).day }],
  ['hour hh', { ticks: 3600n * ticksPerSecond, extract: ticks => partsOf(ticks).hour }],
  ['minute mi n', { ticks: 60n * ticksPerSecond, extract: ticks => partsOf(ticks).minute }],
  ['second ss s', { ticks: ticksPerSecond, extract: ticks => partsOf(ticks).second }],
  ['millisecond ms', { ticks: ticksPerMillisecond, extract: ticks => Math.floor(partsOf(ticks).fraction / 10_000) }],
  ['microsecond mcs', { ticks: 10n, extract: ticks => Math.floor(partsOf(ticks).fraction / 10) }],
  // A tick is 100 nanoseconds, so this part has no whole number of ticks; it is converted where it is used.
  ['nanosecond ns', { extract: ticks => partsOf(ticks).fraction * 100 }],
]

const partsByName = new Map(parts.flatMap(([names, part]) => names.split(' ').map(name => [name, part] as const)))

function findPart(name: SqlValue): DatePart | undefined {
  return typeof name === 'string' ? partsByName.get(name.toLowerCase()) : undefined
}

function findTicks(text: SqlValue): bigint | undefined {
  return typeof text === 'string' ? parseDateTime(text) : undefined
}

function monthIndex(ticks: bigint): number {
  const { year, month } = partsOf(ticks)
  return year * 12 + month - 1
}

/** The same day and time some months later. If that month is too short, its last day. */
function addMonths(ticks: bigint, months: number): bigint | undefined {
  const whole = partsOf(ticks)
  const index = monthIndex(ticks) + months
  const year = Math.floor(index / 12)
  const month = index - year * 12 + 1
  if (year < 1 || year > 9999) return undefined
  return ticksOf({ ...whole, year, month, day: Math.min(whole.day, daysInMonth(year, month)) })
}

function add(part: DatePart, count: number, ticks: bigint): bigint | undefined {
  if (part.months !== undefined) return addMonths(ticks, count * part.months)
  return ticks + (part.ticks === undefined ? BigInt(count) / 100n : BigInt(count) * part.ticks)
}

/** The number of boundaries of the part between two dates: from 23:59 to 00:01 is one day. */
function difference(part: DatePart, start: bigint, end: bigint): number {
  if (part.months !== undefined) {
    return Math.floor(monthIndex(end) / part.months) - Math.floor(monthIndex(start) / part.months)
  }
  if (part.ticks === undefined) return Number((end - start) * 100n)
  return Number(floorDivide(end, part.ticks) - floorDivide(start, part.ticks))
}

/** The start of the bin that a date falls into; bins are counted from the origin. */
function bin(part: DatePart, size: number, ticks: bigint, origin: bigint): bigint | undefined {
  if (part.months !== undefined) {
    const width = part.months * size
    const start = Math.floor((monthIndex(ticks) - monthIndex(origin)) / width) * width
    const guess = addMonths(origin, start)
    // The origin's day or time may be later in the month than the date's.
    return guess !== undefined && guess > ticks ? addMonths(origin, start - width) : guess
  }
  const width = part.ticks === undefined ? BigInt(Math.ceil(size / 100)) : part.ticks * BigInt(size)
  return origin + floorDivide(ticks - origin, width) * width
}

function currentTicks({ momentMs }: RunContext): bigint {
  return BigInt(Math.floor(momentMs)) * ticksPerMillisecond
}

function partOfDate(name: string): BuiltIn {
  const part = partsByName.get(name) as DatePart
  return onString(text => {
    const ticks = parseDateTime(text)
    return ticks === undefined ? undefined : part.extract(ticks)
  })
}

const currentDateTime = define(0, 0, (_, context) => formatDateTime(currentTicks(context)))
const currentTicksNumber = define(0, 0, (_, context) => Number(currentTicks(context)))
const currentTimestamp = define(0, 0, (_, context) => Math.floor(context.momentMs))

function fromNumber(ticksPerUnit: bigint): BuiltIn {
  return define(1, 1, ([number]) =>
    typeof number === 'number' && Number.isInteger(number) ? formatDateTime(BigInt(number) * ticksPerUnit) : undefined,
  )
}

export const dateTimeFunctions: FunctionFamily = {
  DATETIMEADD: define(3, 3, ([name, count, text]) => {
    const [part, ticks] = [findPart(name), findTicks(text)]
    if (part === undefined || ticks === undefined || !Number.isSafeInteger(count)) return undefined
    const moved = add(part, count as number, ticks)
    return moved === undefined ? undefined : formatDateTime(moved)
  }),
  DATETIMEBIN: define(2, 4, ([text, name, size = 1, originText = '1970-01-01T00:00:00.0000000Z']) => {
    const [part, ticks, origin] = [findPart(name), findTicks(text), findTicks(originText)]
    if (part === undefined || ticks === undefined || origin === undefined) return undefined
    if (!Number.isSafeInteger(size) || (size as number) <= 0) return undefined
    const start = bin(part, size as number, ticks, origin)
    return start === undefined || !isInRange(start) ? undefined : formatDateTime(start)
  }),
  DATETIMEDIFF: define(3, 3, ([name, startText, endText]) => {
    const [part, start, end] = [findPart(name), findTicks(startText), findTicks(endText)]
    if (part === undefined || start === undefined || end === undefined) return undefined
    return difference(part, start, end)
  }),
  DATETIMEFORMAT: define(2, 2, ([text, pattern]) => {
    const ticks = findTicks(text)
    return ticks === undefined || typeof pattern !== 'string' ? undefined : formatPattern(partsOf(ticks), pattern)
  }),
  DATETIMEFROMPARTS: define(3, 7, values => {
    if (!values.every(value => typeof value === 'number')) return undefined
    const [year, month, day, hour = 0, minute = 0, second = 0, fraction = 0] = values as readonly number[]
    const ticks = ticksOf({ year: year!, month: month!, day: day!, hour, minute, second, fraction })
    return ticks === undefined ? undefined : formatDateTime(ticks)
  }),
  DATETIMEPART: define(2, 2, ([name, text]) => {
    const [part, ticks] = [findPart(name), findTicks(text)]
    return part === undefined || ticks === undefined ? undefined : part.extract(ticks)
  }),
  DATETIMETOTICKS: onString(text => {
    const ticks = parseDateTime(text)
    return ticks === undefined ? undefined : Number(ticks)
  }),
  DATETIMETOTIMESTAMP: onString(text => {
    const ticks = parseDateTime(text)
    return ticks === undefined ? undefined : Number(floorDivide(ticks, ticksPerMillisecond))
  }),
  DAY: partOfDate('day'),
  MONTH: partOfDate('month'),
  YEAR: partOfDate('year'),
  'GETCURRENTDATETIME GETCURRENTDATETIMESTATIC NOW': currentDateTime,
  'GETCURRENTTICKS GETCURRENTTICKSSTATIC': currentTicksNumber,
  'GETCURRENTTIMESTAMP GETCURRENTTIMESTAMPSTATIC': currentTimestamp,
  TICKSTODATETIME: fromNumber(1n),
  TIMESTAMPTODATETIME: fromNumber(ticksPerMillisecond),
}
