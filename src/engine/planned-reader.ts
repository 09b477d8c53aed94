/** Reads a container for a page of a query, as long as the plan of the page fits the container's indexes. */

import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { describeIndexes } from '../query/page-task.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import type { ContainerReader } from '../store/reading.ts'

/** The indexes of a container have changed since a page was planned. */
class StalePlan extends Error {}

/** Does the work of a page, unless its plan has become stale. */
export async function unlessStale<T>(work: () => Promise<T>): Promise<T | 'stale'> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StalePlan) return 'stale'
    throw error
  }
}

/**
 * A reader that fails with `StalePlan` when the container no longer has the indexes of the plan. A dropped
 * index loses its entries in steps, so reading it would miss items. And the record of the container may be
 * as old as a cursor.
 */
export function plannedReader(store: Store, container: ContainerRecord): ContainerReader {
  const { database, id, number, indexes } = container
  const reader = readerOf(store, container)
  const fresh = <T>(read: () => MaybePromise<T>): MaybePromise<T> =>
    andThen(store.findContainer(database.id, id), found => {
      const isChanged = found?.number === number && found.indexes !== indexes
      if (isChanged && describeIndexes(found.indexes) !== describeIndexes(indexes)) throw new StalePlan()
      return read()
    })
  return {
    read: (key, at) => reader.read(key, at),
    scan: (range, page) => fresh(() => reader.scan(range, page)),
    scanIndex: (range, page) => fresh(() => reader.scanIndex(range, page)),
    countEntries: async range => fresh(() => reader.countEntries(range)),
    census: () => reader.census(),
  }
}

export function readerOf(store: Store, container: ContainerRecord): ContainerReader {
  return {
    read: (key, at) => store.read(container, key, at),
    scan: (range, page) => store.scan(container, range, page),
    scanIndex: (range, page) => store.scanIndex(container, range, page),
    countEntries: range => store.countEntries(container, range),
    census: () => store.census(container),
  }
}
