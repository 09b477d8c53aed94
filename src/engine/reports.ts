/** Reports on a container and its expiry, without reading its items. */

import { scanBytesMax, scanItemsMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'
import type { Store } from '../store/port.ts'
import { type ScanRange, wholeRange } from '../store/reading.ts'
import { hasDead } from '../ttl/any-dead.ts'
import { livingAt } from '../ttl/living.ts'
import type { Purger } from '../ttl/purger.ts'
import { explain, forecast, preview, ttlStatus } from '../ttl/report.ts'
import type { ContainerStatus, Explanation, Forecast, Preview } from '../ttl/report-shapes.ts'

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

  /** How many items will die in each bucket of a window that starts now. */
  forecast(
    container: ContainerRecord,
    window: { readonly windowSeconds: number; readonly bucketCount: number },
  ): Promise<Forecast> {
    return forecast(this.#store, container, window)
  }

  /** Why an item is alive or dead. */
  explain(container: ContainerRecord, key: ItemKey): Promise<Explanation> {
    return explain(this.#store, container, key)
  }

  /** What another default time to live would do. Changes nothing. */
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
