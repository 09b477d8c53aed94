/**
 * Where items are kept. An adapter that keeps these promises is correct. `adapters/contract.ts` asserts them
 * on every call.
 *
 *   P1  A read or scan returns only items that are living at its moment. Dead ones may be present; nobody
 *       sees them.
 *   P2  A write is durable before its promise resolves. It finds the state it was told to expect, or changes
 *       nothing.
 *   P3  A dead item does not stand in the way: creating over it succeeds, with a new sequence number and
 *       version.
 *   P4  A scan yields items in the order of their keys, or in reverse, each at most once. Resuming after the
 *       last key of a page neither repeats nor skips a living item, whatever happened in between.
 *   P5  A sweep removes dead items only, at most `rowsMax`. The predicate is evaluated inside the deleting
 *       transaction.
 *   P6  Moments never decrease, not even across reopening the store.
 *   P7  A container gives each version once, even across crashes. Versions of one partition key increase with
 *       every write.
 *   P8  Changing a container's policy costs the same however many items it has, and no item row is written.
 *   P9  A failed call fails with a RequestError or a CapacityError. Anything else is a bug in the adapter.
 *   P10 A transaction happens wholly or not at all, at one moment. Each step sees what the steps before it
 *       did.
 *   P11 No two living items share a key of a unique index. The key of a dead item is free.
 *   P12 Changes come in commit order. Reading on after a position skips no commit, repeats none, and never
 *       gives an older version of an item after a newer one.
 *   P13 While a container keeps a log, every version, delete and death is in it exactly once. The entry is
 *       stored in the same transaction as its cause.
 *
 * A store is given its clock when it is opened. It takes one moment per call (per transaction, for writes)
 * and hands it back with the answer, so that an item's life is judged by one clock wherever it is kept. What
 * a policy and a moment mean for an item is not decided here: adapters ask `ttl/living.ts`.
 *
 * Calls that an embedded store can answer at once return a plain value (`MaybePromise`): awaiting there would
 * cost every point read a turn of the event loop.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
  IndexDraft,
} from './catalog.ts'
import type { ItemKey, StoredItem } from './item.ts'
import type { View, Viewpoint } from './policy.ts'
import type {
  Census,
  ChangePosition,
  ChangeRange,
  ChangesAnswer,
  Cohort,
  IndexRange,
  IndexScanAnswer,
  LogAnswer,
  PageSize,
  ReadAnswer,
  ScanAnswer,
  ScanRange,
  SequenceAnswer,
} from './reading.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from './writing.ts'

export interface Store extends AsyncDisposable {
  /** Takes a moment (P6). */
  moment(): MaybePromise<EpochSeconds>
  /** Takes a moment and how things stand at it, for a page that is read in several calls. */
  view(container: ContainerRecord): MaybePromise<View>

  /**
   * Which part of a container's throughput this process may give: less than 1 where several processes serve
   * one store.
   */
  share(): number

  databases(): MaybePromise<readonly DatabaseRecord[]>
  findDatabase(id: string): MaybePromise<DatabaseRecord | undefined>
  /** undefined: the name is taken. */
  createDatabase(draft: DatabaseDraft): Promise<DatabaseRecord | undefined>
  updateDatabase(
    database: DatabaseRecord,
    change: (current: DatabaseRecord) => DatabaseChange,
  ): Promise<DatabaseRecord | undefined>
  deleteDatabase(database: DatabaseRecord): Promise<boolean>

  containers(database: DatabaseRecord): MaybePromise<readonly ContainerRecord[]>
  findContainer(database: string, id: string): MaybePromise<ContainerRecord | undefined>
  /** undefined: the name is taken. */
  createContainer(database: DatabaseRecord, draft: ContainerDraft): Promise<ContainerRecord | undefined>
  /**
   * The change sees the present record and the moment at which it takes effect, in one transaction (P8).
   * undefined: it is gone, or its new name is taken.
   */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined>
  deleteContainer(container: ContainerRecord): Promise<boolean>

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint): MaybePromise<ReadAnswer>
  /** The living item with this sequence number. Costs the same however many items there are. */
  readBySequence(container: ContainerRecord, sequence: number): MaybePromise<SequenceAnswer>
  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer>
  /** All steps or none, at one moment (P10). They may be about several containers. */
  transact(steps: readonly Step[]): Promise<TransactAnswer>
  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>

  /** What changed behind a position, in commit order (P12). */
  changes(container: ContainerRecord, range: ChangeRange, page: PageSize): MaybePromise<ChangesAnswer>
  /** The position behind every change there is. */
  changesNow(container: ContainerRecord): MaybePromise<ChangePosition>
  /** A position with all changes made at the moment or later behind it; some made before may be as well. */
  changesSince(container: ContainerRecord, moment: EpochSeconds): MaybePromise<ChangePosition>
  /** What the container's log remembers behind a position of the log (P13). */
  log(container: ContainerRecord, range: ChangeRange, page: PageSize): MaybePromise<LogAnswer>
  /** The position behind everything that any log remembers. */
  logNow(container: ContainerRecord): MaybePromise<ChangePosition>

  /** Living items in the order of an index that is ready. An item may come once for each of its entries. */
  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  /** How many entries the ranges hold, of items alive or dead. Takes many turns when they are many. */
  countEntries(container: ContainerRecord, range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  /** Begins an index. From now on every write keeps it up; `buildIndex` brings in what was there before. */
  createIndex(container: ContainerRecord, index: IndexDraft): Promise<ContainerRecord | undefined>
  /** Enters at most so many items; true when the index is ready. Resumes where it was after a crash. */
  buildIndex(container: ContainerRecord, index: number, rowsMax: number): Promise<boolean>
  dropIndex(container: ContainerRecord, index: number): Promise<ContainerRecord | undefined>

  /** Removes dead items; `done` when none is left, but for those that an open view still shows. */
  sweep(container: ContainerRecord, rowsMax: number): Promise<{ removed: number; done: boolean }>
  /** Gives back a part of what deleted containers held; false when nothing is left to give back. */
  reclaim(rowsMax: number): Promise<boolean>

  /** The row of this key whether alive or dead; for explaining, never for answering a read. */
  inspect(container: ContainerRecord, key: ItemKey): MaybePromise<Omit<StoredItem, 'body'> | undefined>
  /** How many items, alive or dead, belong to the cohort. Takes many turns when they are many. */
  count(container: ContainerRecord, cohort: Cohort): Promise<number>
  census(container: ContainerRecord): MaybePromise<Census>
}
