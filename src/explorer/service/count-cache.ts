/**
 * Numbers that cost a walk over an index, remembered for a time that grows with their cost: counting takes at
 * most a small share of the server, however many pages are open and however often they ask.
 */

import { machine } from '../../base/clock.ts'

/** A number is counted again after so long at the earliest. */
const freshMsMin = 500

/** Counting takes about 0.1 us a row (docs/reliability.md has the machine), so this is a share of 1 %. */
const freshMsPerRow = 0.01

const entriesMax = 2000

interface Entry {
  value: unknown
  readonly countedMs: number
  readonly freshMs: number
}

export interface Counted<T> {
  readonly value: T
  /** It is from some time ago. */
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

  /** `rowsOf` tells how many rows were counted. One who asks while it is being counted waits for that. */
  async get<T>(key: string, count: () => Promise<T>, rowsOf: (value: T) => number): Promise<Counted<T>> {
    const known = this.#entries.get(key)
    const ageMs = known === undefined ? 0 : this.#monotonicMs() - known.countedMs
    if (known !== undefined && ageMs < known.freshMs) return { value: known.value as T, isAbout: ageMs > freshMsMin }
    const running = (this.#running.get(key) as Promise<T> | undefined) ?? this.#count(key, count, rowsOf)
    return { value: await running, isAbout: false }
  }

  /** After a write through the explorer, and after a step of the clock: people look at what they changed. */
  forget(): void {
    this.#generation++
    this.#entries.clear()
  }

  #count<T>(key: string, count: () => Promise<T>, rowsOf: (value: T) => number): Promise<T> {
    const generation = this.#generation
    const running = count().then(
      value => {
        this.#running.delete(key)
        const freshMs = Math.max(freshMsMin, rowsOf(value) * freshMsPerRow)
        if (generation === this.#generation) this.#keep(key, { value, countedMs: this.#monotonicMs(), freshMs })
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
