/** Variables, literals, and the remaining operators. */

import { bsonType } from '../../../document/bson/types.ts'
import { double, int32, nullValue, type Value } from '../../../document/bson/value.ts'
import { encodeDocument } from '../../../document/bson/writer.ts'
import { isNullish, namedArguments, nameOfType, oneOperand, refuse } from '../core/define-operator.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { checkVariableName } from '../core/variable-name.ts'

const let_: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) return refuse(16874, '$let only supports an object as its argument')
  const specs = namedArguments(argument, ['vars', 'in'], unknown =>
    refuse(16875, `Unrecognized parameter to $let: ${unknown}`),
  )
  const vars = specs.vars ?? refuse(16876, "Missing 'vars' parameter to $let")
  const inSpec = specs.in ?? refuse(16877, "Missing 'in' parameter to $let")
  if (vars.type !== bsonType.document) return refuse(10065, `invalid parameter: expected an object (vars)`)
  // Variables of the same $let do not see each other.
  const values = vars.fields.map(([, spec]) => compiler.compile(spec))
  const names = vars.fields.map(([name]) => name)
  for (const name of names) checkVariableName(name)
  const { scope, slots } = compiler.scope.with(names)
  const inner = compiler.within(scope).compile(inSpec)
  return context => {
    for (const [index, value] of values.entries()) context.slots[slots[index]!] = value(context)
    return inner(context)
  }
}

const literal: CompileOperator = argument => () => argument

const random: CompileOperator = (argument, compiler) => {
  const isEmpty =
    (argument.type === bsonType.document && argument.isEmpty) ||
    (argument.type === bsonType.array && argument.elements.length === 0)
  if (!isEmpty) refuse(3040501, '$rand does not currently accept arguments')
  compiler.varies()
  const { random: next } = compiler.scope.constants
  return () => double(next())
}

const metaNames = new Set([
  'textScore',
  'randVal',
  'searchScore',
  'searchHighlights',
  'geoNearDistance',
  'geoNearPoint',
  'recordId',
  'indexKey',
  'sortKey',
])

/** No stage here produces metadata, so `$meta` always throws. */
const meta: CompileOperator = argument => {
  if (argument.type !== bsonType.string) return refuse(17307, '$meta only supports string arguments')
  const name = argument.value
  if (!metaNames.has(name)) refuse(17308, `Unsupported argument to $meta: ${name}`)
  return refuse(40218, `query requires ${name} metadata, but it is not available`)
}

function sizeOfBytes(value: Value | undefined): Value {
  if (isNullish(value)) return nullValue
  if (value.type === bsonType.string) return int32(Buffer.byteLength(value.value))
  if (value.type === bsonType.binary) return int32(value.value.length)
  return refuse(51276, `$binarySize requires a string or BinData argument, found: ${nameOfType(value)}`)
}

function sizeOfDocument(value: Value | undefined): Value {
  if (isNullish(value)) return nullValue
  if (value.type !== bsonType.document) {
    return refuse(31393, `$bsonSize requires a document input, found: ${nameOfType(value)}`)
  }
  return int32(value.raw === undefined ? encodeDocument(value).length : value.raw.end - value.raw.start)
}

/** Operators that MongoDB knows and we do not support. */
const unsupported: CompileOperator = (_, __, name) => refuse(238, `${name} is not supported`)

export const variableOperators: OperatorFamily = {
  $const: literal,
  $let: let_,
  $literal: literal,
}

export const dataSizeOperators: OperatorFamily = {
  $binarySize: oneOperand(sizeOfBytes),
  $bsonSize: oneOperand(sizeOfDocument),
}

export const otherOperators: OperatorFamily = {
  $meta: meta,
  $rand: random,
}

export const unsupportedOperators: OperatorFamily = {
  $accumulator: unsupported,
  $function: unsupported,
  $toHashedIndexKey: unsupported,
}
