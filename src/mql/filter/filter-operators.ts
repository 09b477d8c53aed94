/**
 * Parses the operators of conditions: the operands that each accepts, and MongoDB's errors for all others.
 */

import { spend } from '../../base/work.ts'
import { exactInteger, isNaNValue, isNumeric, toDouble, truncatedInteger } from '../../document/bson/number.ts'
import { bsonType, typeNamed, typeNumbered } from '../../document/bson/types.ts'
import type { BsonDocument, NumericValue, Value } from '../../document/bson/value.ts'
import { badValue, failedToParse, MongoError, typeMismatch } from '../errors/mongo-error.ts'
import { printElement, printValue } from '../errors/print.ts'
import { isTrue } from '../expressions/core/define-operator.ts'
import {
  type Comparison,
  type Condition,
  equalTo,
  type Filter,
  type FilterContext,
  filterOperators,
  isOperatorDocument,
  type RegexCondition,
} from './filter.ts'
import { isGeoOperator, parseGeo } from './parse-geo.ts'

/** Filters and conditions are parsed recursively; passing the filter parser in avoids an import cycle. */
type ParseFilter = (filter: BsonDocument, context: FilterContext) => Filter

interface Operand {
  /** The path that the condition tests; empty within `$elemMatch`. */
  readonly path: string
  readonly name: string
  readonly value: Value
  /** The whole operator document, for operators that belong together. */
  readonly siblings: BsonDocument
  readonly context: FilterContext
  readonly parseFilter: ParseFilter
}

type ConditionParser = (operand: Operand) => Condition | undefined

/** Parses the conditions of a document like `{ $gt: 1, $lt: 5 }`. */
export function parseConditions(
  siblings: BsonDocument,
  path: string,
  context: FilterContext,
  parseFilter: ParseFilter,
): Condition[] {
  const [first] = siblings.fields
  if (first !== undefined && isGeoOperator(first[0])) return [parseGeo(siblings, context.allowsNear)]
  const conditions: Condition[] = []
  for (const [name, value] of siblings.fields) {
    const parser = Object.hasOwn(parsers, name) ? parsers[name] : undefined
    if (parser === undefined) throw unknownOperator(name, siblings)
    const condition = parser({ path, name, value, siblings, context, parseFilter })
    if (condition !== undefined) conditions.push(condition)
  }
  return conditions
}

function unknownOperator(name: string, siblings: BsonDocument): MongoError {
  if (name === '$where') return badValue('$where cannot be applied to a field')
  return isGeoOperator(name)
    ? badValue(`near must be first in: ${printValue(siblings)}`)
    : badValue(`unknown operator: ${name}`)
}

function comparison(operator: Comparison): ConditionParser {
  return ({ value }) => {
    if (value.type === bsonType.undefined) throw badValue('cannot compare to undefined')
    return { kind: 'compare', operator, value }
  }
}

/** All comparisons except equality refuse a regular expression, because it has no order in a filter. */
function ordering(operator: Comparison): ConditionParser {
  return operand => {
    if (operand.value.type === bsonType.regex) {
      throw badValue(`Can't have RegEx as arg to predicate over field '${operand.path}'.`)
    }
    return comparison(operator)(operand)
  }
}

/** Reading a value of a list takes 0.1 to 0.2 microseconds. */
const listedSteps = 5

function listed({ name, value }: Operand): Condition {
  if (value.type !== bsonType.array) throw badValue(`${name} needs an array`)
  const values: Value[] = []
  const patterns: RegexCondition[] = []
  for (const element of value.elements) {
    spend(listedSteps)
    if (isOperatorDocument(element)) throw badValue('cannot nest $ under $in')
    const condition = equalTo(element)
    if (condition.kind === 'regex') patterns.push(condition)
    else values.push(element)
  }
  return { kind: 'in', values, patterns }
}

