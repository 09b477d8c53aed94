/**
 * What a filter demands of every item it lets through, in terms an index understands; and the order that is
 * wanted.
 */

import type { IndexPath } from '../document/index-definition.ts'
import type { KeyBound, KeyRangeOf } from '../document/ordered-key.ts'
import type { IndexRecord } from '../store/catalog.ts'

/** Values of an IN that are looked up in an index one by one; more are left to the filter. */
export const indexBoundsMax = 256

/** The value at the path satisfies one of the bounds. */
export interface Demand {
  readonly path: IndexPath
  readonly bounds: readonly KeyBound<unknown>[]
  /**
   * The same for an index in which an item has several keys, when that differs: two ends of a range may then
   * be met by two elements of an array.
   */
  readonly boundsOfMany?: readonly KeyBound<unknown>[]
}

export interface Demands {
  readonly demands: readonly Demand[]
  /**
   * The order of the result by paths into the item; empty when there is none, or none that an index could
   * give.
   */
  readonly order: readonly { readonly path: IndexPath; readonly isDescending: boolean }[]
  /**
   * Whether items that are equal in this order come from the last one to the first; as the first path does,
   * unless said.
   */
  readonly isTieReversed?: boolean
  /** The demands say all that the filter says: an item that satisfies them satisfies it. */
  readonly isWholeFilter: boolean
  /** How the language of the filter encodes keys; JSON's, unless said. */
  readonly keyRange?: KeyRangeOf
  /** Whether an index that knows only a part of the items knows all that the filter can let through. */
  readonly mayUse?: (index: IndexRecord) => boolean
}
