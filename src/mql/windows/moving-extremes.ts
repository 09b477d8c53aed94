/** The smallest and largest values and the set of values of a window that moves. */

import { compareValues } from '../../document/bson/compare.ts'
import { eitherOf } from '../../document/bson/origin.ts'
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

export class MovingSet implements MovingState {
  readonly holdsValues = true
  readonly #values = new Map<string, { value: Value; count: number }>()
  readonly #collation: Collation | undefined

  constructor(collation: Collation | undefined) {
    this.#collation = collation
  }

  enter(value: Value | undefined): void {
    if (value === undefined) return
    const identity = valueIdentity(value, this.#collation)
    const known = this.#values.get(identity)
    if (known === undefined) {
      this.#values.set(identity, { value, count: 1 })
      return
    }
    known.count += 1
    // It stays as long as one of its documents lives.
    known.value = withOrigin(known.value, eitherOf(known.value.origin, value.origin))
  }

  leave(value: Value | undefined): void {
    if (value === undefined) return
    const identity = valueIdentity(value, this.#collation)
    const known = this.#values.get(identity)!
    known.count -= 1
    if (known.count === 0) this.#values.delete(identity)
  }

  result(): Value {
    return BsonArray.of([...this.#values.values()].map(({ value }) => value))
  }
}
