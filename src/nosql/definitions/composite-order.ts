/** Checks an ORDER BY with several keys: as in the service, it needs a composite index. */

import { RequestError } from '../../base/error.ts'
import { ascendingFirst, isSamePath } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import { declaredIndexes } from './indexed-paths.ts'
import type { IndexingPolicy } from './indexing-policy.ts'

export function checkCompositeOrder(orderKeys: number, { order }: Demands, policy: IndexingPolicy): void {
  if (orderKeys < 2) return
  const wanted = ascendingFirst(order)
  const isServed = declaredIndexes(policy)
    .map(ascendingFirst)
    .some(
      index =>
        index.length === wanted.length &&
        index.every(
          ({ path, isDescending }, at) =>
            isSamePath(path, wanted[at]!.path) && isDescending === wanted[at]!.isDescending,
        ),
    )
  if (!isServed) {
    throw new RequestError(
      'malformed',
      'The order by query does not have a corresponding composite index that it can be served from.',
    )
  }
}
