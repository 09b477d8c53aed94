/**
 * Decides whether a query reads a partition in the order of its ids, which is the order in which the store
 * keeps it. Then a query with an order or bounds of ids reads only the part between its bounds, in either
 * direction.
 *
 * Very long ids are ordered by their beginning only. If a program meets such an id, the order is lost, and
 * the page is made again by sorting.
 */

import type { IndexRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'
import type { ScanRange } from '../store/reading.ts'
import { chooseIndex, isSamePath } from './choose-index.ts'
import type { Demands } from './demands.ts'
import type { PagePosition } from './execute.ts'
import type { IdOrder } from './statement.ts'

export interface IdOrderChoice {
  readonly range: ScanRange
  /** Where the first page begins. */
  readonly position: PagePosition
  readonly idOrder: IdOrder
  readonly narrowed: NarrowedRange
}

/** What the bounds of the ids mean for the range. */
export interface NarrowedRange {
  /** The query reads only a part of the range, of unknown size. */
  readonly isBounded: boolean
  /** The bounds are the whole filter: every item between them passes it. */
  readonly isWholeFilter: boolean
}

/**
 * Undefined if the query has no order or bounds of ids, if the items lie in several partitions, or if an
 * index can be used.
 */
export function chooseIdOrder(
  indexes: readonly IndexRecord[],
  demands: Demands,
  partition: Pick<ItemKey, 'epk' | 'pk'> | undefined,
): IdOrderChoice | undefined {
  const { ids } = demands
  if (ids === undefined || partition === undefined) return undefined
  const { above, below, order, path } = ids
  const isBounded = above !== undefined || below !== undefined
  if ((order === undefined && !isBounded) || chooseIndex(indexes, demands) !== undefined) return undefined
  const { epk, pk } = partition
  const isReverse = order === 'descending'
  const [after, end] = isReverse ? [below, above] : [above, below]
  return {
    range: { min: epk, maxExclusive: `${epk}FF`, pk, isReverse },
    position: { passed: 0, ...(after !== undefined && { after: [epk, pk, after] }) },
    idOrder: { isReverse, end, isWanted: order !== undefined },
    narrowed: {
      isBounded,
      isWholeFilter: demands.isWholeFilter && demands.demands.every(demand => isSamePath(demand.path, path)),
    },
  }
}
