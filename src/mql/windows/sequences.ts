/** Window functions along the order of documents: ranks, shifts, fills, moving averages and slopes. */

import { compareValues } from '../../document/bson/compare.ts'
import { addDecimals, multiplyDecimals, subtractDecimals } from '../../document/bson/decimal-arithmetic.ts'
import type { Decimal } from '../../document/bson/decimal128.ts'
import {
  add,
  decimal128,
  decimalToDouble,
  divide,
  isNumeric,
  isZeroValue,
  multiply,
  subtract,
  toDecimal,
} from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { double, int32, int64, type NumericValue, nullValue, type Value } from '../../document/bson/value.ts'
import { isNullish, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import type { Evaluate } from '../expressions/core/scope.ts'
import { type WindowBounds, windowsInSteps } from './bounds.ts'
import { differenceOf } from './moving-sum.ts'
import { Inputs, type WindowPartition } from './partition.ts'
import type { WindowFunction } from './window-function.ts'

const typeMismatch = 14

export const documentNumber: WindowFunction = {
  *begin() {
    return index => int64(BigInt(index + 1))
  },
}

function isTie({ sortKeys }: WindowPartition, index: number): boolean {
  return index > 0 && Buffer.compare(sortKeys[index - 1]!, sortKeys[index]!) === 0
}

/** Equal documents have the same rank. The next rank counts them all, or is one higher if it is dense. */
export function rankFunction({ isDense }: { readonly isDense: boolean }): WindowFunction {
  return {
    *begin(partition) {
      let rank = 0
      return index => {
        if (!isTie(partition, index)) rank = isDense ? rank + 1 : index + 1
        return int64(BigInt(rank))
      }
    },
  }
}

/** `$shift`: the value of the document that is `by` places ahead. */
export function shiftFunction(input: Evaluate, by: number, otherwise: Value): WindowFunction {
  return {
    *begin(partition) {
      return index => {
        const other = index + by
        if (other < 0 || other >= partition.size) return otherwise
        return partition.value(input, other) ?? nullValue
      }
    },
  }
}

/** `$locf`: the last value that was not null. */
export function carriedFunction(input: Evaluate): WindowFunction {
  return {
    *begin(partition) {
      let last: Value = nullValue
      return index => {
        const value = partition.value(input, index)
        if (!isNullish(value)) last = value
        return last
      }
    },
  }
}

/** `$expMovingAvg`, computed in decimals as in MongoDB. */
export function movingAverageFunction(input: Evaluate, alpha: Decimal): WindowFunction {
  const rest = subtractDecimals(toDecimal(int32(1)), alpha)
  return {
    *begin(partition) {
      let average: Decimal | undefined
      let isDecimal = false
      return index => {
        const value = partition.evaluate(input, index)
        if (isNumeric(value)) {
          isDecimal ||= value.type === bsonType.decimal128
          const number = toDecimal(value)
          average =
            average === undefined
              ? number
              : addDecimals(multiplyDecimals(number, alpha), multiplyDecimals(average, rest))
        }
        if (average === undefined) return nullValue
        return isDecimal ? decimal128(average) : double(decimalToDouble(average))
      }
    },
  }
}

/** The slope between the first and the last document of the window. */
export function derivativeFunction(bounds: WindowBounds, input: Evaluate, unitMs: number | undefined): WindowFunction {
  return {
    *begin(partition) {
      const windowOf = yield* windowsInSteps(bounds, partition)
      return index => {
        const { first, last } = windowOf(index)
        if (first > last) return nullValue
        const [from, to] = [partition.sortValue(first), partition.sortValue(last)]
        checkTimes(from, to, unitMs)
        const rise = riseBetween(partition.evaluate(input, first), partition.evaluate(input, last))
        const run = differenceOf(to!, from!)
        // A window of one document has no slope.
        if (isZeroValue(run)) return nullValue
        const slope = divide(rise, run)
        return unitMs === undefined ? slope : multiply(slope, double(unitMs))
      }
    },
  }
}

function checkTimes(from: Value | undefined, to: Value | undefined, unitMs: number | undefined): void {
  const times = [from, to]
  if (unitMs !== undefined) {
    if (times.every(time => time?.type === bsonType.date)) return
    refuse(5624900, "$derivative with 'unit' expects the sortBy field to be a Date")
  }
  if (times.some(time => time?.type === bsonType.date)) {
    refuse(5624901, "$derivative where the sortBy is a Date requires an 'unit'")
  }
  if (!times.every(isNumeric)) {
    refuse(5624902, "$derivative (with no 'unit') expects the sortBy field to be numeric")
  }
}

function riseBetween(from: Value | undefined, to: Value | undefined): NumericValue {
  if (isNullish(from) || isNullish(to)) return refuse(5624903, '$derivative input must not be null or missing')
  const areDates = from.type === bsonType.date && to.type === bsonType.date
  if (!areDates && !(isNumeric(from) && isNumeric(to))) {
    refuse(typeMismatch, `can't $subtract ${nameOfType(from)} from ${nameOfType(to)}`)
  }
  return differenceOf(to, from)
}

interface Point {
  readonly x: Value
  readonly y: NumericValue
}

/** Fills nulls between two known values with the values of the line between them. */
export function linearFillFunction(input: Evaluate): WindowFunction {
  return {
    *begin(partition) {
      const inputs = new Inputs(partition, input)
      let before: Point | undefined
      /** The next document with a value. */
      let known = 0
      return index => {
        const y = numberAt(inputs, index)
        const x = checkedPlace(partition, index)
        inputs.release(index - 1)
        if (y !== undefined) {
          before = { x, y }
          return y
        }
        if (before === undefined) return nullValue
        for (known = Math.max(known, index + 1); known < partition.size; known += 1) {
          const behind = numberAt(inputs, known)
          if (behind !== undefined) return interpolated(before, { x: checkedPlace(partition, known), y: behind }, x)
        }
        return nullValue
      }
    },
  }
}

function numberAt(inputs: Inputs, index: number): NumericValue | undefined {
  const value = inputs.at(index)
  if (isNullish(value)) return undefined
  if (isNumeric(value)) return value
  return refuse(typeMismatch, `Value to be filled must be numeric or nullish, but found ${nameOfType(value)}`)
}

function checkedPlace(partition: WindowPartition, index: number): Value {
  const x = partition.sortValue(index)
  if (!isNumeric(x) && x?.type !== bsonType.date) {
    return refuse(typeMismatch, `Value of the sortBy field must be numeric or a date, but found ${nameOfType(x)}`)
  }
  const last = index === 0 ? undefined : partition.sortValue(index - 1)
  if (last !== undefined && compareValues(x, last) === 0) {
    refuse(6050106, 'There can be no repeated values in the sort field')
  }
  if (last !== undefined && isNumeric(x) !== isNumeric(last)) {
    const types = `previously received type ${nameOfType(last)}, but found ${nameOfType(x)}`
    refuse(typeMismatch, `Conflicting sort value types, ${types}`)
  }
  return x
}

function interpolated(left: Point, right: Point, x: Value): Value {
  const slope = divide(subtract(right.y, left.y), differenceOf(right.x, left.x))
  return add(left.y, multiply(differenceOf(x, left.x), slope))
}
