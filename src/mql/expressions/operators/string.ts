/**
 * Operators on strings, by UTF-8 bytes or by code points.
 *
 * Upper and lower case are those of ASCII only, as in MongoDB.
 */

import { split as splitText } from '../../../base/text-search.ts'
import { spend } from '../../../base/work.ts'
import { isNumeric, printNumber, truncatedInteger } from '../../../document/bson/number.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { int32, type NumericValue, nullValue, string, type Value } from '../../../document/bson/value.ts'
import {
  anyOperands,
  exactly,
  expressionArrayElementsMax,
  int32Of,
  isNullish,
  limitedArray,
  limitedString,
  nameOfType,
  oneOperand,
  refuse,
  twoOperands,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { formatDate, printIsoDate } from '../dates/date-format.ts'
import { utc } from '../dates/time-zone.ts'

/** Converts a value to text for operators that accept any string-like value. */
function coercedText(value: Value | undefined): string {
  if (isNullish(value)) return ''
  if (isNumeric(value)) return printNumber(value)
  switch (value.type) {
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return value.value
    case bsonType.date:
      return printIsoDate(value.value)
    case bsonType.timestamp:
      return printTimestamp(value.value)
    default:
      return refuse(16007, `can't convert from BSON type ${nameOfType(value)} to String`)
  }
}

/** Formats a time like the C library, without weekday and year, followed by the counter. */
function printTimestamp(value: bigint): string {
  const [month, day, time] = formatDate((value >> 32n) * 1000n, '%b %d %H:%M:%S', utc).split(' ') as [
    string,
    string,
    string,
  ]
  return `${month} ${String(Number(day)).padStart(2)} ${time}:${value & 0xffffffffn}`
}

function upperCase(value: string): string {
  spend(value.length >> 2)
  return value.replace(/[a-z]+/g, letters => letters.toUpperCase())
}

function lowerCase(value: string): string {
  spend(value.length >> 2)
  return value.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

const concatenation = anyOperands(operands => context => {
  let result = ''
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.string) refuse(16702, `$concat only supports strings, not ${nameOfType(value)}`)
    spend(value.value.length >> 6)
    result += value.value
    limitedString(result)
  }
  return limitedString(result)
})

const comparison = twoOperands((left, right) => {
  const [a, b] = [Buffer.from(upperCase(coercedText(left))), Buffer.from(upperCase(coercedText(right)))]
  return int32(Buffer.compare(a, b))
})

const split = twoOperands((input, separator) => {
  if (isNullish(input) || isNullish(separator)) return nullValue
  const refusal = '$split requires an expression that evaluates to a string as a'
  if (input.type !== bsonType.string) return refuse(40085, `${refusal} first argument, found: ${nameOfType(input)}`)
  if (separator.type !== bsonType.string) {
    return refuse(40086, `${refusal} second argument, found: ${nameOfType(separator)}`)
  }
  if (separator.value === '') refuse(40087, '$split requires a non-empty separator')
  spend(input.value.length >> 4)
  const parts = splitText(input.value, separator.value, expressionArrayElementsMax + 1)
  spend(parts.length)
  return limitedArray(parts.map(string))
})

function isInsideCharacter(bytes: Buffer, at: number): boolean {
  return at < bytes.length && (bytes[at]! & 0xc0) === 0x80
}

/** The integer part. */
function long(value: NumericValue): number {
  return Number(truncatedInteger(value) ?? 0n)
}

const substringOfBytes = exactly(3, ([input, start, length], name) => context => {
  const text = coercedText(input!(context))
  spend(text.length >> 6)
  const bytes = Buffer.from(text)
  const [from, count] = [start!(context), length!(context)]
  if (!isNumeric(from)) {
    return refuse(16034, `${name}:  starting index must be a numeric type (is BSON type ${nameOfType(from)})`)
  }
  if (!isNumeric(count)) {
    return refuse(16035, `${name}:  length must be a numeric type (is BSON type ${nameOfType(count)})`)
  }
  const first = long(from)
  if (first < 0) refuse(50752, `${name}:  starting index must be non-negative (got: ${first})`)
  const wanted = long(count)
  const end = wanted < 0 ? bytes.length : first + wanted
  if (isInsideCharacter(bytes, first)) {
    refuse(28656, `${name}:  Invalid range, starting index is a UTF-8 continuation byte.`)
  }
  if (isInsideCharacter(bytes, end)) {
    refuse(28657, `${name}:  Invalid range, ending index is in the middle of a UTF-8 character.`)
  }
  return string(bytes.toString('utf8', first, Math.max(first, Math.min(end, bytes.length))))
})

const substringOfCodePoints = exactly(3, ([input, start, length], name) => context => {
  const characters = coercedText(input!(context))
  const [from, count] = [start!(context), length!(context)]
  if (!isNumeric(from)) {
    refuse(34450, `${name}: starting index must be a numeric type (is BSON type ${nameOfType(from)})`)
  }
  const first =
    int32Of(from) ??
    refuse(34451, `${name}: starting index cannot be represented as a 32-bit integral value: ${printForMessage(from)}`)
  if (!isNumeric(count)) refuse(34452, `${name}: length must be a numeric type (is BSON type ${nameOfType(count)})`)
  const wanted =
    int32Of(count) ??
    refuse(34453, `${name}: length cannot be represented as a 32-bit integral value: ${printForMessage(count)}`)
  if (wanted < 0) refuse(34454, `${name}: length must be a nonnegative integer.`)
  if (first < 0) refuse(34455, `${name}: the starting index must be nonnegative integer.`)
  const begin = endOfCharacters(characters, 0, first)
  return string(characters.slice(begin, endOfCharacters(characters, begin, wanted)))
})

/** The end of the `count` characters that begin at an offset; at most the end of the text. */
export function endOfCharacters(text: string, offset: number, count: number): number {
  let at = offset
  for (let left = count; left > 0 && at < text.length; left -= 1) {
    spend(1)
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  }
  return at
}

export function codePointsIn(value: string): number {
  spend(value.length >> 3)
  let count = 0
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at)
    // A surrogate pair counts once.
    if (unit < 0xdc00 || unit > 0xdfff) count += 1
  }
  return count
}

const lengthInBytes = oneOperand((value, name) => {
  if (value?.type !== bsonType.string) {
    return refuse(34473, `${name} requires a string argument, found: ${nameOfType(value)}`)
  }
  spend(value.value.length >> 6)
  return int32(Buffer.byteLength(value.value))
})

const lengthInCodePoints = oneOperand((value, name) => {
  if (value?.type !== bsonType.string) {
    return refuse(34471, `${name} requires a string argument, found: ${nameOfType(value)}`)
  }
  return int32(codePointsIn(value.value))
})

function cased(change: (value: string) => string): CompileOperator {
  return oneOperand(value => string(change(coercedText(value))))
}

export const stringOperators: OperatorFamily = {
  $concat: concatenation,
  $split: split,
  $strLenBytes: lengthInBytes,
  $strLenCP: lengthInCodePoints,
  $strcasecmp: comparison,
  $substr: substringOfBytes,
  $substrBytes: substringOfBytes,
  $substrCP: substringOfCodePoints,
  $toLower: cased(lowerCase),
  $toUpper: cased(upperCase),
}
