/**
 * IEEE 754 decimal128: numbers of 34 decimal digits, computed exactly on integers and rounded once, half to
 * even.
 *
 * The bytes use the binary integer encoding: sign, 14 bits of biased exponent, 113 bits of coefficient. A
 * coefficient above 34 nines means zero.
 */

import { bsonType } from './types.ts'
import type { Decimal128Value } from './value.ts'

/** (-1)^isNegative * coefficient * 10^exponent */
export interface FiniteDecimal {
  readonly kind: 'finite'
  readonly isNegative: boolean
  readonly coefficient: bigint
  readonly exponent: number
}

export type Decimal =
  | FiniteDecimal
  | { readonly kind: 'infinity'; readonly isNegative: boolean }
  | { readonly kind: 'nan' }

export const decimalDigitsMax = 34
const coefficientMax = 10n ** 34n - 1n
const exponentMin = -6176
const exponentMax = 6111
const bias = 6176
const low64 = (1n << 64n) - 1n

export const decimalNan: Decimal = { kind: 'nan' }
export const decimalInfinity: Decimal = { kind: 'infinity', isNegative: false }
export const decimalNegativeInfinity: Decimal = { kind: 'infinity', isNegative: true }

export function finite(isNegative: boolean, coefficient: bigint, exponent: number): FiniteDecimal {
  return { kind: 'finite', isNegative, coefficient, exponent }
}

export function unpackDecimal({ high, low }: Decimal128Value): Decimal {
  const isNegative = high >> 63n === 1n
  const top = Number((high >> 58n) & 0x1fn)
  if (top === 0x1f) return decimalNan
  if (top === 0x1e) return isNegative ? decimalNegativeInfinity : decimalInfinity
  if (top >= 0x18) return finite(isNegative, 0n, clampExponent(Number((high >> 47n) & 0x3fffn) - bias))
  const exponent = Number((high >> 49n) & 0x3fffn) - bias
  const coefficient = ((high & 0x1ffffffffffffn) << 64n) | low
  return finite(isNegative, coefficient > coefficientMax ? 0n : coefficient, exponent)
}

export function packDecimal(decimal: Decimal): Decimal128Value {
  const type = bsonType.decimal128
  if (decimal.kind === 'nan') return { type, high: 0x7c00000000000000n, low: 0n }
  const sign = decimal.isNegative ? 1n << 63n : 0n
  if (decimal.kind === 'infinity') return { type, high: sign | 0x7800000000000000n, low: 0n }
  const rounded = roundDecimal(decimal)
  if (rounded.kind !== 'finite') return packDecimal(rounded)
  const { coefficient, exponent } = rounded
  return {
    type,
    high: sign | (BigInt(exponent + bias) << 49n) | (coefficient >> 64n),
    low: coefficient & low64,
  }
}

function clampExponent(exponent: number): number {
  return Math.min(exponentMax, Math.max(exponentMin, exponent))
}

const powers: bigint[] = [1n]

/** 10^exponent. Small powers are cached. */
export function powerOfTen(exponent: number): bigint {
  if (exponent > 128) return 10n ** BigInt(exponent)
  while (powers.length <= exponent) powers.push(powers.at(-1)! * 10n)
  return powers[exponent]!
}

export function digitsOf(coefficient: bigint): number {
  return coefficient.toString().length
}

export type RoundingMode = 'half-even' | 'down' | 'ceiling' | 'floor'

/** dividend / divisor as an integer; the divisor is positive, the dividend not negative. */
export function divideRounded(dividend: bigint, divisor: bigint, mode: RoundingMode, isNegative: boolean): bigint {
  const quotient = dividend / divisor
  const rest = dividend % divisor
  if (rest === 0n) return quotient
  const isUp =
    mode === 'half-even'
      ? rest * 2n > divisor || (rest * 2n === divisor && (quotient & 1n) === 1n)
      : mode !== 'down' && (mode === 'ceiling') !== isNegative
  return isUp ? quotient + 1n : quotient
}

