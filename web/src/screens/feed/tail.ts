/**
 * The tail of a feed, the newest change first: at first what the server has read of its end, then what the
 * live connection brings. Neither grows with the container, nor with how fast it changes.
 */

import { batch, computed, signal } from '@preact/signals'
import { isAborted } from '../../api/client.ts'
import { getFeed } from '../../api/container-calls.ts'
import type { Change, ContainerName } from '../../api/shapes.ts'

export type FeedMode = 'latest' | 'all'

const pageSize = 200
export const keptMax = 2_000
/** How far back the tail begins, in seconds of item time. */
const sinceSeconds = 3_600
/** Over which the rate is measured. */
const rateSeconds = 10

/** What came at one time. */
interface Arrival {
  at: number
  changes: number
  deaths: number
}

/** One item can change only once in one version. */
export const changeName = ({ lsn, key, kind }: Change): string => `${lsn} ${key} ${kind}`

export class FeedTail {
  /** Newest first. */
  readonly changes = signal<readonly Change[]>([])
  readonly error = signal<unknown>(undefined)
  readonly isLoaded = signal(false)
  readonly isForgotten = signal(false)
  /** There were older ones, too many to be read. */
  readonly isCut = signal(false)
  /** Came faster than they can be shown, since the tail began. */
  readonly skipped = signal(0)
  /** What came while the tail was paused. */
  readonly waiting = signal<readonly Change[]>([])
  readonly isPaused = signal(false)
  readonly count = computed(() => this.changes.value.length)
  readonly #beganAt: number
  readonly #name: ContainerName
  readonly #mode: FeedMode
  #known = new Set<string>()
  #arrivals: Arrival[] = []

  constructor(name: ContainerName, mode: FeedMode, nowSeconds: number) {
    this.#name = name
    this.#mode = mode
    this.#beganAt = nowSeconds
  }

  /** The newest changes: at the beginning, and after a time in which nothing came live. */
  async read(signal: AbortSignal): Promise<void> {
    try {
      const since = Math.max(0, this.#beganAt - sinceSeconds)
      const page = await getFeed(this.#name, { mode: this.#mode, limit: pageSize, since }, signal)
      batch(() => {
        const isFollowing = !this.isLoaded.peek() || page.changes.some(change => this.#known.has(changeName(change)))
        if (page.isCut && !isFollowing) this.isCut.value = true
        if (!this.isLoaded.peek()) this.isCut.value = page.isCut
        if (page.isForgotten) this.isForgotten.value = true
        this.#take(page.changes)
        this.error.value = undefined
        this.isLoaded.value = true
      })
    } catch (error) {
      if (isAborted(error)) throw error
      this.error.value = error
    }
  }

  /** What the live connection brings, the oldest first. */
  add(changes: readonly Change[], skipped: number, nowSeconds: number): void {
    batch(() => {
      if (skipped > 0) {
        this.skipped.value += skipped
        this.#arrivals.push({ at: nowSeconds, changes: skipped, deaths: 0 })
      }
      this.#take(changes)
    })
  }

  resume(): void {
    batch(() => {
      this.isPaused.value = false
      const waiting = this.waiting.peek()
      this.waiting.value = []
      this.#show(waiting)
    })
  }

  #take(oldestFirst: readonly Change[]): void {
    const fresh = oldestFirst.filter(change => !this.#known.has(changeName(change))).toReversed()
    if (fresh.length === 0) return
    for (const change of fresh) {
      this.#known.add(changeName(change))
      const { ts, kind, deadline } = change
      const isDeath = kind === 'died'
      this.#arrivals.push({ at: isDeath ? (deadline ?? ts) : ts, changes: 1, deaths: isDeath ? 1 : 0 })
    }
    this.#arrivals = this.#arrivals.slice(-keptMax)
    if (this.isPaused.peek()) this.waiting.value = [...fresh, ...this.waiting.peek()].slice(0, keptMax)
    else this.#show(fresh)
    if (this.#known.size > 4 * keptMax) {
      this.#known = new Set([...this.changes.peek(), ...this.waiting.peek()].map(changeName))
    }
  }

  #show(fresh: readonly Change[]): void {
    this.changes.value = [...fresh, ...this.changes.peek()].slice(0, keptMax)
  }

  /** Changes a second, and how many of them were deaths, up to now. */
  rate(nowSeconds: number): { changes: number; deaths: number } {
    const recent = this.#arrivals.filter(({ at }) => at > nowSeconds - rateSeconds && at <= nowSeconds)
    const sum = (pick: (arrival: Arrival) => number) => recent.reduce((total, each) => total + pick(each), 0)
    return { changes: sum(each => each.changes) / rateSeconds, deaths: sum(each => each.deaths) / rateSeconds }
  }
}
