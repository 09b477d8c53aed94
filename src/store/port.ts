/**
 * Where items are kept. An adapter that keeps these promises is correct; `contract.ts` asserts them on every call.
 *
 *   P1  A read or scan returns only items that are living at its moment. Dead ones may be present; nobody sees them.
 *   P2  A write is durable before its promise resolves. It finds the state it was told to expect, or changes nothing.
 *   P3  A dead item does not stand in the way: creating over it succeeds, with a new sequence number and version.
 *   P4  A scan yields items in one order of their keys, or in the opposite one, each at most once. Resuming after the last key of a page neither repeats nor
 *       skips a living item, whatever was written, died or was removed in between.
 *   P5  A sweep removes dead items only, at most `rowsMax`. The predicate is evaluated inside the deleting transaction.
 *   P6  Moments never decrease, also not across reopening the store.
 *   P7  A version is given once in a container, also not after a crash, and versions of one partition key increase with
 *       every write.
 *   P8  Changing a container's policy costs the same however many items it has, and no item row is written.
 *   P9  A failed call fails with a RequestError or a CapacityError. Anything else is a bug in the adapter.
 *   P10 A transaction happens wholly or not at all, at one moment; its steps see what those before them did.
 *   P11 No two living items share a key of a unique index; the key of a dead item is free.
 *   P12 Changes come in the order of their commits: reading on behind a position skips no commit, repeats none, and never
 *       gives an older version of an item after a newer one.
 *   P13 While a container keeps a log, every version, delete and death is in it exactly once, stored with what caused it.
 *
 * A store is given its clock when it is opened. It takes one moment per call (per transaction, for writes) and hands it
 * back with the answer, so that an item's life is judged by one clock wherever it is kept. What a policy and a moment
 * mean for an item is not decided here: adapters ask `ttl/living.ts`.
 *
 * Calls that an embedded store can answer at once return a plain value (`MaybePromise`): awaiting there would cost every
 * point read a turn of the event loop.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { RequestError } from '../base/error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Body, Encoding } from '../document/body.ts'
import type { IndexDefinition, Uniqueness } from '../document/index-definition.ts'
import type { PartitionKeyDefinition } from '../document/partition-key.ts'

/** What decides over life and death in a container; the rules are in `ttl/lifespan.ts`. */
export interface TtlPolicy {
  /** `null`: expiry is off. `-1`: on, without a default. Otherwise seconds. */
  readonly defaultTtl: number | null
  /** Items that inherit their lifespan and were written at or before this second are dead for ever. */
  readonly inheritedDeadAt: number
  /** Items whose own deadline is at or before this second are dead for ever. */
  readonly ownDeadAt: number
}

/** The policy and a moment, reduced to two comparisons. Made only by `ttl/living.ts`. */
export interface Living {
  /** An item that inherits is alive when it was written after this. */
  readonly inheritedAfter: number
  /** An item with its own deadline is alive when that is after this. */
  readonly ownAfter: number
}

/** The deadline of an item that never dies by its own wish (`ttl: -1`). Larger than every real deadline. */
export const neverDeadline = Number.MAX_SAFE_INTEGER

export type Throughput =
  | { readonly kind: 'manual'; readonly ruPerSecond: number }
  | { readonly kind: 'autoscale'; readonly maxRuPerSecond: number; readonly incrementPercent?: number }

export interface DatabaseRecord {
  /** Given by the store, never twice. */
  readonly number: number
  readonly id: string
  /** Four random bytes that name this incarnation of the database in every `_rid` below it. */
  readonly rid: number
  readonly version: number
  readonly ts: EpochSeconds
  /** Shared by its containers that have none of their own. */
  readonly throughput: Throughput | null
}

