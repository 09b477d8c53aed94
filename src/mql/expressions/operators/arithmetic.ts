/** Arithmetic on all four number types, and on dates as in MongoDB. */

import { divideDecimals, lnDecimal } from '../../../document/bson/decimal-arithmetic.ts'
import {
  abs,
  ceil,
  compareNumbers,
  decimal128,
  divide,
  exactInteger,
  exp,
  floor,
  int64Max,
  int64Min,
  isNaNValue,
  isNumeric,
  isZeroValue,
  ln,
  log10,
  mod,
  pow,
  printNumber,
  round,
  sqrt,
  subtract,
  toDecimal,
  toDouble,
  trunc,
} from '../../../document/bson/number.ts'
import { bsonType } from '../../../document/bson/types.ts'
import {
  type DateValue,
  date,
  double,
  int32,
  int64,
  type NumericValue,
  nullValue,
  type Value,
} from '../../../document/bson/value.ts'
import {
  anyOperands,
  between,
  int32Of,
  isNullish,
  nameOfType,
  oneOperand,
  refuse,
  twoOperands,
} from '../core/define-operator.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { product, sum, Total } from '../values/total.ts'

const badValue = 2
const typeMismatch = 14
const overflow = 15

/** Rounds a number of milliseconds to an integer; halves round away from zero. */
function milliseconds(value: NumericValue): bigint {
  const whole =
    value.type === bsonType.double ? double(Math.sign(value.value) * Math.round(Math.abs(value.value))) : round(value)
  return (whole === undefined ? undefined : exactInteger(whole)) ?? refuse(overflow, 'date overflow')
}

function dateOf(epochMs: bigint): DateValue {
  if (epochMs < int64Min || epochMs > int64Max) refuse(overflow, 'date overflow')
  return date(epochMs)
}

const add = anyOperands(operands => context => {
  const total = new Total(sum)
  let moment: DateValue | undefined
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (value.type === bsonType.date) {
      if (moment !== undefined) refuse(16612, 'only one date allowed in an $add expression')
      moment = dateOf(value.value + milliseconds(total.value()))
    } else if (!isNumeric(value)) {
      refuse(typeMismatch, `$add only supports numeric or date types, not ${nameOfType(value)}`)
    } else if (moment !== undefined) {
      moment = dateOf(moment.value + milliseconds(value))
    } else {
      total.take(value)
    }
  }
  return moment ?? total.value()
})

const multiply = anyOperands(operands => context => {
  const total = new Total(product)
  for (const operand of operands) {
    const value = operand(context)
    if (isNullish(value)) return nullValue
    if (!isNumeric(value)) refuse(typeMismatch, `$multiply only supports numeric types, not ${nameOfType(value)}`)
    total.take(value)
  }
  return total.value()
})

const subtraction = twoOperands((left, right) => {
  if (isNumeric(left) && isNumeric(right)) return subtract(left, right)
  if (isNullish(left) || isNullish(right)) return nullValue
  if (left.type !== bsonType.date) {
    return refuse(typeMismatch, `can't $subtract ${nameOfType(right)} from ${nameOfType(left)}`)
  }
  if (right.type === bsonType.date) {
    const difference = left.value - right.value
    return int64(difference < int64Min || difference > int64Max ? refuse(overflow, 'duration overflow') : difference)
  }
  if (!isNumeric(right)) return refuse(typeMismatch, `can't $subtract ${nameOfType(right)} from Date`)
  return dateOf(left.value - milliseconds(right))
})

const division = twoOperands((left, right) => {
  if (isNumeric(left) && isNumeric(right)) {
    if (isZeroValue(right)) refuse(badValue, "can't $divide by zero")
    return divide(left, right)
  }
  if (isNullish(left) || isNullish(right)) return nullValue
  return refuse(typeMismatch, `$divide only supports numeric types, not ${nameOfType(left)} and ${nameOfType(right)}`)
})

const remainder = twoOperands((left, right) => {
  if (isNumeric(left) && isNumeric(right)) {
    if (isZeroValue(right)) {
      const isDecimal = left.type === bsonType.decimal128 || right.type === bsonType.decimal128
      refuse(isDecimal ? 5733415 : 16610, "can't $mod by zero")
    }
    // An integer and a whole double give an integer.
    const whole = left.type !== bsonType.double && right.type === bsonType.double ? int32Of(right) : undefined
    return mod(left, whole === undefined ? right : int32(whole))
  }
  if (isNullish(left) || isNullish(right)) return nullValue
  return refuse(16611, `$mod only supports numeric types, not ${nameOfType(left)} and ${nameOfType(right)}`)
})

/** An operator on one number. */
export function numeric(compute: (value: NumericValue, name: string) => Value): CompileOperator {
  return oneOperand((value, name) => {
    if (isNullish(value)) return nullValue
    if (!isNumeric(value)) refuse(28765, `${name} only supports numeric types, not ${nameOfType(value)}`)
    return compute(value, name)
  })
}

