/** Operators that add, count and truncate in units of time. */

import { bsonType } from '../../../document/bson/types.ts'
import { date, int64, nullValue, type Value } from '../../../document/bson/value.ts'
import { MongoError } from '../../errors/mongo-error.ts'
import { int64Of, isNullish, namedArguments, nameOfType, optional, refuse } from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, Context, Evaluate, OperatorFamily } from '../core/scope.ts'
import { addToDate, dateDifference, isUnit, truncateDate, type Unit, weekdayNamed } from '../dates/date-arithmetic.ts'
import { momentOf, requireDocument, zoneOf } from '../dates/date-operand.ts'
import type { TimeZone } from '../dates/time-zone.ts'

function unitOf(value: Value, name: string): Unit {
  if (value.type !== bsonType.string) {
    return refuse(5439013, `${name} requires 'unit' to be a string, but got ${nameOfType(value)}`)
  }
  const unit = value.value
  return isUnit(unit)
    ? unit
    : refuse(9, `${name} parameter 'unit' value parsing failed :: caused by :: unknown time unit value: ${unit}`)
}

function startOfWeekOf(value: Value, name: string): number {
  if (value.type !== bsonType.string) {
    return refuse(5439015, `${name} requires 'startOfWeek' to be a string, but got ${nameOfType(value)}`)
  }
  const problem = `${name} parameter 'startOfWeek' value cannot be recognized as a day of a week: ${value.value}`
  return weekdayNamed(value.value) ?? refuse(5439016, problem)
}

const sunday = 7

/** The time zone. If it is unknown, the message names the operator. */
function namedZone(zone: Evaluate | undefined, context: Context, name: string): TimeZone | undefined {
  try {
    return zoneOf(zone, context)
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    return refuse(error.code, `${name} parameter 'timezone' value parsing failed :: caused by :: ${error.message}`)
  }
}

function arithmetic(isAddition: boolean): CompileOperator {
  return (argument, compiler, name) => {
    const given = requireDocument(argument, 5166400, `${name} expects an object as its argument`)
    const specs = namedArguments(given, ['startDate', 'unit', 'amount', 'timezone'], unknown =>
      refuse(
        5166401,
        `Unrecognized argument to ${name}: ${unknown}. Expected arguments are startDate, unit, amount, and ` +
          'optionally timezone.',
      ),
    )
    const required = [specs.startDate, specs.unit, specs.amount].map(spec =>
      compiler.compile(spec ?? refuse(5166402, `${name} requires startDate, unit, and amount to be present`)),
    )
    const zone = optional(compiler, specs.timezone)
    return context => {
      const [start, unitName, amount] = required.map(operand => operand(context))
      if (isNullish(start) || isNullish(unitName)) return nullValue
      const unit = unitOf(unitName, name)
      if (isNullish(amount)) return nullValue
      const at = zoneOf(zone, context)
      if (at === undefined) return nullValue
      const moment = momentOf(start) ?? refuse(5166403, `${name} requires startDate to be convertible to a date`)
      const count = int64Of(amount) ?? refuse(5166405, `${name} expects integer amount of time units`)
      if (!isAddition && count === -(2n ** 63n)) {
        refuse(6045000, `invalid $dateSubtract 'amount' parameter value: ${count}`)
      }
      return date(addToDate(moment, unit, isAddition ? count : -count, at))
    }
  }
}

const difference: CompileOperator = (argument, compiler, name) => {
  const given = requireDocument(argument, 5166301, '$dateDiff only supports an object as its argument')
  const specs = namedArguments(given, ['startDate', 'endDate', 'unit', 'timezone', 'startOfWeek'], unknown =>
    refuse(5166302, `Unrecognized argument to $dateDiff: ${unknown}`),
  )
  const [start, end, unit] = (['startDate', 'endDate', 'unit'] as const).map((spec, index) =>
    compiler.compile(specs[spec] ?? refuse(5166303 + index, `Missing '${spec}' parameter to $dateDiff`)),
  )
  const zone = optional(compiler, specs.timezone)
  const startOfWeek = optional(compiler, specs.startOfWeek)
  return context => {
    const [from, to, unitName] = [start!(context), end!(context), unit!(context)]
    if (isNullish(from) || isNullish(to) || isNullish(unitName)) return nullValue
    const counted = unitOf(unitName, name)
    const weekday = weekStart(counted, startOfWeek, context, name)
    if (weekday === undefined) return nullValue
    const at = namedZone(zone, context, name)
    if (at === undefined) return nullValue
    const [first, last] = [from, to].map((value, index) => {
      const which = index === 0 ? 'startDate' : 'endDate'
      return (
        momentOf(value) ?? refuse(5166307, `$dateDiff requires '${which}' to be a date, but got ${nameOfType(value)}`)
      )
    })
    return int64(dateDifference(first!, last!, counted, at, weekday))
  }
}

/** The start of the week, or undefined if it is null. Only the unit week needs it. */
function weekStart(unit: Unit, operand: Evaluate | undefined, context: Context, name: string): number | undefined {
  if (unit !== 'week' || operand === undefined) return sunday
  const value = operand(context)
  return isNullish(value) ? undefined : startOfWeekOf(value, name)
}

const truncation: CompileOperator = (argument, compiler, name) => {
  const given = requireDocument(argument, 5439007, '$dateTrunc only supports an object as its argument')
  const specs = namedArguments(given, ['date', 'unit', 'binSize', 'timezone', 'startOfWeek'], unknown =>
    refuse(
      5439008,
      `Unrecognized argument to $dateTrunc: ${unknown}. Expected arguments are date, unit, and optionally, ` +
        'binSize, timezone, startOfWeek',
    ),
  )
  const moment = compiler.compile(specs.date ?? refuse(5439009, "Missing 'date' parameter to $dateTrunc"))
  const unitOperand = compiler.compile(specs.unit ?? refuse(5439010, "Missing 'unit' parameter to $dateTrunc"))
  const [binSize, zone, startOfWeek] = [specs.binSize, specs.timezone, specs.startOfWeek].map(spec =>
    optional(compiler, spec),
  )
  return context => {
    const value = moment(context)
    if (isNullish(value)) return nullValue
    let size = 1n
    if (binSize !== undefined) {
      const width = binSize(context)
      if (isNullish(width)) return nullValue
      size = binSizeOf(width)
    }
    const unitName = unitOperand(context)
    if (isNullish(unitName)) return nullValue
    const unit = unitOf(unitName, name)
    const weekday = weekStart(unit, startOfWeek, context, name)
    if (weekday === undefined) return nullValue
    const at = namedZone(zone, context, name)
    if (at === undefined) return nullValue
    const utcMs =
      momentOf(value) ?? refuse(5439012, `$dateTrunc requires 'date' to be a date, but got ${nameOfType(value)}`)
    return date(truncateDate(utcMs, { unit, size, zone: at, startOfWeek: weekday }))
  }
}

function binSizeOf(value: Value): bigint {
  const size = int64Of(value)
  if (size === undefined) {
    const got = `value '${printForMessage(value)}' of type ${nameOfType(value)}`
    return refuse(5439017, `$dateTrunc requires 'binSize' to be a 64-bit integer, but got ${got}`)
  }
  if (size <= 0n) refuse(5439018, `$dateTrunc requires 'binSize' to be greater than 0, but got value ${size}`)
  return size
}

export const dateUnitOperators: OperatorFamily = {
  $dateAdd: arithmetic(true),
  $dateDiff: difference,
  $dateSubtract: arithmetic(false),
  $dateTrunc: truncation,
}
