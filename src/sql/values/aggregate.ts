/**
 * Aggregates: accumulators that take one value per row.
 *
 * Undefined is never counted. Each aggregate treats other values that it cannot use in its own way:
 *
 *   COUNT     counts defined values                       0 without rows
 *   COUNTIF   counts true                                 0 without rows
 *   SUM       undefined if there is a non-number          0 without rows
 *   AVG       undefined if there is a non-number          undefined without rows
 *   MIN, MAX  undefined if there is an array or object    undefined without rows
 *   MAKELIST  all values in order                         an empty array without rows
 *   MAKESET   all values without duplicates               an empty array without rows
 */

import { canonicalKey, compareValues } from './compare.ts'
import type { SelectMemory } from './run-context.ts'
import { finiteOrUndefined, isPrimitive, type SqlValue } from './value.ts'

export interface RunningAggregate {
  add(value: SqlValue): void
  result(): SqlValue
}

const accumulators: Readonly<Record<string, (memory: SelectMemory) => RunningAggregate>> = {
  COUNT: () => countWhere(() => true),
  COUNTIF: () => countWhere(value => value === true),
  SUM: () => sumThen(sum => sum),
  AVG: () => sumThen((sum, count) => (count === 0 ? undefined : sum / count)),
  MIN: () => extreme(order => order < 0),
  MAX: () => extreme(order => order > 0),
  MAKELIST: memory => collect(memory, () => true),
  MAKESET: memory => {
    const seen = new Set<string>()
    return collect(memory, value => {
      const key = canonicalKey(value)
      return !seen.has(key) && seen.add(key) !== undefined
    })
  },
}

export function isAggregate(name: string): boolean {
  return Object.hasOwn(accumulators, name.toUpperCase())
}

export const aggregateNames: readonly string[] = Object.keys(accumulators)

export function startAggregate(name: string, memory: SelectMemory): RunningAggregate {
  return accumulators[name]!(memory)
}

function countWhere(counts: (value: SqlValue) => boolean): RunningAggregate {
  let count = 0
  return {
    add: value => {
      if (value !== undefined && counts(value)) count += 1
    },
    result: () => count,
  }
}

function sumThen(finish: (sum: number, count: number) => number | undefined): RunningAggregate {
  let sum = 0
  let count = 0
  let isNumeric = true
  return {
    add: value => {
      if (value === undefined) return
      if (typeof value === 'number') sum += value
      else isNumeric = false
      count += 1
    },
    result: () => {
      const finished = isNumeric ? finish(sum, count) : undefined
      return finished === undefined ? undefined : finiteOrUndefined(finished)
    },
  }
}

function extreme(isBetter: (order: number) => boolean): RunningAggregate {
  let best: SqlValue
  let isComparable = true
  return {
    add: value => {
      if (value === undefined) return
      if (!isPrimitive(value)) isComparable = false
      else if (best === undefined || isBetter(compareValues(value, best))) best = value
    },
    result: () => (isComparable ? best : undefined),
  }
}

function collect(memory: SelectMemory, takes: (value: SqlValue) => boolean): RunningAggregate {
  const values: SqlValue[] = []
  return {
    add: value => {
      if (value === undefined || !takes(value)) return
      memory.chargeValue(value)
      values.push(value)
    },
    result: () => values,
  }
}
