/** The update operators that set, compute or remove one field. */

import { addExactly, compareNumbers, isNaNValue, isNumeric, multiplyExactly } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { date, int32, int64, type NumericValue, nullValue, timestamp, type Value } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { printValue } from '../errors/print.ts'
import {
  compareRaw,
  decoded,
  isSame,
  type ModifierFactory,
  printIdField,
  printOperandField,
  type RawValue,
  rawValue,
  removed,
  type Site,
} from './modifier.ts'

export const set: ModifierFactory = operand => {
  const value = rawValue(operand)
  return {
    whenMissing: 'create',
    change: current => (isSame(current, value) ? undefined : value),
    create: () => value,
  }
}

/** Like `$set`, but only when the update inserts the document. */
export const setOnInsert: ModifierFactory = operand => {
  const value = rawValue(operand)
  return {
    whenMissing: 'create',
    change: (_, site) => (site.context.isInsert ? value : undefined),
    create: site => (site.context.isInsert ? value : undefined),
  }
}

const nullRaw = rawValue(nullValue)

/** An array element becomes null, so that the other elements keep their index. */
export const unset: ModifierFactory = () => ({
  whenMissing: 'ignore',
  change: (_, site) => (site.isInArray ? nullRaw : removed),
  create: () => undefined,
})

interface Arithmetic {
  readonly operator: string
  readonly verb: string
  readonly of: (left: NumericValue, right: NumericValue) => NumericValue | undefined
  /** The result for a missing field. */
  readonly ofMissing: (operand: NumericValue) => NumericValue
}

function arithmetic({ operator, verb, of, ofMissing }: Arithmetic): ModifierFactory {
  return (operand, path) => {
    if (!isNumeric(operand)) {
      throw new MongoError(14, `Cannot ${verb} with non-numeric argument: {${printOperandField(path, operand)}}`)
    }
    return {
      whenMissing: 'create',
      create: () => rawValue(ofMissing(operand)),
      change: (current, site) => {
        const value = decoded(current)
        if (!isNumeric(value)) throw notNumeric(operator, current, site)
        const result = of(value, operand)
        if (result === undefined) {
          throw new MongoError(
            2,
            `Failed to apply ${operator} operations to current value (${debugged(value)}) for document ` +
              `{${printIdField(site.document)}}`,
          )
        }
        return isIdentical(result, value) ? undefined : rawValue(result)
      },
    }
  }
}

/** An unchanged value keeps its bytes: 0.0 times -1 stays 0.0, and a decimal plus 0 keeps its last zeros. */
function isIdentical(left: NumericValue, right: NumericValue): boolean {
  return left.type === right.type && !isNaNValue(left) && compareNumbers(left, right) === 0
}

const typeInMessages: Readonly<Record<number, string>> = {
  [bsonType.int32]: 'NumberInt',
  [bsonType.int64]: 'NumberLong',
  [bsonType.double]: 'NumberDouble',
  [bsonType.decimal128]: 'NumberDecimal',
}

function debugged(value: NumericValue): string {
  return `(${typeInMessages[value.type]})${printValue(value)}`
}

function notNumeric(operator: string, current: RawValue, site: Site): MongoError {
  const field = site.path().split('.').at(-1)
  const message = `Cannot apply ${operator} to a value of non-numeric type. {${printIdField(site.document)}}`
  return new MongoError(14, `${message} has the field '${field}' of non-numeric type ${typeName(current.type)}`)
}

export const inc = arithmetic({ operator: '$inc', verb: 'increment', of: addExactly, ofMissing: operand => operand })

export const mul = arithmetic({
  operator: '$mul',
  verb: 'multiply',
  of: multiplyExactly,
  // Zero, in the type of the product.
  ofMissing: operand => multiplyExactly(operand, int32(0))!,
})

