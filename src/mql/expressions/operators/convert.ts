/** Conversions between types. A failed conversion is error 241, which `onError` catches. */

import { spend } from '../../../base/work.ts'
import { parseDecimal, unpackDecimal } from '../../../document/bson/decimal128.ts'
import {
  decimal128,
  decimalToDouble,
  int32Max,
  int32Min,
  isNaNValue,
  isNumeric,
  printNumber,
  toDecimal,
  toDouble,
  truncatedInteger,
} from '../../../document/bson/number.ts'
import { bsonType, typeName, typeNamed, typeNumbered } from '../../../document/bson/types.ts'
import {
  bool,
  date,
  double,
  int32,
  int64,
  type NumericValue,
  nullValue,
  objectId,
  string,
  type Value,
} from '../../../document/bson/value.ts'
import {
  compileArguments,
  int32Of,
  isNullish,
  isTrue,
  namedArguments,
  nameOfType,
  oneOperand,
  optional,
  refuse,
} from '../core/define-operator.ts'
import { shortened } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { printIsoDate } from '../dates/date-format.ts'
import { momentOf, orElse } from '../dates/date-operand.ts'
import { parseFreely } from '../dates/date-parse.ts'
import { utc } from '../dates/time-zone.ts'

const conversionFailure = 241
const failedToParse = 9
const noOnError = 'in $convert with no onError value'

function fail(message: string): never {
  return refuse(conversionFailure, message)
}

function unsupported(value: Value, type: number): never {
  return fail(`Unsupported conversion from ${nameOfType(value)} to ${typeName(type)} ${noOnError}`)
}

function refuseOverflow(printedNumber: string): never {
  return fail(`Conversion would overflow target type ${noOnError}: ${printedNumber}`)
}

function toInteger(value: NumericValue): bigint {
  if (isNaNValue(value)) fail(`Attempt to convert NaN value to integer type ${noOnError}`)
  if (Math.abs(toDouble(value)) === Number.POSITIVE_INFINITY && isInfinite(value)) {
    fail(`Attempt to convert infinity value to integer type ${noOnError}`)
  }
  return truncatedInteger(value) ?? refuseOverflow(printNumber(value))
}

function isInfinite(value: NumericValue): boolean {
  return value.type === bsonType.decimal128 ? unpackDecimal(value).kind === 'infinity' : value.type === bsonType.double
}

function int(value: bigint, printedNumber: string): Value {
  const isIn = value >= BigInt(int32Min) && value <= BigInt(int32Max)
  return isIn ? int32(Number(value)) : refuseOverflow(printedNumber)
}

function refuseNumber(text: string, reason: string): never {
  return fail(`Failed to parse number '${shortened(text)}' ${noOnError}: ${reason}`)
}

function checkNumeral(text: string): void {
  spend(text.length >> 3)
  if (text.startsWith('0x')) fail(`Illegal hexadecimal input ${noOnError}: ${shortened(text)}`)
  if (text === '') refuseNumber(text, 'Empty string')
  if (/^\s/.test(text)) refuseNumber(text, 'Leading whitespace')
}

const int64DigitsMax = 19

function parseInteger(text: string): bigint {
  checkNumeral(text)
  const [, sign, digits] = /^([+-]?)0*(\d*)$/.exec(text) ?? []
  if (digits === undefined || !/^[+-]?\d/.test(text)) {
    const isBeginning = /^[+-]?\d/.test(text)
    return refuseNumber(text, isBeginning ? 'Did not consume whole string.' : 'Did not consume any digits')
  }
  // Making a BigInt from a million digits takes long.
  if (digits.length > int64DigitsMax) return refuseNumber(text, 'Overflow')
  return sign === '-' ? -BigInt(digits) : BigInt(digits)
}

const doublePattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const specialPattern = /^([+-]?)(?:inf(?:inity)?|(nan))$/i

