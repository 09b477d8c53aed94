/** The conditions of a filter that an index can use, and the wanted order. */

import type { IndexPath } from '../document/index-definition.ts'
import type { KeyBound, KeyRangeOf } from '../document/ordered-key.ts'
import type { IndexRecord } from '../store/catalog.ts'

/**
 * The most values of an IN that are looked up in an index one by one. The filter alone judges longer lists.
 */
export const indexBoundsMax = 256

/** The value at the path must satisfy one of the bounds. */
export interface Demand {
  readonly path: IndexPath
  readonly bounds: readonly KeyBound<unknown>[]
  /**
   * The bounds for an index with several keys per item, if they differ: two elements of an array may then
   * satisfy the two ends of a range.
   */
  readonly boundsOfMany?: readonly KeyBound<unknown>[]
}

export interface Demands {
  readonly demands: readonly Demand[]
  /**
   * The order of the result by paths into the item. Empty if there is none, or if no index could give it.
   */
  readonly order: readonly { readonly path: IndexPath; readonly isDescending: boolean }[]
  /** Whether items that are equal in this order come last to first. Default: as the first path. */
  readonly isTieReversed?: boolean
  /** What the filter and the order say of the ids of items; undefined if another order is wanted. */
  readonly ids?: IdDemands | undefined
  /** The demands are the whole filter: an item that satisfies them satisfies the filter. */
  readonly isWholeFilter: boolean
  /** How the language of the filter encodes keys. Default: as JSON. */
  readonly keyRange?: KeyRangeOf
  /** Whether a partial index covers all items that the filter can accept. */
  readonly mayUse?: (index: IndexRecord) => boolean
  /** The client's choice of an index, instead of the planner's. */
  readonly hint?: IndexHint | undefined
  /** Whether the order of the index's keys is the order that is wanted. Default: yes. */
  readonly givesOrder?: (index: IndexRecord) => boolean
}

/**
 * The client's choice: no index, only the order of ids, or this index, read from its first or its last
 * entry. Items that have no entry in the index are not found, as in MongoDB.
 */
export type IndexHint = 'none' | 'ids' | { readonly index: number; readonly isReverse: boolean }

/** Ids are texts that compare like the values they are made from. */
export interface IdDemands {
  /** Where an item has the value that its id is made from. */
  readonly path: IndexPath
  readonly above: string | undefined
  readonly below: string | undefined
  /** Undefined: any order will do. */
  readonly order: 'ascending' | 'descending' | undefined
}
