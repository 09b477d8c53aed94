/** Double-double sums: for most inputs the order does not matter, and sums of int64s are exact. */

import { addDecimals } from '../../document/bson/decimal-arithmetic.ts'
import type { Decimal } from '../../document/bson/decimal128.ts'
import { exactDecimal, int64Max, int64Min } from '../../document/bson/number.ts'

export class DoubleSum {
  #sum = 0
  /** The rounding error of the sum. */
  #rest = 0
  /** The plain sum. It is the right result when infinities turn the others into NaN. */
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

  /** Knuth's two-sum, followed by a renormalization. */
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

  /** The sum of integers, if an int64 holds it. */
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
