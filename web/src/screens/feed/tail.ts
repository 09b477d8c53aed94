/** The tail of a feed: pages by continuation, the newest change first, and never more than somebody reads. */

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

export class FeedTail {
  /** Newest first. */
  readonly changes = signal<readonly Change[]>([])
  readonly error = signal<unknown>(undefined)
  readonly isLoaded = signal(false)
  readonly isForgotten = signal(false)
  /** What came while the tail was paused. */
  readonly waiting = signal<readonly Change[]>([])
  readonly isPaused = signal(false)
  readonly count = computed(() => this.changes.value.length)
  readonly beganAt: number
  readonly #name: ContainerName
  readonly #mode: FeedMode
  #after: string | undefined
  /** When changes came, for the rate: item time in seconds. */
  #arrivals: { at: number; kind: Change['kind'] }[] = []

  constructor(name: ContainerName, mode: FeedMode, nowSeconds: number) {
    this.#name = name
    this.#mode = mode
    this.beganAt = nowSeconds
  }

  /** Reads on, until the end of the feed. */
  async read(signal: AbortSignal): Promise<void> {
    try {
      let isEnd = false
      while (!isEnd) {
        const from =
          this.#after === undefined ? { since: Math.max(0, this.beganAt - sinceSeconds) } : { after: this.#after }
        const page = await getFeed(this.#name, { mode: this.#mode, limit: pageSize, ...from }, signal)
        if (page.isForgotten) this.isForgotten.value = true
        isEnd = page.isEnd || page.next === this.#after
        this.#after = page.next
        this.#take(page.changes)
      }
      batch(() => {
        this.error.value = undefined
        this.isLoaded.value = true
      })
    } catch (error) {
      if (isAborted(error)) throw error
      this.error.value = error
    }
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
    if (oldestFirst.length === 0) return
    const fresh = oldestFirst.toReversed()
    this.#arrivals.push(
      ...oldestFirst.map(({ ts, kind, deadline }) => ({ at: kind === 'died' ? (deadline ?? ts) : ts, kind })),
    )
    this.#arrivals = this.#arrivals.slice(-keptMax)
    if (this.isPaused.peek()) this.waiting.value = [...fresh, ...this.waiting.peek()].slice(0, keptMax)
    else this.#show(fresh)
  }

  #show(fresh: readonly Change[]): void {
    this.changes.value = [...fresh, ...this.changes.peek()].slice(0, keptMax)
  }

  /** Changes a second, and how many of them were deaths, up to now. */
  rate(nowSeconds: number): { changes: number; deaths: number } {
    const recent = this.#arrivals.filter(({ at }) => at > nowSeconds - rateSeconds && at <= nowSeconds)
    const deaths = recent.filter(({ kind }) => kind === 'died').length
    return { changes: recent.length / rateSeconds, deaths: deaths / rateSeconds }
  }
}
