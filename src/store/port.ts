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
 *   P5  A sweep removes dead items only, at most `rowsMax`: those that are dead by sure time. The predicate
 *       is evaluated inside the deleting transaction.
 *   P6  Moments never decrease, not even across reopening the store. The one exception is a moment in doubt
 *       whose clock comes back (`base/clock.ts`); `returns` counts these.
 *   P7  A container gives each version once, even across crashes. Versions of one partition key increase with
 *       every write.
 *   P8  Changing a container's policy costs the same however many items it has, and no item row is written.
 *   P9  A failed call fails with a RequestError or a CapacityError. Anything else is a bug in the adapter.
 *   P10 A transaction happens wholly or not at all, at one moment. Each step sees what the steps before it
 *       did.
 *   P11 No two living items share a key of a unique index. The key of a dead item is free. If the item is
 *       dead only by a time in doubt, the write that takes its key makes its death final.
 *   P12 Changes come in commit order. Reading on after a position skips no commit, repeats none, and never
 *       gives an older version of an item after a newer one.
 *   P13 While a container keeps a log, every version, delete and death is in it exactly once. The entry is
 *       stored in the same transaction as its cause.
 *   P14 The journal has the entries of all logs, and notes about the catalog, in one order. It is the same
 *       for every reader, and an entry follows all that were committed before its own transaction began.
 *       Reading on after a tick skips nothing and repeats nothing.
 *   P15 Listed rows come in the order that was asked for, each at most once. The dead are among them: they
 *       are for people who look at them, and never answer a read.
 *   P16 Rows that are put back have the numbers, the seconds and the deadlines that they had. Later versions
 *       and sequence numbers are higher than theirs.
 *
 * A store is given its clock when it is opened. It takes one moment per call (per transaction, for writes)
 * and hands it back with the answer, so that an item's life is judged by one clock wherever it is kept. What
 * a policy and a moment mean for an item is not decided here: adapters ask `ttl/living.ts`.
 *
 * Calls that an embedded store can answer at once return a plain value (`MaybePromise`): awaiting there would
 * cost every point read a turn of the event loop.
 */

import type { Doubt, EpochSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
  Epitaph,
  IndexDraft,
} from './catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from './item.ts'
import type { View, Viewpoint } from './policy.ts'
import type {
  Census,
  ChangePosition,
  ChangeRange,
  ChangesAnswer,
  Cohort,
  IndexRange,
  IndexScanAnswer,
  JournalAnswer,
  JournalPlace,
  JournalWait,
  ListedRows,
  LogAnswer,
  PageSize,
  ReadAnswer,
  RowRange,
  ScanAnswer,
  ScanRange,
  SequenceAnswer,
} from './reading.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from './writing.ts'

/** The time of a store, and how far it may be believed. */
export interface StoreTime {
  readonly moment: EpochSeconds
  /** What is dead at this second may be removed. Before `moment` only while that is in doubt. */
  readonly sure: EpochSeconds
  readonly doubt: Doubt | undefined
}

export interface Store extends AsyncDisposable {
  /** Takes a moment (P6). */
  moment(): MaybePromise<EpochSeconds>
  /** The same, with what is known about it. */
  time(): MaybePromise<StoreTime>
  /** Somebody confirms the moment: it is sure from now on. */
  trustTime(): Promise<void>
  /** How often moments went back (P6). */
  returns(): number
  /** Takes a moment and the policy at that moment, for a page that is read in several calls. */
  view(container: ContainerRecord): MaybePromise<View>

