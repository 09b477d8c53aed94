/** Trigonometric and bitwise operators. */

import { multiplyDecimals } from '../../../document/bson/decimal-arithmetic.ts'
import { parseDecimal } from '../../../document/bson/decimal128.ts'
import {
  compareNumbers,
  decimal128,
  isNaNValue,
  isNumeric,
  isZeroValue,
  printNumber,
  toDecimal,
  toDouble,
} from '../../../document/bson/number.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { double, int32, int64, type NumericValue, nullValue, type Value } from '../../../document/bson/value.ts'
import { anyOperands, isNullish, nameOfType, refuse, twoOperands } from '../core/define-operator.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { numeric } from './arithmetic.ts'
import { arctangentOf, decimalFunctions } from './decimal-trigonometry.ts'

type Name = keyof typeof decimalFunctions

function compute(name: Name, value: NumericValue): NumericValue {
  return value.type === bsonType.decimal128
    ? decimal128(decimalFunctions[name](toDecimal(value)))
    : double(Math[name](toDouble(value)))
}

function everywhere(name: Name): CompileOperator {
  return numeric(value => compute(name, value))
}

function scaled(factor: number, digits: string): CompileOperator {
  const decimalFactor = parseDecimal(digits)!
  return numeric(value =>
    value.type === bsonType.decimal128
      ? decimal128(multiplyDecimals(toDecimal(value), decimalFactor))
      : double(toDouble(value) * factor),
  )
}

interface Bounds {
  readonly low: number
  readonly high: number
  readonly isOpen?: boolean
}

function bounded(bounds: Bounds, name: Name): CompileOperator {
  const { low, high, isOpen = false } = bounds
  const [left, right] = isOpen ? ['(', ')'] : ['[', ']']
  const least = isOpen ? 1 : 0
  const show = (bound: number) => (Number.isFinite(bound) ? String(bound) : bound < 0 ? '-inf' : 'inf')
  return numeric(value => {
    if (isNaNValue(value)) return value
    if (compareNumbers(value, double(low)) < least || compareNumbers(double(high), value) < least) {
      const range = `${left}${show(low)},${show(high)}${right}`
      refuse(50989, `cannot apply $${name} to ${printNumber(value)}, value must be in ${range}`)
    }
    return compute(name, value)
  })
}

const arctangent2 = twoOperands((y, x, name) => {
  if (isNullish(y)) return nullValue
  if (!isNumeric(y)) return refuse(51044, `${name} only supports numeric types, not ${nameOfType(y)}`)
  if (isNullish(x)) return nullValue
  if (!isNumeric(x)) return refuse(51045, `${name} only supports numeric types, not ${nameOfType(x)}`)
  const angle = Math.atan2(toDouble(y), toDouble(x))
  if (y.type !== bsonType.decimal128 && x.type !== bsonType.decimal128) return double(angle)
  const [top, right] = [toDecimal(y), toDecimal(x)]
  const isPlain = top.kind === 'finite' && right.kind === 'finite' && !(isZeroValue(y) && isZeroValue(x))
  return decimal128(isPlain ? arctangentOf(top, right) : toDecimal(double(angle)))
})

const finite: Bounds = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, isOpen: true }
const unit: Bounds = { low: -1, high: 1 }

export const trigonometricOperators: OperatorFamily = {
  $acos: bounded(unit, 'acos'),
  $acosh: bounded({ low: 1, high: Number.POSITIVE_INFINITY }, 'acosh'),
  $asin: bounded(unit, 'asin'),
  $asinh: everywhere('asinh'),
  $atan: everywhere('atan'),
  $atan2: arctangent2,
  $atanh: bounded(unit, 'atanh'),
  $cos: bounded(finite, 'cos'),
  $cosh: everywhere('cosh'),
  $degreesToRadians: scaled(Math.PI / 180, '0.01745329251994329576923690768488613'),
  $radiansToDegrees: scaled(180 / Math.PI, '57.29577951308232087679815481410517'),
  $sin: bounded(finite, 'sin'),
  $sinh: everywhere('sinh'),
  $tan: bounded(finite, 'tan'),
  $tanh: everywhere('tanh'),
}

const typeMismatch = 14

function bitwise(neutral: number, compute: (left: bigint, right: bigint) => bigint): CompileOperator {
  return anyOperands((operands, name) => context => {
    let result = BigInt(neutral)
    let isLong = false
    for (const operand of operands) {
      const value: Value | undefined = operand(context)
      if (isNullish(value)) return nullValue
      if (value.type !== bsonType.int32 && value.type !== bsonType.int64) {
        return refuse(typeMismatch, `${name} only supports int and long operands.`)
      }
      isLong ||= value.type === bsonType.int64
      result = compute(result, BigInt(value.value))
    }
    return isLong ? int64(BigInt.asIntN(64, result)) : int32(Number(BigInt.asIntN(32, result)))
  })
}

export const bitwiseOperators: OperatorFamily = {
  $bitAnd: bitwise(-1, (left, right) => left & right),
  $bitNot: numeric((value, name) => {
    if (value.type === bsonType.int32) return int32(~value.value)
    if (value.type === bsonType.int64) return int64(~value.value)
    return refuse(typeMismatch, `${name} only supports int and long, not: ${nameOfType(value)}.`)
  }),
  $bitOr: bitwise(0, (left, right) => left | right),
  $bitXor: bitwise(0, (left, right) => left ^ right),
}
