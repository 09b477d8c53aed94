/**
 * Wraps a store and asserts the promises of the port on every call, also in production: a broken promise must
 * fail where it happens, not later at a client. Promises that need several calls are checked by
 * `test/contract`.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { assert, InvariantError, MayflyError } from '../base/error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, StoredItem } from '../store/item.ts'
import type { Living, Viewpoint } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import {
  type Answer,
  type ChangeRange,
  type ContainerReader,
  type IndexRange,
  type PageSize,
  placeOf,
  type RowRange,
  type ScanRange,
} from '../store/reading.ts'
import type { ItemWrite, Step } from '../store/writing.ts'
import { isAlive, livingAt } from '../ttl/living.ts'

export function withContract(store: Store): Store {
  let latest = 0
  let returns = store.returns()

  function checkMoment<T extends EpochSeconds>(moment: T): T {
    if (moment < latest) {
      const now = store.returns()
      assert(now > returns, `P6: the moment ${moment} is before ${latest}`)
      returns = now
    }
    latest = moment
    return moment
  }

  return {
    ...forward(store),

    moment: () => andThen(store.moment(), checkMoment),

    time: () =>
      andThen(store.time(), time => {
        checkMoment(time.moment)
        assert(time.sure <= time.moment, `P5: the sure time ${time.sure} is after ${time.moment}`)
        return time
      }),

    view: (container: ContainerRecord) =>
      andThen(store.view(container), view => {
        checkMoment(view.moment)
        return view
      }),

    read: (container: ContainerRecord, key: ItemKey, at?: Viewpoint) =>
      andThen(store.read(container, key, at), answer => {
        const { moment, item } = answer
        if (at === undefined) checkMoment(moment)
        if (item !== undefined) {
          checkItem(answer, item)
          if (at === undefined && item.ts > moment) {
            assert(store.returns() > 0, `P6: an item written at ${item.ts} was read at ${moment}`)
          }
        }
        return answer
      }),

    readBySequence: (container: ContainerRecord, sequence: number) =>
      andThen(store.readBySequence(container, sequence), answer => {
        const { item } = answer
        if (item !== undefined) {
          checkItem(answer, item)
          assert(item.sequence === sequence, `an item has the sequence number ${item.sequence}, not ${sequence}`)
        }
        return answer
      }),

    write: (container: ContainerRecord, write: ItemWrite) =>
      store.write(container, write).then(answer => {
        const { outcome, item, version } = answer
        if (outcome === 'created' || outcome === 'replaced') {
          assert(item !== undefined && item.version <= version, 'P2: a write answers with the item it stored')
          // An item with `until` may be dead when it is written.
          if (!('until' in write) || write.until === undefined) checkItem(answer, item)
        }
        return answer
      }, refuseUntranslated),

    transact: (steps: readonly Step[]) =>
      store.transact(steps).then(answer => {
        const isWhole = answer.steps.length === steps.length && answer.refusal === undefined
        assert(isWhole || answer.refusal !== undefined, 'P10: a transaction that was not refused took all its steps')
        return answer
      }, refuseUntranslated),

    changes: (container: ContainerRecord, range: ChangeRange, page: PageSize) =>
      andThen(store.changes(container, range, page), answer => {
        assert(answer.items.length <= page.itemsMax, 'P12: a page is no larger than asked for')
        checkItems(answer, answer.items)
        return answer
      }),

    journal: (after: number, page: PageSize) =>
      andThen(store.journal(after, page), answer => {
        let before = after
        for (const { tick } of answer.entries) {
          assert(tick > before, `P14: the tick ${tick} comes after ${before}`)
          before = tick
        }
        assert(answer.reached.tick >= before, 'P14: a page reaches its last entry')
        return answer
      }),

    scanIndex: (container: ContainerRecord, range: IndexRange, page: PageSize) =>
      andThen(store.scanIndex(container, range, page), answer => {
        assert(answer.items.length <= page.itemsMax, 'P4: a page is no larger than asked for')
        checkItems(answer, answer.items)
        return answer
      }),

    // The moment of a page is not compared with the latest one, nor with the write times of its items: a
    // page may take several turns of the event loop, and others write meanwhile.
    scan: (container: ContainerRecord, range: ScanRange, page: PageSize) =>
      andThen(store.scan(container, range, page), answer => {
        assert(range.isReverse !== true || range.pk !== undefined, 'only one partition key is read from its end')
        assert(answer.items.length <= page.itemsMax, 'P4: a page is no larger than asked for')
        checkItems(answer, answer.items)
        return answer
      }),

    listRows: (container: ContainerRecord, range: RowRange, page: PageSize) =>
      andThen(store.listRows(container, range, page), answer => {
        const { after, upTo, isReverse, behind, by } = range
        assert(answer.rows.length <= page.itemsMax, 'P15: a page is no larger than asked for')
        let before = behind
        for (const row of answer.rows) {
          const place = placeOf(row, by)
          if (!(place.at > after && place.at <= upTo)) assert(false, `P15: a row at ${place.at} is out of range`)
          const [first, second] = isReverse ? [place, before] : [before, place]
          const isInOrder =
            before === undefined ||
            first!.at < second!.at ||
            (first!.at === second!.at && first!.sequence < second!.sequence)
          if (!isInOrder) assert(false, `P15: the row ${row.sequence} is out of order`)
          before = place
        }
        return answer
      }),

    sweep: async (container: ContainerRecord, rowsMax: number) => {
      const swept = await translated(store.sweep(container, rowsMax))
      assert(swept.removed <= rowsMax, `P5: a sweep of ${rowsMax} removed ${swept.removed}`)
      return swept
    },
  }
}

/** Asserts the same for a reader of one container; other threads read through such a reader. */
export function withReaderContract(reader: ContainerReader): ContainerReader {
  const checked = <T extends Answer & { readonly items: readonly StoredItem[] }>(answer: T): T => {
    checkItems(answer, answer.items)
    return answer
  }
  return {
    read: (key, at) =>
      andThen(reader.read(key, at), answer => {
        if (answer.item !== undefined) checkItem(answer, answer.item)
        return answer
      }),
    scan: (range, page) => andThen(reader.scan(range, page), checked),
    scanIndex: (range, page) => andThen(reader.scanIndex(range, page), checked),
    ...(reader.scanRows !== undefined && {
      scanRows: (after: number | undefined, at: Viewpoint, page: PageSize) =>
        andThen(reader.scanRows!(after, at, page), checked),
    }),
    countEntries: range => reader.countEntries(range),
    census: () => reader.census(),
  }
}

