/**
 * The four number types together: exact comparison, and arithmetic with MongoDB's type promotion.
 *
 *   any decimal    decimal, 34 digits
 *   else a double  double
 *   else an int64  int64, or double when it does not fit
 *   else           int32, or int64 when it does not fit
 */

import { assert } from '../../base/error.ts'
import {
  absDecimal,
  addDecimals,
  divideDecimals,
  expDecimal,
  integerOf,
  lnDecimal,
  log10Decimal,
  modDecimals,
  multiplyDecimals,
  powDecimals,
  roundToPlace,
  sqrtDecimal,
  subtractDecimals,
} from './decimal-arithmetic.ts'
import {
  compareFinite,
  type Decimal,
  decimalInfinity,
  decimalNan,
  decimalNegativeInfinity,
  digitsOf,
  divideRounded,
  type FiniteDecimal,
  finite,
  packDecimal,
  powerOfTen,
  printDecimal,
  type RoundingMode,
  unpackDecimal,
} from './decimal128.ts'
import { bsonType, isNumberType } from './types.ts'
import { type Decimal128Value, double, int32, int64, type NumericValue, type Value } from './value.ts'

export const int32Min = -2147483648
export const int32Max = 2147483647
export const int64Min = -(2n ** 63n)
export const int64Max = 2n ** 63n - 1n

export function isNumeric(value: Value | undefined): value is NumericValue {
  return value !== undefined && isNumberType(value.type)
}

export function isNaNValue(value: NumericValue): boolean {
  if (value.type === bsonType.double) return Number.isNaN(value.value)
  return value.type === bsonType.decimal128 && unpackDecimal(value).kind === 'nan'
}

export function isZeroValue(value: NumericValue): boolean {
  if (value.type !== bsonType.decimal128) return Number(value.value) === 0
  const decimal = unpackDecimal(value)
  return decimal.kind === 'finite' && decimal.coefficient === 0n
}

/** The nearest double. */
export function toDouble(value: NumericValue): number {
  return value.type === bsonType.decimal128 ? decimalToDouble(unpackDecimal(value)) : Number(value.value)
}

export function decimalToDouble(decimal: Decimal): number {
  // Number() rounds correctly. It knows only one spelling of "Infinity", which is the one we print.
  return Number(printDecimal(decimal))
}

/** The number as a decimal. A double is rounded to 15 digits, as MongoDB does. */
export function toDecimal(value: NumericValue): Decimal {
  if (value.type === bsonType.decimal128) return unpackDecimal(value)
  if (value.type === bsonType.double) return doubleToDecimal(value.value)
  const integer = BigInt(value.value)
  return finite(integer < 0n, integer < 0n ? -integer : integer, 0)
}

const doubleDigits = 15

function doubleToDecimal(value: number): Decimal {
  const exact = exactDecimal(value)
  if (exact.kind !== 'finite' || exact.coefficient === 0n) return exact
  const { isNegative, coefficient, exponent } = exact
  const excess = digitsOf(coefficient) - doubleDigits
  if (excess <= 0) return finite(isNegative, coefficient * powerOfTen(-excess), exponent + excess)
  const rounded = divideRounded(coefficient, powerOfTen(excess), 'half-even', isNegative)
  // 999…9.5 is rounded up to 1000…0, which has one digit too many.
  const isLonger = digitsOf(rounded) > doubleDigits
  return finite(isNegative, isLonger ? rounded / 10n : rounded, exponent + excess + (isLonger ? 1 : 0))
}

const doubleBytes = new DataView(new ArrayBuffer(8))

/** All digits of a double; there may be hundreds. */
export function exactDecimal(value: number): Decimal {
  if (Number.isNaN(value)) return decimalNan
  if (!Number.isFinite(value)) return value < 0 ? decimalNegativeInfinity : decimalInfinity
  const isNegative = value < 0 || Object.is(value, -0)
  if (Number.isInteger(value)) return finite(isNegative, BigInt(Math.abs(value)), 0)
  doubleBytes.setFloat64(0, value)
  const bits = doubleBytes.getBigUint64(0)
  const biased = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = biased === 0 ? fraction : fraction | 0x10000000000000n
  const power = Math.max(biased, 1) - 1075
  // The value is not an integer, so the power is negative, and m / 2^n is m * 5^n / 10^n.
  return finite(isNegative, mantissa * 5n ** BigInt(-power), power)
}

