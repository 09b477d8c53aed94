/**
 * The known history of the clock and of the containers' defaults. It decides whether an item can be alive.
 *
 * The oracle keeps the full history instead of the two marks the server folds it into: an item is dead when
 * it was dead at any moment of any epoch (a stretch of time with one default), because death is final. An
 * item cannot die in the second in which it was written, so the order of a write and a change within one
 * second never matters.
 *
 * One actor alone moves the clock and changes defaults, one request at a time. So at any time there is the
 * acknowledged state, and at most one change that may have happened already.
 */

import { check } from './violation.ts'

/** The properties of an item that decide its lifespan, besides the container's default. */
export interface Life {
  readonly ts: number
  readonly ttl: number | undefined
}

interface Epoch {
  readonly defaultTtl: number | null
  readonly start: number
  /** The second in which the next epoch started; undefined while this one lasts. */
  end?: number
}

export type Change =
  | { readonly kind: 'clock'; readonly to: number }
  | { readonly kind: 'default'; readonly container: string; readonly to: number | null }

export class Timeline {
  readonly #epochs = new Map<string, Epoch[]>()
  #now: number
  #pending: Change | undefined

  constructor(now: number) {
    this.#now = now
  }

  /** The last acknowledged position of the clock. */
  get now(): number {
    return this.#now
  }

  /** Where the clock may be already. */
  get latest(): number {
    return this.#pending?.kind === 'clock' ? this.#pending.to : this.#now
  }

  addContainer(container: string, defaultTtl: number | null): void {
    this.#epochs.set(container, [{ defaultTtl, start: this.#now }])
  }

  begin(change: Change): void {
    this.#pending = change
  }

  acknowledge(): void {
    if (this.#pending !== undefined) this.#apply(this.#pending)
    this.#pending = undefined
  }

  defaultOf(container: string): number | null {
    return this.#of(container).at(-1)!.defaultTtl
  }

  epochCount(container: string): number {
    return this.#of(container).length
  }

  /**
   * Whether an operation at the moment `at` must find the item dead: by an epoch that was in place when the
   * request was sent, or that began in an earlier second than the operation.
   */
  isSurelyDead(container: string, life: Life, at: number, epochsAtSend: number): boolean {
    return this.#of(container).some(
      (epoch, index) => (index < epochsAtSend || epoch.start < at) && diesIn(epoch, life, at),
    )
  }

  /** Whether an operation at the moment `at`, answered just now, may have found the item dead. */
  isPossiblyDead(container: string, life: Life, at: number): boolean {
    const pending = this.#pending
    const coming: Epoch[] =
      pending?.kind === 'default' && pending.container === container
        ? [{ defaultTtl: pending.to, start: this.#now }]
        : []
    return [...this.#of(container), ...coming].some(epoch => epoch.start <= at && diesIn(epoch, life, at))
  }

  /** After a restart the clock is at its acknowledged time, or where the request under way put it. */
  settleClock(now: number): void {
    check(now >= this.#now, `the clock went back to ${now}; ${this.#now} had been acknowledged`)
    check(now === this.#now || now === this.latest, `the clock stands at ${now}; nobody moved it beyond ${this.latest}`)
    if (now !== this.#now) this.acknowledge()
  }

  settleDefault(container: string, defaultTtl: number | null): void {
    const present = this.defaultOf(container)
    if (defaultTtl === present) return
    const pending = this.#pending
    const isPending = pending?.kind === 'default' && pending.container === container && pending.to === defaultTtl
    check(isPending, `the default of ${container} is ${defaultTtl}; acknowledged was ${present}`)
    this.acknowledge()
  }

  /** A change under way that is not visible by now will never happen. */
  abandon(): void {
    this.#pending = undefined
  }

  /** All living items were checked against every ended epoch, so those epochs can be dropped. */
  forgetEnded(): void {
    for (const epochs of this.#epochs.values()) epochs.splice(0, epochs.length - 1)
  }

  #of(container: string): Epoch[] {
    return this.#epochs.get(container)!
  }

  #apply(change: Change): void {
    if (change.kind === 'clock') {
      this.#now = change.to
      return
    }
    const epochs = this.#of(change.container)
    epochs.at(-1)!.end = this.#now
    epochs.push({ defaultTtl: change.to, start: this.#now })
  }
}

function diesIn({ defaultTtl, end }: Epoch, { ts, ttl }: Life, at: number): boolean {
  if (defaultTtl === null) return false
  const lifespan = ttl ?? defaultTtl
  return lifespan !== -1 && Math.min(end ?? at, at) >= ts + lifespan
}
