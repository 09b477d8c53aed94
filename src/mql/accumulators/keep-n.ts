/** The accumulators that keep several values: the first, last, smallest or largest of them. */

import { compareValues } from '../../document/bson/compare.ts'
import { isNumeric, toDouble, truncatedInteger } from '../../document/bson/number.ts'
import { bothOf, type Origin } from '../../document/bson/origin.ts'
import { asExtreme, comingFrom } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type BinaryValue, BsonArray, binary, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { isNullish, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Accumulator } from './accumulator.ts'
import { smallBytes } from './basic.ts'
import { type Kept, keptValue } from './kept-value.ts'

/** Checks `n`, the number of values to keep. */
export function checkedCount(value: Value | undefined): number {
  const problem = () => `Value for 'n' must be of integral type, but found ${printForMessage(value)}`
  if (!isNumeric(value)) return refuse(5787902, problem())
  const whole = truncatedInteger(value)
  if (whole === undefined || Number(whole) !== toDouble(value)) return refuse(5787903, problem())
  return whole > 0n ? Number(whole) : refuse(5787908, `'n' must be greater than 0, found ${whole}`)
}

export class FirstN implements Accumulator {
  readonly #values: Value[] = []
  readonly #count: number
  bytes = smallBytes

  constructor(count: number) {
    this.#count = count
  }

  get isOpen(): boolean {
    return this.#values.length < this.#count
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (!this.isOpen) return
    const kept = keptValue(value ?? nullValue, origin)
    this.#values.push(kept.value)
    this.bytes += kept.bytes
  }

  result(): Value {
    return BsonArray.of(this.#values)
  }
}

export class LastN implements Accumulator {
  readonly isOpen = true
  readonly #count: number
  /** A ring buffer once it is full. */
  readonly #kept: Kept[] = []
  #next = 0
  bytes = smallBytes

  constructor(count: number) {
    this.#count = count
  }

  take(value: Value | undefined, origin?: Origin): void {
    const kept = keptValue(value ?? nullValue, origin)
    this.bytes += kept.bytes - (this.#kept[this.#next]?.bytes ?? 0)
    this.#kept[this.#next] = kept
    this.#next = (this.#next + 1) % this.#count
  }

  result(): Value {
    const isFull = this.#kept.length === this.#count
    const inOrder = isFull ? [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)] : this.#kept
    return BsonArray.of(inOrder.map(({ value }) => value))
  }
}

interface Placed {
  readonly key: Value
  readonly kept: Kept
}

/**
 * The first `count` values in sort order; of equal values, those that came first. It keeps up to twice as
 * many before it drops the rest, so that sorting costs constant time per value.
 */
class LeadingValues {
  readonly #count: number
  readonly #compare: (left: Value, right: Value) => number
  #placed: Placed[] = []
  bytes = smallBytes

  constructor(count: number, compare: (left: Value, right: Value) => number) {
    this.#count = count
    this.#compare = compare
  }

  take(key: Value, kept: Kept): void {
    this.#placed.push({ key, kept })
    this.bytes += kept.bytes + smallBytes
    if (this.#placed.length >= 2 * this.#count + 16) this.#cut()
  }

  #cut(): void {
    this.#placed = this.#placed.toSorted((left, right) => this.#compare(left.key, right.key)).slice(0, this.#count)
    this.bytes = this.#placed.reduce((sum, { kept }) => sum + kept.bytes + smallBytes, smallBytes)
  }

  values(): readonly Value[] {
    this.#cut()
    return this.#placed.map(({ kept }) => kept.value)
  }
}

/** `$minN` and `$maxN`. Null and missing values do not count. */
export class ExtremeN implements Accumulator {
  readonly isOpen = true
  readonly #leading: LeadingValues

  constructor(count: number, sign: 1 | -1, collation: Collation | undefined) {
    this.#leading = new LeadingValues(count, (left, right) => sign * compareValues(left, right, collation))
  }

  get bytes(): number {
    return this.#leading.bytes
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (!isNullish(value)) this.#leading.take(value, keptValue(asExtreme(comingFrom(value, origin))))
  }

  result(): Value {
    return BsonArray.of(this.#leading.values())
  }
}

/** The input of `$top` and similar accumulators: the sort key of a document, and the output for it. */
export function keyedOutput(sortKey: Uint8Array, output: Value | undefined): Value {
  return BsonArray.of([binary(sortKey), output ?? nullValue])
}

function sortKeyOf(value: Value): Uint8Array {
  return (value as BinaryValue).value
}

/** The bottom values are kept in the opposite order and reversed at the end. */
export class TopN implements Accumulator {
  readonly isOpen = true
  readonly #leading: LeadingValues
  readonly #isBottom: boolean
  readonly #isSingle: boolean

  constructor(count: number, { isBottom, isSingle }: { readonly isBottom: boolean; readonly isSingle: boolean }) {
    const sign = isBottom ? -1 : 1
    this.#leading = new LeadingValues(count, (left, right) => sign * Buffer.compare(sortKeyOf(left), sortKeyOf(right)))
    this.#isBottom = isBottom
    this.#isSingle = isSingle
  }

  get bytes(): number {
    return this.#leading.bytes
  }

  take(value: Value | undefined, origin?: Origin): void {
    if (value?.type !== bsonType.array) return
    const [place, output] = value.elements
    this.#leading.take(place!, keptValue(output!, bothOf(value.origin, origin)))
  }

  result(): Value {
    const values = this.#leading.values()
    if (this.#isSingle) return values[0] ?? nullValue
    return BsonArray.of(this.#isBottom ? values.toReversed() : values)
  }
}
