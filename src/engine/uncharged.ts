/**
 * Reads and writes that are neither charged nor counted: for callers that pay once for everything, such as
 * scripts, and for maintenance.
 */

import type { MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'
import type { Viewpoint } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import type { IndexRange, IndexScanAnswer, PageSize, ReadAnswer, ScanAnswer, ScanRange } from '../store/reading.ts'
import type { Step, TransactAnswer } from '../store/writing.ts'

export class Uncharged {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint): MaybePromise<ReadAnswer> {
    return this.#store.read(container, key, at)
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer> {
    return this.#store.scan(container, range, page)
  }

  /** Living items in the order of an index that is ready. */
  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer> {
    return this.#store.scanIndex(container, range, page)
  }

  /** The number of index entries in the ranges, of items alive or dead. */
  countEntries(container: ContainerRecord, range: Pick<IndexRange, 'index' | 'keys'>): Promise<number> {
    return this.#store.countEntries(container, range)
  }

  /** All steps or none. */
  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    return this.#store.transact(steps)
  }
}
