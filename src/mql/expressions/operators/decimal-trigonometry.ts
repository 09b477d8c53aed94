/**
 * Trigonometric functions of decimals, exact to all 34 digits.
 *
 * Numbers are fixed-point: an integer divided by 10^scale. The scale grows for small numbers, so that enough
 * significant digits remain, and for large angles, of which only the remainder of a full turn matters.
 */

import {
  addDecimals,
  divideDecimals,
  expDecimal,
  multiplyDecimals,
  subtractDecimals,
} from '../../../document/bson/decimal-arithmetic.ts'
import {
  type Decimal,
  decimalInfinity,
  decimalNan,
  decimalNegativeInfinity,
  digitsOf,
  type FiniteDecimal,
  finite,
  powerOfTen,
  roundDecimal,
} from '../../../document/bson/decimal128.ts'

/** Twice the digits of a decimal, because a difference may lose half of them, plus a reserve. */
const baseScale = 80

function scaleOf({ coefficient, exponent }: FiniteDecimal): number {
  const leading = coefficient === 0n ? 0 : digitsOf(coefficient) + exponent
  return baseScale + Math.max(0, -leading)
}

function fixed({ isNegative, coefficient, exponent }: FiniteDecimal, scale: number): bigint {
  const shift = exponent + scale
  const size = shift >= 0 ? coefficient * powerOfTen(shift) : coefficient / powerOfTen(-shift)
  return isNegative ? -size : size
}

/** Zero and one are written without trailing zeros. */
function decimal(value: bigint, scale: number): Decimal {
  const whole = value / powerOfTen(scale)
  if (whole * powerOfTen(scale) === value) return finite(whole < 0n, whole < 0n ? -whole : whole, 0)
  return roundDecimal(finite(value < 0n, value < 0n ? -value : value, -scale))
}

function times(left: bigint, right: bigint, scale: number): bigint {
  return (left * right) / powerOfTen(scale)
}

function over(left: bigint, right: bigint, scale: number): bigint {
  return (left * powerOfTen(scale)) / right
}

function root(value: bigint, scale: number): bigint {
  const radicand = value * powerOfTen(scale)
  if (radicand === 0n) return 0n
  let guess = 1n << BigInt(Math.ceil(radicand.toString(2).length / 2))
  for (;;) {
    const next = (guess + radicand / guess) >> 1n
    if (next >= guess) return guess
    guess = next
  }
}

/** x - x³/3 + x⁵/5 … */
function arctangentSeries(x: bigint, scale: number): bigint {
  const square = times(x, x, scale)
  let sum = 0n
  let term = x
  for (let n = 1n; term !== 0n; n += 2n) {
    sum += n % 4n === 1n ? term / n : -(term / n)
    term = times(term, square, scale)
  }
  return sum
}

/** The arctangent of 1/n. It divides by small numbers only. */
function arccotangent(n: bigint, scale: number): bigint {
  let term = powerOfTen(scale) / n
  let sum = 0n
  for (let k = 1n; term !== 0n; k += 2n) {
    sum += k % 4n === 1n ? term / k : -(term / k)
    term /= n * n
  }
  return sum
}

let knownPi = { scale: 0, value: 3n }

/** Machin's formula. */
function pi(scale: number): bigint {
  if (knownPi.scale < scale) {
    const value = 16n * arccotangent(5n, scale + 10) - 4n * arccotangent(239n, scale + 10)
    knownPi = { scale, value: value / powerOfTen(10) }
  }
  return knownPi.value / powerOfTen(knownPi.scale - scale)
}

/** The sum of xⁿ/n! over odd or even n, with or without alternating signs. */
function powerSeries(x: bigint, scale: number, first: 0n | 1n, isAlternating: boolean): bigint {
  const square = times(x, x, scale)
  let term = first === 1n ? x : powerOfTen(scale)
  let sum = 0n
  for (let n = first; term !== 0n; n += 2n) {
    sum += term
    term = times(term, square, scale) / ((n + 1n) * (n + 2n))
    if (isAlternating) term = -term
  }
  return sum
}

