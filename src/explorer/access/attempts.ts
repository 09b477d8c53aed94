/** Limits how often keys can be tried: from one address, and from all together. */

import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'

const windowMs = 60_000
const wrongMaxOfAddress = 10
const wrongMaxOfAll = 100
const addressesMax = 1000

export class KeyAttempts {
  readonly #monotonicMs: () => number
  /** The times of wrong keys, by address. */
  readonly #wrong = new Map<string, number[]>()

  constructor(monotonicMs: () => number = machine.monotonicMs) {
    this.#monotonicMs = monotonicMs
  }

  /** Throws if there were too many wrong keys. */
  check(address: string): void {
    const since = this.#monotonicMs() - windowMs
    let all = 0
    let first = Number.POSITIVE_INFINITY
    for (const [each, times] of this.#wrong) {
      const recent = times.filter(time => time > since)
      if (recent.length === 0) this.#wrong.delete(each)
      else this.#wrong.set(each, recent)
      all += recent.length
      first = Math.min(first, recent[0] ?? first)
    }
    const own = this.#wrong.get(address) ?? []
    if (own.length >= wrongMaxOfAddress) refuse(own[0]! - since)
    if (all >= wrongMaxOfAll || this.#wrong.size >= addressesMax) refuse(first - since)
  }

  failed(address: string): void {
    const times = this.#wrong.get(address) ?? []
    times.push(this.#monotonicMs())
    this.#wrong.set(address, times)
  }

  succeeded(address: string): void {
    this.#wrong.delete(address)
  }
}

function refuse(waitMs: number): never {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs))
  throw new CapacityError('throttled', 'Too many wrong keys. Wait a minute and try again.', retryAfterMs)
}
