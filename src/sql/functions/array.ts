/** Array and set functions. Elements are compared as values; the order of properties does not matter. */

import { spend } from '../../base/work.ts'
import { canonicalKey, compareValues, equalValues } from '../values/compare.ts'
import { finiteOrUndefined, isObject, isPrimitive, ownProperty, type SqlValue } from '../values/value.ts'
import { define, defineOpen, type FunctionFamily, onArray, onTwoArrays } from './define.ts'

function isAmong(array: readonly SqlValue[], searched: SqlValue): boolean {
  return array.some(element => equalValues(element, searched))
}

/** Whether an element has all properties of the searched object, and perhaps more. */
function isPartlyAmong(array: readonly SqlValue[], searched: SqlValue): boolean {
  if (!isObject(searched)) return isAmong(array, searched)
  const properties = Object.entries(searched)
  spend(array.length)
  return array.some(
    element => isObject(element) && properties.every(([name, value]) => equalValues(ownProperty(element, name), value)),
  )
}

function numbersOf(array: readonly SqlValue[]): readonly number[] | undefined {
  return array.every(element => typeof element === 'number') ? (array as readonly number[]) : undefined
}

function sum(numbers: readonly number[]): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

function median(numbers: readonly number[]): number | undefined {
  const sorted = [...numbers].sort((left, right) => {
    spend(1)
    return left - right
  })
  const middle = sorted.length / 2
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)]
  const [low, high] = [sorted[middle - 1], sorted[middle]]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

function extremeOf(array: readonly SqlValue[], isBetter: (order: number) => boolean): SqlValue {
  let best: SqlValue
  for (const element of array) {
    if (!isPrimitive(element)) return undefined
    if (best === undefined || isBetter(compareValues(element, best))) best = element
  }
  return best
}

function slice(array: readonly SqlValue[], start: number, length: number): readonly SqlValue[] {
  const from = start < 0 ? Math.max(0, start + array.length) : start
  return array.slice(from, from + Math.max(0, length))
}

/** The distinct elements by canonical key, in the order of their first appearance. */
function setOf(array: readonly SqlValue[]): Map<string, SqlValue> {
  const set = new Map<string, SqlValue>()
  for (const element of array) {
    const key = canonicalKey(element)
    if (!set.has(key)) set.set(key, element)
  }
  return set
}

function pickFrom(
  left: readonly SqlValue[],
  right: readonly SqlValue[],
  isWanted: (isInRight: boolean) => boolean,
): SqlValue[] {
  const others = setOf(right)
  return [...setOf(left)].filter(([key]) => isWanted(others.has(key))).map(([, element]) => element)
}

export const arrayFunctions: FunctionFamily = {
  'ARRAY_AVG ARRAYAVG': onArray(array => {
    const numbers = numbersOf(array)
    return numbers === undefined || numbers.length === 0 ? undefined : finiteOrUndefined(sum(numbers) / numbers.length)
  }),
  'ARRAY_CONCAT ARRAYCONCAT': defineOpen(2, values =>
    values.every(value => Array.isArray(value)) ? (values as readonly SqlValue[][]).flat(1) : undefined,
  ),
  'ARRAY_CONTAINS ARRAYCONTAINS': define(2, 3, ([array, searched, isPartial = false]) => {
    if (!Array.isArray(array) || searched === undefined || typeof isPartial !== 'boolean') return undefined
    return isPartial ? isPartlyAmong(array, searched) : isAmong(array, searched)
  }),
  'ARRAY_CONTAINS_ALL ARRAYCONTAINSALL': defineOpen(2, ([array, ...searched], { budget }) => {
    if (!Array.isArray(array)) return undefined
    return searched.every(value => {
      budget.chargeSteps(array.length)
      return value !== undefined && isAmong(array, value)
    })
  }),
  'ARRAY_CONTAINS_ANY ARRAYCONTAINSANY': defineOpen(2, ([array, ...searched], { budget }) => {
    if (!Array.isArray(array)) return undefined
    return searched.some(value => {
      budget.chargeSteps(array.length)
      return value !== undefined && isAmong(array, value)
    })
  }),
  'ARRAY_LENGTH ARRAYLENGTH': onArray(array => array.length),
  'ARRAY_MAX ARRAYMAX': onArray(array => extremeOf(array, order => order > 0)),
  'ARRAY_MEDIAN ARRAYMEDIAN': onArray(array => {
    const numbers = numbersOf(array)
    return numbers === undefined ? undefined : median(numbers)
  }),
  'ARRAY_MIN ARRAYMIN': onArray(array => extremeOf(array, order => order < 0)),
  'ARRAY_SLICE ARRAYSLICE': define(2, 3, ([array, start, length = Number.MAX_SAFE_INTEGER]) => {
    const areIntegers = Number.isInteger(start) && Number.isInteger(length)
    return Array.isArray(array) && areIntegers ? slice(array, start as number, length as number) : undefined
  }),
  'ARRAY_SUM ARRAYSUM': onArray(array => {
    const numbers = numbersOf(array)
    return numbers === undefined ? undefined : finiteOrUndefined(sum(numbers))
  }),
  'OBJECTTOARRAY OBJECT_TO_ARRAY': define(1, 3, ([object, nameOfName = 'k', nameOfValue = 'v']) => {
    if (!isObject(object) || typeof nameOfName !== 'string' || typeof nameOfValue !== 'string') return undefined
    return Object.entries(object).map(([name, value]) => {
      spend(4)
      return Object.fromEntries<SqlValue>([
        [nameOfName, name],
        [nameOfValue, value],
      ])
    })
  }),
  'SETDIFFERENCE SET_DIFFERENCE': onTwoArrays((left, right) => pickFrom(left, right, isInRight => !isInRight)),
  'SETEQUAL SET_EQUAL': onTwoArrays((left, right) => {
    const [leftSet, rightSet] = [setOf(left), setOf(right)]
    return leftSet.size === rightSet.size && [...leftSet.keys()].every(key => rightSet.has(key))
  }),
  'SETINTERSECT SET_INTERSECT': onTwoArrays((left, right) => pickFrom(left, right, isInRight => isInRight)),
  'SETUNION SET_UNION': onTwoArrays((left, right) => [...setOf([...left, ...right]).values()]),
}
