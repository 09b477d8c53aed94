/** Reports on a container and its expiry, without reading its items. */

import type { EpochSeconds } from '../base/clock.ts'
import { scanBytesMax, scanItemsMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../store/item.ts'
import { neverDeadline } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import { type ScanRange, wholeRange } from '../store/reading.ts'
import { hasDead } from '../ttl/any-dead.ts'
import { livingAt } from '../ttl/living.ts'
import type { Purger } from '../ttl/purger.ts'
import { type Behind, behind, explain, forecast, preview, ttlStatus } from '../ttl/report.ts'
import type { ContainerStatus, Explanation, Forecast, Preview } from '../ttl/report-shapes.ts'
import { type ListedItem, listLives } from './item-lives.ts'

export class Reports {
  readonly #store: Store
  readonly #purger: Purger

  constructor(store: Store, purger: Purger) {
    this.#store = store
    this.#purger = purger
  }

  async ttlStatus(container: ContainerRecord): Promise<ContainerStatus> {
    const status = await ttlStatus(this.#store, container)
    return { ...status, purged: this.#purger.purged(container), paused: this.#purger.isPaused }
  }

  /** The number of rows, and whether some are dead. Costs the same for any number of items. */
  async glance(container: ContainerRecord): Promise<{ rows: number; writes: number; hasDead: boolean }> {
    const now = livingAt(container.policy, await this.#store.moment())
    const census = await this.#store.census(container)
    return { rows: census.rows, writes: census.writes, hasDead: hasDead(census, now) }
  }

  /** The living item that dies first. Not charged: it is one row of an index. */
  async nextToDie(container: ContainerRecord): Promise<ListedItem | undefined> {
    const page = { itemsMax: 1, examineMax: 1 }
    const { items } = await listLives(this.#store, container, { filter: 'all', order: 'soonest' }, {}, page)
    return items[0]
  }

  /**
   * The items that died after one moment, up to another: their number, and some of them. Items that inherit
   * their lifespan come before the others; each group is in the order of death.
   */
  async diedBetween(
    container: ContainerRecord,
    from: EpochSeconds,
    to: EpochSeconds,
    rowsMax: number,
  ): Promise<{ count: number; rows: readonly ScannedItem[] }> {
    const before = livingAt(container.policy, from)
    const after = livingAt(container.policy, to)
    const rows: ScannedItem[] = []
    let count = 0
    for (const [by, low, high] of [
      ['inherited', before.inheritedAfter, after.inheritedAfter],
      ['own', before.ownAfter, after.ownAfter],
    ] as const) {
      if (high <= low) continue
      const range = { by, after: low, upTo: high, isReverse: false }
      const page = { itemsMax: Math.max(1, rowsMax), bytesMax: scanBytesMax }
      const found = await this.#store.listRows(container, range, page)
      if (found.rows.length > 0 && rowsMax > 0) rows.push(...found.rows)
      const isAll = found.last === undefined
      count += isAll ? found.rows.length : await this.#store.count(container, { lifespan: by, after: low, upTo: high })
    }
    return { count, rows: rows.slice(0, rowsMax) }
  }

  /** The latest deadline that a living item has; the moment if none dies. */
  async lastDeadline(container: ContainerRecord): Promise<number> {
    const moment = await this.#store.moment()
    const { defaultTtl } = container.policy
    if (defaultTtl === null) return moment
    const { inheritedAfter, ownAfter } = livingAt(container.policy, moment)
    const latest = async (by: 'inherited' | 'own', after: number, upTo: number) => {
      const range = { by, after, upTo, isReverse: true }
      const { rows } = await this.#store.listRows(container, range, { itemsMax: 1, bytesMax: scanBytesMax })
      return rows[0]
    }
    const own = await latest('own', ownAfter, neverDeadline - 1)
    const inherited = defaultTtl > 0 ? await latest('inherited', inheritedAfter, neverDeadline) : undefined
    return Math.max(moment, own?.deadline ?? 0, inherited === undefined ? 0 : inherited.ts + defaultTtl)
  }

  /** Counts living items: without a lifespan of their own, with an endless one, with one that ends. */
  async shares(container: ContainerRecord): Promise<{ none: number; never: number; own: number }> {
    const { inheritedAfter } = livingAt(container.policy, await this.#store.moment())
    return {
      none: await this.#store.count(container, { lifespan: 'inherited', after: inheritedAfter, upTo: neverDeadline }),
      never: await this.ownLives(container, 'endless'),
      own: await this.ownLives(container, 'ending'),
    }
  }

  /** Living items with a lifespan of their own: those with an end, or the endless ones. */
  async ownLives(container: ContainerRecord, kind: 'ending' | 'endless'): Promise<number> {
    const { ownAfter } = livingAt(container.policy, await this.#store.moment())
    const range =
      kind === 'ending'
        ? { after: ownAfter, upTo: neverDeadline - 1 }
        : { after: neverDeadline - 1, upTo: neverDeadline }
    return this.#store.count(container, { lifespan: 'own', ...range })
  }

  /** Deaths that this process saw, and dead rows that are not removed yet, by the time of death. */
  async behind(
    container: ContainerRecord,
    window: { readonly windowSeconds: number; readonly bucketCount: number },
  ): Promise<Behind> {
    await this.#purger.deaths.watch(container)
    return behind(this.#store, container, this.#purger.deaths, window)
  }

  /** How many living items die until a moment. */
  async dyingUntil(container: ContainerRecord, moment: EpochSeconds): Promise<number> {
    const now = livingAt(container.policy, await this.#store.moment())
    const then = livingAt(container.policy, moment)
    const count = (lifespan: 'inherited' | 'own', after: number, upTo: number) =>
      upTo > after ? this.#store.count(container, { lifespan, after, upTo }) : 0
    return (
      (await count('inherited', now.inheritedAfter, then.inheritedAfter)) +
      (await count('own', now.ownAfter, then.ownAfter))
    )
  }

  /** How many items will die in each bucket of a window that starts now. */
  forecast(
    container: ContainerRecord,
    window: { readonly windowSeconds: number; readonly bucketCount: number },
  ): Promise<Forecast> {
    return forecast(this.#store, container, window)
  }

  /** Why an item is alive or dead. Tries the keys in order and explains the first one that has a row. */
  async explain(container: ContainerRecord, key: ItemKey, ...others: readonly ItemKey[]): Promise<Explanation> {
    const found = await explain(this.#store, container, key)
    const [next, ...rest] = others
    return found.state === 'unknown' && next !== undefined ? this.explain(container, next, ...rest) : found
  }

  /** Previews another default time to live. Changes nothing. */
  preview(container: ContainerRecord, defaultTtl: number | null): Promise<Preview> {
    return preview(this.#store, container, defaultTtl)
  }

  /** The newest version in the container. */
  newestVersion(container: ContainerRecord): MaybePromise<number> {
    return andThen(this.#store.census(container), ({ version }) => version)
  }

  /**
   * Counts living items. If no item is dead, it is the row count; otherwise rows minus dead. A sweep or a
   * write between the two reads makes them inconsistent; then the items are counted one by one.
   */
  async countLiving(container: ContainerRecord): Promise<number> {
    const now = livingAt(container.policy, await this.#store.moment())
    const before = await this.#store.census(container)
    if (!hasDead(before, now)) return before.rows
    const { living } = await ttlStatus(this.#store, container)
    const { rows, version } = await this.#store.census(container)
    return rows === before.rows && version === before.version ? living : this.countWithin(container, wholeRange)
  }

  /** Counts the living items of a part of the container, one by one. */
  async countWithin(container: ContainerRecord, range: ScanRange): Promise<number> {
    const size = { itemsMax: scanItemsMax, bytesMax: scanBytesMax }
    let count = 0
    let after: ItemKey | undefined
    do {
      const page = await this.#store.scan(container, { ...range, after }, size)
      count += page.items.length
      after = page.last
    } while (after !== undefined)
    return count
  }
}
