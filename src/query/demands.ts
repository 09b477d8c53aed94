/** What a filter demands of every item it lets through, in terms an index understands; and the order that is wanted. */

import type { IndexPath } from '../document/index-definition.ts'
import type { KeyBound } from '../document/ordered-key.ts'

/** The value at the path satisfies one of the bounds. */
export interface Demand {
  readonly path: IndexPath
  readonly bounds: readonly KeyBound[]
}

export interface Demands {
  readonly demands: readonly Demand[]
  /** The order of the result by paths into the item; empty when there is none, or none that an index could give. */
  readonly order: readonly { readonly path: IndexPath; readonly isDescending: boolean }[]
  /** The demands say all that the filter says: an item that satisfies them satisfies it. */
  readonly isWholeFilter: boolean
}