function parseDouble(text: string): number {
  checkNumeral(text)
  const special = specialPattern.exec(text)
  if (special !== null) {
    if (special[2] !== undefined) return Number.NaN
    return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  if (!doublePattern.test(text)) refuseNumber(text, 'Did not consume whole string.')
  const number = Number(text)
  return Number.isFinite(number) ? number : refuseNumber(text, 'Out of range')
}

function toDoubleValue(value: Value): Value {
  if (value.type === bsonType.decimal128) {
    const decimal = unpackDecimal(value)
    const number = decimalToDouble(decimal)
    const isLost =
      decimal.kind === 'finite' && (!Number.isFinite(number) || (number === 0 && decimal.coefficient !== 0n))
    return isLost ? refuseOverflow(printNumber(value)) : double(number)
  }
  if (isNumeric(value)) return double(toDouble(value))
  if (value.type === bsonType.bool) return double(value.value ? 1 : 0)
  if (value.type === bsonType.date) return double(Number(value.value))
  return value.type === bsonType.string ? double(parseDouble(value.value)) : unsupported(value, bsonType.double)
}

function toText(value: Value): Value {
  switch (value.type) {
    case bsonType.string:
      return value
    case bsonType.bool:
      return string(value.value ? 'true' : 'false')
    case bsonType.objectId:
      return string(Buffer.from(value.value).toString('hex'))
    case bsonType.date:
      return string(printIsoDate(value.value))
    default:
      return isNumeric(value) ? string(printNumber(value)) : unsupported(value, bsonType.string)
  }
}

function toObjectId(value: Value): Value {
  if (value.type === bsonType.objectId) return value
  if (value.type !== bsonType.string) return unsupported(value, bsonType.objectId)
  const text = value.value
  const problem = `Failed to parse objectId '${shortened(text)}' ${noOnError}:`
  const bytes = Buffer.byteLength(text)
  if (bytes !== 24) fail(`${problem} Invalid string length for parsing to OID, expected 24 but found ${bytes}`)
  const wrong = /[^0-9a-fA-F]/.exec(text)
  if (wrong !== null) fail(`${problem} Invalid character found in hex string: '${wrong[0]}'`)
  return objectId(Buffer.from(text, 'hex'))
}

function toDate(value: Value): Value {
  const moment = momentOf(value)
  if (moment !== undefined) return date(moment)
  // MongoDB does not convert int32: it could only mean the first weeks of 1970.
  if (isNumeric(value) && value.type !== bsonType.int32) return date(toInteger(value))
  return value.type === bsonType.string ? date(parseFreely(value.value, utc)) : unsupported(value, bsonType.date)
}

function toInt(value: Value): Value {
  if (isNumeric(value)) return int(toInteger(value), printNumber(value))
  if (value.type === bsonType.bool) return int32(value.value ? 1 : 0)
  if (value.type !== bsonType.string) return unsupported(value, bsonType.int32)
  const whole = parseInteger(value.value)
  const isIn = whole >= BigInt(int32Min) && whole <= BigInt(int32Max)
  return isIn ? int32(Number(whole)) : refuseNumber(value.value, 'Overflow')
}

function toLong(value: Value): Value {
  if (isNumeric(value)) return int64(toInteger(value))
  if (value.type === bsonType.bool) return int64(value.value ? 1n : 0n)
  if (value.type === bsonType.date) return int64(value.value)
  if (value.type !== bsonType.string) return unsupported(value, bsonType.int64)
  const whole = parseInteger(value.value)
  return BigInt.asIntN(64, whole) === whole ? int64(whole) : refuseNumber(value.value, 'Overflow')
}

function toDecimalValue(value: Value): Value {
  if (isNumeric(value)) return value.type === bsonType.decimal128 ? value : decimal128(toDecimal(value))
  if (value.type === bsonType.bool) return decimal128(toDecimal(int32(value.value ? 1 : 0)))
  if (value.type === bsonType.date) return decimal128(toDecimal(int64(value.value)))
  if (value.type !== bsonType.string) return unsupported(value, bsonType.decimal128)
  checkNumeral(value.value)
  const decimal = parseDecimal(value.value) ?? refuseNumber(value.value, 'Failed to parse string to decimal')
  return decimal128(decimal)
}

const conversions = new Map<number, (value: Value) => Value>([
  [bsonType.double, toDoubleValue],
  [bsonType.string, toText],
  [bsonType.objectId, toObjectId],
  [bsonType.bool, value => bool(isTrue(value))],
  [bsonType.date, toDate],
  [bsonType.int32, toInt],
  [bsonType.int64, toLong],
  [bsonType.decimal128, toDecimalValue],
])

function convertTo(type: number, value: Value): Value {
  const convert = conversions.get(type)
  return convert === undefined ? unsupported(value, type) : convert(value)
}

function targetType(value: Value): number {
  if (value.type === bsonType.string) {
    if (value.value === 'missing') return 0
    return typeNamed(value.value) ?? refuse(2, `Unknown type name: ${value.value}`)
  }
  if (!isNumeric(value)) {
    return refuse(failedToParse, `$convert's 'to' argument must be a string or number, but is ${nameOfType(value)}`)
  }
  const code = int32Of(value) ?? refuse(failedToParse, "In $convert, numeric 'to' argument is not an integer")
  if (code === 0) return 0
  const problem = "In $convert, numeric value for 'to' does not correspond to a BSON type:"
  return typeNumbered(code) ?? refuse(failedToParse, `${problem} ${code}`)
}

const convert: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) {
    return refuse(failedToParse, `$convert expects an object of named arguments but found: ${nameOfType(argument)}`)
  }
  const specs = namedArguments(argument, ['input', 'to', 'onError', 'onNull'], unknown =>
    refuse(failedToParse, `$convert found an unknown argument: ${unknown}`),
  )
  const input = compiler.compile(specs.input ?? refuse(failedToParse, "Missing 'input' parameter to $convert"))
  const to = compiler.compile(specs.to ?? refuse(failedToParse, "Missing 'to' parameter to $convert"))
  const onError = optional(compiler, specs.onError)
  const onNull = optional(compiler, specs.onNull)
  return context => {
    const target = to(context)
    const value = input(context)
    const type = isNullish(target) ? undefined : targetType(target)
    if (isNullish(value)) return onNull === undefined ? nullValue : onNull(context)
    if (type === undefined) return nullValue
    return orElse(onError, context, () => convertTo(type, value))
  }
}

function shortcut(type: number): CompileOperator {
  return (argument, compiler, name) => {
    const operands = compileArguments(argument, compiler)
    if (operands.length !== 1) refuse(50723, `${name} requires a single argument, got ${operands.length}`)
    const [operand] = operands
    return context => {
      const value = operand!(context)
      return isNullish(value) ? nullValue : convertTo(type, value)
    }
  }
}

export const conversionOperators: OperatorFamily = {
  $convert: convert,
  $isNumber: oneOperand(value => bool(isNumeric(value))),
  $toBool: shortcut(bsonType.bool),
  $toDate: shortcut(bsonType.date),
  $toDecimal: shortcut(bsonType.decimal128),
  $toDouble: shortcut(bsonType.double),
  $toInt: shortcut(bsonType.int32),
  $toLong: shortcut(bsonType.int64),
  $toObjectId: shortcut(bsonType.objectId),
  $toString: shortcut(bsonType.string),
  $type: oneOperand(value => string(nameOfType(value))),
}