/** -1, 0 or 1 by value, exactly. NaN equals itself and is below all other numbers. */
export function compareNumbers(left: NumericValue, right: NumericValue): number {
  if (left.type !== bsonType.decimal128 && right.type !== bsonType.decimal128) {
    const a = left.value
    const b = right.value
    // JavaScript compares integers of either kind with doubles exactly.
    if (a < b) return -1
    if (a > b) return 1
    // biome-ignore lint/suspicious/noDoubleEquals: an int64 is a bigint and equals a double by value only so.
    if (a == b) return 0
    return (Number.isNaN(a) ? 0 : 1) - (Number.isNaN(b) ? 0 : 1)
  }
  return compareDecimals(comparable(left), comparable(right))
}

function comparable(value: NumericValue): Decimal {
  if (value.type === bsonType.decimal128) return unpackDecimal(value)
  if (value.type === bsonType.double) return exactDecimal(value.value)
  return toDecimal(value)
}

/** The order of kinds: NaN, -Infinity, finite numbers, Infinity. */
function level(decimal: Decimal): number {
  if (decimal.kind === 'nan') return 0
  if (decimal.kind === 'finite') return 2
  return decimal.isNegative ? 1 : 3
}

function compareDecimals(left: Decimal, right: Decimal): number {
  const difference = level(left) - level(right)
  if (difference !== 0) return difference < 0 ? -1 : 1
  return left.kind === 'finite' ? compareFinite(left, right as FiniteDecimal) : 0
}

export function decimal128(decimal: Decimal): Decimal128Value {
  return packDecimal(decimal)
}

/**
 * The integer as an int32, or as an int64 if an operand is one (`isWide`) or if it needs one. Undefined if it
 * does not fit an int64.
 */
function integer(value: bigint, isWide: boolean): NumericValue | undefined {
  if (!isWide && value >= BigInt(int32Min) && value <= BigInt(int32Max)) return int32(Number(value))
  return value >= int64Min && value <= int64Max ? int64(value) : undefined
}

interface Operation {
  readonly ofIntegers: (left: bigint, right: bigint) => bigint
  readonly ofDoubles: (left: number, right: number) => number
  readonly ofDecimals: (left: Decimal, right: Decimal) => Decimal
}

function apply(operation: Operation, left: NumericValue, right: NumericValue): NumericValue | undefined {
  if (left.type === bsonType.decimal128 || right.type === bsonType.decimal128) {
    return decimal128(operation.ofDecimals(toDecimal(left), toDecimal(right)))
  }
  if (left.type === bsonType.double || right.type === bsonType.double) {
    return double(operation.ofDoubles(Number(left.value), Number(right.value)))
  }
  if (left.type === bsonType.int32 && right.type === bsonType.int32) {
    const value = operation.ofDoubles(left.value, right.value)
    if (Number.isSafeInteger(value)) {
      // `| 0` turns -0 (the result of 0 * -1) into 0.
      return value >= int32Min && value <= int32Max ? int32(value | 0) : int64(BigInt(value))
    }
  }
  const isWide = left.type === bsonType.int64 || right.type === bsonType.int64
  return integer(operation.ofIntegers(BigInt(left.value), BigInt(right.value)), isWide)
}

const addition: Operation = {
  ofIntegers: (left, right) => left + right,
  ofDoubles: (left, right) => left + right,
  ofDecimals: addDecimals,
}
const subtraction: Operation = {
  ofIntegers: (left, right) => left - right,
  ofDoubles: (left, right) => left - right,
  ofDecimals: subtractDecimals,
}
const multiplication: Operation = {
  ofIntegers: (left, right) => left * right,
  ofDoubles: (left, right) => left * right,
  ofDecimals: multiplyDecimals,
}

