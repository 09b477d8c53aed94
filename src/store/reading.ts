/**
 * What can be read of a container, and what the answers say: ranges, pages, changes, the log and the census.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Body } from '../document/body.ts'
import type { ItemKey, ScannedItem, StoredItem } from './item.ts'
import type { Viewpoint } from './policy.ts'

/** Under which circumstances a call was answered. */
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

/** All effective partition keys there are. */
export const wholeRange: ScanRange = { min: '', maxExclusive: 'FF' }

/** Whether a range is the whole container and not a part or a single partition key of it. */
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
 * Where reading changes goes on. Only the store that made it can read it; `'0'` stands before every change,
 * and `changesNow` gives the one behind all there are.
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

/**
 * One container as a page of a query reads it: in the store itself, or in a snapshot of it that another
 * thread has.
 */
export interface ContainerReader {
  read(key: ItemKey, at: Viewpoint): MaybePromise<ReadAnswer>
  scan(range: ScanRange, page: PageSize): MaybePromise<ScanAnswer>
  /**
   * All living items in whatever order is the fastest, where there is one that is faster than that of `scan`.
   */
  scanRows?(after: number | undefined, at: Viewpoint, page: PageSize): MaybePromise<RowsAnswer>
  scanIndex(range: IndexRange, page: PageSize): MaybePromise<IndexScanAnswer>
  countEntries(range: Pick<IndexRange, 'index' | 'keys'>): Promise<number>
  census(): MaybePromise<Census>
}
