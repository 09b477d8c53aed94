/** Operators that format dates as strings and parse them. */

import { bsonType } from '../../../document/bson/types.ts'
import { date, nullValue, string } from '../../../document/bson/value.ts'
import { isNullish, namedArguments, nameOfType, optional, refuse } from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { checkInputFormat, checkOutputFormat, formatDate } from '../dates/date-format.ts'
import { orElse, requireDocument, requireMoment, zoneOf } from '../dates/date-operand.ts'
import { parseByFormat, parseFreely } from '../dates/date-parse.ts'

const dateToString: CompileOperator = (argument, compiler) => {
  const given = requireDocument(argument, 18629, '$dateToString only supports an object as its argument')
  const specs = namedArguments(given, ['format', 'date', 'timezone', 'onNull'], unknown =>
    refuse(18534, `Unrecognized argument to $dateToString: ${unknown}`),
  )
  const moment = compiler.compile(specs.date ?? refuse(18628, "Missing 'date' parameter to $dateToString"))
  const format = optional(compiler, specs.format)
  const zone = optional(compiler, specs.timezone)
  const onNull = optional(compiler, specs.onNull)
  return context => {
    const value = moment(context)
    const pattern = format?.(context)
    if (!isNullish(pattern)) {
      if (pattern.type !== bsonType.string) {
        const found = `${nameOfType(pattern)} with value ${printForMessage(pattern)}`
        return refuse(18533, `$dateToString requires that 'format' be a string, found: ${found}`)
      }
      checkOutputFormat(pattern.value)
    }
    const at = zoneOf(zone, context)
    if (isNullish(value)) return onNull === undefined ? nullValue : onNull(context)
    if (at === undefined || (format !== undefined && isNullish(pattern))) return nullValue
    return string(formatDate(requireMoment(value), isNullish(pattern) ? undefined : pattern.value, at))
  }
}

const dateFromString: CompileOperator = (argument, compiler) => {
  const given = requireDocument(
    argument,
    40540,
    `$dateFromString only supports an object as an argument, found: ${nameOfType(argument)}`,
  )
  const specs = namedArguments(given, ['format', 'dateString', 'timezone', 'onNull', 'onError'], unknown =>
    refuse(40541, `Unrecognized argument to $dateFromString: ${unknown}`),
  )
  const input = compiler.compile(specs.dateString ?? refuse(40542, "Missing 'dateString' parameter to $dateFromString"))
  const format = optional(compiler, specs.format)
  const zone = optional(compiler, specs.timezone)
  const onNull = optional(compiler, specs.onNull)
  const onError = optional(compiler, specs.onError)
  return context => {
    const value = input(context)
    const pattern = format?.(context)
    if (!isNullish(pattern)) {
      if (pattern.type !== bsonType.string) {
        const found = `${nameOfType(pattern)} with value ${printForMessage(pattern)}`
        return refuse(40684, `$dateFromString requires that 'format' be a string, found: ${found}`)
      }
      checkInputFormat(pattern.value)
    }
    const at = zoneOf(zone, context)
    if (isNullish(value)) return onNull === undefined ? nullValue : onNull(context)
    return orElse(onError, context, () => {
      if (value.type !== bsonType.string) {
        const found = `${nameOfType(value)} with value ${printForMessage(value)}`
        return refuse(241, `$dateFromString requires that 'dateString' be a string, found: ${found}`)
      }
      if (at === undefined || (format !== undefined && isNullish(pattern))) return nullValue
      return date(isNullish(pattern) ? parseFreely(value.value, at) : parseByFormat(value.value, pattern.value, at))
    })
  }
}

export const dateTextOperators: OperatorFamily = {
  $dateFromString: dateFromString,
  $dateToString: dateToString,
}
