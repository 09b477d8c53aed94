/** Operators that treat arrays as sets: without order and duplicates. Unions and intersections are sorted. */

import { compareValues } from '../../../document/bson/compare.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { bool, nullValue, type Value } from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'
import {
  anyOperands,
  collationOf,
  compileArguments,
  isNullish,
  limitedArray,
  nameOfType,
  refuse,
  twoOperands,
} from '../core/define-operator.ts'
import type { OperatorFamily } from '../core/scope.ts'
import { valueIdentity } from '../values/value-identity.ts'

type ValueSet = Map<string, Value>

/** Of equal elements, the first stays. */
function setOf(elements: readonly Value[], collation: Collation | undefined): ValueSet {
  const set: ValueSet = new Map()
  for (const element of elements) {
    const identity = valueIdentity(element, collation)
    if (!set.has(identity)) set.set(identity, element)
  }
  return set
}

function sorted(set: ValueSet, collation: Collation | undefined): Value {
  return limitedArray([...set.values()].sort((left, right) => compareValues(left, right, collation)))
}

const difference = twoOperands((left, right, _, collation) => {
  if (isNullish(left) || isNullish(right)) return nullValue
  const problem = 'both operands of $setDifference must be arrays.'
  if (left.type !== bsonType.array) return refuse(17048, `${problem} First argument is of type: ${nameOfType(left)}`)
  if (right.type !== bsonType.array) return refuse(17049, `${problem} Second argument is of type: ${nameOfType(right)}`)
  const without = setOf(right.elements, collation)
  const rest = [...setOf(left.elements, collation)].filter(([identity]) => !without.has(identity))
  return limitedArray(rest.map(([, value]) => value))
})

const intersection = anyOperands((operands, _, collation) => context => {
  let common: ValueSet | undefined
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) {
      const problem = 'All operands of $setIntersection must be arrays.'
      return refuse(17047, `${problem} One argument is of type: ${nameOfType(value)}`)
    }
    const next = setOf(value.elements, collation)
    common = common === undefined ? next : new Map([...common].filter(([identity]) => next.has(identity)))
  }
  return sorted(common ?? new Map(), collation)
})

const union = anyOperands((operands, _, collation) => context => {
  const all: ValueSet = new Map()
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (value.type !== bsonType.array) {
      return refuse(17043, `All operands of $setUnion must be arrays. One argument is of type: ${nameOfType(value)}`)
    }
    for (const [identity, element] of setOf(value.elements, collation)) {
      if (!all.has(identity)) all.set(identity, element)
    }
  }
  return sorted(all, collation)
})

const isSubset = twoOperands((left, right, _, collation) => {
  const problem = 'both operands of $setIsSubset must be arrays.'
  if (left?.type !== bsonType.array) return refuse(17046, `${problem} First argument is of type: ${nameOfType(left)}`)
  if (right?.type !== bsonType.array)
    return refuse(17042, `${problem} Second argument is of type: ${nameOfType(right)}`)
  const whole = setOf(right.elements, collation)
  return bool([...setOf(left.elements, collation).keys()].every(identity => whole.has(identity)))
})

export const setOperators: OperatorFamily = {
  $setDifference: difference,
  $setEquals: (argument, compiler) => {
    const operands = compileArguments(argument, compiler)
    const collation = collationOf(compiler)
    if (operands.length < 2) refuse(17045, `$setEquals needs at least two arguments had: ${operands.length}`)
    return context => {
      let first: ValueSet | undefined
      for (const [index, operand] of operands.entries()) {
        const value = operand(context)
        if (value?.type !== bsonType.array) {
          const which = `${index + 1}-th argument is of type: ${nameOfType(value)}`
          return refuse(17044, `All operands of $setEquals must be arrays. ${which}`)
        }
        const set = setOf(value.elements, collation)
        first ??= set
        const { size } = first
        if (size !== set.size || ![...set.keys()].every(identity => first!.has(identity))) return bool(false)
      }
      return bool(true)
    }
  },
  $setIntersection: intersection,
  $setIsSubset: isSubset,
  $setUnion: union,
}
