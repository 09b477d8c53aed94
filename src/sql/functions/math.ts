/** Mathematical functions on doubles. A result that is not a finite number becomes undefined. */

import { finiteOrUndefined, type SqlValue } from '../values/value.ts'
import { type BuiltIn, define, defineOpen, type FunctionFamily, onNumber, onTwoNumbers } from './define.ts'

function real(compute: (number: number) => number): BuiltIn {
  return onNumber(number => finiteOrUndefined(compute(number)))
}

/** Rounds half away from zero; Math.round rounds half up. */
function roundHalfAway(number: number): number {
  return Math.sign(number) * Math.round(Math.abs(number))
}

/**
 * Rounds the decimal digits that a person sees, not the binary fraction, so 1.005 to two digits is 1.01. The
 * exponent is moved in decimal notation, which is exact.
 */
function roundTo(number: number, digits: number): SqlValue {
  if (!Number.isInteger(digits) || Math.abs(digits) > 300) return undefined
  return finiteOrUndefined(shiftDecimal(roundHalfAway(shiftDecimal(number, digits)), -digits))
}

function shiftDecimal(number: number, digits: number): number {
  const [mantissa, exponent = '0'] = String(number).split('e')
  return Number(`${mantissa}e${Number(exponent) + digits}`)
}

export const mathFunctions: FunctionFamily = {
  ABS: real(Math.abs),
  ACOS: real(Math.acos),
  ASIN: real(Math.asin),
  ATAN: real(Math.atan),
  ATN2: onTwoNumbers((y, x) => finiteOrUndefined(Math.atan2(y, x))),
  CEILING: real(Math.ceil),
  CHOOSE: defineOpen(2, ([index, ...values]) =>
    typeof index === 'number' && Number.isInteger(index) ? values[index - 1] : undefined,
  ),
  COS: real(Math.cos),
  COT: real(number => 1 / Math.tan(number)),
  DEGREES: real(radians => (180 / Math.PI) * radians),
  EXP: real(Math.exp),
  FLOOR: real(Math.floor),
  LOG: define(1, 2, ([number, base = Math.E]) => {
    if (typeof number !== 'number' || typeof base !== 'number') return undefined
    return finiteOrUndefined(base === Math.E ? Math.log(number) : Math.log(number) / Math.log(base))
  }),
  LOG10: real(Math.log10),
  'NUMBERBIN NUMBER_BIN': define(1, 2, ([number, size = 1]) => {
    if (typeof number !== 'number' || typeof size !== 'number' || size <= 0) return undefined
    return finiteOrUndefined(Math.floor(number / size) * size)
  }),
  PI: define(0, 0, () => Math.PI),
  POWER: onTwoNumbers((base, exponent) => finiteOrUndefined(base ** exponent)),
  RADIANS: real(degrees => (Math.PI / 180) * degrees),
  RAND: define(0, 0, (_, context) => context.random()),
  ROUND: define(1, 2, ([number, digits = 0]) => {
    if (typeof number !== 'number' || typeof digits !== 'number') return undefined
    return roundTo(number, digits)
  }),
  SIGN: real(Math.sign),
  SIN: real(Math.sin),
  SQRT: real(Math.sqrt),
  SQUARE: real(number => number * number),
  TAN: real(Math.tan),
  TRUNC: real(Math.trunc),
}
