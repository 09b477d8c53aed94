/**
 * A program turns items into result rows: the part of a query that knows the language and not the store.
 *
 * The result is a list of rows in a fixed order, and a page is a window on it. The order must be the same
 * for every page, although items die, are purged and are written between two pages. So there are two orders:
 *
 *   source     rows come in the order of their items; the source has positions from which a page can continue
 *   sort key   each row has a sort key: bytes that compare like the order; a page continues after the last
 *              sort key that was returned
 */

export interface Program {
  readonly order: 'source' | 'sortKey'
  /**
   * Equal rows are returned once, at the position of the first. `sortKey`: equal rows have equal sort keys.
   * `identity`: their sort keys may differ; only the identity at the end of the sort key is equal.
   */
  readonly distinct: 'sortKey' | 'identity' | undefined
  /** Whether the result does not depend on the order of the items. */
  readonly isOrderFree?: boolean
  /** Sort key order: rows that all fit on the first page are returned in the order they were found in. */
  readonly prefersArrival: boolean
  /**
   * Source order: rows that all fit on the first page are returned in the order of their items' creation.
   */
  readonly prefersCreation?: boolean
  /** The window: rows before `first` are skipped, the row at `end` and later ones are not wanted. */
  readonly first: number
  readonly end: number
  /** Emits the item's rows; stops when `emit` returns false. */
  accept(item: SourceItem, emit: Emit): void
  /** Whether no further item can change the result. May be true before the first item. */
  isDone?(): boolean
  /** The items came in another order than the program needs. The engine makes the page again, by sorting. */
  hasLostOrder?(): boolean
  /** Replaces `count` calls of `accept`. Present if the result depends only on the number of items. */
  countItems?(count: number): void
  /** Emits the rows that needed all items first. */
  finish(emit: Emit): void
}

export interface SourceItem {
  readonly sequence: number
  readonly document: unknown
}

/** Returns false to stop. Rows in source order have no sort key. */
export type Emit = (value: unknown, sortKey: Uint8Array | undefined) => boolean