/** Sine and cosine together, after the angle is reduced by whole quarter turns. */
function circle(x: FiniteDecimal): { readonly sine: bigint; readonly cosine: bigint; readonly scale: number } {
  const scale = scaleOf(x)
  const digitsBefore = Math.max(0, digitsOf(x.coefficient) + x.exponent)
  const wide = scale + digitsBefore
  const quarter = pi(wide) / 2n
  const angle = fixed(x, wide)
  let turns = angle / quarter
  let rest = angle - turns * quarter
  if (2n * rest > quarter) turns += 1n
  if (2n * rest < -quarter) turns -= 1n
  rest = (angle - turns * quarter) / powerOfTen(digitsBefore)
  const [s, c] = [powerSeries(rest, scale, 1n, true), powerSeries(rest, scale, 0n, true)]
  const position = ((turns % 4n) + 4n) % 4n
  if (position === 0n) return { sine: s, cosine: c, scale }
  if (position === 1n) return { sine: c, cosine: -s, scale }
  if (position === 2n) return { sine: -s, cosine: -c, scale }
  return { sine: -c, cosine: s, scale }
}

/** Halving the angle a few times shortens the series. */
function arctangent(x: bigint, scale: number): bigint {
  const one = powerOfTen(scale)
  if (x < 0n) return -arctangent(-x, scale)
  if (x > one) return pi(scale) / 2n - arctangent(over(one, x, scale), scale)
  let small = x
  let doublings = 0n
  while (small > one / 16n) {
    small = over(small, one + root(one + times(small, small, scale), scale), scale)
    doublings += 1n
  }
  return arctangentSeries(small, scale) << doublings
}

function arcsine(x: bigint, scale: number): bigint {
  const one = powerOfTen(scale)
  const other = root(one - times(x, x, scale), scale)
  if (other === 0n) return x < 0n ? -pi(scale) / 2n : pi(scale) / 2n
  return arctangent(over(x, other, scale), scale)
}

/**
 * The logarithm of a number that is at least one. Square roots reduce it until the series 2
 * artanh((x-1)/(x+1)) is short.
 */
function logarithm(x: bigint, scale: number): bigint {
  const one = powerOfTen(scale)
  let value = x
  let doublings = 0n
  while (value - one > one / 8n) {
    value = root(value, scale)
    doublings += 1n
  }
  const z = over(value - one, value + one, scale)
  const square = times(z, z, scale)
  let sum = 0n
  let term = z
  for (let n = 1n; term !== 0n; n += 2n) {
    sum += term / n
    term = times(term, square, scale)
  }
  return (2n * sum) << doublings
}

interface DecimalFunction {
  readonly compute: (x: FiniteDecimal, scale: number) => Decimal
  readonly ofInfinity: (isNegative: boolean) => Decimal
  /**
   * The result for a number so tiny that its square is lost in 34 digits. Without it, the result is the
   * number itself.
   */
  readonly ofTiny?: (x: FiniteDecimal) => Decimal
}

function defined({ compute, ofInfinity, ofTiny = x => x }: DecimalFunction): (x: Decimal) => Decimal {
  return x => {
    if (x.kind === 'nan') return decimalNan
    if (x.kind === 'infinity') return ofInfinity(x.isNegative)
    const isTiny = x.coefficient !== 0n && digitsOf(x.coefficient) + x.exponent < -40
    return isTiny ? ofTiny(x) : compute(x, scaleOf(x))
  }
}

const undefinedThere = (): Decimal => decimalNan
const itself = (isNegative: boolean): Decimal => (isNegative ? decimalNegativeInfinity : decimalInfinity)
const half = finite(false, 5n, -1)
const one = finite(false, 1n, 0)

function negated(x: Decimal): Decimal {
  return x.kind === 'nan' ? x : { ...x, isNegative: !x.isNegative }
}

function isBelowOne({ coefficient, exponent }: FiniteDecimal): boolean {
  return digitsOf(coefficient) + exponent <= 0
}

function signed(x: FiniteDecimal, compute: (size: FiniteDecimal) => Decimal): Decimal {
  const result = compute(finite(false, x.coefficient, x.exponent))
  return x.isNegative ? negated(result) : result
}

function hyperbolic(x: FiniteDecimal, scale: number, isSine: boolean): Decimal {
  if (isBelowOne(x)) return decimal(powerSeries(fixed(x, scale), scale, isSine ? 1n : 0n, false), scale)
  const [up, down] = [expDecimal(x), expDecimal(negated(x))]
  return multiplyDecimals(half, isSine ? subtractDecimals(up, down) : addDecimals(up, down))
}

