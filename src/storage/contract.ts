/**
 * Wraps a store and asserts the port's promises on every call, always: a broken promise must fail loudly where it happens
 * and not as a ghost that a client saw. `test/contract` holds the promises that need more than one call to check.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { assert, InvariantError, MayflyError } from '../base/error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { isAlive, livingAt } from '../ttl/living.ts'
import type {
  Answer,
  ContainerRecord,
  IndexRange,
  ItemKey,
  ItemWrite,
  PageSize,
  ScanRange,
  Store,
  StoredItem,
} from './port.ts'

export function withContract(store: Store): Store {
  let latest = 0

  function checkMoment<T extends EpochSeconds>(moment: T): T {
    assert(moment >= latest, `P6: the moment ${moment} is before ${latest}`)
    latest = moment
    return moment
  }

  function checkItem({ moment, policy, version }: Answer, item: StoredItem): void {
    assert(isAlive(livingAt(policy, moment), item), `P1: an item written at ${item.ts} is dead at ${moment}`)
    assert(item.version <= version, `P7: version ${item.version} is beyond ${version}`)
  }

  return {
    ...forward(store),

    moment: () => andThen(store.moment(), checkMoment),

    read: (container: ContainerRecord, key: ItemKey) =>
      andThen(store.read(container, key), answer => {
        const { moment, item } = answer
        checkMoment(moment)
        if (item !== undefined) {
          checkItem(answer, item)
          assert(item.ts <= moment, `P6: an item written at ${item.ts} was read at ${moment}`)
        }
        return answer
      }),

    write: async (container: ContainerRecord, write: ItemWrite) => {
      const answer = await translated(store.write(container, write))
      const { outcome, item, version } = answer
      if (outcome === 'created' || outcome === 'replaced') {
        assert(item !== undefined && item.version <= version, 'P2: a write answers with the item it stored')
        checkItem(answer, item)
      }
      return answer
    },

    scanIndex: (container: ContainerRecord, range: IndexRange, page: PageSize) =>
      andThen(store.scanIndex(container, range, page), answer => {
        assert(answer.items.length <= page.itemsMax, 'P4: a page is no larger than asked for')
        for (const item of answer.items) checkItem(answer, item)
        return answer
      }),

    // A page may be read over several turns: its moment can lie before the latest, and items written meanwhile after it.
    scan: (container: ContainerRecord, range: ScanRange, page: PageSize) =>
      andThen(store.scan(container, range, page), answer => {
        assert(answer.items.length <= page.itemsMax, 'P4: a page is no larger than asked for')
        for (const item of answer.items) checkItem(answer, item)
        return answer
      }),

    sweep: async (container: ContainerRecord, rowsMax: number) => {
      const swept = await translated(store.sweep(container, rowsMax))
      assert(swept.removed <= rowsMax, `P5: a sweep of ${rowsMax} removed ${swept.removed}`)
      return swept
    },
  }
}

/** Methods of a class instance do not spread; each is bound here, and a new one in the port must be named. */
function forward(store: Store): Store {
  return {
    moment: () => store.moment(),
    databases: () => store.databases(),
    findDatabase: id => store.findDatabase(id),
    createDatabase: draft => translated(store.createDatabase(draft)),
    updateDatabase: (database, change) => translated(store.updateDatabase(database, change)),
    deleteDatabase: database => translated(store.deleteDatabase(database)),
    containers: database => store.containers(database),
    findContainer: (database, id) => store.findContainer(database, id),
    createContainer: (database, draft) => translated(store.createContainer(database, draft)),
    updateContainer: (container, change) => translated(store.updateContainer(container, change)),
    deleteContainer: container => translated(store.deleteContainer(container)),
    read: (container, key) => store.read(container, key),
    write: (container, write) => store.write(container, write),
    scan: (container, range, page) => store.scan(container, range, page),
    scanIndex: (container, range, page) => store.scanIndex(container, range, page),
    countEntries: (container, range) => translated(store.countEntries(container, range)),
    createIndex: (container, index) => translated(store.createIndex(container, index)),
    buildIndex: (container, index, rowsMax) => translated(store.buildIndex(container, index, rowsMax)),
    dropIndex: (container, index) => translated(store.dropIndex(container, index)),
    sweep: (container, rowsMax) => store.sweep(container, rowsMax),
    reclaim: rowsMax => translated(store.reclaim(rowsMax)),
    inspect: (container, key) => store.inspect(container, key),
    count: (container, cohort) => translated(store.count(container, cohort)),
    census: container => store.census(container),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function translated<T>(promise: MaybePromise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof MayflyError) throw error
    throw new InvariantError('P9: the store failed in a way it should have translated', { cause: error })
  }
}