export interface ContainerRecord {
  readonly number: number
  readonly database: DatabaseRecord
  readonly id: string
  /** Four random bytes that name this incarnation of the container. */
  readonly rid: number
  /** Of the definition, not of the items. */
  readonly version: number
  readonly ts: EpochSeconds
  readonly throughput: Throughput | null
  readonly partitionKey: PartitionKeyDefinition
  /** Physical partitions presented to clients; fixed when the container is made. */
  readonly partitionCount: number
  /** How the bodies of its items are encoded. */
  readonly encoding: Encoding
  readonly policy: TtlPolicy
  /** For how many seconds every version, delete and death is remembered; null: not at all. */
  readonly logSeconds: number | null
  /** The definition as the edge that made it understands it. */
  readonly definition: unknown
  readonly indexes: readonly IndexRecord[]
}

/** An index: ordered keys of values at paths, kept in the transaction that writes the item. */
export interface IndexRecord {
  readonly definition: IndexDefinition
  /** Asked for by a policy; otherwise made because queries would have used it. */
  readonly isDeclared: boolean
  /** Every item has its entries. Until then writes keep up their own, and nobody may read it. */
  readonly isReady: boolean
  /** Keys were cut: equal keys may stand for different values, so the index does not know the order of all items. */
  readonly hasCutKeys: boolean
  /** Items with more entries than allowed have none, so the index does not know all items. */
  readonly hasGaps: boolean
  /** An item has more than one entry, which a path of its definition does not show. Paths through `anyElement` do. */
  readonly hasSeveralKeys: boolean
}

export interface IndexDraft extends Pick<IndexDefinition, 'components' | 'options'> {
  /** `none` unless said. */
  readonly uniqueness?: Uniqueness
  readonly isDeclared: boolean
}

export type DatabaseDraft = Pick<DatabaseRecord, 'id' | 'rid' | 'throughput'>
export type DatabaseChange = Pick<DatabaseRecord, 'throughput'>
export type ContainerDraft = Pick<
  ContainerRecord,
  'id' | 'rid' | 'throughput' | 'partitionKey' | 'partitionCount' | 'encoding' | 'policy' | 'logSeconds' | 'definition'
> & {
  /** Indexes that are there, and ready, from the first item on. */
  readonly declaredIndexes?: readonly IndexDraft[]
}
/** What is not named stays as it is. */
export type ContainerChange = Partial<
  Pick<ContainerRecord, 'id' | 'throughput' | 'policy' | 'logSeconds' | 'definition'>
>

export interface ItemKey {
  /** The effective partition key: where in the hash space the item lives. */
  readonly epk: string
  /** The partition key itself, in its canonical form. Two keys may share an effective one. */
  readonly pk: string
  readonly id: string
}

/** What only the store knows at the moment of writing. */
export interface Stamp {
  /** Names this incarnation of the item within its container. */
  readonly sequence: number
  readonly version: number
  readonly ts: EpochSeconds
}

export type StampName = keyof Stamp

/**
 * A body with gaps for the stamps: `texts[0] stamps[0] texts[1] stamps[1] … texts[n]`.
 *
 * Bytes have no gaps: what BSON clients see of an item has no stamps in it.
 */
export type Draft = TextDraft | Uint8Array

export interface TextDraft {
  readonly texts: readonly string[]
  readonly stamps: readonly StampGap[]
}

export interface StampGap {
  readonly name: StampName
  readonly print: (value: number) => string
  /** What `print` does, as data: a store that prints in SQL needs no second round trip then. */
  readonly form?: StampForm
}

/** The number behind a text that is always the same. */
export interface StampForm {
  readonly before: string
  /** Twelve hexadecimal digits or more; `base64` of `bytesBefore` and the number, eight bytes little endian, `-` for `/`. */
  readonly number: 'decimal' | 'hexadecimal' | 'base64'
  /** Two bytes in hexadecimal. */
  readonly bytesBefore?: string
}

export interface StoredItem extends Stamp {
  /** The item's own deadline, `neverDeadline`, or `null` when it inherits. */
  readonly deadline: number | null
  /** System properties included. */
  readonly body: Body
}

