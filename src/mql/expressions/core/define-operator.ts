/** Helpers that define operators by the number or names of their arguments, and check values. */

import { MiB } from '../../../base/limits.ts'
import { exactInteger, int32Max, int32Min, isNumeric, isZeroValue } from '../../../document/bson/number.ts'
import { bsonType, typeName } from '../../../document/bson/types.ts'
import {
  BsonArray,
  type BsonDocument,
  type EmptyValue,
  type StringValue,
  string,
  type Value,
} from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'
import { MongoError } from '../../errors/mongo-error.ts'
import { printForMessage } from './print-for-message.ts'
import type { CompileOperator, Compiler, Evaluate } from './scope.ts'

/**
 * Most elements of an array made by an expression. A larger one could not be stored (8 bytes per element).
 */
export const expressionArrayElementsMax = 2_000_000

/** Most characters of a string made by an expression, for the same reason. */
export const expressionStringCharsMax = 16 * MiB

/** Null, undefined or missing. Most operators then return null. */
export function isNullish(value: Value | undefined): value is EmptyValue | undefined {
  return value === undefined || value.type === bsonType.null || value.type === bsonType.undefined
}

/** True for everything except false, zero, null, undefined and missing. */
export function isTrue(value: Value | undefined): boolean {
  if (isNullish(value)) return false
  if (value.type === bsonType.bool) return value.value
  return !isNumeric(value) || !isZeroValue(value)
}

export function nameOfType(value: Value | undefined): string {
  return typeName(value?.type ?? 0)
}

/** The number as an int32, if it is an integer in that range. */
export function int32Of(value: Value | undefined): number | undefined {
  if (!isNumeric(value)) return undefined
  if (value.type === bsonType.int32) return value.value
  const whole = exactInteger(value)
  return whole !== undefined && whole >= BigInt(int32Min) && whole <= BigInt(int32Max) ? Number(whole) : undefined
}

export function int64Of(value: Value | undefined): bigint | undefined {
  return isNumeric(value) ? exactInteger(value) : undefined
}

export function refuse(code: number, message: string): never {
  throw new MongoError(code, message)
}

/** Makes an array, or throws if it is too large. */
export function limitedArray(elements: readonly Value[]): BsonArray {
  if (elements.length > expressionArrayElementsMax) refuseSize('array')
  return BsonArray.of(elements)
}

/** Makes a string, or throws if it is too large. */
export function limitedString(value: string): StringValue {
  if (value.length > expressionStringCharsMax) refuseSize('string')
  return string(value)
}

export function refuseSize(what: string): never {
  throw new MongoError(146, `an expression makes a larger ${what} than a document can hold`)
}

/** Compiles the arguments of an operator: an array of them, or a single one that is not an array. */
export function compileArguments(argument: Value, compiler: Compiler): readonly Evaluate[] {
  const specs = argument.type === bsonType.array ? argument.elements : [argument]
  return specs.map(spec => compiler.compile(spec))
}

/** Makes an operator of its compiled operands. Strings compare by the collation. */
type MakeOperator = (operands: readonly Evaluate[], name: string, collation: Collation | undefined) => Evaluate

/** How the strings of an expression compare. */
export function collationOf({ scope }: Compiler): Collation | undefined {
  return scope.constants.collation
}

export function exactly(count: number, make: MakeOperator): CompileOperator {
  return (argument, compiler, name) => {
    const operands = compileArguments(argument, compiler)
    if (operands.length !== count) {
      refuse(16020, `Expression ${name} takes exactly ${count} arguments. ${operands.length} were passed in.`)
    }
    return make(operands, name, collationOf(compiler))
  }
}

export function between([least, most]: readonly [number, number], make: MakeOperator): CompileOperator {
  return (argument, compiler, name) => {
    const operands = compileArguments(argument, compiler)
    if (operands.length < least || operands.length > most) {
      refuse(
        28667,
        `Expression ${name} takes at least ${least} arguments, and at most ${most}, but ${operands.length} were ` +
          'passed in.',
      )
    }
    return make(operands, name, collationOf(compiler))
  }
}

export function anyOperands(make: MakeOperator): CompileOperator {
  return (argument, compiler, name) => make(compileArguments(argument, compiler), name, collationOf(compiler))
}

/** An operator with one argument. */
export function oneOperand(compute: (value: Value | undefined, name: string) => Value | undefined): CompileOperator {
  return exactly(
    1,
    ([operand], name) =>
      context =>
        compute(operand!(context), name),
  )
}

export function twoOperands(
  compute: (
    left: Value | undefined,
    right: Value | undefined,
    name: string,
    collation: Collation | undefined,
  ) => Value | undefined,
): CompileOperator {
  return exactly(
    2,
    ([left, right], name, collation) =>
      context =>
        compute(left!(context), right!(context), name, collation),
  )
}

/** The fields of an argument document. Calls `refuseName` for a field that is not in `names`. */
export function namedArguments<Name extends string>(
  argument: BsonDocument,
  names: readonly Name[],
  refuseName: (name: string) => never,
): Partial<Record<Name, Value>> {
  const found: Partial<Record<Name, Value>> = {}
  for (const [name, value] of argument.fields) {
    const known = names.find(candidate => candidate === name)
    if (known === undefined) refuseName(name)
    found[known] = value
  }
  return found
}

/** Compiles an optional argument. */
export function optional(compiler: Compiler, spec: Value | undefined): Evaluate | undefined {
  return spec === undefined ? undefined : compiler.compile(spec)
}

export function refuseNoObject(value: Value): never {
  return refuse(
    40400,
    `$mergeObjects requires object inputs, but input ${printForMessage(value)} is of type ${nameOfType(value)}`,
  )
}
