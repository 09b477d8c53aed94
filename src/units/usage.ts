/**
 * What requests and the purger used in each of the last 3,600 seconds, per container and in all.
 *
 * Seconds are machine time, as in `budget.ts`. A container is remembered for an hour after its last use, and
 * at most 64 are: a ring takes 72 KB.
 */

import { machine } from '../base/clock.ts'

export const usageSecondsMax = 3600
const containersMax = 64

const usageNames = ['requests', 'requestRu', 'throttled', 'removed', 'purgeRu'] as const
export type UsageName = (typeof usageNames)[number]
export type Usage = Readonly<Record<UsageName, number>>

class UsageRing {
  readonly #values = new Float32Array(usageSecondsMax * usageNames.length)
  #second: number

  constructor(second: number) {
    this.#second = second
  }

  /** The last second in which something was used. */
  get second(): number {
    return this.#second
  }

  add(second: number, slot: number, amount: number): void {
    if (second > this.#second) this.#moveTo(second)
    // A machine clock that went back: the present is the latest second that was seen.
    const at = (this.#second % usageSecondsMax) * usageNames.length + slot
    this.#values[at] = this.#values[at]! + amount
  }

  at(second: number, slot: number): number {
    if (second > this.#second || second <= this.#second - usageSecondsMax) return 0
    return this.#values[(second % usageSecondsMax) * usageNames.length + slot]!
  }

  #moveTo(second: number): void {
    const from = Math.max(this.#second + 1, second - usageSecondsMax + 1)
    for (let each = from; each <= second; each++) {
      const start = (each % usageSecondsMax) * usageNames.length
      this.#values.fill(0, start, start + usageNames.length)
    }
    this.#second = second
  }
}

const [requestSlot, requestRuSlot, throttledSlot, removedSlot, purgeRuSlot] = [0, 1, 2, 3, 4]

export class UsageRecord {
  readonly #epochMs: () => number
  /** By the number of the container; the least recently begun first. */
  readonly #rings = new Map<number, UsageRing>()
  #all: UsageRing | undefined

  constructor(epochMs: () => number = machine.epochMs) {
    this.#epochMs = epochMs
  }

  /** The second that is running now. */
  get second(): number {
    return Math.floor(this.#epochMs() / 1000)
  }

  request(container: number, chargeRu: number): void {
    this.#add(container, requestSlot, 1, requestRuSlot, chargeRu)
  }

  throttled(container: number): void {
    this.#add(container, requestSlot, 1, throttledSlot, 1)
  }

  removed(container: number, rows: number, chargeRu: number): void {
    this.#add(container, removedSlot, rows, purgeRuSlot, chargeRu)
  }

  /** One second of a container, or of all. */
  at(container: number | undefined, second: number): Usage {
    const ring = container === undefined ? this.#all : this.#rings.get(container)
    const value = (slot: number) => ring?.at(second, slot) ?? 0
    return {
      requests: value(requestSlot),
      requestRu: value(requestRuSlot),
      throttled: value(throttledSlot),
      removed: value(removedSlot),
      purgeRu: value(purgeRuSlot),
    }
  }

  #add(container: number, slot: number, amount: number, other: number, otherAmount: number): void {
    const { second } = this
    this.#all ??= new UsageRing(second)
    this.#all.add(second, slot, amount)
    this.#all.add(second, other, otherAmount)
    const ring = this.#rings.get(container) ?? this.#newRing(container, second)
    ring.add(second, slot, amount)
    ring.add(second, other, otherAmount)
  }

  #newRing(container: number, second: number): UsageRing {
    if (this.#rings.size >= containersMax) this.#forgetOne()
    const ring = new UsageRing(second)
    this.#rings.set(container, ring)
    return ring
  }

  /** Forgets the container whose last use is the longest ago. */
  #forgetOne(): void {
    let oldest: number | undefined
    let second = Number.POSITIVE_INFINITY
    for (const [container, ring] of this.#rings) {
      if (ring.second >= second) continue
      oldest = container
      second = ring.second
    }
    if (oldest !== undefined) this.#rings.delete(oldest)
  }
}
