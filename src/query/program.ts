/**
 * What a query language makes of items, one at a time: the side of a query that knows the language and not
 * the store.
 *
 * A program turns an item into rows. The result is the rows in a certain order, of which a page is a window.
 * The order must be the same for every page although items die, are removed and are written in between, so it
 * is never "the order in which they happened to come": either it is the order of the source (which has
 * positions to resume behind), or each row has a place, bytes that compare like the order, and a page resumes
 * behind the last place it gave.
 */

export interface Program {
  /**
   * `source`: rows follow the order of their items. `place`: rows follow their places, whatever the source's
   * order.
   */
  readonly order: 'source' | 'place'
  /**
   * Equal rows are one row, which stands where the first of them does. `place`: all of them have the same
   * place. `identity`: they may stand apart, and only the identity at the end of their places is the same.
   */
  readonly distinct: 'place' | 'identity' | undefined
  /** The result is the same, to the last digit, in whatever order items come. */
  readonly isOrderFree?: boolean
  /** When all rows fit on the first page they may as well come in the order in which they were found. */
  readonly prefersArrival: boolean
  /** The window of the result: rows before `first` are passed over, the one at `end` is no longer wanted. */
  readonly first: number
  readonly end: number
  /** Makes the item's rows; stops when `emit` answers false. */
  accept(item: SourceItem, emit: Emit): void
  /** Whether no further item can change the result; such a program may not need any item at all. */
  isDone?(): boolean
  /**
   * Only when every item adds the same to the result, and that is to be counted: stands for so many calls of
   * `accept`.
   */
  countItems?(count: number): void
  /** Makes the rows that had to wait for the last item. */
  finish(emit: Emit): void
}

export interface SourceItem {
  readonly sequence: number
  readonly document: unknown
}

/** Rows of a program ordered by its source have no place. */
export type Emit = (value: unknown, place: Uint8Array | undefined) => boolean
