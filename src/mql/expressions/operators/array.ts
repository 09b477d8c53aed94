/** Operators on arrays. */

import { spend } from '../../../base/work.ts'
import { compareValues, equalValues } from '../../../document/bson/compare.ts'
import { isNumeric, printNumber } from '../../../document/bson/number.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { bool, int32, nullValue, type Value } from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'
import {
  anyOperands,
  between,
  collationOf,
  exactly,
  expressionArrayElementsMax,
  int32Of,
  isNullish,
  isTrue,
  limitedArray,
  namedArguments,
  nameOfType,
  oneOperand,
  refuse,
  refuseSize,
  twoOperands,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { compareByPattern, sortPatternOf } from './sort-pattern.ts'
import { searchIndex } from './string-search.ts'

function elementAt(
  list: Value | undefined,
  position: Value | undefined,
  name: string,
  isOnly: boolean,
): Value | undefined {
  if (isNullish(list) || isNullish(position)) return nullValue
  if (list.type !== bsonType.array) {
    const which = isOnly ? 'argument' : 'first argument'
    return refuse(28689, `${name}'s ${which} must be an array, but is ${nameOfType(list)}`)
  }
  if (!isNumeric(position)) {
    return refuse(28690, `${name}'s second argument must be a numeric value, but is ${nameOfType(position)}`)
  }
  const index =
    int32Of(position) ??
    refuse(28691, `${name}'s second argument must be representable as a 32-bit integer: ${printNumber(position)}`)
  return list.elements.at(index)
}

const concatenation = anyOperands(operands => context => {
  const elements: Value[] = []
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) refuse(28664, `$concatArrays only supports arrays, not ${nameOfType(value)}`)
    spend(value.elements.length)
    if (elements.length + value.elements.length > expressionArrayElementsMax) refuseSize('array')
    for (const element of value.elements) elements.push(element)
  }
  return limitedArray(elements)
})

const membership = twoOperands((value, list, name, collation) => {
  if (list?.type !== bsonType.array) {
    return refuse(40081, `${name} requires an array as a second argument, found: ${nameOfType(list)}`)
  }
  spend(list.elements.length)
  return bool(list.elements.some(element => equalValues(value, element, collation)))
})

const indexOf = between([2, 4], ([listOperand, valueOperand, startOperand, endOperand], name, collation) => context => {
  const list = listOperand!(context)
  if (isNullish(list)) return nullValue
  if (list.type !== bsonType.array) {
    return refuse(40090, `$indexOfArray requires an array as a first argument, found: ${nameOfType(list)}`)
  }
  const { elements } = list
  const start = startOperand === undefined ? 0 : searchIndex(startOperand(context), name, 'starting index')
  const end = endOperand === undefined ? elements.length : searchIndex(endOperand(context), name, 'ending index')
  const wanted = valueOperand!(context)
  spend(elements.length)
  for (let index = start; index < Math.min(end, elements.length); index += 1) {
    if (equalValues(elements[index], wanted, collation)) return int32(index)
  }
  return int32(-1)
})

interface RangeCodes {
  readonly what: string
  readonly codes: readonly [number, number]
}

function rangeNumber(value: Value | undefined, { what, codes }: RangeCodes): number {
  if (!isNumeric(value)) {
    return refuse(codes[0], `$range requires a numeric ${what} value, found value of type: ${nameOfType(value)}`)
  }
  const article = what === 'ending' ? 'an' : 'a'
  const problem = `$range requires ${article} ${what} value that can be represented as a 32-bit integer, found value:`
  return int32Of(value) ?? refuse(codes[1], `${problem} ${printForMessage(value)}`)
}

const range = between([2, 3], ([startOperand, endOperand, stepOperand]) => context => {
  const [from, to] = [startOperand!(context), endOperand!(context)]
  const start = rangeNumber(from, { what: 'starting', codes: [34443, 34444] })
  const end = rangeNumber(to, { what: 'ending', codes: [34445, 34446] })
  const step =
    stepOperand === undefined ? 1 : rangeNumber(stepOperand(context), { what: 'step', codes: [34447, 34448] })
  if (step === 0) refuse(34449, '$range requires a non-zero step value')
  const length = Math.max(0, Math.ceil((end - start) / step))
  if (length > expressionArrayElementsMax) refuseSize('array')
  const numbers: Value[] = []
  for (let number = start; numbers.length < length; number += step) {
    spend(1)
    numbers.push(int32(number))
  }
  return limitedArray(numbers)
})

const reversal = oneOperand(value => {
  if (isNullish(value)) return nullValue
  if (value.type !== bsonType.array) {
    return refuse(34435, `The argument to $reverseArray must be an array, but was of type: ${nameOfType(value)}`)
  }
  spend(value.elements.length)
  return limitedArray(value.elements.toReversed())
})

