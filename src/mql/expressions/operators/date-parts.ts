/** Operators that split dates into parts and build dates from parts. */

import { daysFromCivil } from '../../../base/calendar.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { BsonDocument, date, int32, int64, nullValue, type Value } from '../../../document/bson/value.ts'
import {
  int64Of,
  isNullish,
  namedArguments,
  nameOfType,
  oneOperand,
  optional,
  refuse,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { requireDocument, requireMoment, zoneOf } from '../dates/date-operand.ts'
import {
  datePartsOf,
  dayOfWeek,
  dayOfYear,
  daysFromIsoWeek,
  isoDayOfWeek,
  isoWeek,
  joinDays,
  splitDays,
  weekOfYear,
} from '../dates/days-and-weeks.ts'
import { localMsOf, timeZoneNamed, utc, utcMsOf } from '../dates/time-zone.ts'

type Part = (days: number, localMs: bigint) => Value

/** An operator that takes a date, or a document with a date and a time zone. */
function part(compute: Part): CompileOperator {
  return (argument, compiler, name) => {
    const { dateSpec, zoneSpec } = dateAndZone(argument, name)
    const moment = compiler.compile(dateSpec)
    const zone = optional(compiler, zoneSpec)
    return context => {
      const value = moment(context)
      if (isNullish(value)) return nullValue
      const utcMs = requireMoment(value)
      let at = utc
      if (zone !== undefined) {
        const given = zone(context)
        if (isNullish(given)) return nullValue
        if (given.type !== bsonType.string) {
          const found = `${nameOfType(given)} (${printForMessage(given)})`
          return refuse(40533, `${name} requires a string for the timezone argument, but was given a ${found}`)
        }
        at = timeZoneNamed(given.value)
      }
      const localMs = localMsOf(utcMs, at)
      return compute(splitDays(localMs).days, localMs)
    }
  }
}

function dateAndZone(argument: Value, name: string): { dateSpec: Value; zoneSpec: Value | undefined } {
  if (argument.type === bsonType.array) {
    const { length } = argument.elements
    if (length !== 1) {
      refuse(40536, `${name} accepts exactly one argument if given an array, but was given ${length}`)
    }
    return { dateSpec: argument.elements[0]!, zoneSpec: undefined }
  }
  if (argument.type !== bsonType.document || argument.fields[0]?.[0].startsWith('$')) {
    return { dateSpec: argument, zoneSpec: undefined }
  }
  const parts = namedArguments(argument, ['date', 'timezone'], unknown =>
    refuse(40535, `unrecognized option to ${name}: "${unknown}"`),
  )
  const dateSpec =
    parts.date ?? refuse(40539, `missing 'date' argument to ${name}, provided: ${printForMessage(argument)}`)
  return { dateSpec, zoneSpec: parts.timezone }
}

const dateToParts: CompileOperator = (argument, compiler, name) => {
  const given = requireDocument(argument, 40524, '$dateToParts only supports an object as its argument')
  const parts = namedArguments(given, ['date', 'timezone', 'iso8601'], unknown =>
    refuse(40520, `Unrecognized argument to ${name}: ${unknown}`),
  )
  const moment = compiler.compile(parts.date ?? refuse(40522, "Missing 'date' parameter to $dateToParts"))
  const zone = optional(compiler, parts.timezone)
  const iso = optional(compiler, parts.iso8601)
  return context => {
    const value = moment(context)
    const at = zoneOf(zone, context)
    if (at === undefined) return nullValue
    let isIso = false
    if (iso !== undefined) {
      const flag = iso(context)
      if (isNullish(flag)) return nullValue
      if (flag.type !== bsonType.bool) refuse(40521, `iso8601 must evaluate to a bool, found ${nameOfType(flag)}`)
      isIso = flag.value
    }
    if (isNullish(value)) return nullValue
    const localMs = localMsOf(requireMoment(value), at)
    const { days } = splitDays(localMs)
    const { year, month, day, hour, minute, second, millisecond } = datePartsOf(localMs)
    const { year: isoYear, week } = isoWeek(days)
    const names: Readonly<Record<string, number>> = isIso
      ? { isoWeekYear: isoYear, isoWeek: week, isoDayOfWeek: isoDayOfWeek(days), hour, minute, second, millisecond }
      : { year, month, day, hour, minute, second, millisecond }
    return BsonDocument.of(Object.entries(names).map(([part_, number]) => [part_, int32(number)]))
  }
}

const civilParts = ['year', 'month', 'day'] as const
const isoParts = ['isoWeekYear', 'isoWeek', 'isoDayOfWeek'] as const
const timeParts = ['hour', 'minute', 'second', 'millisecond'] as const

const dateFromParts: CompileOperator = (argument, compiler) => {
  const given = requireDocument(argument, 40519, '$dateFromParts only supports an object as its argument')
  const specs = namedArguments(given, [...civilParts, ...isoParts, ...timeParts, 'timezone'], unknown =>
    refuse(40518, `Unrecognized argument to $dateFromParts: ${unknown}`),
  )
  if (specs.year === undefined && specs.isoWeekYear === undefined) {
    refuse(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present")
  }
  if (specs.year !== undefined && isoParts.some(name => specs[name] !== undefined)) {
    refuse(40489, '$dateFromParts does not allow mixing natural dates with ISO dates')
  }
  if (specs.isoWeekYear !== undefined && civilParts.some(name => specs[name] !== undefined)) {
    refuse(40525, '$dateFromParts does not allow mixing ISO dates with natural dates')
  }
  const isIso = specs.year === undefined
  const names = [...timeParts, ...(isIso ? isoParts : civilParts)]
  const operands = names.map(name => optional(compiler, specs[name]))
  const zone = optional(compiler, specs.timezone)
  return context => {
    const numbers: number[] = []
    for (const [index, name] of names.entries()) {
      const operand = operands[index]
      const isTime = index < timeParts.length
      if (operand === undefined) {
        numbers.push(isTime ? 0 : 1)
        continue
      }
      const value = operand(context)
      if (isNullish(value)) return nullValue
      numbers.push(partOfDate(value, name))
    }
    const at = zoneOf(zone, context)
    if (at === undefined) return nullValue
    const [hour, minute, second, millisecond, first, middle, last] = numbers
    if (first! < 1 || first! > 9999) {
      const [code, name] = isIso ? [31095, 'isoWeekYear'] : [40523, 'year']
      refuse(code as number, `'${name}' must evaluate to an integer in the range 1 to 9999, found ${first}`)
    }
    const days = isIso ? daysFromIsoWeek(first!, middle!, last!) : daysFromCivil(first!, middle!, last!)
    const ms = BigInt(hour! * 3_600_000 + minute! * 60_000) + BigInt(second!) * 1000n + BigInt(millisecond!)
    return date(utcMsOf(joinDays(days, 0) + ms, at))
  }
}

/** Parts may exceed their range and carry over, but not by more than this. */
const partMax = 32_767

function partOfDate(value: Value, name: string): number {
  const number = int64Of(value)
  if (number === undefined) {
    const found = `${nameOfType(value)} with value ${printForMessage(value)}`
    return refuse(40515, `'${name}' must evaluate to an integer, found ${found}`)
  }
  const isFree = name === 'second' || name === 'millisecond' || name === 'year' || name === 'isoWeekYear'
  if (!isFree && (number < -BigInt(partMax) - 1n || number > BigInt(partMax))) {
    const range = `[${-partMax - 1}, ${partMax}]`
    refuse(31034, `'${name}' must evaluate to a value in the range ${range}; value ${number} is not in range`)
  }
  return Number(number)
}

function halfOfTimestamp(code: number, half: (value: bigint) => bigint): CompileOperator {
  return oneOperand((value, name) => {
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.timestamp) {
      return refuse(code, ` Argument to ${name} must be a timestamp, but is ${nameOfType(value)}`)
    }
    return int64(half(value.value))
  })
}

export const datePartOperators: OperatorFamily = {
  $dateFromParts: dateFromParts,
  $dateToParts: dateToParts,
  $dayOfMonth: part((_, localMs) => int32(datePartsOf(localMs).day)),
  $dayOfWeek: part(days => int32(dayOfWeek(days))),
  $dayOfYear: part(days => int32(dayOfYear(days))),
  $hour: part((_, localMs) => int32(datePartsOf(localMs).hour)),
  $isoDayOfWeek: part(days => int32(isoDayOfWeek(days))),
  $isoWeek: part(days => int32(isoWeek(days).week)),
  $isoWeekYear: part(days => int64(BigInt(isoWeek(days).year))),
  $millisecond: part((_, localMs) => int32(datePartsOf(localMs).millisecond)),
  $minute: part((_, localMs) => int32(datePartsOf(localMs).minute)),
  $month: part((_, localMs) => int32(datePartsOf(localMs).month)),
  $second: part((_, localMs) => int32(datePartsOf(localMs).second)),
  $week: part(days => int32(weekOfYear(days))),
  $year: part((_, localMs) => int32(datePartsOf(localMs).year)),
}

export const timestampOperators: OperatorFamily = {
  $tsIncrement: halfOfTimestamp(5687302, value => value & 0xffffffffn),
  $tsSecond: halfOfTimestamp(5687301, value => value >> 32n),
}
