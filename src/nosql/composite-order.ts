/** ORDER BY with several keys: the service serves it only from a composite index, and says so otherwise. */

import { RequestError } from '../base/error.ts'
import type { Expression, Query } from '../sql/ast.ts'
import type { IndexingPolicy } from './indexing-policy.ts'
import { scanPolicyPath } from './policy-path.ts'

export function checkCompositeOrder({ orderBy }: Query, { compositeIndexes = [] }: IndexingPolicy): void {
  if (orderBy === undefined || orderBy.isRank || orderBy.items.length < 2) return
  const wanted = orderBy.items.map(({ expression, direction }) => ({
    path: pathOf(expression),
    isDescending: direction === 'DESC',
  }))
  const isServed = compositeIndexes.some(index => {
    if (index.length !== wanted.length) return false
    const isSame = index.map(({ order }, at) => (order === 'descending') === wanted[at]!.isDescending)
    return (
      index.every(({ path }, at) => nameOf(path) === wanted[at]!.path) &&
      (isSame.every(Boolean) || !isSame.some(Boolean))
    )
  })
  if (!isServed) {
    throw new RequestError(
      'malformed',
      'The order by query does not have a corresponding composite index that it can be served from.',
    )
  }
}

/** `c.a["b"]` and `/a/b` have the same name. */
function pathOf(expression: Expression): string | undefined {
  const names: string[] = []
  let node = expression
  while (node.kind === 'member' || node.kind === 'index') {
    if (node.kind === 'member') names.unshift(node.name)
    else if (node.index.kind === 'literal' && typeof node.index.value === 'string') names.unshift(node.index.value)
    else return undefined
    node = node.object
  }
  return node.kind === 'identifier' ? JSON.stringify(names) : undefined
}

function nameOf(policyPath: string): string | undefined {
  const scanned = scanPolicyPath(policyPath)
  return typeof scanned === 'number' ? undefined : JSON.stringify(scanned.steps)
}
