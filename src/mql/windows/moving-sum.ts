/**
 * Sums, averages, deviations, covariances and integrals of a window that moves: a value that enters is added,
 * one that leaves is subtracted. So a document costs the same in a wide window as in a narrow one.
 */

import { addDecimals, subtractDecimals } from '../../document/bson/decimal-arithmetic.ts'
import { type Decimal, finite } from '../../document/bson/decimal128.ts'
import {
  add,
  decimal128,
  divide,
  int64Max,
  int64Min,
  isNumeric,
  multiply,
  subtract,
  toDecimal,
  toDouble,
} from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { double, int32, int64, type NumericValue, nullValue, type Value } from '../../document/bson/value.ts'
import { DoubleSum } from '../accumulators/double-sum.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import { integerValue } from '../expressions/values/total.ts'

/** The state of a function over a window. Values enter and leave in the order of documents. */
export interface MovingState {
  /** It keeps values beyond the call, so they count as held by the stage. */
  readonly holdsValues?: true
  enter(value: Value | undefined, index: number): void
  leave(value: Value | undefined, index: number): void
  result(): Value
}

const noDecimal = finite(false, 0n, 0)

/**
 * The sum of the numbers in a window, exact for integers. Numbers that are not finite are only counted,
 * because they cannot be subtracted.
 */
export class MovingNumbers {
  #integers = 0n
  /** The sum of integers and doubles. */
  #binary = new DoubleSum()
  #decimals: Decimal = noDecimal
  readonly #counts = { int32: 0, int64: 0, double: 0, decimal: 0, nan: 0, positive: 0, negative: 0 }

  get count(): number {
    const { int32: ints, int64: longs, double: doubles, decimal } = this.#counts
    return ints + longs + doubles + decimal
  }

  enter(value: NumericValue): void {
    this.#change(value, 1)
  }