/** `$regex` and `$options`, in either order. */
function regex({ siblings }: Operand): Condition {
  let pattern = ''
  let options = ''
  for (const [name, value] of siblings.fields) {
    if (name === '$regex') {
      if (value.type === bsonType.string) pattern = value.value
      else if (value.type === bsonType.regex) {
        if (value.options !== '' && options !== '')
          throw new MongoError(51074, 'options set in both $regex and $options')
        pattern = value.pattern
        if (value.options !== '') options = value.options
      } else throw badValue('$regex has to be a string')
    } else if (name === '$options') {
      if (value.type !== bsonType.string) throw badValue('$options has to be a string')
      if (options !== '') throw new MongoError(51075, 'options set in both $regex and $options')
      options = value.value
    }
  }
  if (pattern.includes('\0')) throw badValue('Regular expression cannot contain an embedded null byte')
  return { kind: 'regex', pattern, options }
}

function type({ value }: Operand): Condition {
  const types = new Set<number>()
  for (const each of value.type === bsonType.array ? value.elements : [value]) addType(types, each)
  if (types.size === 0) throw failedToParse('$type must match at least one type')
  return { kind: 'type', types }
}

function addType(types: Set<number>, value: Value): void {
  if (value.type === bsonType.string) {
    if (value.value === 'number') {
      for (const number of [bsonType.double, bsonType.int32, bsonType.int64, bsonType.decimal128]) types.add(number)
      return
    }
    const named = typeNamed(value.value)
    if (named === undefined) throw badValue(`Unknown type name alias: ${value.value}`)
    types.add(named)
  } else if (isNumeric(value)) {
    const code = exactInteger(value)
    if (code === 0n) throw badValue('Invalid numerical type code: 0. Instead use {$exists:false}.')
    const numbered = code === undefined ? undefined : typeNumbered(Number(code))
    if (numbered === undefined) throw badValue(`Invalid numerical type code: ${printValue(value)}`)
    types.add(numbered)
  } else {
    throw typeMismatch('type must be represented as a number or a string')
  }
}

function mod({ value }: Operand): Condition {
  if (value.type !== bsonType.array) throw badValue('malformed mod, needs to be an array')
  const [divisor, remainder, ...others] = value.elements
  if (divisor === undefined || remainder === undefined) throw badValue('malformed mod, not enough elements')
  if (others.length > 0) throw badValue('malformed mod, too many elements')
  if (!isNumeric(divisor)) throw badValue('malformed mod, divisor not a number')
  if (!isNumeric(remainder)) throw badValue('malformed mod, remainder not a number')
  const condition = {
    kind: 'mod',
    divisor: modPart(divisor, 'divisor'),
    remainder: modPart(remainder, 'remainder'),
  } as const
  if (condition.divisor === 0n) throw badValue('divisor cannot be 0')
  return condition
}

function modPart(value: NumericValue, what: string): bigint {
  const integer = truncatedInteger(value)
  if (integer !== undefined) return integer
  const reason = Number.isFinite(toDouble(value))
    ? 'Out of bounds coercing to integral value'
    : 'Unable to coerce NaN/Inf to integral type'
  throw badValue(`malformed mod, ${what} value is invalid :: caused by :: ${reason}`)
}

function size({ name, value }: Operand): Condition {
  const printed = printElement(name, value)
  if (!isNumeric(value)) throw badValue(`Failed to parse $size. Expected a number in: ${printed}`)
  const count = exactInteger(value)
  if (count === undefined) throw badValue(`Failed to parse $size. Expected an integer: ${printed}`)
  if (count < 0n) throw badValue(`Failed to parse $size. Expected a non-negative number in: ${printed}`)
  return { kind: 'size', size: Number(count) }
}

function bits(isAny: boolean, isSet: boolean): ConditionParser {
  return ({ name, value }) => ({ kind: 'bits', positions: bitPositions(name, value), isAny, isSet })
}

function bitPositions(name: string, value: Value): number[] {
  if (value.type === bsonType.array) return value.elements.map((element, index) => bitPosition(String(index), element))
  if (value.type === bsonType.binary) return setBits([...value.value])
  if (!isNumeric(value)) {
    throw badValue(`${name} takes an Array, a number, or a BinData but received: ${printElement(name, value)}`)
  }
  const mask = exactInteger(value)
  if (isNaNValue(value)) throw failedToParse(`Expected an integer, but found NaN in: ${printElement(name, value)}`)
  if (mask === undefined) throw failedToParse(`Expected an integer: ${printElement(name, value)}`)
  if (mask < 0n) throw failedToParse(`Expected a non-negative number in: ${printElement(name, value)}`)
  return setBits(Array.from({ length: 8 }, (_, byte) => Number((mask >> BigInt(8 * byte)) & 0xffn)))
}

