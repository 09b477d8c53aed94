/**
 * Documents of a partition lie in the order of their `_id`. What is sorted by it, or bounded by it, is read
 * off from where it begins to where it ends, in either direction.
 *
 * Of very long values only the beginning decides where a document lies. Who meets one must sort.
 */

import type { IndexPath } from '../../document/index-definition.ts'
import type { NarrowedRange } from '../../engine/query.ts'
import { idBounds } from '../../mql/named-ids.ts'
import type { FindQuery } from '../../mql/program.ts'
import { chooseIndex } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { IdOrder } from '../../query/statement.ts'
import type { ScanRange } from '../../store/reading.ts'
import type { Collection } from '../collections/collections.ts'
import { partitionWithin } from './partition-of-filter.ts'

export interface KeyOrder {
  readonly range: ScanRange
  readonly position: PagePosition
  readonly idOrder: IdOrder
  readonly narrowed: NarrowedRange
}

/** undefined where another order is wanted, or an index serves better. */
export function keyOrder(
  collection: Collection,
  { matcher, sort }: Pick<FindQuery, 'matcher' | 'sort'>,
  demands: Demands,
): KeyOrder | undefined {
  const { filter, order } = matcher
  // Nothing decides behind an `_id`, which no two documents share.
  const first = sort?.components[0]
  if (order !== undefined || (sort !== undefined && first?.path !== '_id')) return undefined
  const { above, below } = idBounds(filter)
  const isBounded = above !== undefined || below !== undefined
  const partition = sort !== undefined || isBounded ? partitionWithin(collection, filter) : undefined
  if (partition === undefined || chooseIndex(collection.container.indexes, demands) !== undefined) return undefined
  const { epk, pk } = partition
  const isReverse = first?.isDescending === true
  const [after, end] = isReverse ? [below, above] : [above, below]
  return {
    range: { min: epk, maxExclusive: `${epk}FF`, pk, isReverse },
    position: { passed: 0, ...(after !== undefined && { after: [epk, pk, after] }) },
    idOrder: { isReverse, end, isWanted: sort !== undefined },
    narrowed: {
      isBounded,
      isWholeFilter: demands.isWholeFilter && demands.demands.every(({ path }) => isIdPath(path)),
    },
  }
}

export function isIdPath(path: IndexPath): boolean {
  return path.length === 1 && path[0] === '_id'
}