/** The nearest number within 34 digits and the range of exponents. */
export function roundDecimal({ isNegative, coefficient, exponent }: FiniteDecimal): Decimal {
  let digits = coefficient
  let scale = exponent
  const excess = Math.max(digits > coefficientMax ? digitsOf(digits) - decimalDigitsMax : 0, exponentMin - scale)
  if (excess > 0) {
    digits = excess > digitsOf(digits) + 1 ? 0n : divideRounded(digits, powerOfTen(excess), 'half-even', isNegative)
    scale += excess
    if (digits > coefficientMax) {
      digits /= 10n
      scale += 1
    }
  }
  if (scale > exponentMax) {
    if (digits === 0n) return finite(isNegative, 0n, exponentMax)
    const shift = scale - exponentMax
    if (shift + digitsOf(digits) > decimalDigitsMax) return isNegative ? decimalNegativeInfinity : decimalInfinity
    digits *= powerOfTen(shift)
    scale = exponentMax
  }
  return finite(isNegative, digits, scale)
}

/** -1, 0 or 1 for finite numbers, exactly. */
export function compareFinite(left: FiniteDecimal, right: FiniteDecimal): number {
  const leftSign = left.coefficient === 0n ? 0 : left.isNegative ? -1 : 1
  const rightSign = right.coefficient === 0n ? 0 : right.isNegative ? -1 : 1
  if (leftSign !== rightSign) return leftSign < rightSign ? -1 : 1
  if (leftSign === 0) return 0
  // The number of digits decides most cases without large integers.
  const leftTop = digitsOf(left.coefficient) + left.exponent
  const rightTop = digitsOf(right.coefficient) + right.exponent
  if (leftTop !== rightTop) return leftTop < rightTop ? -leftSign : leftSign
  const exponent = Math.min(left.exponent, right.exponent)
  const a = left.coefficient * powerOfTen(left.exponent - exponent)
  const b = right.coefficient * powerOfTen(right.exponent - exponent)
  return a === b ? 0 : a < b ? -leftSign : leftSign
}

const parsedDigitsMax = 40
const signalling = /^[+-]?(?:nan|inf|infinity)$/i
const numeral = /^([+-])?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Reads `12.50`, `-1E+3`, `NaN`, `Infinity`; undefined if the text is not a number. */
export function parseDecimal(text: string): Decimal | undefined {
  if (signalling.test(text)) {
    if (text.toLowerCase().endsWith('nan')) return decimalNan
    return text.startsWith('-') ? decimalNegativeInfinity : decimalInfinity
  }
  const match = numeral.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', power = '0'] = match
  if (whole === '' && fraction === '') return undefined
  const digits = (whole + fraction).replace(/^0+(?=\d)/, '')
  // An exponent of a million digits is as far out of range as this one.
  const exponent = Math.min(1e9, Math.max(-1e9, Number(power))) - fraction.length
  if (digits.length <= parsedDigitsMax) return roundDecimal(finite(sign === '-', BigInt(digits), exponent))
  // Rounding drops these digits; it only matters whether one of them is not zero.
  const rest = /[1-9]/.test(digits.slice(parsedDigitsMax)) ? '1' : '0'
  const coefficient = BigInt(digits.slice(0, parsedDigitsMax) + rest)
  return roundDecimal(finite(sign === '-', coefficient, exponent + digits.length - parsedDigitsMax - 1))
}

/** As MongoDB prints it: scientific notation when the exponent is positive or the number is below 10^-6. */
export function printDecimal(decimal: Decimal): string {
  if (decimal.kind === 'nan') return 'NaN'
  const sign = decimal.isNegative ? '-' : ''
  if (decimal.kind === 'infinity') return `${sign}Infinity`
  const digits = decimal.coefficient.toString()
  const { exponent } = decimal
  const scientific = digits.length - 1 + exponent
  if (exponent > 0 || scientific < -6) {
    const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`
    return `${sign}${mantissa}E${scientific < 0 ? '' : '+'}${scientific}`
  }
  if (exponent === 0) return sign + digits
  const padded = digits.padStart(1 - exponent, '0')
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`
}