function orDouble(operation: Operation, left: NumericValue, right: NumericValue): NumericValue {
  return apply(operation, left, right) ?? double(operation.ofDoubles(toDouble(left), toDouble(right)))
}

/** For expressions: the result is a double if an int64 would overflow. */
export function add(left: NumericValue, right: NumericValue): NumericValue {
  return orDouble(addition, left, right)
}

export function subtract(left: NumericValue, right: NumericValue): NumericValue {
  return orDouble(subtraction, left, right)
}

export function multiply(left: NumericValue, right: NumericValue): NumericValue {
  return orDouble(multiplication, left, right)
}

/** For updates: undefined if an int64 would overflow, which an update refuses. */
export function addExactly(left: NumericValue, right: NumericValue): NumericValue | undefined {
  return apply(addition, left, right)
}

export function multiplyExactly(left: NumericValue, right: NumericValue): NumericValue | undefined {
  return apply(multiplication, left, right)
}

/** A double, or a decimal if one operand is; also for integers. The caller must handle division by zero. */
export function divide(left: NumericValue, right: NumericValue): NumericValue {
  if (left.type === bsonType.decimal128 || right.type === bsonType.decimal128) {
    return decimal128(divideDecimals(toDecimal(left), toDecimal(right)))
  }
  return double(Number(left.value) / Number(right.value))
}

/** The remainder of a truncated division, with the sign of the dividend. The divisor must not be zero. */
export function mod(left: NumericValue, right: NumericValue): NumericValue {
  if (left.type === bsonType.decimal128 || right.type === bsonType.decimal128) {
    return decimal128(modDecimals(toDecimal(left), toDecimal(right)))
  }
  if (left.type === bsonType.double || right.type === bsonType.double) {
    return double(Number(left.value) % Number(right.value))
  }
  assert(!isZeroValue(right), 'the caller handles division by zero')
  if (left.type === bsonType.int32 && right.type === bsonType.int32) return int32((left.value % right.value) | 0)
  return int64(BigInt(left.value) % BigInt(right.value))
}

/** Undefined for the smallest int64, whose absolute value does not fit. */
export function abs(value: NumericValue): NumericValue | undefined {
  if (value.type === bsonType.decimal128) return decimal128(absDecimal(unpackDecimal(value)))
  if (value.type === bsonType.double) return double(Math.abs(value.value))
  if (value.type === bsonType.int64) return integer(value.value < 0n ? -value.value : value.value, true)
  return integer(BigInt(Math.abs(value.value)), false)
}

function toInteger(value: NumericValue, ofDouble: (value: number) => number, mode: RoundingMode): NumericValue {
  if (value.type === bsonType.double) return double(ofDouble(value.value))
  return value.type === bsonType.decimal128 ? decimal128(roundToPlace(unpackDecimal(value), 0, mode)) : value
}

export function ceil(value: NumericValue): NumericValue {
  return toInteger(value, Math.ceil, 'ceiling')
}

export function floor(value: NumericValue): NumericValue {
  return toInteger(value, Math.floor, 'floor')
}

/** Rounds to `place` decimal places, half to even. A negative number means tens, hundreds and so on. */
export function round(value: NumericValue, place = 0): NumericValue | undefined {
  return toPlace(value, place, 'half-even')
}

export function trunc(value: NumericValue, place = 0): NumericValue | undefined {
  return toPlace(value, place, 'down')
}

/** Undefined when an integer is rounded up beyond the range of int64. */
function toPlace(value: NumericValue, place: number, mode: RoundingMode): NumericValue | undefined {
  if (value.type === bsonType.decimal128) return decimal128(roundToPlace(unpackDecimal(value), place, mode))
  if (value.type === bsonType.double) {
    const decimal = exactDecimal(value.value)
    if (decimal.kind !== 'finite' || decimal.coefficient === 0n || -place <= decimal.exponent) return value
    const { isNegative, coefficient, exponent } = decimal
    const dropped = -place - exponent
    const kept =
      dropped > digitsOf(coefficient) + 1 ? 0n : divideRounded(coefficient, powerOfTen(dropped), mode, isNegative)
    return double(Number(`${isNegative ? '-' : ''}${kept}e${-place}`))
  }
  if (place >= 0) return value
  const whole = BigInt(value.value)
  const unit = powerOfTen(-place)
  const magnitude = divideRounded(whole < 0n ? -whole : whole, unit, mode, whole < 0n) * unit
  return integer(whole < 0n ? -magnitude : magnitude, value.type === bsonType.int64)
}