function quarter(isNegative: boolean): Decimal {
  return decimal(isNegative ? -pi(baseScale) / 2n : pi(baseScale) / 2n, baseScale)
}

/** From 10^40 on, the arctangent is a quarter turn to all digits. */
function isHuge({ coefficient, exponent }: FiniteDecimal): boolean {
  return digitsOf(coefficient) + exponent > 40
}

function hyperbolicTangent(x: FiniteDecimal, scale: number): Decimal {
  return signed(x, size => {
    // From a hundred on, the result is one to all digits.
    if (digitsOf(size.coefficient) + size.exponent > 2) return one
    const unit = powerOfTen(scale)
    if (!isBelowOne(size)) {
      const square = fixed(expDecimal(multiplyDecimals(finite(false, 2n, 0), size)) as FiniteDecimal, scale)
      return decimal(over(square - unit, square + unit, scale), scale)
    }
    const value = fixed(size, scale)
    return decimal(over(powerSeries(value, scale, 1n, false), powerSeries(value, scale, 0n, false), scale), scale)
  })
}

export const decimalFunctions = {
  sin: defined({
    compute: x => {
      const { sine, scale } = circle(x)
      return decimal(sine, scale)
    },
    ofInfinity: undefinedThere,
  }),
  cos: defined({
    compute: x => {
      const { cosine, scale } = circle(x)
      return decimal(cosine, scale)
    },
    ofInfinity: undefinedThere,
    ofTiny: () => one,
  }),
  tan: defined({
    compute: x => {
      const { sine, cosine, scale } = circle(x)
      return decimal(over(sine, cosine, scale), scale)
    },
    ofInfinity: undefinedThere,
  }),
  asin: defined({
    compute: (x, scale) => decimal(arcsine(fixed(x, scale), scale), scale),
    ofInfinity: undefinedThere,
  }),
  acos: defined({
    compute: (x, scale) => decimal(pi(scale) / 2n - arcsine(fixed(x, scale), scale), scale),
    ofInfinity: undefinedThere,
    ofTiny: () => quarter(false),
  }),
  atan: defined({
    compute: (x, scale) => (isHuge(x) ? quarter(x.isNegative) : decimal(arctangent(fixed(x, scale), scale), scale)),
    ofInfinity: quarter,
  }),
  sinh: defined({ compute: (x, scale) => hyperbolic(x, scale, true), ofInfinity: itself }),
  cosh: defined({
    compute: (x, scale) => hyperbolic(x, scale, false),
    ofInfinity: () => decimalInfinity,
    ofTiny: () => one,
  }),
  tanh: defined({ compute: hyperbolicTangent, ofInfinity: isNegative => finite(isNegative, 1n, 0) }),
  asinh: defined({
    compute: (x, scale) =>
      signed(x, size => {
        const value = fixed(size, scale)
        const hypotenuse = root(times(value, value, scale) + powerOfTen(scale), scale)
        return decimal(logarithm(value + hypotenuse, scale), scale)
      }),
    ofInfinity: itself,
  }),
  /** For numbers that are at least one. */
  acosh: defined({
    compute: (x, scale) => {
      const value = fixed(x, scale)
      return decimal(logarithm(value + root(times(value, value, scale) - powerOfTen(scale), scale), scale), scale)
    },
    ofInfinity: itself,
  }),
  /** For numbers from minus one to one. */
  atanh: defined({
    compute: (x, scale) =>
      signed(x, size => {
        const value = fixed(size, scale)
        const unit = powerOfTen(scale)
        if (value === unit) return decimalInfinity
        return decimal(logarithm(over(unit + value, unit - value, scale), scale) / 2n, scale)
      }),
    ofInfinity: undefinedThere,
  }),
} as const

/** The angle of a point. Both coordinates are finite, and not both are zero. */
export function arctangentOf(y: FiniteDecimal, x: FiniteDecimal): Decimal {
  if (x.coefficient === 0n) return quarter(y.isNegative)
  const slope = divideDecimals(y, x)
  const angle = decimalFunctions.atan(slope)
  if (!x.isNegative) return angle
  const halfTurn = decimal(y.isNegative ? -pi(baseScale) : pi(baseScale), baseScale)
  return addDecimals(angle, halfTurn)
}