/** An item that was found without being named. */
export interface ScannedItem extends StoredItem {
  readonly key: ItemKey
}

/** What to do at a key, and what must be found there. */
export type ItemChange = {
  /**
   * The version to find, when a living item is there; a version that no item has never matches. An upsert that finds none
   * creates, as the service does (azure-cosmos-dotnet-v3#1698).
   */
  readonly ifVersion?: number | undefined
} & (
  | {
      readonly kind: 'create' | 'replace' | 'upsert'
      readonly draft: Draft
      /** The item's own time to live in seconds, -1 for never, undefined to inherit. */
      readonly ttl: number | undefined
      /** The item is dead from this second on, whatever its time to live says; for lives that end on a date. */
      readonly until?: EpochSeconds | undefined
    }
  | { readonly kind: 'delete' }
)

export type ItemWrite = ItemChange & { readonly key: ItemKey }

/** One step of a transaction: decides what to do at its key from what it finds there. */
export interface Step {
  readonly container: ContainerRecord
  readonly key: ItemKey
  /**
   * undefined: only look. Refuses by throwing a RequestError, which undoes the whole transaction. A store that must try again
   * calls it again, so it may have no effects but its answer.
   */
  decide(found: StoredItem | undefined, moment: EpochSeconds): ItemChange | undefined
  /** It decides the same whatever is there: the store need not look. */
  readonly isBlind?: boolean
}

/** What came of a step; `found`: it only looked, and there was a living item. */
export interface StepAnswer {
  readonly outcome: WriteAnswer['outcome'] | 'found'
  /** As stored, or as found. */
  readonly item?: StoredItem
}

export interface TransactAnswer {
  readonly moment: EpochSeconds
  /** The newest version in the container of the last step. */
  readonly version: number
  /** Of every step up to the one that stopped the transaction, if one did. */
  readonly steps: readonly StepAnswer[]
  /** The transaction did not happen, because of its last answered step: refused by `decide`, or by its outcome. */
  readonly refusal?: { readonly error: RequestError | undefined }
}

/** What decides who is alive: a moment, and the policy that held at it. All of a page is judged by one. */
export interface Viewpoint {
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
}

/**
 * Until it is disposed of, sweeps of an embedded store leave what is living in it. Gateways that share a store know nothing of
 * each other's pages.
 */
export type View = Viewpoint & Disposable

/** Under which circumstances a call was answered. */
export interface Answer extends Viewpoint {
  /** The newest version in the container. */
  readonly version: number
}

export interface WriteAnswer extends Answer {
  /** `conflict`: a living item has the same key of a unique index. */
  readonly outcome: 'created' | 'replaced' | 'deleted' | 'exists' | 'missing' | 'changed' | 'conflict'
  /** The item as stored, when it was created or replaced. */
  readonly item?: StoredItem
}

export interface ReadAnswer extends Answer {
  readonly item: StoredItem | undefined
}

export interface ScanRange {
  /** Effective partition keys: from, inclusive, and to, exclusive. */
  readonly min: string
  readonly maxExclusive: string
  /** Only this partition key. */
  readonly pk?: string | undefined
  /** Resume behind this key, in the direction of reading. */
  readonly after?: ItemKey | undefined
  /** Read from the end; only within one partition key. */
  readonly isReverse?: boolean | undefined
  /** How the page is judged that this scan is a part of; undefined to judge by now. */
  readonly at?: Viewpoint | undefined
}

export interface ScanAnswer extends Answer {
  readonly items: readonly ScannedItem[]
  /** Where to resume, or undefined when the range is exhausted. */
  readonly last: ItemKey | undefined
}

export interface RowsAnswer extends Answer {
  readonly items: readonly StoredItem[]
  /** The row to resume behind, or undefined when there are no more. */
  readonly last: number | undefined
}

/** Items by what ends their life, counted by when it began (inherited) or by when it ends (own). */
export interface Cohort {
  readonly lifespan: 'inherited' | 'own'
  readonly after: number
  readonly upTo: number
}