function real(
  value: NumericValue,
  ofDouble: (value: number) => number,
  ofDecimal: (value: Decimal) => Decimal,
): NumericValue {
  return value.type === bsonType.decimal128
    ? decimal128(ofDecimal(unpackDecimal(value)))
    : double(ofDouble(Number(value.value)))
}

export function sqrt(value: NumericValue): NumericValue {
  return real(value, Math.sqrt, sqrtDecimal)
}

export function exp(value: NumericValue): NumericValue {
  return real(value, Math.exp, expDecimal)
}

export function ln(value: NumericValue): NumericValue {
  return real(value, Math.log, lnDecimal)
}

export function log10(value: NumericValue): NumericValue {
  return real(value, Math.log10, log10Decimal)
}

/** Two integers give an integer if the result is one and fits an int64, otherwise a double. */
export function pow(base: NumericValue, exponent: NumericValue): NumericValue {
  if (base.type === bsonType.decimal128 || exponent.type === bsonType.decimal128) {
    return decimal128(powDecimals(toDecimal(base), toDecimal(exponent)))
  }
  if (base.type === bsonType.double || exponent.type === bsonType.double) {
    return double(Number(base.value) ** Number(exponent.value))
  }
  const whole = BigInt(base.value)
  const power = BigInt(exponent.value)
  const isWide = base.type === bsonType.int64 || exponent.type === bsonType.int64
  // With an exponent of 64 or more, only -1, 0 and 1 have powers that fit.
  const isSmall = whole >= -1n && whole <= 1n
  if (isSmall && (power >= 0n || whole !== 0n)) {
    const small = power < 0n ? -power : power
    return integer(whole ** (small > 2n ? 2n + (small & 1n) : small), isWide)!
  }
  const exact = power >= 0n && power < 64n ? integer(whole ** power, isWide) : undefined
  return exact ?? double(Number(base.value) ** Number(exponent.value))
}

/** The number as an integer, if it is one and an int64 holds it. */
export function exactInteger(value: NumericValue): bigint | undefined {
  if (value.type === bsonType.int32) return BigInt(value.value)
  if (value.type === bsonType.int64) return value.value
  const whole =
    value.type === bsonType.decimal128
      ? integerOf(unpackDecimal(value))
      : Number.isInteger(value.value)
        ? BigInt(value.value)
        : undefined
  return whole !== undefined && whole >= int64Min && whole <= int64Max ? whole : undefined
}

/** The integer part, if an int64 holds it. Conversions to int and long use it. */
export function truncatedInteger(value: NumericValue): bigint | undefined {
  const whole = trunc(value)
  return whole === undefined ? undefined : exactInteger(whole)
}

/** A number as MongoDB prints it: the shortest exact digits, with an exponent below 1e-4 and from 1e16 on. */
export function printNumber(value: NumericValue): string {
  if (value.type === bsonType.decimal128) return printDecimal(unpackDecimal(value))
  if (value.type !== bsonType.double) return value.value.toString()
  const number = value.value
  if (Number.isNaN(number)) return 'NaN'
  if (!Number.isFinite(number)) return number < 0 ? '-Infinity' : 'Infinity'
  if (Object.is(number, -0)) return '-0'
  const size = Math.abs(number)
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    const [mantissa = '', power = ''] = number.toExponential().split('e')
    const sign = power.startsWith('-') ? '-' : '+'
    return `${mantissa}e${sign}${power.slice(1).padStart(2, '0')}`
  }
  return String(number)
}
