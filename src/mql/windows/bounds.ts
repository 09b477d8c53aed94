/**
 * The bounds of windows: which documents of a partition a function looks at.
 *
 *   { documents: [lower, upper] }      positions relative to the current document
 *   { range: [lower, upper], unit }    values of the sort field relative to that of the current document
 *
 * A bound is 'unbounded', 'current' or a number. From document to document both ends of a window only move
 * forward, so finding all windows of a partition costs as much as reading it twice.
 */

import type { Steps } from '../../base/steps.ts'
import { compareValues } from '../../document/bson/compare.ts'
import { addDecimals } from '../../document/bson/decimal-arithmetic.ts'
import { add, compareNumbers, decimal128, isNumeric, toDecimal } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type BsonDocument, date, int32, type NumericValue, type Value } from '../../document/bson/value.ts'
import { int32Of, int64Of, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Compiler } from '../expressions/core/scope.ts'
import { addToDate, isUnit, type Unit } from '../expressions/dates/date-arithmetic.ts'
import { utc } from '../expressions/dates/time-zone.ts'
import type { Sort } from '../paths/sort-order.ts'
import type { WindowPartition } from './partition.ts'

const failedToParse = 9

type Bound<T> = 'unbounded' | 'current' | T

export type WindowBounds =
  | { readonly kind: 'documents'; readonly lower: Bound<number>; readonly upper: Bound<number> }
  | {
      readonly kind: 'range'
      readonly lower: Bound<NumericValue>
      readonly upper: Bound<NumericValue>
      readonly unit: Unit | undefined
    }

export const wholePartition: WindowBounds = { kind: 'documents', lower: 'unbounded', upper: 'unbounded' }

/** The first and the last document of a window. It is empty if the last one comes before the first. */
export interface Window {
  first: number
  last: number
}

export function parseBounds(spec: Value, sort: Sort | undefined, compiler: Compiler): WindowBounds {
  if (spec.type !== bsonType.document) return refuse(failedToParse, "'window' field must be an object")
  const [documents, range, unit] = [spec.get('documents'), spec.get('range'), spec.get('unit')]
  if (documents !== undefined && range !== undefined) {
    refuse(failedToParse, "Window bounds can specify either 'documents' or 'unit', not both.")
  }
  if (range === undefined && unit !== undefined) {
    refuse(failedToParse, "Window bounds can only specify 'unit' with range-based bounds.")
  }
  if (documents !== undefined) return documentBounds(spec, documents, sort, compiler)
  if (range !== undefined) return rangeBounds(spec, range, unit, sort, compiler)
  if (!spec.isEmpty) {
    refuse(
      failedToParse,
      "'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field",
    )
  }
  return wholePartition
}

function twoBounds(spec: Value): readonly [Value, Value] {
  if (spec.type === bsonType.array && spec.elements.length === 2) return spec.elements as [Value, Value]
  return refuse(failedToParse, `Window bounds must be a 2-element array: ${printForMessage(spec)}`)
}

function parseBound<T>(spec: Value, compiler: Compiler, read: (value: Value | undefined) => T): Bound<T> {
  if (spec.type === bsonType.string) {
    if (spec.value === 'unbounded' || spec.value === 'current') return spec.value
    return refuse(failedToParse, "Window bounds must be 'unbounded', 'current', or a number.")
  }
  const constant = compiler.constant(spec)
  return constant === undefined
    ? refuse(failedToParse, 'Window bounds expression must be a constant.')
    : read(constant.value)
}

/** Throws if the lower bound exceeds the upper one. `current` counts as zero. */
function checkForward(lower: Bound<NumericValue>, upper: Bound<NumericValue>): void {
  if (lower === 'unbounded' || upper === 'unbounded') return
  const [low, high] = [lower, upper].map(bound => (bound === 'current' ? int32(0) : bound)) as [
    NumericValue,
    NumericValue,
  ]
  if (compareNumbers(low, high) > 0) {
    refuse(5339900, `Lower bound must not exceed upper bound: [${printForMessage(low)}, ${printForMessage(high)}]`)
  }
}

function documentBounds(
  spec: BsonDocument,
  documents: Value,
  sort: Sort | undefined,
  compiler: Compiler,
): WindowBounds {
  if (spec.fields.length !== 1) {
    refuse(failedToParse, "'window' field that specifies documents cannot have other fields")
  }
  const [lower, upper] = twoBounds(documents).map(bound =>
    parseBound(
      bound,
      compiler,
      value => int32Of(value) ?? refuse(failedToParse, 'Numeric document-based bounds must be an integer'),
    ),
  ) as [Bound<number>, Bound<number>]
  const asValue = (bound: Bound<number>) => (typeof bound === 'number' ? int32(bound) : bound)
  checkForward(asValue(lower), asValue(upper))
  const isUnbounded = lower === 'unbounded' && upper === 'unbounded'
  if (!isUnbounded && sort === undefined) refuse(5339901, 'Document-based bounds require a sortBy')
  return { kind: 'documents', lower, upper }
}

