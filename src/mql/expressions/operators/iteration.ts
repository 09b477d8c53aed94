/** Operators that evaluate an expression for each element of an array, and `$zip`. */

import { spend } from '../../../base/work.ts'
import { comingFrom } from '../../../document/bson/traced-values.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { BsonArray, nullValue, type Value } from '../../../document/bson/value.ts'
import {
  expressionArrayElementsMax,
  int32Of,
  isNullish,
  isTrue,
  limitedArray,
  namedArguments,
  nameOfType,
  optional,
  refuse,
  refuseSize,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, Evaluate, OperatorFamily } from '../core/scope.ts'
import { checkVariableName } from '../core/variable-name.ts'

/** The variable name given by `as`, or `this`. */
function variableOf(spec: Value | undefined): string {
  const name = spec === undefined ? 'this' : spec.type === bsonType.string ? spec.value : ''
  checkVariableName(name)
  return name
}

const map: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) return refuse(16878, '$map only supports an object as its argument')
  const specs = namedArguments(argument, ['input', 'as', 'in'], unknown =>
    refuse(16879, `Unrecognized parameter to $map: ${unknown}`),
  )
  const input = compiler.compile(specs.input ?? refuse(16880, "Missing 'input' parameter to $map"))
  const inSpec = specs.in ?? refuse(16882, "Missing 'in' parameter to $map")
  const { scope, slots } = compiler.scope.with([variableOf(specs.as)])
  const slot = slots[0]!
  const each = compiler.within(scope).compile(inSpec)
  return context => {
    const value = input(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) refuse(16883, `input to $map must be an array not ${nameOfType(value)}`)
    return limitedArray(
      value.elements.map(element => {
        spend(1)
        context.slots[slot] = element
        return comingFrom(each(context) ?? nullValue, element.origin)
      }),
    )
  }
}

const filter: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) return refuse(28646, '$filter only supports an object as its argument')
  const specs = namedArguments(argument, ['input', 'as', 'cond', 'limit'], unknown =>
    refuse(28647, `Unrecognized parameter to $filter: ${unknown}`),
  )
  const input = compiler.compile(specs.input ?? refuse(28648, "Missing 'input' parameter to $filter"))
  const condition = specs.cond ?? refuse(28650, "Missing 'cond' parameter to $filter")
  const { scope, slots } = compiler.scope.with([variableOf(specs.as)])
  const slot = slots[0]!
  const holds = compiler.within(scope).compile(condition)
  const limit = optional(compiler, specs.limit)
  return context => {
    const value = input(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) refuse(28651, `input to $filter must be an array not ${nameOfType(value)}`)
    const most = limitOf(limit?.(context))
    const kept: Value[] = []
    for (const element of value.elements) {
      if (kept.length >= most) break
      spend(1)
      context.slots[slot] = element
      if (isTrue(holds(context))) kept.push(element)
    }
    return limitedArray(kept)
  }
}

function limitOf(value: Value | undefined): number {
  if (isNullish(value)) return Number.POSITIVE_INFINITY
  const limit =
    int32Of(value) ??
    refuse(327391, `$filter: limit must be represented as a 32-bit integral value: ${printForMessage(value)}`)
  return limit > 0 ? limit : refuse(327392, `$filter: limit must be greater than 0: ${limit}`)
}

const reduce: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) {
    return refuse(40075, `$reduce requires an object as an argument, found: ${nameOfType(argument)}`)
  }
  const specs = namedArguments(argument, ['input', 'initialValue', 'in'], unknown =>
    refuse(40076, `$reduce found an unknown argument: ${unknown}`),
  )
  const input = compiler.compile(specs.input ?? refuse(40077, "$reduce requires 'input' to be specified"))
  const initial = compiler.compile(
    specs.initialValue ?? refuse(40078, "$reduce requires 'initialValue' to be specified"),
  )
  const inSpec = specs.in ?? refuse(40079, "$reduce requires 'in' to be specified")
  const { scope, slots } = compiler.scope.with(['this', 'value'])
  const [thisSlot, valueSlot] = slots as [number, number]
  const next = compiler.within(scope).compile(inSpec)
  return context => {
    const list = input(context)
    if (isNullish(list)) return nullValue
    if (list.type !== bsonType.array)
      refuse(40080, `$reduce requires that 'input' be an array, found: ${printForMessage(list)}`)
    let accumulated = initial(context)
    for (const element of list.elements) {
      spend(1)
      context.slots[thisSlot] = element
      context.slots[valueSlot] = accumulated
      accumulated = next(context)
    }
    return accumulated
  }
}

const zip: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) {
    return refuse(34460, `$zip only supports an object as an argument, found ${nameOfType(argument)}`)
  }
  const specs = namedArguments(argument, ['inputs', 'defaults', 'useLongestLength'], unknown =>
    refuse(34464, `$zip found an unknown argument: ${unknown}`),
  )
  const compileList = (spec: Value | undefined, code: number, what: string): readonly Evaluate[] => {
    if (spec === undefined) return []
    if (spec.type !== bsonType.array) {
      return refuse(code, `${what} must be an array of expressions, found ${nameOfType(spec)}`)
    }
    return spec.elements.map(element => compiler.compile(element))
  }
  const inputs = compileList(specs.inputs, 34461, 'inputs')
  const defaults = compileList(specs.defaults, 34462, 'defaults')
  const flag = specs.useLongestLength
  if (flag !== undefined && flag.type !== bsonType.bool) {
    return refuse(34463, `useLongestLength must be a bool, found ${nameOfType(flag)}`)
  }
  const isLongest = flag?.value === true
  if (inputs.length === 0) refuse(34465, '$zip requires at least one input array')
  if (!isLongest && defaults.length > 0) refuse(34466, 'cannot specify defaults unless useLongestLength is true')
  if (defaults.length > 0 && defaults.length !== inputs.length) {
    refuse(34467, 'defaults and inputs must have the same length')
  }
  return context => {
    const lists: (readonly Value[])[] = []
    for (const operand of inputs) {
      const list = operand(context)
      if (isNullish(list)) return nullValue
      if (list.type !== bsonType.array)
        refuse(34468, `$zip found a non-array expression in input: ${printForMessage(list)}`)
      lists.push(list.elements)
    }
    const pick = isLongest ? Math.max : Math.min
    const length = lists.reduce((chosen, list) => pick(chosen, list.length), lists[0]!.length)
    const fill = defaults.map(operand => operand(context))
    spend(length * lists.length)
    if (length * lists.length > 2 * expressionArrayElementsMax) refuseSize('array')
    return limitedArray(
      Array.from({ length }, (_, row) =>
        BsonArray.of(lists.map((list, column) => list[row] ?? fill[column] ?? nullValue)),
      ),
    )
  }
}

export const iterationOperators: OperatorFamily = {
  $filter: filter,
  $map: map,
  $reduce: reduce,
  $zip: zip,
}
