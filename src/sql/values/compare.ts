/**
 * Equality and order of values.
 *
 * ORDER BY, MIN, MAX and indexes all use one total order:
 *
 *   undefined < null < false < true < numbers < strings < arrays < objects
 *
 * Strings are ordered by code point, like their UTF-8 bytes; JavaScript's own order by UTF-16 unit puts
 * U+FFFD above every emoji. Arrays are ordered element by element, objects by their sorted names and then
 * values.
 */

import { RequestError } from '../../base/error.ts'
import { spend } from '../../base/work.ts'
import { checkSize, isArray, isObject, type ObjectValue, type SqlValue } from './value.ts'

/**
 * Most parts that one `=` compares: more than the largest item has. Only values that a query builds from
 * shared parts reach it.
 */
const queryComparisonStepsMax = 5_000_000

/** Characters that are compared or copied in the time of one step of work. */
const charsPerStep = 32

const typeRanks = {
  undefined: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  array: 5,
  object: 6,
} as const

export type TypeName = keyof typeof typeRanks

export function typeOf(value: SqlValue): TypeName {
  if (value === null) return 'null'
  const type = typeof value
  if (type === 'object') return isArray(value) ? 'array' : 'object'
  return type as TypeName
}

export function compareStrings(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at += 1) {
    const a = left.charCodeAt(at)
    const b = right.charCodeAt(at)
    if (a !== b) {
      spend(1 + at / charsPerStep)
      return codePointWeight(a) - codePointWeight(b)
    }
  }
  spend(1 + length / charsPerStep)
  return left.length - right.length
}

/** Surrogates encode code points above U+FFFF, so they weigh more than the units U+E000 to U+FFFF. */
function codePointWeight(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

export function compareValues(left: SqlValue, right: SqlValue): number {
  if (left === right) return 0
  const leftType = typeOf(left)
  const rightType = typeOf(right)
  if (leftType !== rightType) return typeRanks[leftType] - typeRanks[rightType]
  return (comparisons[leftType] as (left: SqlValue, right: SqlValue) => number)(left, right)
}

const comparisons = {
  undefined: () => 0,
  null: () => 0,
  boolean: (left: boolean, right: boolean) => Number(left) - Number(right),
  // The difference of huge numbers may overflow to infinity, which still has the right sign.
  number: (left: number, right: number) => left - right,
  string: compareStrings,
  array: compareArrays,
  object: compareObjects,
} as const

function compareArrays(left: readonly SqlValue[], right: readonly SqlValue[]): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const order = compareValues(left[index], right[index])
    if (order !== 0) return order
  }
  return left.length - right.length
}

function compareObjects(left: ObjectValue, right: ObjectValue): number {
  const leftNames = Object.keys(left).sort(compareStrings)
  const rightNames = Object.keys(right).sort(compareStrings)
  const length = Math.min(leftNames.length, rightNames.length)
  for (let index = 0; index < length; index += 1) {
    const leftName = leftNames[index] as string
    const rightName = rightNames[index] as string
    const order = compareStrings(leftName, rightName) || compareValues(left[leftName], right[rightName])
    if (order !== 0) return order
  }
  return leftNames.length - rightNames.length
}

/** Deep equality; the order of an object's properties does not matter. */
export function equalValues(left: SqlValue, right: SqlValue): boolean {
  if (typeof left === 'string' && typeof right === 'string' && left.length === right.length) {
    spend(1 + left.length / (4 * charsPerStep))
  } else spend(1)
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  return equalParts(left, right, { steps: 0 })
}

/** Steps are counted over the whole comparison, because shared parts are walked once per mention. */
function equalParts(left: SqlValue, right: SqlValue, walk: { steps: number }): boolean {
  if (left === right) return true
  walk.steps += 1
  spend(1)
  if (walk.steps > queryComparisonStepsMax) {
    throw new RequestError('malformed', `A comparison takes more than ${queryComparisonStepsMax} steps.`)
  }
  if (isArray(left)) {
    if (!isArray(right) || left.length !== right.length) return false
    return left.every((element, index) => equalParts(element, right[index], walk))
  }
  if (!isObject(left) || !isObject(right)) return false
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every(name => Object.hasOwn(right, name) && equalParts(left[name], right[name], walk))
}

/**
 * `<` and similar operators are defined only between two values of one primitive type; otherwise the result
 * is undefined. The result is an order, as of compareValues.
 */
export function comparePrimitives(left: SqlValue, right: SqlValue): number | undefined {
  if (typeof left === 'number') return typeof right === 'number' ? left - right : undefined
  if (typeof left === 'string') return typeof right === 'string' ? compareStrings(left, right) : undefined
  if (typeof left === 'boolean') return typeof right === 'boolean' ? Number(left) - Number(right) : undefined
  return left === null && right === null ? 0 : undefined
}

/** A string that is equal exactly for equal values. DISTINCT and GROUP BY use it as a key. */
export function canonicalKey(value: SqlValue): string {
  checkSize(value)
  return keyOf(value)
}

function keyOf(value: SqlValue): string {
  if (value === undefined) return 'u'
  spend(typeof value === 'string' ? 4 + value.length / charsPerStep : 4)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(keyOf).join(',')}]`
  const object = value as ObjectValue
  const names = Object.keys(object).sort()
  return `{${names.map(name => `${JSON.stringify(name)}:${keyOf(object[name])}`).join(',')}}`
}