function rangeBounds(
  spec: BsonDocument,
  range: Value,
  unitSpec: Value | undefined,
  sort: Sort | undefined,
  compiler: Compiler,
): WindowBounds {
  const bounds = twoBounds(range)
  const other = unitSpec === undefined ? 'unit' : 'range'
  if (spec.fields.length !== (unitSpec === undefined ? 1 : 2)) {
    const named = unitSpec === undefined ? 'range' : 'unit'
    refuse(failedToParse, `'window' field that specifies ${named} cannot have other fields besides '${other}'`)
  }
  if (unitSpec !== undefined && unitSpec.type !== bsonType.string) refuse(failedToParse, "'unit' must be a string")
  const read = (value: Value | undefined): NumericValue => {
    if (unitSpec !== undefined && int64Of(value) === undefined) {
      refuse(failedToParse, "With 'unit', range-based bounds must be an integer")
    }
    return isNumeric(value) ? value : refuse(failedToParse, 'Range-based bounds expression must be a number')
  }
  const [lower, upper] = bounds.map(bound => parseBound(bound, compiler, read)) as [
    Bound<NumericValue>,
    Bound<NumericValue>,
  ]
  checkForward(lower, upper)
  const unit = unitSpec === undefined ? undefined : parseUnit(unitSpec)
  if (sort?.components.length !== 1) refuse(5339902, 'Range-based bounds require sortBy a single field')
  if (sort!.components[0]!.isDescending) refuse(8947401, 'Range-based bounds require an ascending sortBy')
  return { kind: 'range', lower, upper, unit }
}

export function parseUnit(spec: Value): Unit {
  if (spec.type !== bsonType.string)
    return refuse(failedToParse, `'unit' must be a string, but got ${nameOfType(spec)}`)
  return isUnit(spec.value) ? spec.value : refuse(failedToParse, `unknown time unit value: ${spec.value}`)
}

/** Finds the window of each document. The documents must be asked for in their order. */
export function* windowsInSteps(
  bounds: WindowBounds,
  partition: WindowPartition,
): Steps<(index: number) => Readonly<Window>> {
  if (bounds.kind === 'documents') return documentWindows(bounds, partition.size)
  for (let index = 0; index < partition.size; index += 1) {
    partition.sortValue(index)
    if (index % 100 === 99) yield
  }
  return rangeWindows(bounds, partition)
}

function documentWindows({ lower, upper }: Extract<WindowBounds, { kind: 'documents' }>, size: number) {
  const from = lower === 'unbounded' ? Number.NEGATIVE_INFINITY : lower === 'current' ? 0 : lower
  const to = upper === 'unbounded' ? Number.POSITIVE_INFINITY : upper === 'current' ? 0 : upper
  const window: Window = { first: 0, last: -1 }
  return (index: number) => {
    window.first = Math.max(0, index + from)
    window.last = Math.min(size - 1, index + to)
    return window
  }
}

function rangeWindows(
  { lower, upper, unit }: Extract<WindowBounds, { kind: 'range' }>,
  partition: WindowPartition,
): (index: number) => Readonly<Window> {
  const { size } = partition
  const isFitting = (value: Value | undefined) =>
    unit === undefined ? isNumeric(value) : value?.type === bsonType.date
  const window: Window = { first: 0, last: -1 }
  let first = 0
  let end = 0
  return index => {
    const base = partition.sortValue(index)
    checkBase(base, unit)
    if (lower === 'current') {
      window.first = index
    } else {
      const from = lower === 'unbounded' ? undefined : shifted(base!, lower, unit)
      while (first < size) {
        const value = partition.sortValue(first)
        if (from === undefined ? isFitting(value) : compareWithBound(value, from) >= 0) break
        first += 1
      }
      window.first = first < size && isFitting(partition.sortValue(first)) ? first : size
    }
    if (upper === 'current') {
      window.last = index
    } else {
      const to = upper === 'unbounded' ? undefined : shifted(base!, upper, unit)
      end = Math.max(end, upper === 'unbounded' ? index : 0)
      while (end < size) {
        const value = partition.sortValue(end)
        if (to === undefined ? !isFitting(value) : compareWithBound(value, to) > 0) break
        end += 1
      }
      window.last = end - 1
    }
    return window
  }
}

function checkBase(base: Value | undefined, unit: Unit | undefined): void {
  if (unit !== undefined) {
    if (base?.type === bsonType.date) return
    refuse(5429513, `Invalid range: Expected the sortBy field to be a Date, but it was ${nameOfType(base)}`)
  }
  if (base?.type === bsonType.date) {
    refuse(5429413, 'Invalid range: For windows that involve date or time ranges, a unit must be provided.')
  }
  if (!isNumeric(base)) {
    refuse(5429414, `Invalid range: Expected the sortBy field to be a number, but it was ${nameOfType(base)}`)
  }
}

/** Compares a value with a bound. Fractions are decimals of 15 digits, so that 0.1 and 0.2 meet 0.3. */
function compareWithBound(value: Value | undefined, bound: Value): number {
  const isFraction = value?.type === bsonType.double && bound.type === bsonType.decimal128
  return compareValues(isFraction ? decimal128(toDecimal(value)) : value, bound)
}

function shifted(base: Value, by: NumericValue, unit: Unit | undefined): Value {
  if (base.type === bsonType.date) return date(addToDate(base.value, unit!, int64Of(by)!, utc))
  const number = base as NumericValue
  if (isInteger(number) && isInteger(by)) return add(number, by)
  return decimal128(addDecimals(toDecimal(number), toDecimal(by)))
}

function isInteger({ type }: NumericValue): boolean {
  return type === bsonType.int32 || type === bsonType.int64
}