function extreme(isBetter: (difference: number) => boolean): ModifierFactory {
  return (operand, _, collation) => {
    const value = rawValue(operand)
    return {
      whenMissing: 'create',
      create: () => value,
      change: current => (isBetter(compareRaw(value, current, collation)) ? value : undefined),
    }
  }
}

export const min = extreme(difference => difference < 0)
export const max = extreme(difference => difference > 0)

export const currentDate: ModifierFactory = operand => {
  const isDate = wantsDate(operand)
  const now = ({ context }: Site) =>
    rawValue(isDate ? date(BigInt(context.now.epochMs)) : timestamp(context.now.timestamp))
  return { whenMissing: 'create', change: (_, site) => now(site), create: now }
}

function wantsDate(operand: Value): boolean {
  if (operand.type === bsonType.bool) return true
  if (operand.type !== bsonType.document) {
    throw new MongoError(
      2,
      `${typeName(operand.type)} is not valid type for $currentDate. Please use a boolean ('true') or a $type ` +
        `expression ({$type: 'timestamp/date'}).`,
    )
  }
  let wanted: string | undefined
  for (const [name, value] of operand.fields) {
    if (name !== '$type') throw new MongoError(2, `Unrecognized $currentDate option: ${name}`)
    if (value.type === bsonType.string) wanted = value.value
  }
  if (wanted !== 'date' && wanted !== 'timestamp') {
    throw new MongoError(
      2,
      "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
    )
  }
  return wanted === 'date'
}

type Integer = Extract<NumericValue, { type: typeof bsonType.int32 | typeof bsonType.int64 }>

const bitOperations: Readonly<Record<string, (left: bigint, right: bigint) => bigint>> = {
  and: (left, right) => left & right,
  or: (left, right) => left | right,
  xor: (left, right) => left ^ right,
}

export const bit: ModifierFactory = operand => {
  const steps = bitSteps(operand)
  const applied = (value: Integer): Integer => steps.reduce((result, step) => step(result), value)
  return {
    whenMissing: 'create',
    create: () => rawValue(applied(int32(0))),
    change: (current, site) => {
      const value = decoded(current)
      if (!isInteger(value)) {
        const field = site.path().split('.').at(-1)
        const message = `Cannot apply $bit to a value of non-integral type.${printIdField(site.document)}`
        throw new MongoError(2, `${message} has the field ${field} of non-integer type ${typeName(current.type)}`)
      }
      return rawValue(applied(value))
    },
  }
}

function isInteger(value: Value): value is Integer {
  return value.type === bsonType.int32 || value.type === bsonType.int64
}

function bitSteps(operand: Value): readonly ((value: Integer) => Integer)[] {
  const usage = '{$bit: {field: {and/or/xor: #}}'
  if (operand.type !== bsonType.document) {
    throw new MongoError(
      2,
      `The $bit modifier is not compatible with a ${typeName(operand.type)}. You must pass in an embedded ` +
        `document: ${usage}`,
    )
  }
  if (operand.isEmpty) {
    throw new MongoError(2, `You must pass in at least one bitwise operation. The format is: ${usage}`)
  }
  return operand.fields.map(([name, right]) => {
    const operation = Object.hasOwn(bitOperations, name) ? bitOperations[name]! : undefined
    if (operation === undefined) {
      throw new MongoError(
        2,
        `The $bit modifier only supports 'and', 'or', and 'xor', not '${name}' which is an unknown operator: ` +
          `{${printOperandField(name, right)}}`,
      )
    }
    if (!isInteger(right)) {
      throw new MongoError(
        2,
        `The $bit modifier field must be an Integer(32/64 bit); a '${typeName(right.type)}' is not supported ` +
          `here: {${printOperandField(name, right)}}`,
      )
    }
    return left => {
      const result = operation(BigInt(left.value), BigInt(right.value))
      return left.type === bsonType.int64 || right.type === bsonType.int64 ? int64(result) : int32(Number(result))
    }
  })
}
