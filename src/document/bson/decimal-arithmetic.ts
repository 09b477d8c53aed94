/**
 * Arithmetic on decimals: exact on integers, then rounded once to 34 digits. Roots, powers and logarithms use
 * guard digits.
 */

import {
  compareFinite,
  type Decimal,
  decimalDigitsMax,
  decimalInfinity,
  decimalNan,
  decimalNegativeInfinity,
  digitsOf,
  divideRounded,
  type FiniteDecimal,
  finite,
  powerOfTen,
  type RoundingMode,
  roundDecimal,
} from './decimal128.ts'

function signed({ isNegative, coefficient }: FiniteDecimal): bigint {
  return isNegative ? -coefficient : coefficient
}

function fromSigned(coefficient: bigint, exponent: number, zeroIsNegative = false): FiniteDecimal {
  return coefficient < 0n
    ? finite(true, -coefficient, exponent)
    : finite(coefficient === 0n && zeroIsNegative, coefficient, exponent)
}

function infinity(isNegative: boolean): Decimal {
  return isNegative ? decimalNegativeInfinity : decimalInfinity
}

function isZero(decimal: Decimal): boolean {
  return decimal.kind === 'finite' && decimal.coefficient === 0n
}

function negateDecimal(decimal: Decimal): Decimal {
  return decimal.kind === 'nan' ? decimal : { ...decimal, isNegative: !decimal.isNegative }
}

export function absDecimal(decimal: Decimal): Decimal {
  return decimal.kind === 'nan' ? decimal : { ...decimal, isNegative: false }
}

export function addDecimals(left: Decimal, right: Decimal): Decimal {
  if (left.kind === 'nan' || right.kind === 'nan') return decimalNan
  if (left.kind === 'infinity') {
    return right.kind === 'infinity' && left.isNegative !== right.isNegative ? decimalNan : left
  }
  if (right.kind === 'infinity') return right
  const exponent = Math.min(left.exponent, right.exponent)
  const sum =
    signed(left) * powerOfTen(left.exponent - exponent) + signed(right) * powerOfTen(right.exponent - exponent)
  return roundDecimal(fromSigned(sum, exponent, left.isNegative && right.isNegative))
}

export function subtractDecimals(left: Decimal, right: Decimal): Decimal {
  return addDecimals(left, negateDecimal(right))
}

export function multiplyDecimals(left: Decimal, right: Decimal): Decimal {
  if (left.kind === 'nan' || right.kind === 'nan') return decimalNan
  const isNegative = left.isNegative !== right.isNegative
  if (left.kind === 'infinity' || right.kind === 'infinity') {
    return isZero(left) || isZero(right) ? decimalNan : infinity(isNegative)
  }
  return roundDecimal(finite(isNegative, left.coefficient * right.coefficient, left.exponent + right.exponent))
}

export function divideDecimals(left: Decimal, right: Decimal): Decimal {
  if (left.kind === 'nan' || right.kind === 'nan') return decimalNan
  const isNegative = left.isNegative !== right.isNegative
  if (left.kind === 'infinity') return right.kind === 'infinity' ? decimalNan : infinity(isNegative)
  if (right.kind === 'infinity') return roundDecimal(finite(isNegative, 0n, -1e9))
  if (right.coefficient === 0n) return left.coefficient === 0n ? decimalNan : infinity(isNegative)
  const wanted = left.exponent - right.exponent
  if (left.coefficient === 0n) return roundDecimal(finite(isNegative, 0n, wanted))
  const shift = Math.max(0, decimalDigitsMax + 2 + digitsOf(right.coefficient) - digitsOf(left.coefficient))
  const dividend = left.coefficient * powerOfTen(shift)
  const quotient = dividend / right.coefficient
  const isExact = dividend % right.coefficient === 0n
  if (!isExact) return roundDecimal(finite(isNegative, quotient * 10n + 1n, wanted - shift - 1))
  return roundDecimal(withoutZeros(finite(isNegative, quotient, wanted - shift), wanted))
}

/** Drops trailing zeros until the exponent is `wanted`, so that an exact quotient has no needless digits. */
function withoutZeros({ isNegative, coefficient, exponent }: FiniteDecimal, wanted: number): FiniteDecimal {
  let digits = coefficient
  let scale = exponent
  while (scale < wanted && digits % 10n === 0n) {
    digits /= 10n
    scale += 1
  }
  return finite(isNegative, digits, scale)
}

/** The remainder of a truncated division; it has the sign of the dividend. */
export function modDecimals(left: Decimal, right: Decimal): Decimal {
  if (left.kind !== 'finite' || right.kind === 'nan' || isZero(right)) return decimalNan
  if (right.kind === 'infinity') return left
  const exponent = Math.min(left.exponent, right.exponent)
  const dividend = left.coefficient * powerOfTen(left.exponent - exponent)
  const divisor = right.coefficient * powerOfTen(right.exponent - exponent)
  return roundDecimal(finite(left.isNegative, dividend % divisor, exponent))
}

