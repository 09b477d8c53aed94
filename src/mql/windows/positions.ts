/** Window functions that show values of documents at certain places: the first, the last, the smallest. */

import { type Steps, sortInSteps } from '../../base/steps.ts'
import { compareValues } from '../../document/bson/compare.ts'
import { asExtreme } from '../../document/bson/traced-values.ts'
import { BsonArray, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { checkedCount } from '../accumulators/keep-n.ts'
import { countedNumber, type PercentileArguments, percentilesOf } from '../accumulators/percentile.ts'
import { isNullish } from '../expressions/core/define-operator.ts'
import type { Context, Evaluate } from '../expressions/core/scope.ts'
import { type Window, type WindowBounds, windowsInSteps } from './bounds.ts'
import { Inputs, type WindowPartition } from './partition.ts'
import { RankedWindow } from './ranked-window.ts'
import type { WindowFunction } from './window-function.ts'

/** A function that only needs the ends of its window. Values that have left the window are released. */
function placesFunction(
  bounds: WindowBounds,
  input: Evaluate,
  makeShow: (partition: WindowPartition) => (window: Readonly<Window>, inputs: Inputs) => Value,
): WindowFunction {
  return {
    *begin(partition) {
      const windowOf = yield* windowsInSteps(bounds, partition)
      const show = makeShow(partition)
      const inputs = new Inputs(partition, input)
      let released = 0
      return index => {
        const window = windowOf(index)
        for (; released < window.first && released < partition.size; released += 1) inputs.release(released)
        return show(window, inputs)
      }
    },
  }
}

/** The elements from one place to another, without missing ones. */
function elements(inputs: Inputs, first: number, last: number): Value[] {
  const found: Value[] = []
  for (let index = first; index <= last; index += 1) {
    const value = inputs.at(index)
    if (value !== undefined) found.push(value)
  }
  return found
}

export function pushFunction(bounds: WindowBounds, input: Evaluate): WindowFunction {
  return placesFunction(
    bounds,
    input,
    () =>
      ({ first, last }, inputs) =>
        BsonArray.of(elements(inputs, first, last)),
  )
}

export function firstFunction(bounds: WindowBounds, input: Evaluate): WindowFunction {
  return placesFunction(
    bounds,
    input,
    () =>
      ({ first, last }, inputs) =>
        first > last ? nullValue : (inputs.at(first) ?? nullValue),
  )
}

export function lastFunction(bounds: WindowBounds, input: Evaluate): WindowFunction {
  return placesFunction(
    bounds,
    input,
    () =>
      ({ first, last }, inputs) =>
        first > last ? nullValue : (inputs.at(last) ?? nullValue),
  )
}

/** `$firstN` and `$lastN`: a missing value is shown as null. */
export function endsFunction(bounds: WindowBounds, input: Evaluate, n: Evaluate, isLast: boolean): WindowFunction {
  return placesFunction(bounds, input, partition => {
    const count = checkedCount(partition.constant(n))
    return ({ first, last }, inputs) => {
      const from = isLast ? Math.max(first, last - count + 1) : first
      const to = isLast ? last : Math.min(last, first + count - 1)
      const found: Value[] = []
      for (let index = from; index <= to; index += 1) found.push(inputs.at(index) ?? nullValue)
      return BsonArray.of(found)
    }
  })
}

/** A function that needs the values of a window in sorted order. */
function rankedFunction(
  bounds: WindowBounds,
  {
    rank,
    makeShow,
  }: {
    /** The documents that count, in the order of their values. */
    readonly rank: (partition: WindowPartition, inputs: Inputs) => Steps<readonly number[]>
    readonly makeShow: (partition: WindowPartition) => (ranked: RankedWindow, inputs: Inputs) => Value
  },
  input: Evaluate,
): WindowFunction {
  return {
    *begin(partition) {
      const windowOf = yield* windowsInSteps(bounds, partition)
      const inputs = new Inputs(partition, input)
      const show = makeShow(partition)
      const ranked = new RankedWindow(partition.size, yield* rank(partition, inputs))
      partition.memory.add(ranked.bytes)
      let entered = 0
      let left = 0
      return index => {
        const { first, last } = windowOf(index)
        for (; entered <= last; entered += 1) ranked.enter(entered)
        for (; left < first && left < entered; left += 1) ranked.leave(left)
        return show(ranked, inputs)
      }
    },
  }
}

/** The documents that have a value, in the order of their values. */
function* rankInSteps<T>(
  { size }: WindowPartition,
  valueAt: (index: number) => T | undefined,
  compare: (left: T, right: T) => number,
): Steps<readonly number[]> {
  const found: { readonly index: number; readonly value: T }[] = []
  for (let index = 0; index < size; index += 1) {
    const value = valueAt(index)
    if (value !== undefined) found.push({ index, value })
    if (index % 100 === 99) yield
  }
  const ranked = yield* sortInSteps(found, (left, right) => compare(left.value, right.value))
  return ranked.map(({ index }) => index)
}

interface ExtremesSpec {
  readonly input: Evaluate
  readonly n: Evaluate
  readonly sign: 1 | -1
  readonly collation: Collation | undefined
}

/** `$minN` and `$maxN`. Null and missing values do not count. */
export function extremesFunction(bounds: WindowBounds, { input, n, sign, collation }: ExtremesSpec): WindowFunction {
  return rankedFunction(
    bounds,
    {
      rank: (partition, inputs) =>
        rankInSteps(
          partition,
          index => (isNullish(inputs.at(index)) ? undefined : inputs.at(index)),
          (left, right) => sign * compareValues(left, right, collation),
        ),
      makeShow: partition => {
        const count = checkedCount(partition.constant(n))
        return (ranked, inputs) => BsonArray.of(leading(ranked, count).map(index => asExtreme(inputs.at(index)!)))
      },
    },
    input,
  )
}

/** The documents in the first places. */
function leading(ranked: RankedWindow, count: number): number[] {
  return Array.from({ length: Math.min(count, ranked.count) }, (_, place) => ranked.at(place))
}

/** `$percentile` and `$median`, exact like the accumulators. */
export function percentileFunction(bounds: WindowBounds, asked: PercentileArguments): WindowFunction {
  return rankedFunction(
    bounds,
    {
      rank: (partition, inputs) =>
        rankInSteps(
          partition,
          index => countedNumber(inputs.at(index)),
          (left, right) => left - right || 0,
        ),
      makeShow: () => (ranked, inputs) =>
        percentilesOf(asked, ranked.count, place => countedNumber(inputs.at(ranked.at(place)))!),
    },
    asked.input,
  )
}

/** `$top`, `$bottom` and their like: outputs of the documents that come first in an order of their own. */
export function topFunction(
  bounds: WindowBounds,
  {
    key,
    output,
    count: n,
    isBottom,
    isSingle,
  }: {
    readonly key: (context: Context) => Uint8Array
    readonly output: Evaluate
    readonly count: Evaluate
    readonly isBottom: boolean
    readonly isSingle: boolean
  },
): WindowFunction {
  const sign = isBottom ? -1 : 1
  return rankedFunction(
    bounds,
    {
      rank: partition =>
        rankInSteps(
          partition,
          index => partition.evaluate(key, index),
          (left, right) => sign * Buffer.compare(left, right),
        ),
      makeShow: partition => {
        const count = checkedCount(partition.constant(n))
        return (ranked, inputs) => {
          const shown = leading(ranked, count).map(index => inputs.at(index) ?? nullValue)
          if (isSingle) return shown[0] ?? nullValue
          return BsonArray.of(isBottom ? shown.reverse() : shown)
        }
      },
    },
    output,
  )
}