  leave(value: NumericValue): void {
    this.#change(value, -1)
    // When the last value of a type leaves, the rounding errors of that type are dropped.
    if (this.#counts.decimal === 0) this.#decimals = noDecimal
    if (value.type !== bsonType.double || this.#counts.double > 0) return
    this.#binary = new DoubleSum()
    this.#binary.add(this.#integers)
  }

  #change(value: NumericValue, sign: 1 | -1): void {
    const counts = this.#counts
    switch (value.type) {
      case bsonType.int32:
        counts.int32 += sign
        this.#integers += BigInt(sign * value.value)
        this.#binary.add(sign * value.value)
        return
      case bsonType.int64:
        counts.int64 += sign
        this.#integers += BigInt(sign) * value.value
        this.#binary.add(BigInt(sign) * value.value)
        return
      case bsonType.double:
        counts.double += sign
        if (!this.#isCounted(value.value, sign)) this.#binary.add(sign * value.value)
        return
      default: {
        counts.decimal += sign
        const decimal = toDecimal(value)
        if (this.#isCounted(decimal.kind === 'finite' ? 0 : toDouble(value), sign)) return
        this.#decimals = sign === 1 ? addDecimals(this.#decimals, decimal) : subtractDecimals(this.#decimals, decimal)
      }
    }
  }

  #isCounted(value: number, sign: number): boolean {
    if (Number.isFinite(value)) return false
    const name = Number.isNaN(value) ? 'nan' : value > 0 ? 'positive' : 'negative'
    this.#counts[name] += sign
    return true
  }

  /** NaN or an infinity, if the window contains one. */
  #extreme(): number | undefined {
    const { nan, positive, negative } = this.#counts
    if (nan > 0 || (positive > 0 && negative > 0)) return Number.NaN
    if (positive > 0) return Number.POSITIVE_INFINITY
    return negative > 0 ? Number.NEGATIVE_INFINITY : undefined
  }

  total(): NumericValue {
    const extreme = this.#extreme()
    const isDecimal = this.#counts.decimal > 0
    if (extreme !== undefined) return isDecimal ? decimal128(toDecimal(double(extreme))) : double(extreme)
    if (isDecimal) return decimal128(addDecimals(this.#decimals, this.#binary.decimal()))
    const isLarge = this.#integers < int64Min || this.#integers > int64Max
    if (this.#counts.double > 0 || isLarge) return double(this.#binary.number())
    return integerValue(this.#integers, this.#counts.int64 > 0 ? 1 : 0)
  }

  average(): Value {
    const { count } = this
    if (count === 0) return nullValue
    const total = this.total()
    return total.type === bsonType.decimal128 ? divide(total, int32(count)) : double(toDouble(total) / count)
  }
}

export class MovingSum implements MovingState {
  readonly #numbers = new MovingNumbers()

  enter(value: Value | undefined): void {
    if (isNumeric(value)) this.#numbers.enter(value)
  }

  leave(value: Value | undefined): void {
    if (isNumeric(value)) this.#numbers.leave(value)
  }

  result(): Value {
    return this.#numbers.total()
  }
}

export class MovingAverage implements MovingState {
  readonly #numbers = new MovingNumbers()

  enter(value: Value | undefined): void {
    if (isNumeric(value)) this.#numbers.enter(value)
  }

  leave(value: Value | undefined): void {
    if (isNumeric(value)) this.#numbers.leave(value)
  }

  result(): Value {
    return this.#numbers.average()
  }
}

/** Welford's method, forwards and backwards. Decimals are converted to doubles. */
export class MovingDeviation implements MovingState {
  readonly #isSample: boolean
  /**
   * The result while the window has a number that is not finite: null if values may leave it, otherwise NaN,
   * as in MongoDB.
   */
  readonly #undefinedResult: Value
  #count = 0
  #mean = 0
  #squares = 0
  #infinite = 0

  constructor({ isSample, mayLeave }: { readonly isSample: boolean; readonly mayLeave: boolean }) {
    this.#isSample = isSample
    this.#undefinedResult = mayLeave ? nullValue : double(Number.NaN)
  }

  enter(value: Value | undefined): void {
    if (!isNumeric(value)) return
    const number = toDouble(value)
    if (!Number.isFinite(number)) {
      this.#infinite += 1
      return
    }
    this.#count += 1
    const delta = number - this.#mean
    this.#mean += delta / this.#count
    this.#squares += delta * (number - this.#mean)
  }

  leave(value: Value | undefined): void {
    if (!isNumeric(value)) return
    const number = toDouble(value)
    if (!Number.isFinite(number)) {
      this.#infinite -= 1
      return
    }
    this.#count -= 1
    if (this.#count === 0) {
      this.#mean = 0
      this.#squares = 0
      return
    }
    const delta = number - this.#mean
    this.#mean -= delta / this.#count
    this.#squares = Math.max(0, this.#squares - delta * (number - this.#mean))
  }

  result(): Value {
    if (this.#infinite > 0) return this.#undefinedResult
    const count = this.#isSample ? this.#count - 1 : this.#count
    return count <= 0 ? nullValue : double(Math.sqrt(this.#squares / count))
  }
}

/** The covariance of pairs of numbers; other values do not count. The method is that of deviations. */
export class MovingCovariance implements MovingState {
  readonly #isSample: boolean
  readonly #x = new MovingNumbers()
  readonly #y = new MovingNumbers()
  readonly #products = new MovingNumbers()
  #count = 0

  constructor(isSample: boolean) {
    this.#isSample = isSample
  }

  enter(value: Value | undefined): void {
    const pair = pairOf(value)
    if (pair === undefined) return
    if (!isFinitePair(pair)) {
      this.#products.enter(extremeOf(pair))
      return
    }
    const [x, y] = pair
    const deltaX = subtract(x, meanOf(this.#x))
    this.#count += 1
    this.#x.enter(x)
    this.#y.enter(y)
    this.#products.enter(asDouble(multiply(deltaX, subtract(y, meanOf(this.#y)))))
  }

  leave(value: Value | undefined): void {
    const pair = pairOf(value)
    if (pair === undefined) return
    if (!isFinitePair(pair)) {
      this.#products.leave(extremeOf(pair))
      return
    }
    const [x, y] = pair
    this.#count -= 1
    this.#x.leave(x)
    const deltaX = subtract(x, meanOf(this.#x))
    const product = asDouble(multiply(deltaX, subtract(y, meanOf(this.#y))))
    this.#y.leave(y)
    this.#products.enter(negated(product))
  }

  result(): Value {
    if (this.#count === 1 && !this.#isSample) return double(0)
    const count = this.#isSample ? this.#count - 1 : this.#count
    if (count <= 0) return nullValue
    return divide(asDouble(this.#products.total()), double(count))
  }
}

function meanOf(numbers: MovingNumbers): NumericValue {
  const mean = numbers.average()
  return isNumeric(mean) ? mean : int32(0)
}

/** Integers become doubles, so that no product overflows. */
function asDouble(value: NumericValue): NumericValue {
  return value.type === bsonType.decimal128 ? value : double(toDouble(value))
}

function negated(value: NumericValue): NumericValue {
  return multiply(value, int32(-1))
}

function pairOf(value: Value | undefined): readonly [NumericValue, NumericValue] | undefined {
  if (value?.type !== bsonType.array || value.elements.length !== 2) return undefined
  const [x, y] = value.elements
  return isNumeric(x) && isNumeric(y) ? [x, y] : undefined
}

function isFinitePair(pair: readonly [NumericValue, NumericValue]): boolean {
  return pair.every(value => Number.isFinite(toDouble(value)))
}

/** NaN or the infinity that a pair brings. */
function extremeOf([x, y]: readonly [NumericValue, NumericValue]): NumericValue {
  const numbers = [toDouble(x), toDouble(y)]
  const hasBoth = numbers.includes(Number.POSITIVE_INFINITY) && numbers.includes(Number.NEGATIVE_INFINITY)
  if (numbers.some(Number.isNaN) || hasBoth) return double(Number.NaN)
  return double(numbers.includes(Number.POSITIVE_INFINITY) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
}

/** The area under the input, by the trapezoidal rule. A value is a pair of the sort field and the input. */
export class MovingIntegral implements MovingState {
  /** Milliseconds of the unit of the result. */
  readonly #unitMs: number | undefined
  readonly #areas = new MovingNumbers()
  #points: (readonly [Value, NumericValue])[] = []
  #start = 0
  #unknown = 0

  constructor(unitMs: number | undefined) {
    this.#unitMs = unitMs
  }

  enter(value: Value | undefined): void {
    const point = this.#checked(value)
    const before = this.#points.at(-1)
    if (before !== undefined && this.#points.length > this.#start) this.#areas.enter(areaBetween(before, point))
    if (isUnknown(point)) this.#unknown += 1
    this.#points.push(point)
  }

  leave(): void {
    const point = this.#points[this.#start]!
    this.#start += 1
    const next = this.#points[this.#start]
    if (next !== undefined) this.#areas.leave(areaBetween(point, next))
    if (isUnknown(point)) this.#unknown -= 1
    // Half of the array may be unused at most.
    if (this.#start * 2 < this.#points.length || this.#start < 32) return
    this.#points = this.#points.slice(this.#start)
    this.#start = 0
  }

  result(): Value {
    if (this.#points.length === this.#start) return nullValue
    if (this.#unknown > 0) return double(Number.NaN)
    const area = this.#areas.total()
    return this.#unitMs === undefined ? area : divide(area, double(this.#unitMs))
  }

  #checked(value: Value | undefined): readonly [Value, NumericValue] {
    const [x, y] = value?.type === bsonType.array ? value.elements : []
    const isPoint = x !== undefined && (isNumeric(x) || x.type === bsonType.date) && isNumeric(y)
    if (!isPoint) {
      return refuse(
        5423900,
        'The input value of $integral window function must be a vector of 2 value, the first value must be numeric ' +
          'or date type and the second must be numeric.',
      )
    }
    if (this.#unitMs !== undefined && x.type !== bsonType.date) {
      refuse(5423901, "$integral with 'unit' expects the sortBy field to be a Date")
    }
    if (this.#unitMs === undefined && x.type === bsonType.date) {
      refuse(5423902, "$integral (with no 'unit') expects the sortBy field to be numeric")
    }
    return [x, y]
  }
}

function isUnknown([x, y]: readonly [Value, NumericValue]): boolean {
  return Number.isNaN(toDouble(y)) || (isNumeric(x) && Number.isNaN(toDouble(x)))
}

function areaBetween(left: readonly [Value, NumericValue], right: readonly [Value, NumericValue]): NumericValue {
  if (isUnknown(left) || isUnknown(right)) return int32(0)
  return divide(multiply(add(left[1], right[1]), differenceOf(right[0], left[0])), double(2))
}

/** The difference of two numbers, or of two dates in milliseconds. */
export function differenceOf(left: Value, right: Value): NumericValue {
  if (left.type === bsonType.date && right.type === bsonType.date) return int64(left.value - right.value)
  return subtract(left as NumericValue, right as NumericValue)
}
