/** Operators on documents. */

import { spend } from '../../../base/work.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { BsonArray, BsonDocument, nullValue, string, type Value } from '../../../document/bson/value.ts'
import {
  anyOperands,
  isNullish,
  limitedArray,
  namedArguments,
  nameOfType,
  oneOperand,
  refuse,
  refuseNoObject,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, Compiler, OperatorFamily } from '../core/scope.ts'
import { DocumentBuilder, withField } from '../values/document-builder.ts'

const arrayToObject = oneOperand(value => {
  if (isNullish(value)) return nullValue
  if (value.type !== bsonType.array) {
    return refuse(40386, `$arrayToObject requires an array input, found: ${nameOfType(value)}`)
  }
  const { elements } = value
  spend(elements.length)
  const builder = new DocumentBuilder()
  const [first] = elements
  if (first === undefined) return builder.document()
  const isPairs = first.type === bsonType.array
  if (!isPairs && first.type !== bsonType.document) {
    refuse(40398, `Unrecognised input type format for $arrayToObject: ${nameOfType(first)}`)
  }
  for (const element of elements) {
    const [key, inner] = isPairs ? pairOf(element) : keyAndValueOf(element)
    if (key.includes('\0')) refuse(isPairs ? 4940400 : 4940401, 'Key field cannot contain an embedded null byte')
    builder.set(key, inner)
  }
  return builder.document()
})

const inconsistent = '$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects.'

function pairOf(element: Value): readonly [string, Value] {
  if (element.type !== bsonType.array) {
    return refuse(40396, `${inconsistent} Array was detected, now found: ${nameOfType(element)}`)
  }
  const [key, value] = element.elements
  if (element.elements.length !== 2) {
    const { length } = element.elements
    refuse(40397, `$arrayToObject requires an array of size 2 arrays,found array of size: ${length}`)
  }
  if (key!.type !== bsonType.string) {
    const problem = '$arrayToObject requires an array of key-value pairs, where the key must be of type string.'
    return refuse(40395, `${problem} Found key type: ${nameOfType(key)}`)
  }
  return [key!.value, value!]
}

function keyAndValueOf(element: Value): readonly [string, Value] {
  if (element.type !== bsonType.document) {
    return refuse(40391, `${inconsistent} Object was detected, now found: ${nameOfType(element)}`)
  }
  const { length } = element.fields
  if (length !== 2) {
    refuse(40392, `$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:${length}`)
  }
  const [key, value] = [element.get('k'), element.get('v')]
  if (key === undefined || value === undefined) {
    const problem = "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from:"
    return refuse(40393, `${problem} ${printForMessage(element)}`)
  }
  if (key.type !== bsonType.string) {
    const problem =
      "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string."
    return refuse(40394, `${problem} Found type: ${nameOfType(key)}`)
  }
  return [key.value, value]
}

const objectToArray = oneOperand(value => {
  if (isNullish(value)) return nullValue
  if (value.type !== bsonType.document) {
    return refuse(40390, `$objectToArray requires a document input, found: ${nameOfType(value)}`)
  }
  spend(value.fields.length)
  return limitedArray(
    value.fields.map(([name, inner]) =>
      BsonDocument.of([
        ['k', string(name)],
        ['v', inner],
      ]),
    ),
  )
})

const mergeObjects = anyOperands(operands => context => {
  const builder = new DocumentBuilder()
  const take = (value: Value | undefined): void => {
    if (isNullish(value)) return
    if (value.type !== bsonType.document) refuseNoObject(value)
    spend(value.fields.length)
    for (const [name, inner] of value.fields) builder.set(name, inner)
  }
  for (const operand of operands) {
    const value = operand(context)
    // A single argument that is an array stands for its elements.
    if (operands.length === 1 && value?.type === bsonType.array) value.elements.forEach(take)
    else take(value)
  }
  return builder.document()
})

/** The field name, which must be known at compile time. */
function constantName(spec: Value, compiler: Compiler, name: string, codes: readonly [number, number, number]): string {
  if (spec.type === bsonType.string && spec.value.startsWith('$')) {
    const path = spec.value
    refuse(
      codes[0],
      `'${path}' is a field path reference which is not allowed in this context. Did you mean {$literal: '${path}'}?`,
    )
  }
  const constant = compiler.constant(spec)
  if (constant === undefined) {
    return refuse(codes[1], `${name} requires 'field' to evaluate to a constant, but got a non-constant argument`)
  }
  const { value } = constant
  if (value?.type !== bsonType.string) {
    return refuse(codes[2], `${name} requires 'field' to evaluate to type String, but got ${nameOfType(value)}`)
  }
  return value.value
}

const getField: CompileOperator = (argument, compiler, name) => {
  let fieldSpec: Value | undefined = argument
  let inputSpec: Value | undefined = string('$$CURRENT')
  if (argument.type === bsonType.document && !argument.fields[0]?.[0].startsWith('$')) {
    const specs = namedArguments(argument, ['field', 'input'], unknown =>
      refuse(3041701, `$getField found an unknown argument: ${unknown}`),
    )
    fieldSpec = specs.field
    inputSpec = specs.input
  }
  if (fieldSpec === undefined) return refuse(3041702, "$getField requires 'field' to be specified")
  if (inputSpec === undefined) return refuse(3041703, "$getField requires 'input' to be specified")
  const field = constantName(fieldSpec, compiler, name, [5654600, 5654601, 5654602])
  const input = compiler.compile(inputSpec)
  return context => {
    const value = input(context)
    if (value === undefined) return undefined
    if (isNullish(value)) return nullValue
    return value.type === bsonType.document ? value.get(field) : undefined
  }
}

function setField(isRemoval: boolean): CompileOperator {
  return (argument, compiler, name) => {
    if (argument.type !== bsonType.document) {
      return refuse(4161100, `${name} only supports an object as its argument`)
    }
    const known = isRemoval ? (['field', 'input'] as const) : (['field', 'input', 'value'] as const)
    const specs: Partial<Record<'field' | 'input' | 'value', Value>> = namedArguments(argument, known, unknown =>
      refuse(4161101, `${name} found an unknown argument: ${unknown}`),
    )
    if (specs.field === undefined) return refuse(4161102, `${name} requires 'field' to be specified`)
    const valueSpec = isRemoval ? string('$$REMOVE') : specs.value
    if (valueSpec === undefined) return refuse(4161103, `${name} requires 'value' to be specified`)
    if (specs.input === undefined) return refuse(4161109, `${name} requires 'input' to be specified`)
    const field = constantName(specs.field, compiler, '$setField', [4161108, 4161106, 4161107])
    const [input, value] = [compiler.compile(specs.input), compiler.compile(valueSpec)]
    return context => {
      const document = input(context)
      if (isNullish(document)) return nullValue
      if (document.type !== bsonType.document) {
        return refuse(4161105, "$setField requires 'input' to evaluate to type Object")
      }
      return withField(document, field, value(context))
    }
  }
}

export const objectOperators: OperatorFamily = {
  $arrayToObject: arrayToObject,
  $getField: getField,
  $mergeObjects: mergeObjects,
  $objectToArray: objectToArray,
  $setField: setField(false),
  $unsetField: setField(true),
}

/** The value of an array in an expression: missing elements become null. */
export function listOf(elements: readonly (Value | undefined)[]): BsonArray {
  return BsonArray.of(elements.map(element => element ?? nullValue))
}
