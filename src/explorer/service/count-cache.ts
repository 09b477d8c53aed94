/**
 * A cache of numbers that cost a walk over an index. Counting takes at most a small share of the server, for
 * any number of items, open pages and requests: a number is cached for a time that grows with its cost, and
 * the expensive numbers share one budget.
 */

import { machine } from '../../base/clock.ts'

/** The shortest time for which a number is cached: less than the time between two looks (`live/hub.ts`). */
const freshMsMin = 400

/**
 * The cost of a row (measured: 0.2 us). The real time of a count would depend on other work of the server.
 */
const msPerRow = 0.0002

/** Numbers that cost this much or more are expensive. */
const dearMs = 10

/**
 * Expensive numbers are cached for so many times the cost of all of them: together they take 2 % of the
 * time.
 */
const restShare = 50

/** Numbers without a request for this time are forgotten. */
const wantedMs = 60_000

const entriesMax = 2000

interface Entry {
  value: unknown
  readonly countedMs: number
  readonly costMs: number
  askedMs: number
}

export interface Counted<T> {
  readonly value: T
  /** Whether the number is old. */
  readonly isAbout: boolean
}

export class CountCache {
  readonly #monotonicMs: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #running = new Map<string, Promise<unknown>>()
  #generation = 0

  constructor(monotonicMs: () => number = machine.monotonicMs) {
    this.#monotonicMs = monotonicMs
  }

  /**
   * `rowsOf` tells how many rows were counted. A caller that asks while a number is being counted waits for
   * it.
   */
  async get<T>(key: string, count: () => Promise<T>, rowsOf: (value: T) => number): Promise<Counted<T>> {
    const known = this.#entries.get(key)
    const nowMs = this.#monotonicMs()
    if (known !== undefined) known.askedMs = nowMs
    if (known !== undefined && nowMs - known.countedMs < this.#freshMs(known, nowMs)) {
      return { value: known.value as T, isAbout: nowMs - known.countedMs > freshMsMin }
    }
    const running = (this.#running.get(key) as Promise<T> | undefined) ?? this.#count(key, count, rowsOf)
    return { value: await running, isAbout: false }
  }

  /** After a write through the explorer, and after a step of the clock: people look at what they changed. */
  forget(): void {
    this.#generation++
    this.#entries.clear()
  }

  #freshMs({ costMs }: Entry, nowMs: number): number {
    if (costMs < dearMs) return freshMsMin
    let allMs = 0
    for (const each of this.#entries.values()) {
      if (each.costMs >= dearMs && nowMs - each.askedMs < wantedMs) allMs += each.costMs
    }
    return Math.max(freshMsMin, allMs * restShare)
  }

  #count<T>(key: string, count: () => Promise<T>, rowsOf: (value: T) => number): Promise<T> {
    const generation = this.#generation
    const running = count().then(
      value => {
        this.#running.delete(key)
        const countedMs = this.#monotonicMs()
        const costMs = rowsOf(value) * msPerRow
        if (generation === this.#generation) this.#keep(key, { value, countedMs, costMs, askedMs: countedMs })
        return value
      },
      error => {
        this.#running.delete(key)
        throw error
      },
    )
    this.#running.set(key, running)
    return running
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key)
    if (this.#entries.size >= entriesMax) {
      const [oldest] = this.#entries.keys()
      this.#entries.delete(oldest!)
    }
    this.#entries.set(key, entry)
  }
}
