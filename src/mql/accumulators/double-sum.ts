/**
 * Sums with twice the digits of a double: for most inputs their order does not matter, and sums of int64s are
 * exact.
 */

import { addDecimals } from '../../document/bson/decimal-arithmetic.ts'
import type { Decimal } from '../../document/bson/decimal128.ts'
import { exactDecimal, int64Max, int64Min } from '../../document/bson/number.ts'

export class DoubleSum {
  #sum = 0
  /** What the sum lacks. */
  #rest = 0
  /** The plain sum, which is right where infinities make the others NaN. */
  #plain = 0

  add(value: number | bigint): void {
    if (typeof value === 'number') {
      this.#add(value)
      return
    }
    const near = Number(value)
    this.#add(near)
    const lacking = value - BigInt(near)
    if (lacking !== 0n) this.#add(Number(lacking))
  }

  /** Knuth's two-sum, then a renormalization. */
  #add(value: number): void {
    this.#plain += value
    const sum = this.#sum + value
    const virtual = sum - this.#sum
    const error = this.#sum - (sum - virtual) + (value - virtual) + this.#rest
    this.#sum = sum + error
    this.#rest = error - (this.#sum - sum)
  }

  number(): number {
    return Number.isNaN(this.#sum) ? this.#plain : this.#sum
  }

  /** The sum of integers, when an int64 holds it. */
  integer(): bigint | undefined {
    if (!Number.isFinite(this.#sum)) return undefined
    const whole = BigInt(this.#sum) + BigInt(Math.trunc(this.#rest))
    return whole >= int64Min && whole <= int64Max ? whole : undefined
  }

  decimal(): Decimal {
    const number = this.number()
    return Number.isFinite(number) ? addDecimals(exactDecimal(number), exactDecimal(this.#rest)) : exactDecimal(number)
  }
}
