/**
 * Where items are kept. An adapter that keeps these promises is correct; `contract.ts` asserts them on every call.
 *
 *   P1  A read or scan returns only items that are living at its moment. Dead ones may be present; nobody sees them.
 *   P2  A write is durable before its promise resolves. It finds the state it was told to expect, or changes nothing.
 *   P3  A dead item does not stand in the way: creating over it succeeds, with a new sequence number and version.
 *   P4  A scan yields items in one order of their keys, each at most once. Resuming after the last key of a page neither repeats nor
 *       skips a living item, whatever was written, died or was removed in between.
 *   P5  A sweep removes dead items only, at most `rowsMax`. The predicate is evaluated inside the deleting transaction.
 *   P6  Moments never decrease, also not across reopening the store.
 *   P7  A version is given once in a container, also not after a crash, and versions of one partition key increase with
 *       every write.
 *   P8  Changing a container's policy costs the same however many items it has, and no item row is written.
 *   P9  A failed call fails with a RequestError or a CapacityError. Anything else is a bug in the adapter.
 *
 * A store is given its clock when it is opened. It takes one moment per call (per transaction, for writes) and hands it
 * back with the answer, so that an item's life is judged by one clock wherever it is kept. What a policy and a moment
 * mean for an item is not decided here: adapters ask `ttl/living.ts`.
 *
 * Calls that an embedded store can answer at once return a plain value (`MaybePromise`): awaiting there would cost every
 * point read a turn of the event loop.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { IndexComponent, IndexDefinition } from '../document/index-definition.ts'
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
  readonly policy: TtlPolicy
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
}

export type DatabaseDraft = Pick<DatabaseRecord, 'id' | 'rid' | 'throughput'>
export type DatabaseChange = Pick<DatabaseRecord, 'throughput'>
export type ContainerDraft = Pick<
  ContainerRecord,
  'id' | 'rid' | 'throughput' | 'partitionKey' | 'partitionCount' | 'policy' | 'definition'
>
export type ContainerChange = Pick<ContainerRecord, 'throughput' | 'policy' | 'definition'>

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
 * Data and not a function, so that a store which stamps in SQL can do it as well. `print` turns one stamp into text.
 */
export interface Draft {
  readonly texts: readonly string[]
  readonly stamps: readonly { readonly name: StampName; readonly print: (value: number) => string }[]
}

export interface StoredItem extends Stamp {
  /** The item's own deadline, `neverDeadline`, or `null` when it inherits. */
  readonly deadline: number | null
  /** In the encoding of the API that wrote it, system properties included. */
  readonly body: string
}

/** An item that was found without being named. */
export interface ScannedItem extends StoredItem {
  readonly key: ItemKey
}

export type ItemWrite = {
  readonly key: ItemKey
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
    }
  | { readonly kind: 'delete' }
)

/** Under which circumstances a call was answered. */
export interface Answer {
  readonly moment: EpochSeconds
  /** The policy that held at the moment. */
  readonly policy: TtlPolicy
  /** The newest version in the container. */
  readonly version: number
}

export interface WriteAnswer extends Answer {
  readonly outcome: 'created' | 'replaced' | 'deleted' | 'exists' | 'missing' | 'changed'
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
  /** Resume behind this key. */
  readonly after?: ItemKey | undefined
  /** The moment of the page this scan is a part of; undefined to take one. */
  readonly at?: EpochSeconds | undefined
}

export interface ScanAnswer extends Answer {
  readonly items: readonly ScannedItem[]
  /** Where to resume, or undefined when the range is exhausted. */
  readonly last: ItemKey | undefined
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

/** All rows of a container, alive or dead; costs the same however many they are. */
export interface Census {
  readonly rows: number
  /** The newest version in the container. */
  readonly version: number
  /** When the oldest item that inherits was written. */
  readonly earliestInherited: number | null
  /** The earliest own deadline. */
  readonly earliestOwn: number | null
}

export interface PageSize {
  readonly itemsMax: number
  readonly bytesMax: number
}

export interface Store extends AsyncDisposable {
  /** Takes a moment (P6). */
  moment(): MaybePromise<EpochSeconds>

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
  /** The change sees the present record and the moment at which it takes effect, in one transaction (P8). */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined>
  deleteContainer(container: ContainerRecord): Promise<boolean>

  read(container: ContainerRecord, key: ItemKey): MaybePromise<ReadAnswer>
  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer>
  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>

  /** Living items in the order of an index that is ready. An item may come once for each of its entries. */
  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  /** How many entries the ranges hold, of items alive or dead. Takes many turns when they are many. */
  countEntries(container: ContainerRecord, range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  /** Begins an index. From now on every write keeps it up; `buildIndex` brings in what was there before. */
  createIndex(
    container: ContainerRecord,
    index: { readonly components: readonly IndexComponent[]; readonly isDeclared: boolean },
  ): Promise<ContainerRecord | undefined>
  /** Enters at most so many items; true when the index is ready. Resumes where it was after a crash. */
  buildIndex(container: ContainerRecord, index: number, rowsMax: number): Promise<boolean>
  dropIndex(container: ContainerRecord, index: number): Promise<ContainerRecord | undefined>

  /** Removes dead items; `done` when none is left. */
  sweep(container: ContainerRecord, rowsMax: number): Promise<{ removed: number; done: boolean }>
  /** Gives back a part of what deleted containers held; false when nothing is left to give back. */
  reclaim(rowsMax: number): Promise<boolean>

  /** The row of this key whether alive or dead; for explaining, never for answering a read. */
  inspect(container: ContainerRecord, key: ItemKey): MaybePromise<Omit<StoredItem, 'body'> | undefined>
  /** How many items, alive or dead, belong to the cohort. Takes many turns when they are many. */
  count(container: ContainerRecord, cohort: Cohort): Promise<number>
  census(container: ContainerRecord): MaybePromise<Census>
}