/** Rounds to `place` decimal places. A negative number of places means tens, hundreds and so on. */
export function roundToPlace(decimal: Decimal, place: number, mode: RoundingMode): Decimal {
  if (decimal.kind !== 'finite' || -place <= decimal.exponent) {
    // MongoDB adds zeros up to the place that was asked for, as far as 34 digits allow.
    if (decimal.kind !== 'finite') return decimal
    const shift = Math.min(decimal.exponent + place, decimalDigitsMax - digitsOf(decimal.coefficient))
    return shift <= 0
      ? decimal
      : finite(decimal.isNegative, decimal.coefficient * powerOfTen(shift), decimal.exponent - shift)
  }
  const { isNegative, coefficient, exponent } = decimal
  const dropped = -place - exponent
  const kept =
    dropped > digitsOf(coefficient) + 1 && (mode === 'half-even' || mode === 'down')
      ? 0n
      : divideRounded(coefficient, powerOfTen(dropped), mode, isNegative)
  return roundDecimal(finite(isNegative, kept, -place))
}

/** Additional digits of intermediate results. */
const guardDigits = 16

export function sqrtDecimal(decimal: Decimal): Decimal {
  if (decimal.kind === 'nan') return decimalNan
  if (isZero(decimal)) return decimal
  if (decimal.isNegative) return decimalNan
  if (decimal.kind === 'infinity') return decimal
  const { coefficient, exponent } = decimal
  const wanted = Math.floor(exponent / 2)
  let shift = Math.max(0, 2 * decimalDigitsMax + 4 - digitsOf(coefficient))
  if ((exponent - shift) % 2 !== 0) shift += 1
  const radicand = coefficient * powerOfTen(shift)
  const root = integerRoot(radicand)
  const scale = (exponent - shift) / 2
  if (root * root !== radicand) return roundDecimal(finite(false, root * 10n + 1n, scale - 1))
  return roundDecimal(withoutZeros(finite(false, root, scale), wanted))
}

/** The integer part of a square root, by Newton's method from above. */
function integerRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** A fixed-point number: `value` / 10^scale. */
interface Fixed {
  readonly value: bigint
  readonly scale: number
}

function toFixed({ isNegative, coefficient, exponent }: FiniteDecimal, scale: number): bigint {
  const shift = exponent + scale
  const value = shift >= 0 ? coefficient * powerOfTen(shift) : coefficient / powerOfTen(-shift)
  return isNegative ? -value : value
}

function fromFixed({ value, scale }: Fixed): Decimal {
  return value === 0n ? finite(false, 0n, 0) : roundDecimal(fromSigned(value, -scale))
}

/** The natural logarithm of value / 10^scale (0.1 to 10): 2 artanh((x-1)/(x+1)), after square roots. */
function fixedLn(value: bigint, scale: number): bigint {
  const one = powerOfTen(scale)
  let x = value
  let doublings = 0
  while (x - one > one / 8n || one - x > one / 8n) {
    x = integerRoot(x * one)
    doublings += 1
  }
  const z = ((x - one) * one) / (x + one)
  const square = (z * z) / one
  let term = z
  let sum = 0n
  for (let n = 1n; term !== 0n; n += 2n) {
    sum += term / n
    term = (term * square) / one
  }
  return (2n * sum) << BigInt(doublings)
}

const lnTenScale = 80
let lnTen: bigint | undefined

function fixedLnTen(scale: number): bigint {
  lnTen ??= fixedLn(10n * powerOfTen(lnTenScale + guardDigits), lnTenScale + guardDigits) / powerOfTen(guardDigits)
  return lnTen / powerOfTen(lnTenScale - scale)
}

/** The logarithm of a positive number in fixed point. */
function lnOf({ coefficient, exponent }: FiniteDecimal, scale: number): bigint {
  const digits = digitsOf(coefficient)
  const mantissa = toFixed(finite(false, coefficient, 1 - digits), scale + guardDigits)
  const ln = fixedLn(mantissa, scale + guardDigits) / powerOfTen(guardDigits)
  return ln + BigInt(exponent + digits - 1) * fixedLnTen(scale)
}

const workScale = decimalDigitsMax + 2 * guardDigits

export function lnDecimal(decimal: Decimal): Decimal {
  if (decimal.kind === 'nan') return decimalNan
  if (isZero(decimal)) return decimalNegativeInfinity
  if (decimal.isNegative) return decimalNan
  if (decimal.kind === 'infinity') return decimal
  return fromFixed({ value: lnOf(decimal, workScale), scale: workScale })
}