function checkItems(answer: Answer, items: readonly StoredItem[]): void {
  const living = livingAt(answer.policy, answer.moment)
  for (const item of items) checkItem(answer, item, living)
}

/** Called for every item of a scan, so a message is made only if the check fails. */
function checkItem(
  { moment, policy, version }: Answer,
  item: StoredItem,
  living: Living = livingAt(policy, moment),
): void {
  if (!isAlive(living, item)) assert(false, `P1: an item written at ${item.ts} is dead at ${moment}`)
  if (item.version > version) assert(false, `P7: version ${item.version} is beyond ${version}`)
}

/** Methods of a class cannot be spread, so each is named here; a new one in the port must be added. */
function forward(store: Store): Store {
  return {
    moment: () => store.moment(),
    time: () => store.time(),
    trustTime: () => translated(store.trustTime()),
    returns: () => store.returns(),
    view: container => store.view(container),
    share: () => store.share(),
    databases: () => store.databases(),
    findDatabase: id => store.findDatabase(id),
    createDatabase: draft => translated(store.createDatabase(draft)),
    updateDatabase: (database, change) => translated(store.updateDatabase(database, change)),
    deleteDatabase: (database, epitaph) => translated(store.deleteDatabase(database, epitaph)),
    containers: database => store.containers(database),
    findContainer: (database, id) => store.findContainer(database, id),
    createContainer: (database, draft) => translated(store.createContainer(database, draft)),
    updateContainer: (container, change) => translated(store.updateContainer(container, change)),
    deleteContainer: (container, epitaph) => translated(store.deleteContainer(container, epitaph)),
    read: (container, key, at) => store.read(container, key, at),
    readBySequence: (container, sequence) => store.readBySequence(container, sequence),
    write: (container, write) => store.write(container, write),
    transact: steps => store.transact(steps),
    scan: (container, range, page) => store.scan(container, range, page),
    changes: (container, range, page) => store.changes(container, range, page),
    changesNow: container => store.changesNow(container),
    changesSince: (container, moment) => store.changesSince(container, moment),
    log: (container, range, page) => store.log(container, range, page),
    logNow: container => store.logNow(container),
    logSince: (container, moment) => store.logSince(container, moment),
    journal: (after, page) => store.journal(after, page),
    journalNow: () => store.journalNow(),
    journalSince: moment => store.journalSince(moment),
    journalTick: () => store.journalTick(),
    awaitJournal: (after, wait) => store.awaitJournal(after, wait),
    scanIndex: (container, range, page) => store.scanIndex(container, range, page),
    countEntries: (container, range) => translated(store.countEntries(container, range)),
    createIndex: (container, index) => translated(store.createIndex(container, index)),
    buildIndex: (container, index, rowsMax) => translated(store.buildIndex(container, index, rowsMax)),
    dropIndex: (container, index) => translated(store.dropIndex(container, index)),
    sweep: (container, rowsMax) => store.sweep(container, rowsMax),
    ...(store.backUp && { backUp: (path: string) => translated(store.backUp!(path)) }),
    reclaim: rowsMax => translated(store.reclaim(rowsMax)),
    restamp: (rowsMax, hasFixedDeadlines) => translated(store.restamp(rowsMax, hasFixedDeadlines)),
    inspect: (container, key) => store.inspect(container, key),
    putRows: (container, rows) => translated(store.putRows(container, rows)),
    listRows: (container, range, page) => store.listRows(container, range, page),
    count: (container, cohort) => translated(store.count(container, cohort)),
    census: container => store.census(container),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function translated<T>(promise: MaybePromise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    refuseUntranslated(error)
  }
}

function refuseUntranslated(error: unknown): never {
  if (error instanceof MayflyError) throw error
  throw new InvariantError('P9: the store failed in a way it should have translated', { cause: error })
}
