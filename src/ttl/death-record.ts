/**
 * How many items died in each minute of item time, as this process saw it.
 *
 * Nobody writes a death down when it happens: an item is dead as soon as its deadline has come. But between
 * two moments the thresholds of `living.ts` move over exactly those that died, and the indexes count them.
 * The purger looks before each sweep, so every item is counted while it is still there.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Living, TtlPolicy } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import { livingAt } from './living.ts'

const minuteS = 60
/** A day. */
const minutesMax = 1440
const containersMax = 256
/** A clock that jumps far is looked at in fewer steps; each costs two counts. */
const stepsMax = 60

interface Seen {
  moment: EpochSeconds
  living: Living
  policy: TtlPolicy
  /** Deaths by the first second of the minute, oldest first. */
  readonly minutes: Map<number, number>
}

export class DeathRecord {
  readonly #store: Store
  readonly #seen = new Map<number, Seen>()
  readonly #watched = new Map<number, Promise<void>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Counts those that died since the last call. The first call only remembers where to begin. */
  watch(container: ContainerRecord): Promise<void> {
    const { number } = container
    const before = this.#watched.get(number) ?? Promise.resolve()
    const watching = before.then(() => this.#watch(container))
    const settled = watching.catch(() => {})
    this.#watched.set(number, settled)
    settled.then(() => {
      if (this.#watched.get(number) === settled) this.#watched.delete(number)
    })
    return watching
  }

  /** Deaths between two seconds that are whole minutes. */
  between(container: ContainerRecord, start: number, end: number): number {
    let count = 0
    for (const [minute, deaths] of this.#seen.get(container.number)?.minutes ?? []) {
      if (minute >= start && minute < end) count += deaths
    }
    return count
  }

  async #watch(container: ContainerRecord): Promise<void> {
    const { number, policy } = container
    const moment = await this.#store.moment()
    const seen = this.#seen.get(number)
    if (seen === undefined) {
      this.#begin(number, { moment, living: livingAt(policy, moment), policy, minutes: new Map() })
      return
    }
    if (moment === seen.moment && policy === seen.policy) return
    // A time in doubt that came back: what died by it is alive again.
    if (moment < seen.moment) {
      this.#begin(number, { ...seen, moment, living: livingAt(policy, moment), policy })
      return
    }
    for (const edge of edgesBetween(seen.moment, moment)) {
      const living = livingAt(policy, edge)
      const deaths =
        (await this.#count(container, 'inherited', seen.living.inheritedAfter, living.inheritedAfter)) +
        (await this.#count(container, 'own', seen.living.ownAfter, living.ownAfter))
      // An item that dies at a deadline died in the minute that ends with it.
      if (deaths > 0) this.#add(seen, edge - 1 - ((edge - 1) % minuteS), deaths)
      seen.living = {
        inheritedAfter: Math.max(seen.living.inheritedAfter, living.inheritedAfter),
        ownAfter: Math.max(seen.living.ownAfter, living.ownAfter),
      }
    }
    seen.moment = moment
    seen.policy = policy
  }

  #count(container: ContainerRecord, lifespan: 'inherited' | 'own', after: number, upTo: number): Promise<number> {
    return upTo > after ? this.#store.count(container, { lifespan, after, upTo }) : Promise.resolve(0)
  }

  #begin(number: number, seen: Seen): void {
    this.#seen.delete(number)
    this.#seen.set(number, seen)
    if (this.#seen.size <= containersMax) return
    const [oldest] = this.#seen.keys()
    this.#seen.delete(oldest!)
  }

  #add({ minutes }: Seen, minute: number, deaths: number): void {
    minutes.set(minute, (minutes.get(minute) ?? 0) + deaths)
    if (minutes.size <= minutesMax) return
    const [oldest] = minutes.keys()
    minutes.delete(oldest!)
  }
}

/** The ends of the minutes between two moments, and the later moment. */
function edgesBetween(from: EpochSeconds, to: EpochSeconds): EpochSeconds[] {
  const minutes = Math.ceil((to - from) / minuteS)
  const step = minuteS * Math.max(1, Math.ceil(minutes / stepsMax))
  const edges: EpochSeconds[] = []
  for (let edge = from - (from % minuteS) + step; edge < to; edge += step) edges.push(edge as EpochSeconds)
  return [...edges, to]
}
