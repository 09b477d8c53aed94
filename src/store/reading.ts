/** What can be read from a container, and the answers: ranges, pages, changes, the log and the census. */

import type { EpochSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Body } from '../document/body.ts'
import type { ContainerRecord } from './catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from './item.ts'
import type { Viewpoint } from './policy.ts'

/** What every answer tells besides its content: moment, policy and newest version. */
export interface Answer extends Viewpoint {
  /** The newest version in the container. */
  readonly version: number
}

export interface ReadAnswer extends Answer {
  readonly item: StoredItem | undefined
}

export interface SequenceAnswer extends Answer {
  readonly item: ScannedItem | undefined
}

export interface ScanRange {
  /** Effective partition keys from `min`, inclusive, to `maxExclusive`. */
  readonly min: string
  readonly maxExclusive: string
  /** Only this partition key. */
  readonly pk?: string | undefined
  /** Resume behind this key, in the direction of reading. */
  readonly after?: ItemKey | undefined
  /** Read from the end; only within one partition key. */
  readonly isReverse?: boolean | undefined
  /** The viewpoint of the page that this scan is a part of; undefined: now. */
  readonly at?: Viewpoint | undefined
}

/** All effective partition keys there are. */
export const wholeRange: ScanRange = { min: '', maxExclusive: 'FF' }

/** Whether a range is the whole container, not a part or one partition key of it. */
export function isWholeRange({ min, maxExclusive, pk }: ScanRange): boolean {
  return min === wholeRange.min && maxExclusive === wholeRange.maxExclusive && pk === undefined
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

/** Items of one kind of lifespan: inherited, by the second of writing; or own, by the deadline. */
export interface Cohort {
  readonly lifespan: 'inherited' | 'own'
  readonly after: number
  readonly upTo: number
}

/**
 * Rows of a container in one of three orders, alive or dead: by the second of writing (those that inherit
 * their lifespan), by their own deadlines (those that have one), or by creation.
 */
export interface RowRange {
  readonly by: Cohort['lifespan'] | 'creation'
  /** Bounds of the second, the deadline or the sequence number. */
  readonly after: number
  readonly upTo: number
  readonly isReverse: boolean
  /** Resume behind this row, in the direction of reading. */
  readonly behind?: RowPosition | undefined
}

export interface RowPosition {
  /** Its second, deadline or sequence number. */
  readonly at: number
  readonly sequence: number
}

export interface ListedRows {
  readonly rows: readonly ScannedItem[]
  /** Where to resume, or undefined when the range is exhausted. */
  readonly last: RowPosition | undefined
}

/** What a row is ordered by. */
export function placeOf(
  { ts, deadline, sequence }: Pick<StoredItem, 'ts' | 'deadline' | 'sequence'>,
  by: RowRange['by'],
) {
  return { at: by === 'inherited' ? ts : by === 'own' ? deadline! : sequence, sequence }
}

/** A part of an index: the entries in these key ranges, which are sorted and do not overlap. */
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
  /** There were many key ranges: whether there is more behind `last` was not looked at. */
  readonly isPart?: true
}

/**
 * Where to continue reading changes. Only the store that made it can read it. `'0'` is before all changes;
 * `changesNow` returns the one behind all.
 */
export type ChangePosition = string

export interface ChangeRange {
  /** Only items of this part of the container; its `after` does not count. */
  readonly within: ScanRange
  readonly after: ChangePosition
}

/** Living items that changed behind a position, each in its latest version, in commit order (P12). */
export interface ChangesAnswer extends Answer {
  readonly items: readonly ScannedItem[]
  readonly position: ChangePosition
  /** There was nothing behind the page when it was read. */
  readonly isEnd: boolean
}

/** Something that happened to an item while its container kept a log. */
export interface LogEntry {
  readonly kind: 'create' | 'replace' | 'delete' | 'expire'
  readonly key: ItemKey
  /** The version of this event; deletes and deaths have one as well. */
  readonly version: number
  readonly sequence: number
  readonly ts: EpochSeconds
  /** Its place in the journal. */
  readonly tick: number
  /** The new item, for a create or replace. */
  readonly body: Body | undefined
  /** The item that was replaced, deleted or died. */
  readonly previous: { readonly version: number; readonly body: Body } | undefined
  readonly position: ChangePosition
}

/**
 * An entry of the journal: all logs of the store as one, in one order. It is about an item, or it is a note
 * about the catalog, which the edge that made it can read.
 */
export type JournalEntry = JournalPlace & {
  /** The milliseconds within the second, as far as the store knows them. They decide nothing. */
  readonly ms: number
  /** The number of the container; of a note about a database its number, negated. */
  readonly number: number
  /** undefined: it is deleted. */
  readonly container: ContainerRecord | undefined
  /**
   * The note that ended the container's name after this entry: it was renamed or deleted. undefined: it has
   * the name of its record.
   */
  readonly ending: Body | undefined
} & (
    | { readonly kind: 'item'; readonly change: Omit<LogEntry, 'position'> }
    | { readonly kind: 'note'; readonly note: Body }
  )

/** A place in the journal. Ticks increase with every entry, and moments never decrease with them. */
export interface JournalPlace {
  readonly tick: number
  readonly ts: EpochSeconds
}

/** How long to wait for entries. `onBegin` is given a function that ends the wait. */
export interface JournalWait {
  readonly ms: number
  readonly onBegin?: (end: () => void) => void
}

export interface JournalAnswer {
  readonly entries: readonly JournalEntry[]
  /** Reading goes on behind this place. */
  readonly reached: JournalPlace
  readonly isEnd: boolean
}

export interface LogAnswer extends Answer {
  readonly entries: readonly LogEntry[]
  readonly position: ChangePosition
  readonly isEnd: boolean
  /** Entries behind the position were removed already. */
  readonly isForgotten: boolean
}

/** Figures about all rows of a container, alive or dead; costs the same however many there are. */
export interface Census {
  readonly rows: number
  /** The newest version in the container. */
  readonly version: number
  /** Grows by one with every write. */
  readonly writes: number
  /** When the oldest item with an inherited lifespan was written. */
  readonly earliestInherited: number | null
  /** The earliest own deadline. */
  readonly earliestOwn: number | null
  /** When the oldest entry of the log was made. */
  readonly earliestLogged: number | null
}

export interface PageSize {
  readonly itemsMax: number
  readonly bytesMax: number
}

/** What a page of a query reads a container by: the store itself, or a snapshot in another thread. */
export interface ContainerReader {
  read(key: ItemKey, at: Viewpoint): MaybePromise<ReadAnswer>
  scan(range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>
  /** All living items, in the fastest order, if the store has one that is faster than `scan`. */
  scanRows?(after: number | undefined, at: Viewpoint, page: PageSize): MaybePromise<RowsAnswer>
  scanIndex(range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  countEntries(range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  census(): MaybePromise<Census>
}
