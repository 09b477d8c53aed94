/**
 * The accumulators that need only an expression: sums, averages, deviations, extremes, first, last, lists,
 * sets and merged objects.
 */

import { compareValues } from '../../document/bson/compare.ts'
import { addDecimals, divideDecimals } from '../../document/bson/decimal-arithmetic.ts'
import { type Decimal, finite } from '../../document/bson/decimal128.ts'
import { decimal128, isNumeric, toDecimal, toDouble } from '../../document/bson/number.ts'
import { bothOf, eitherOf, type Origin } from '../../document/bson/origin.ts'
import { asExtreme, comingFrom, withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, double, int32, type NumericValue, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { isNullish, refuseNoObject } from '../expressions/core/define-operator.ts'
import { DocumentBuilder } from '../expressions/values/document-builder.ts'
import { integerValue, widthOf } from '../expressions/values/total.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import type { Accumulator } from './accumulator.ts'
import { DoubleSum } from './double-sum.ts'
import { type Kept, keptValue } from './kept-value.ts'

/** Memory of an accumulator that holds a few numbers. */
export const smallBytes = 64

abstract class SmallAccumulator implements Accumulator {
  readonly bytes = smallBytes
  readonly isOpen = true
  abstract take(value: Value | undefined): void
  abstract result(): Value | undefined
}

/** Decimals are summed separately; all other numbers as double-doubles, which keeps int64s exact. */
class NumberSum {
  readonly #others = new DoubleSum()
  #decimals: Decimal = finite(false, 0n, 0)
  #width = 0
  count = 0

  take(value: Value | undefined): void {
    if (!isNumeric(value)) return
    this.count += 1
    this.#width = Math.max(this.#width, widthOf(value))
    if (value.type === bsonType.decimal128) this.#decimals = addDecimals(this.#decimals, toDecimal(value))
    else this.#others.add(value.value)
  }

  get isDecimal(): boolean {
    return this.#width === 3
  }

  decimal(): Decimal {
    return addDecimals(this.#decimals, this.#others.decimal())
  }

  double(): number {
    return this.#others.number()
  }

  value(): NumericValue {
    if (this.isDecimal) return decimal128(this.decimal())
    const whole = this.#width < 2 ? this.#others.integer() : undefined
    return whole === undefined ? double(this.double()) : integerValue(whole, this.#width as 0 | 1)
  }
}

export class Sum extends SmallAccumulator {
  readonly #sum = new NumberSum()

  take(value: Value | undefined): void {
    this.#sum.take(value)
  }

  result(): Value {
    return this.#sum.value()
  }
}

export class Average extends SmallAccumulator {
  readonly #sum = new NumberSum()

  take(value: Value | undefined): void {
    this.#sum.take(value)
  }

  result(): Value {
    const { count, isDecimal } = this.#sum
    if (count === 0) return nullValue
    if (!isDecimal) return double(this.#sum.double() / count)
    return decimal128(divideDecimals(this.#sum.decimal(), toDecimal(int32(count))))
  }
}

/** Welford's method, as in MongoDB. Decimals are converted to doubles. */
export class StandardDeviation extends SmallAccumulator {
  readonly #isSample: boolean
  #count = 0
  #mean = 0
  #squares = 0

  constructor(isSample: boolean) {
    super()
    this.#isSample = isSample
  }

  take(value: Value | undefined): void {
    if (!isNumeric(value)) return
    const number = toDouble(value)
    this.#count += 1
    const delta = number - this.#mean
    if (delta === 0) return
    this.#mean += delta / this.#count
    this.#squares += delta * (number - this.#mean)
  }

  result(): Value {
    const count = this.#isSample ? this.#count - 1 : this.#count
    return count <= 0 ? nullValue : double(Math.sqrt(this.#squares / count))
  }
}

/** The smallest or largest value that is not null. */
export class Extreme implements Accumulator {
  readonly isOpen = true
  readonly #sign: number
  readonly #collation: Collation | undefined
  #kept: Kept | undefined

  constructor(sign: 1 | -1, collation?: Collation | undefined) {
    this.#sign = sign
    this.#collation = collation
  }

  get bytes(): number {
    return smallBytes + (this.#kept?.bytes ?? 0)
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (isNullish(value)) return
    if (this.#kept !== undefined && this.#sign * compareValues(this.#kept.value, value, this.#collation) <= 0) return
    this.#kept = keptValue(asExtreme(comingFrom(value, origin)))
  }

  result(): Value {
    return this.#kept?.value ?? nullValue
  }
}

export class First implements Accumulator {
  #kept: Kept | undefined
  #isTaken = false

  get isOpen(): boolean {
    return !this.#isTaken
  }

  get bytes(): number {
    return smallBytes + (this.#kept?.bytes ?? 0)
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (this.#isTaken) return
    this.#isTaken = true
    this.#kept = value === undefined ? undefined : keptValue(value, origin)
  }

  result(): Value | undefined {
    return this.#kept?.value
  }
}

export class Last implements Accumulator {
  readonly isOpen = true
  #kept: Kept | undefined

  get bytes(): number {
    return smallBytes + (this.#kept?.bytes ?? 0)
  }

  take(value: Value | undefined, origin?: Origin): void {
    this.#kept = value === undefined ? undefined : keptValue(value, origin)
  }

  result(): Value | undefined {
    return this.#kept?.value
  }
}

export class Push implements Accumulator {
  readonly isOpen = true
  readonly #values: Value[] = []
  bytes = smallBytes

  take(value: Value | undefined, origin?: Origin): void {
    if (value === undefined) return
    const kept = keptValue(value, origin)
    this.#values.push(kept.value)
    this.bytes += kept.bytes
  }

  result(): Value {
    return BsonArray.of(this.#values)
  }
}

export class AddToSet implements Accumulator {
  readonly isOpen = true
  readonly #values = new Map<string, Value>()
  readonly #collation: Collation | undefined
  bytes = smallBytes

  constructor(collation: Collation | undefined) {
    this.#collation = collation
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (value === undefined) return
    const identity = valueIdentity(value, this.#collation)
    const known = this.#values.get(identity)
    if (known !== undefined) {
      // It stays as long as one of its documents lives.
      const either = known.origin && eitherOf(known.origin, bothOf(value.origin, origin))
      if (either !== known.origin) this.#values.set(identity, withOrigin(known, either))
      return
    }
    const kept = keptValue(value, origin)
    this.#values.set(identity, kept.value)
    this.bytes += kept.bytes + identity.length
  }

  result(): Value {
    return BsonArray.of([...this.#values.values()])
  }
}

export class MergeObjects implements Accumulator {
  readonly isOpen = true
  readonly #builder = new DocumentBuilder()
  readonly #sizes = new Map<string, number>()
  bytes = smallBytes

  take(value: Value | undefined, origin?: Origin): void {
    if (isNullish(value)) return
    if (value.type !== bsonType.document) refuseNoObject(value)
    const whole = bothOf(value.origin, origin)
    for (const [name, inner] of value.fields) {
      const kept = keptValue(inner, whole)
      this.#builder.set(name, kept.value)
      const size = kept.bytes + name.length
      this.bytes += size - (this.#sizes.get(name) ?? 0)
      this.#sizes.set(name, size)
    }
  }

  result(): Value {
    return this.#builder.document()
  }
}