  /**
   * The share of a container's throughput that this process may give: 1, or less if several serve one store.
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
  deleteDatabase(database: DatabaseRecord, epitaph?: Epitaph): Promise<boolean>

  containers(database: DatabaseRecord): MaybePromise<readonly ContainerRecord[]>
  findContainer(database: string, id: string): MaybePromise<ContainerRecord | undefined>
  /** undefined: the name is taken. */
  createContainer(database: DatabaseRecord, draft: ContainerDraft): Promise<ContainerRecord | undefined>
  /**
   * The change sees the present record, the moment at which it takes effect, and the sure time of that
   * moment, in one transaction (P8).
   * undefined: it is gone, or its new name is taken.
   */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds, sure: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined>
  /** With an epitaph, the journal remembers what happened in the container, and then this note. */
  deleteContainer(container: ContainerRecord, epitaph?: Epitaph): Promise<boolean>

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint): MaybePromise<ReadAnswer>
  /** The living item with this sequence number. Costs the same however many items there are. */
  readBySequence(container: ContainerRecord, sequence: number): MaybePromise<SequenceAnswer>
  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer>
  /** All steps or none, at one moment (P10). Steps may belong to several containers. */
  transact(steps: readonly Step[]): Promise<TransactAnswer>
  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>

  /** What changed behind a position, in commit order (P12). */
  changes(container: ContainerRecord, range: ChangeRange, page: PageSize): MaybePromise<ChangesAnswer>
  /** The position behind all changes so far. */
  changesNow(container: ContainerRecord): MaybePromise<ChangePosition>
  /** A position that all changes from this moment on are behind; some earlier ones may be as well. */
  changesSince(container: ContainerRecord, moment: EpochSeconds): MaybePromise<ChangePosition>
  /** What the log of the container has behind a position (P13). */
  log(container: ContainerRecord, range: ChangeRange, page: PageSize): MaybePromise<LogAnswer>
  /** The position behind all entries of the log so far. */
  logNow(container: ContainerRecord): MaybePromise<ChangePosition>
  /** A position that all entries of the log from this moment on are behind; some earlier ones may be too. */
  logSince(container: ContainerRecord, moment: EpochSeconds): MaybePromise<ChangePosition>
  /**
   * The logs of all BSON containers as one, behind a tick (P14). Entries are remembered as long as their
   * container's log.
   */
  journal(after: number, page: PageSize): MaybePromise<JournalAnswer>
  /** The place behind all entries so far. */
  journalNow(): MaybePromise<JournalPlace>
  /** The tick behind which all entries of this second are, and all later ones, and no earlier one. */
  journalSince(moment: EpochSeconds): MaybePromise<number>
  /** The highest tick that this process knows of. */
  journalTick(): number
  /** True when there are entries behind the tick; false when the time is over, or the wait was ended. */
  awaitJournal(after: number, wait: JournalWait): Promise<boolean>

  /** Living items in the order of an index that is ready. An item may come once for each of its entries. */
  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  /**
   * Counts the entries in the ranges, of items alive or dead. Many entries take many turns of the event
   * loop.
   */
  countEntries(container: ContainerRecord, range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  /**
   * Begins an index. From now on every write updates it; `buildIndex` adds the items that were there before.
   */
  createIndex(container: ContainerRecord, index: IndexDraft): Promise<ContainerRecord | undefined>
  /** Adds at most `rowsMax` items to the index; true when it is ready. Resumes after a crash. */
  buildIndex(container: ContainerRecord, index: number, rowsMax: number): Promise<boolean>
  dropIndex(container: ContainerRecord, index: number): Promise<ContainerRecord | undefined>

  /**
   * Removes dead items, and entries that the log keeps no longer; `done` when none is left, except items that
   * an open view still shows.
   */
  sweep(container: ContainerRecord, rowsMax: number): Promise<{ removed: number; done: boolean }>
  /**
   * Called in idle moments: removes a part of the data of deleted containers, or gives free space back; false
   * when nothing is left.
   */
  reclaim(rowsMax: number): Promise<boolean>
  /**
   * Looks at a part of the items after moments went back, and stamps those again that were written in the
   * time that was wrong; false when nothing is left. Their versions stay. `hasFixedDeadlines`: the deadlines
   * in the container do not count from the write.
   */
  restamp(rowsMax: number, hasFixedDeadlines: (container: ContainerRecord) => boolean): Promise<boolean>

  /**
   * Copies everything into a new file, as of one moment, which later calls may read as a store. undefined:
   * this store has other tools for it.
   */
  backUp?(path: string): Promise<void>

  /** The row at this key, alive or dead: to explain it, never to answer a read. */
  inspect(container: ContainerRecord, key: ItemKey): MaybePromise<Omit<StoredItem, 'body'> | undefined>
  /**
   * Stores rows as they were, in one transaction, in a container without a log that was written by nothing
   * else (P16). Not every store can.
   */
  putRows(container: ContainerRecord, rows: readonly ScannedItem[]): Promise<void>
  /** Rows alive or dead, in an order of time (P15). */
  listRows(container: ContainerRecord, range: RowRange, page: PageSize): MaybePromise<ListedRows>
  /** Counts the items of a cohort, alive or dead. Many items take many turns of the event loop. */
  count(container: ContainerRecord, cohort: Cohort): Promise<number>
  census(container: ContainerRecord): MaybePromise<Census>
}
