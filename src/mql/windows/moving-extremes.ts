/** The smallest and largest values and the set of values of a window that moves. */

import { compareValues } from '../../document/bson/compare.ts'
import { eitherOf, type Origin } from '../../document/bson/origin.ts'
import { asExtreme, withOrigin } from '../../document/bson/traced-values.ts'
import { BsonArray, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { isNullish } from '../expressions/core/define-operator.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import type { MovingState } from './moving-sum.ts'

/**
 * A value is dropped when a later one is smaller: it cannot be the smallest any more. The rest is in order,
 * and the first one is the result.
 */
export class MovingExtreme implements MovingState {
  readonly holdsValues = true
  readonly #sign: 1 | -1
  readonly #collation: Collation | undefined
  #candidates: { readonly value: Value; readonly index: number }[] = []
  #start = 0

  constructor(sign: 1 | -1, collation: Collation | undefined) {
    this.#sign = sign
    this.#collation = collation
  }

  enter(value: Value | undefined, index: number): void {
    if (isNullish(value)) return
    while (this.#candidates.length > this.#start) {
      if (this.#sign * compareValues(this.#candidates.at(-1)!.value, value, this.#collation) <= 0) break
      this.#candidates.pop()
    }
    this.#candidates.push({ value, index })
  }

  leave(_: Value | undefined, index: number): void {
    if (this.#candidates[this.#start]?.index !== index) return
    this.#start += 1
    // Half of the array may be unused at most.
    if (this.#start * 2 < this.#candidates.length || this.#start < 32) return
    this.#candidates = this.#candidates.slice(this.#start)
    this.#start = 0
  }

  result(): Value {
    return asExtreme(this.#candidates[this.#start]?.value ?? nullValue)
  }
}

/**
 * A queue of equal values in a window, of which one is shown. It is shown as long as one of their documents
 * lives. The queue has two lists. The newer values have one life together. Each older value has the life of
 * itself and the newer ones in its list. So a value enters and leaves in constant time on average.
 */
class EqualValues {
  /** The oldest value last. `life` is that of the value and the newer ones in this list. */
  readonly #older: { readonly value: Value; readonly life: Origin | undefined }[] = []
  #newer: Value[] = []
  #newerLife: Origin | undefined

  get isEmpty(): boolean {
    return this.#older.length + this.#newer.length === 0
  }

  enter(value: Value): void {
    this.#newerLife = this.#newer.length === 0 ? value.origin : eitherOf(this.#newerLife, value.origin)
    this.#newer.push(value)
  }

  /** The oldest value leaves. */
  leave(): void {
    if (this.#older.length === 0) {
      for (const value of this.#newer.reverse()) {
        const before = this.#older.at(-1)
        const life = before === undefined ? value.origin : eitherOf(value.origin, before.life)
        this.#older.push({ value, life })
      }
      this.#newer = []
    }
    this.#older.pop()
  }

  shown(): Value {
    const oldest = this.#older.at(-1)
    if (oldest === undefined) return withOrigin(this.#newer[0]!, this.#newerLife)
    const life = this.#newer.length === 0 ? oldest.life : eitherOf(oldest.life, this.#newerLife)
    return withOrigin(oldest.value, life)
  }
}

export class MovingSet implements MovingState {
  readonly holdsValues = true
  readonly #values = new Map<string, EqualValues>()
  readonly #collation: Collation | undefined

  constructor(collation: Collation | undefined) {
    this.#collation = collation
  }

  enter(value: Value | undefined): void {
    if (value === undefined) return
    const identity = valueIdentity(value, this.#collation)
    let equal = this.#values.get(identity)
    if (equal === undefined) {
      equal = new EqualValues()
      this.#values.set(identity, equal)
    }
    equal.enter(value)
  }

  leave(value: Value | undefined): void {
    if (value === undefined) return
    const identity = valueIdentity(value, this.#collation)
    const equal = this.#values.get(identity)!
    equal.leave()
    if (equal.isEmpty) this.#values.delete(identity)
  }

  result(): Value {
    return BsonArray.of([...this.#values.values()].map(equal => equal.shown()))
  }
}
