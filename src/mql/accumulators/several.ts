/** The accumulators that keep several values: the first, last, least or greatest of them. */

import { compareValues } from '../../document/bson/compare.ts'
import { isNumeric, toDouble, truncatedInteger } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type BinaryValue, BsonArray, binary, nullValue, type Value } from '../../document/bson/value.ts'
import { isNullish, refuse } from '../expressions/frame/define.ts'
import { shown } from '../expressions/frame/shown.ts'
import type { Accumulator } from './accumulator.ts'
import { smallBytes } from './basic.ts'
import { type Kept, keptValue } from './kept-value.ts'

/** How many values are asked for. */
export function checkedCount(value: Value | undefined): number {
  const problem = () => `Value for 'n' must be of integral type, but found ${shown(value)}`
  if (!isNumeric(value)) return refuse(5787902, problem())
  const whole = truncatedInteger(value)
  if (whole === undefined || Number(whole) !== toDouble(value)) return refuse(5787903, problem())
  return whole > 0n ? Number(whole) : refuse(5787908, `'n' must be greater than 0, found ${whole}`)
}

export class FirstSeveral implements Accumulator {
  readonly #values: Value[] = []
  readonly #count: number
  bytes = smallBytes

  constructor(count: number) {
    this.#count = count
  }

  get isOpen(): boolean {
    return this.#values.length < this.#count
  }

  take(value: Value | undefined): void {
    if (!this.isOpen) return
    const kept = keptValue(value ?? nullValue)
    this.#values.push(kept.value)
    this.bytes += kept.bytes
  }

  result(): Value {
    return BsonArray.of(this.#values)
  }
}

export class LastSeveral implements Accumulator {
  readonly isOpen = true
  readonly #count: number
  /** A ring once it is full. */
  readonly #kept: Kept[] = []
  #next = 0
  bytes = smallBytes

  constructor(count: number) {
    this.#count = count
  }

  take(value: Value | undefined): void {
    const kept = keptValue(value ?? nullValue)
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
 * The first values in an order, of equal ones those that came first. Twice as many are kept as are asked for
 * before the rest is dropped, which makes the cost of sorting per value constant.
 */
class Foremost {
  readonly #count: number
  readonly #compare: (left: Value, right: Value) => number
  #placed: Placed[] = []
  bytes = smallBytes

  constructor(count: number, compare: (left: Value, right: Value) => number) {
    this.#count = count
    this.#compare = compare
  }

  take(key: Value, value: Value): void {
    const kept = keptValue(value)
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
export class ExtremeSeveral implements Accumulator {
  readonly isOpen = true
  readonly #foremost: Foremost

  constructor(count: number, sign: 1 | -1) {
    this.#foremost = new Foremost(count, (left, right) => sign * compareValues(left, right))
  }

  get bytes(): number {
    return this.#foremost.bytes
  }

  take(value: Value | undefined): void {
    if (!isNullish(value)) this.#foremost.take(value, value)
  }

  result(): Value {
    return BsonArray.of(this.#foremost.values())
  }
}

/** What `$top` and its relatives take: the place of a document in their order, and what is shown of it. */
export function placedOutput(place: Uint8Array, output: Value | undefined): Value {
  return BsonArray.of([binary(place), output ?? nullValue])
}

function placeOf(value: Value): Uint8Array {
  return (value as BinaryValue).value
}

/** The bottom is kept in the opposite order and turned around in the end. */
export class TopSeveral implements Accumulator {
  readonly isOpen = true
  readonly #foremost: Foremost
  readonly #isBottom: boolean
  readonly #isSingle: boolean

  constructor(count: number, { isBottom, isSingle }: { readonly isBottom: boolean; readonly isSingle: boolean }) {
    const sign = isBottom ? -1 : 1
    this.#foremost = new Foremost(count, (left, right) => sign * Buffer.compare(placeOf(left), placeOf(right)))
    this.#isBottom = isBottom
    this.#isSingle = isSingle
  }

  get bytes(): number {
    return this.#foremost.bytes
  }

  take(value: Value | undefined): void {
    if (value?.type !== bsonType.array) return
    const [place, output] = value.elements
    this.#foremost.take(place!, output!)
  }

  result(): Value {
    const values = this.#foremost.values()
    if (this.#isSingle) return values[0] ?? nullValue
    return BsonArray.of(this.#isBottom ? values.toReversed() : values)
  }
}