function setBits(bytes: readonly number[]): number[] {
  return bytes.flatMap((byte, at) =>
    Array.from({ length: 8 }, (_, bit) => 8 * at + bit).filter(bit => (byte >> (bit % 8)) & 1),
  )
}

function bitPosition(name: string, value: Value): number {
  const printed = printElement(name, value)
  const position = isNumeric(value) ? exactInteger(value) : undefined
  if (position === undefined) throw badValue(`bit positions must be an integer but got: ${printed}`)
  if (position < 0n) throw badValue(`bit positions must be >= 0 but got: ${printed}`)
  if (position > 2147483647n) {
    throw badValue(`bit positions cannot be represented as a 32-bit signed integer: ${printed}`)
  }
  return Number(position)
}

function elemMatch({ value, parseFilter }: Operand): Condition {
  if (value.type !== bsonType.document) throw badValue('$elemMatch needs an Object')
  const context = { isWholeDocument: false, allowsNear: false }
  const name = value.fields[0]?.[0] ?? ''
  // Operators like `$and` are followed by filters, so they test only elements that are documents.
  if (isOperatorDocument(value) && !filterOperators.has(name)) {
    return { kind: 'elementValue', of: parseConditions(value, '', context, parseFilter) }
  }
  return { kind: 'elementDocument', of: parseFilter(value, context) }
}

function all(operand: Operand): Condition {
  const { value } = operand
  if (value.type !== bsonType.array) throw badValue('$all needs an array')
  const { elements } = value
  if (elements.length === 0) return { kind: 'never' }
  const operands = elements.map(element => (element.type === bsonType.document ? element.fields[0] : undefined))
  if (operands[0]?.[0] === '$elemMatch') {
    const of = operands.map(field => {
      if (field?.[0] !== '$elemMatch') throw badValue('$all/$elemMatch has to be consistent')
      return elemMatch({ ...operand, name: field[0], value: field[1] })
    })
    return { kind: 'all', of }
  }
  if (operands.some(field => field !== undefined && (Object.hasOwn(parsers, field[0]) || isGeoOperator(field[0])))) {
    throw badValue('no $ expressions in $all')
  }
  spend(listedSteps * elements.length)
  return { kind: 'all', of: elements.map(equalTo) }
}

function not(operand: Operand): Condition {
  const { value, path, context, parseFilter } = operand
  if (value.type === bsonType.regex) return { kind: 'not', of: equalTo(value) }
  if (value.type !== bsonType.document) throw badValue('$not needs a regex or a document')
  if (value.isEmpty) throw badValue('$not cannot be empty')
  return { kind: 'not', of: { kind: 'all', of: parseConditions(value, path, context, parseFilter) } }
}

const parsers: Readonly<Record<string, ConditionParser>> = {
  $eq: comparison('eq'),
  $ne: operand => {
    if (operand.value.type === bsonType.regex) throw badValue("Can't have regex as arg to $ne.")
    return { kind: 'not', of: comparison('eq')(operand)! }
  },
  $lt: ordering('lt'),
  $lte: ordering('lte'),
  $gt: ordering('gt'),
  $gte: ordering('gte'),
  $in: listed,
  $nin: operand => ({ kind: 'not', of: listed(operand) }),
  $not: not,
  $exists: ({ value }) => (isTrue(value) ? { kind: 'exists' } : { kind: 'not', of: { kind: 'exists' } }),
  $type: type,
  $mod: mod,
  $size: size,
  $regex: regex,
  $options: ({ siblings }) => {
    if (siblings.get('$regex') === undefined) throw badValue('$options needs a $regex')
    return undefined
  },
  $all: all,
  $elemMatch: elemMatch,
  $bitsAllSet: bits(false, true),
  $bitsAllClear: bits(false, false),
  $bitsAnySet: bits(true, true),
  $bitsAnyClear: bits(true, false),
}

export const conditionOperators: readonly string[] = Object.keys(parsers)
