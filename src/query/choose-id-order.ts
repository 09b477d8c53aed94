/**
 * Chooses to read a partition in the order of ids, in which the store keeps it. A query with an order or
 * bounds of ids then reads only the part between its bounds, in either direction.
 *
 * Very long ids are ordered by their beginning only. A program that meets one has lost the order, and must
 * sort.
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

/** The first page begins in the middle of the range, or the program stops before its end. */
export interface NarrowedRange {
  /** Nobody knows how many items are left. */
  readonly isBounded: boolean
  /** All of them pass the filter. */
  readonly isWholeFilter: boolean
}

/** Undefined where another order is wanted, items lie in several partitions, or an index serves better. */
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