const size = oneOperand(value => {
  if (value?.type !== bsonType.array) {
    return refuse(17124, `The argument to $size must be an array, but was of type: ${nameOfType(value)}`)
  }
  return int32(value.elements.length)
})

const slice = between([2, 3], ([listOperand, secondOperand, thirdOperand]) => context => {
  const [list, second] = [listOperand!(context), secondOperand!(context)]
  if (isNullish(list) || isNullish(second)) return nullValue
  if (list.type !== bsonType.array) {
    return refuse(28724, `First argument to $slice must be an array, but is of type: ${nameOfType(list)}`)
  }
  if (!isNumeric(second)) {
    return refuse(28725, `Second argument to $slice must be a numeric value, but is of type: ${nameOfType(second)}`)
  }
  const position =
    int32Of(second) ??
    refuse(28726, `Second argument to $slice can't be represented as a 32-bit integer: ${printNumber(second)}`)
  const { elements } = list
  if (thirdOperand === undefined) {
    spend(Math.min(elements.length, Math.abs(position)) >> 2)
    return limitedArray(position >= 0 ? elements.slice(0, position) : elements.slice(position))
  }
  const third = thirdOperand(context)
  if (isNullish(third)) return nullValue
  if (!isNumeric(third)) {
    return refuse(28727, `Third argument to $slice must be numeric, but is of type: ${nameOfType(third)}`)
  }
  const count =
    int32Of(third) ??
    refuse(28728, `Third argument to $slice can't be represented as a 32-bit integer: ${printNumber(third)}`)
  if (count <= 0) refuse(28729, `Third argument to $slice must be positive: ${count}`)
  const start = position < 0 ? Math.max(0, elements.length + position) : Math.min(elements.length, position)
  spend(Math.min(elements.length, count) >> 2)
  return limitedArray(elements.slice(start, start + count))
})

function elementsTrue(code: number, every: boolean): CompileOperator {
  return oneOperand((value, name) => {
    if (value?.type !== bsonType.array) {
      return refuse(code, `${name}'s argument must be an array, but is ${nameOfType(value)}`)
    }
    spend(value.elements.length)
    return bool(every ? value.elements.every(isTrue) : value.elements.some(isTrue))
  })
}

const sorting: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) {
    return refuse(2942500, `$sortArray requires an object as an argument, found: ${nameOfType(argument)}`)
  }
  const specs = namedArguments(argument, ['input', 'sortBy'], unknown =>
    refuse(2942501, `$sortArray found an unknown argument: ${unknown}`),
  )
  const input = compiler.compile(specs.input ?? refuse(2942502, "$sortArray requires 'input' to be specified"))
  const sortBy = specs.sortBy ?? refuse(2942503, "$sortArray requires 'sortBy' to be specified")
  const compare = orderOf(sortBy, collationOf(compiler))
  return context => {
    const value = input(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) {
      const problem = 'The input argument to $sortArray must be an array, but was of type:'
      return refuse(2942504, `${problem} ${nameOfType(value)}`)
    }
    return limitedArray(value.elements.toSorted(compare))
  }
}

/** Compares elements themselves, or fields of them. */
function orderOf(sortBy: Value, collation: Collation | undefined): (left: Value, right: Value) => number {
  if (sortBy.type === bsonType.document) {
    const pattern = sortPatternOf(sortBy, { code: 2942505 })
    return (left, right) => compareByPattern(pattern, left, right, collation)
  }
  if (!isNumeric(sortBy)) {
    return refuse(
      2942507,
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  }
  const direction = int32Of(sortBy)
  if (direction !== 1 && direction !== -1) refuse(2942506, 'The $sort element value must be either 1 or -1')
  return (left, right) => direction * compareValues(left, right, collation)
}

export const arrayOperators: OperatorFamily = {
  $allElementsTrue: elementsTrue(17040, true),
  $anyElementTrue: elementsTrue(17041, false),
  $arrayElemAt: exactly(
    2,
    ([list, position], name) =>
      context =>
        elementAt(list!(context), position!(context), name, false),
  ),
  $concatArrays: concatenation,
  $first: oneOperand((value, name) => elementAt(value, int32(0), name, true)),
  $in: membership,
  $indexOfArray: indexOf,
  $isArray: oneOperand(value => bool(value?.type === bsonType.array)),
  $last: oneOperand((value, name) => elementAt(value, int32(-1), name, true)),
  $range: range,
  $reverseArray: reversal,
  $size: size,
  $slice: slice,
  $sortArray: sorting,
}