export function log10Decimal(decimal: Decimal): Decimal {
  if (decimal.kind !== 'finite' || decimal.isNegative || isZero(decimal)) return lnDecimal(decimal)
  const power = withoutZeros(decimal, Number.POSITIVE_INFINITY)
  if (power.coefficient === 1n) return fromSigned(BigInt(power.exponent), 0)
  return fromFixed({
    value: (lnOf(decimal, workScale) * powerOfTen(workScale)) / fixedLnTen(workScale),
    scale: workScale,
  })
}

/** e to the power of value / 10^scale: first powers of ten, then a series for the rest. */
function expOf(value: bigint, scale: number): Decimal {
  const one = powerOfTen(scale)
  const ten = fixedLnTen(scale)
  let power = value / ten
  let rest = value % ten
  if (rest < 0n) {
    rest += ten
    power -= 1n
  }
  if (power > 7000n) return decimalInfinity
  if (power < -7000n) return finite(false, 0n, -6176)
  const halvings = 8n
  const x = rest >> halvings
  let term = one
  let sum = one
  for (let n = 1n; term !== 0n; n += 1n) {
    term = (term * x) / one / n
    sum += term
  }
  for (let n = 0n; n < halvings; n += 1n) sum = (sum * sum) / one
  return roundDecimal(finite(false, sum, Number(power) - scale))
}

export function expDecimal(decimal: Decimal): Decimal {
  if (decimal.kind === 'nan') return decimalNan
  if (decimal.kind === 'infinity') return decimal.isNegative ? finite(false, 0n, 0) : decimal
  if (isZero(decimal)) return finite(false, 1n, 0)
  if (digitsOf(decimal.coefficient) + decimal.exponent > 6) {
    return decimal.isNegative ? finite(false, 0n, -6176) : decimalInfinity
  }
  return expOf(toFixed(decimal, workScale), workScale)
}

export function powDecimals(base: Decimal, exponent: Decimal): Decimal {
  if (exponent.kind === 'finite' && exponent.coefficient === 0n) return finite(false, 1n, 0)
  if (base.kind === 'nan' || exponent.kind === 'nan') return decimalNan
  const whole = integerOf(exponent)
  const isOdd = whole !== undefined && (whole & 1n) === 1n
  if (base.kind === 'infinity' || isZero(base)) {
    const isLarge = (base.kind === 'infinity') !== exponent.isNegative
    const isNegative = base.isNegative && isOdd
    return isLarge ? infinity(isNegative) : finite(isNegative, 0n, 0)
  }
  const one = finite(false, 1n, 0)
  const size = compareFinite(finite(false, (base as FiniteDecimal).coefficient, (base as FiniteDecimal).exponent), one)
  if (exponent.kind === 'infinity') {
    if (size === 0) return one
    return size > 0 !== exponent.isNegative ? decimalInfinity : finite(false, 0n, 0)
  }
  if (base.isNegative && whole === undefined) return decimalNan
  const magnitude = absDecimal(base) as FiniteDecimal
  const exact = whole === undefined ? undefined : exactPower(magnitude, whole)
  if (exact !== undefined) return roundDecimal(finite(base.isNegative && isOdd, exact.coefficient, exact.exponent))
  if (size === 0) return finite(base.isNegative && isOdd, 1n, 0)
  // A base other than 1 has a logarithm of at least 10^-34 in size. Times 10^42, it leaves the range of
  // exponents.
  if (digitsOf(exponent.coefficient) + exponent.exponent > 42) {
    return size > 0 !== exponent.isNegative
      ? infinity(base.isNegative && isOdd)
      : finite(base.isNegative && isOdd, 0n, 0)
  }
  const product = lnOf(magnitude, lnTenScale) * toFixed(exponent, lnTenScale)
  const result = expOf(product / powerOfTen(2 * lnTenScale - workScale), workScale)
  return base.isNegative && isOdd ? negateDecimal(result) : result
}

/** The exact power, if it is small enough to be computed by multiplying. */
function exactPower({ coefficient, exponent }: FiniteDecimal, power: bigint): FiniteDecimal | undefined {
  if (power < 0n || power > 1000n || digitsOf(coefficient) * Number(power) > 4000) return undefined
  return finite(false, coefficient ** power, exponent * Number(power))
}

/** The number as an integer; undefined if it is not one. */
export function integerOf(decimal: Decimal): bigint | undefined {
  if (decimal.kind !== 'finite') return undefined
  const { coefficient, exponent, isNegative } = decimal
  if (exponent >= 0) return isNegative ? -(coefficient * powerOfTen(exponent)) : coefficient * powerOfTen(exponent)
  if (coefficient === 0n) return 0n
  if (-exponent > digitsOf(coefficient)) return undefined
  const unit = powerOfTen(-exponent)
  if (coefficient % unit !== 0n) return undefined
  return isNegative ? -(coefficient / unit) : coefficient / unit
}
