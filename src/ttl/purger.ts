/**
 * Decides where and when to sweep, and uses only capacity that nobody else needs.
 *
 * Dying and being removed are two things. A dead item is invisible from its deadline on, whether or not the
 * purger has removed it. So the purger may always wait, and it does:
 *
 *   - With enforced throughput, a sweep is paid with request units that the container's requests did not use
 *     in the last closed second (units/budget.ts). If there are none, the backlog waits.
 *   - Without it, the budget is machine time. A sweep takes about a millisecond and waits for an idle moment
 *     (base/idle.ts). Under a constant stream of requests a backlog still gets one sweep every 50 ms.
 *
 * What is dead only by a time in doubt is left alone (base/clock.ts). If the clock comes back, a pass begins
 * by stamping what was written meanwhile again.
 *
 * Containers take turns, one sweep each, so the backlog of one does not starve another. Old log entries and
 * the rows of deleted containers are removed in idle moments, and nobody is charged for them.
 */

import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import type { IdleWatch } from '../base/idle.ts'
import { sweepRowsMax } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { deleteRu } from '../units/cost.ts'
import type { Ledger } from '../units/ledger.ts'
import { hasDead, hasOldEntries } from './any-dead.ts'
import { DeathRecord } from './death-record.ts'
import { livingAt } from './living.ts'

/** How often the purger looks for work. */
export const purgeIntervalMs = 1000

export interface PurgerOptions {
  readonly store: Store
  readonly ledger: Ledger
  readonly idle: IdleWatch
  readonly log: Logger
  /** The deadlines of the container's items do not count from their writes. */
  readonly hasFixedDeadlines?: ((container: ContainerRecord) => boolean) | undefined
}

export class Purger implements AsyncDisposable {
  isPaused = false
  readonly #store: Store
  readonly #ledger: Ledger
  readonly #idle: IdleWatch
  readonly #log: Logger
  readonly #hasFixedDeadlines: (container: ContainerRecord) => boolean
  readonly #purged = new Map<number, number>()
  readonly deaths: DeathRecord
  #timer: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #passes = 0
  #hasFailed = false
  #lastFailure: string | undefined
  #isClosed = false

  constructor({ store, ledger, idle, log, hasFixedDeadlines = () => false }: PurgerOptions) {
    this.#hasFixedDeadlines = hasFixedDeadlines
    this.#store = store
    this.deaths = new DeathRecord(store)
    this.#ledger = ledger
    this.#idle = idle
    this.#log = log
    this.#schedule()
  }

  /** Items of the container that have been removed since the start. */
  purged(container: ContainerRecord): number {
    return this.#purged.get(container.number) ?? 0
  }

  /** Removes everything dead in these containers at once, whatever it costs. */
  async purgeNow(containers: readonly ContainerRecord[]): Promise<number> {
    let removed = 0
    for (const container of containers) {
      let isDone = false
      while (!isDone) {
        const swept = await this.#sweep(container, sweepRowsMax)
        removed += swept.removed
        isDone = swept.done
      }
    }
    return removed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    machine.clearTimeout(this.#timer)
    await this.#pass
  }

  #schedule(): void {
    if (this.#isClosed) return
    // What a second leaves unspent is known just after it has closed.
    const untilNextMs = purgeIntervalMs - (machine.monotonicMs() % purgeIntervalMs) + 1
    this.#timer = machine.setTimeout(() => {
      this.#pass = this.#run()
    }, untilNextMs)
    this.#timer.unref()
  }

  async #run(): Promise<void> {
    this.#hasFailed = false
    try {
      await this.#restamp()
      await this.#sweepInTurns()
      while (this.#mayGoOn && (await this.#store.reclaim(sweepRowsMax))) await this.#idle.moment()
    } catch (error) {
      this.#logOnce(error, {}, 'purging failed; it continues at the next interval')
    }
    if (!this.#hasFailed) this.#lastFailure = undefined
    this.#schedule()
  }

  /** Also while it is paused: this removes nothing. */
  async #restamp(): Promise<void> {
    while (!this.#isClosed && (await this.#store.restamp(sweepRowsMax, this.#hasFixedDeadlines))) {
      await this.#idle.moment()
    }
  }

  async #sweepInTurns(): Promise<void> {
    let inLine = this.#inNewOrder(await this.#containersToSweep())
    while (this.#mayGoOn && inLine.length > 0) {
      const again: ContainerRecord[] = []
      for (const container of inLine) {
        if (!this.#mayGoOn) return
        const rows = Math.min(sweepRowsMax, Math.floor(this.#ledger.spareRu(container) / deleteRu))
        if (rows < 1) continue
        if (!this.#ledger.isEnforced) await this.#idle.moment()
        try {
          const { removed, done } = await this.#sweep(container, rows)
          this.#ledger.spend(container, removed * deleteRu)
          if (done) continue
          again.push(container)
          // Only log entries were removed, and nobody pays for them: the next ones wait for an idle moment.
          if (this.#ledger.isEnforced && removed === 0) await this.#idle.moment()
        } catch (error) {
          this.#logOnce(error, { container: container.id }, 'a sweep failed; its container waits for the next pass')
        }
      }
      inLine = again
    }
  }

  /** A failure that lasts is logged once, not once a second. */
  #logOnce(error: unknown, where: object, sentence: string): void {
    this.#hasFailed = true
    // The store itself says when it is away and when it is back.
    if (error instanceof CapacityError && error.kind === 'unavailable') return
    const reason = error instanceof Error ? error.message : String(error)
    if (reason === this.#lastFailure) return
    this.#lastFailure = reason
    this.#log.error({ error, ...where }, sentence)
  }

  /** Each pass starts with another container, so those that share throughput take turns at the rest of it. */
  #inNewOrder(containers: readonly ContainerRecord[]): readonly ContainerRecord[] {
    const first = this.#passes++ % Math.max(1, containers.length)
    return [...containers.slice(first), ...containers.slice(0, first)]
  }

  get #mayGoOn(): boolean {
    return !this.isPaused && !this.#isClosed
  }

  async #sweep(container: ContainerRecord, rowsMax: number): Promise<{ removed: number; done: boolean }> {
    try {
      await this.deaths.watch(container)
      const swept = await this.#store.sweep(container, rowsMax)
      this.#purged.set(container.number, this.purged(container) + swept.removed)
      if (swept.removed > 0) this.#ledger.usage.removed(container.number, swept.removed, swept.removed * deleteRu)
      return swept
    } catch (error) {
      if (await this.#isGone(container)) return { removed: 0, done: true }
      throw error
    }
  }

  async #isGone({ database, id, number }: ContainerRecord): Promise<boolean> {
    return (await this.#store.findContainer(database.id, id))?.number !== number
  }

  async #containersToSweep(): Promise<ContainerRecord[]> {
    const found: ContainerRecord[] = []
    for (const database of await this.#store.databases()) {
      for (const container of await this.#store.containers(database)) {
        const { sure } = await this.#store.time()
        const census = await this.#store.census(container)
        const isDue =
          hasDead(census, livingAt(container.policy, sure)) || hasOldEntries(census, container.logSeconds, sure)
        if (isDue) found.push(container)
      }
    }
    return found
  }
}