const one = int32(1)
const zero = int32(0)

function isPositive(value: NumericValue): boolean {
  return compareNumbers(value, zero) > 0
}

const logarithm = twoOperands((value, base) => {
  if (isNullish(value) || isNullish(base)) return nullValue
  if (!isNumeric(value)) return refuse(28756, `$log's argument must be numeric, not ${nameOfType(value)}`)
  if (!isNumeric(base)) return refuse(28757, `$log's base must be numeric, not ${nameOfType(base)}`)
  if (!isPositive(value) && !isNaNValue(value)) {
    refuse(28758, `$log's argument must be a positive number, but is ${printNumber(value)}`)
  }
  if (!isNaNValue(base) && (!isPositive(base) || compareNumbers(base, one) === 0)) {
    refuse(28759, `$log's base must be a positive number not equal to 1, but is ${printNumber(base)}`)
  }
  if (isNaNValue(value) || isNaNValue(base)) return double(Number.NaN)
  if (value.type === bsonType.decimal128 || base.type === bsonType.decimal128) {
    return decimal128(divideDecimals(lnDecimal(toDecimal(value)), lnDecimal(toDecimal(base))))
  }
  return double(Math.log(toDouble(value)) / Math.log(toDouble(base)))
})

const power = twoOperands((base, exponent) => {
  if (isNullish(base) || isNullish(exponent)) return nullValue
  if (!isNumeric(base)) return refuse(28762, `$pow's base must be numeric, not ${nameOfType(base)}`)
  if (!isNumeric(exponent)) return refuse(28763, `$pow's exponent must be numeric, not ${nameOfType(exponent)}`)
  if (isZeroValue(base) && compareNumbers(exponent, zero) < 0 && !isNaNValue(exponent)) {
    refuse(28764, '$pow cannot take a base of 0 and a negative exponent')
  }
  const isDecimal = base.type === bsonType.decimal128 || exponent.type === bsonType.decimal128
  // 1 to the power of NaN and -1 to the power of an infinity are 1. JavaScript returns NaN.
  const isOne = compareNumbers(base, one) === 0 && isNaNValue(exponent)
  const isMinusOne = compareNumbers(base, int32(-1)) === 0 && Math.abs(toDouble(exponent)) === Number.POSITIVE_INFINITY
  if (isOne || isMinusOne) return isDecimal ? decimal128(toDecimal(one)) : double(1)
  return pow(base, exponent)
})

function roundTo(compute: (value: NumericValue, place: number) => NumericValue | undefined): CompileOperator {
  return between([1, 2], ([operand, placeOperand], name) => context => {
    const value = operand!(context)
    if (isNullish(value)) return nullValue
    if (!isNumeric(value)) refuse(51081, `${name} only supports numeric types, not ${nameOfType(value)}`)
    let place = 0
    if (placeOperand !== undefined) {
      const given = placeOperand(context)
      if (isNullish(given)) return nullValue
      if (!isNumeric(given)) refuse(16004, `can't convert from BSON type ${nameOfType(given)} to long`)
      place = int32Of(given) ?? refuse(51082, `precision argument to  ${name} must be a integral value`)
      if (place < -20 || place > 100) {
        refuse(51083, `cannot apply ${name} with precision value ${place} value must be in [-20, 100]`)
      }
    }
    const arguments_ = `[${printNumber(value)}, ${place}]`
    return (
      compute(value, place) ??
      refuse(51080, `invalid conversion from Decimal128 result in ${name} resulting from arguments: ${arguments_}`)
    )
  })
}

function positive(code: number, compute: (value: NumericValue) => NumericValue): CompileOperator {
  return numeric((value, name) => {
    if (!isPositive(value) && !isNaNValue(value)) {
      refuse(code, `${name}'s argument must be a positive number, but is ${printNumber(value)}`)
    }
    // NaN becomes a double, whatever type it had.
    return isNaNValue(value) ? double(Number.NaN) : compute(value)
  })
}

export const arithmeticOperators: OperatorFamily = {
  $abs: numeric(value => abs(value) ?? refuse(28680, "can't take $abs of long long min")),
  $add: add,
  $ceil: numeric(ceil),
  $divide: division,
  $exp: numeric(exp),
  $floor: numeric(floor),
  $ln: positive(28766, ln),
  $log: logarithm,
  $log10: positive(28761, log10),
  $mod: remainder,
  $multiply: multiply,
  $pow: power,
  $round: roundTo(round),
  $sqrt: numeric(value => {
    if (compareNumbers(value, zero) < 0 && !isNaNValue(value)) {
      refuse(28714, "$sqrt's argument must be greater than or equal to 0")
    }
    return sqrt(value)
  }),
  $subtract: subtraction,
  $trunc: roundTo(trunc),
}