/** A part of an index: the entries of these key ranges, which are in order and do not overlap. */
export interface IndexRange {
  readonly index: number
  readonly keys: readonly { readonly low: Uint8Array; readonly high: Uint8Array }[]
  /** Read from the end. */
  readonly isReverse: boolean
  /** Each item comes once, at the first of its entries in the ranges. */
  readonly isDistinct?: boolean
  /** Resume behind this entry, in the direction of reading. */
  readonly after?: IndexPosition | undefined
  /** Only items of this part of the container; its `after` does not count. */
  readonly within: ScanRange
}

export interface IndexPosition {
  readonly key: Uint8Array
  readonly sequence: number
}

export interface IndexScanAnswer extends Answer {
  readonly items: readonly (ScannedItem & { readonly indexKey: Uint8Array })[]
  readonly last: IndexPosition | undefined
}

/**
 * Where reading changes goes on. Only the store that made it can read it; `'0'` stands before every change, and
 * `changesNow` gives the one behind all there are.
 */
export type ChangePosition = string

export interface ChangeRange {
  /** Only items of this part of the container; its `after` does not count. */
  readonly within: ScanRange
  readonly after: ChangePosition
}

/** Living items that changed behind a position, each in its latest version, in commit order. */
export interface ChangesAnswer extends Answer {
  readonly items: readonly ScannedItem[]
  readonly position: ChangePosition
  /** Nothing was left behind the page when it was read. */
  readonly isEnd: boolean
}

/** Something that happened to an item while its container kept a log. */
export interface LogEntry {
  readonly kind: 'create' | 'replace' | 'delete' | 'expire'
  readonly key: ItemKey
  /** The version this made; deletes and deaths have one as well. */
  readonly version: number
  readonly sequence: number
  readonly ts: EpochSeconds
  /** Of a create or replace: the item as it was then. */
  readonly body: Body | undefined
  /** What it replaced or ended. */
  readonly previous: { readonly version: number; readonly body: Body } | undefined
  readonly position: ChangePosition
}

export interface LogAnswer extends Answer {
  readonly entries: readonly LogEntry[]
  readonly position: ChangePosition
  readonly isEnd: boolean
  /** Something behind the position is no longer remembered. */
  readonly isForgotten: boolean
}

/** All rows of a container, alive or dead; costs the same however many they are. */
export interface Census {
  readonly rows: number
  /** The newest version in the container. */
  readonly version: number
  /** Grows by one with every write; what was written between two looks is the difference. */
  readonly writes: number
  /** When the oldest item that inherits was written. */
  readonly earliestInherited: number | null
  /** The earliest own deadline. */
  readonly earliestOwn: number | null
}

export interface PageSize {
  readonly itemsMax: number
  readonly bytesMax: number
}

/** One container as a page of a query reads it: in the store itself, or in a snapshot of it that another thread has. */
export interface ContainerReader {
  read(key: ItemKey, at: Viewpoint): MaybePromise<ReadAnswer>
  scan(range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>
  /** All living items in whatever order is the fastest, where there is one that is faster than that of `scan`. */
  scanRows?(after: number | undefined, at: Viewpoint, page: PageSize): MaybePromise<RowsAnswer>
  scanIndex(range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  countEntries(range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  census(): MaybePromise<Census>
}

export interface Store extends AsyncDisposable {
  /** Takes a moment (P6). */
  moment(): MaybePromise<EpochSeconds>
  /** Takes a moment and how things stand at it, for a page that is read in several calls. */
  view(container: ContainerRecord): MaybePromise<View>

  /** Which part of a container's throughput this process may give: less than 1 where several processes serve one store. */
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
   * The change sees the present record and the moment at which it takes effect, in one transaction (P8). undefined: it is gone,
   * or its new name is taken.
   */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined>
  deleteContainer(container: ContainerRecord): Promise<boolean>

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint): MaybePromise<ReadAnswer>
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
