/** Sums and products of many numbers, in the narrowest type that fits all of them. */

import { addDecimals, multiplyDecimals } from '../../../document/bson/decimal-arithmetic.ts'
import { type Decimal, finite } from '../../../document/bson/decimal128.ts'
import {
  decimal128,
  int32Max,
  int32Min,
  int64Max,
  int64Min,
  toDecimal,
  toDouble,
} from '../../../document/bson/number.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { double, int32, int64, type NumericValue } from '../../../document/bson/value.ts'

/** Number types from narrow to wide. */
const widths = { int32: 0, int64: 1, double: 2, decimal: 3 } as const
type Width = (typeof widths)[keyof typeof widths]

export function widthOf({ type }: NumericValue): Width {
  if (type === bsonType.int32) return widths.int32
  if (type === bsonType.int64) return widths.int64
  return type === bsonType.double ? widths.double : widths.decimal
}

export function integerValue(value: bigint, width: Width): NumericValue {
  const isShort = width === widths.int32 && value >= BigInt(int32Min) && value <= BigInt(int32Max)
  return isShort ? int32(Number(value)) : int64(value)
}

interface Operation {
  readonly neutral: number
  readonly ofIntegers: (left: bigint, right: bigint) => bigint
  readonly ofDoubles: (left: number, right: number) => number
  readonly ofDecimals: (left: Decimal, right: Decimal) => Decimal
}

export const sum: Operation = {
  neutral: 0,
  ofIntegers: (left, right) => left + right,
  ofDoubles: (left, right) => left + right,
  ofDecimals: addDecimals,
}

export const product: Operation = {
  neutral: 1,
  ofIntegers: (left, right) => left * right,
  ofDoubles: (left, right) => left * right,
  ofDecimals: multiplyDecimals,
}

/**
 * Adds or multiplies one number after another. Integers stay exact within int64; beyond it the total becomes
 * a double. With a double or a decimal among the numbers, the total becomes one, too. All numbers together
 * decide the type: a sum of int32s is an int32 if it fits, whatever its intermediate sums were.
 */
export class Total {
  readonly #operation: Operation
  #width: Width = widths.int32
  /** The total while it is a double, or an integer that a double holds exactly. */
  #number: number
  /** The total while it is an integer beyond that. */
  #integer: bigint | undefined
  #decimal: Decimal = finite(false, 0n, 0)

  constructor(operation: Operation) {
    this.#operation = operation
    this.#number = operation.neutral
  }

  take(value: NumericValue): void {
    const width = widthOf(value)
    if (width > this.#width) this.#widen(width)
    if (this.#width === widths.decimal) {
      this.#decimal = this.#operation.ofDecimals(this.#decimal, toDecimal(value))
    } else if (this.#width === widths.double) {
      this.#number = this.#operation.ofDoubles(this.#number, toDouble(value))
    } else {
      this.#takeInteger(value as NumericValue & { value: number | bigint })
    }
  }

  #takeInteger({ value }: { readonly value: number | bigint }): void {
    if (this.#integer === undefined && typeof value === 'number') {
      const result = this.#operation.ofDoubles(this.#number, value)
      if (Number.isSafeInteger(result)) {
        // Adding 0 turns -0 into 0, because an integer has no -0.
        this.#number = result + 0
        return
      }
    }
    const before = this.#integer ?? BigInt(this.#number)
    const result = this.#operation.ofIntegers(before, BigInt(value))
    if (result >= int64Min && result <= int64Max) {
      this.#integer = result
      return
    }
    this.#width = widths.double
    this.#number = this.#operation.ofDoubles(Number(before), Number(value))
    this.#integer = undefined
  }

  #widen(width: Width): void {
    if (width >= widths.double && this.#integer !== undefined) {
      this.#decimal = toDecimal(int64(this.#integer))
      this.#number = Number(this.#integer)
      this.#integer = undefined
    } else if (width === widths.decimal) {
      this.#decimal = toDecimal(this.#width === widths.double ? double(this.#number) : int64(BigInt(this.#number)))
    }
    this.#width = width
  }

  value(): NumericValue {
    if (this.#width === widths.decimal) return decimal128(this.#decimal)
    if (this.#width === widths.double) return double(this.#number)
    if (this.#integer !== undefined) return integerValue(this.#integer, this.#width)
    const number = this.#number
    const isShort = this.#width === widths.int32 && number >= int32Min && number <= int32Max
    return isShort ? int32(number) : int64(BigInt(number))
  }
}
