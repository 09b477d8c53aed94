/** Finds the partition key of a filter: `c.tenant = "a" AND …` is true only for items of one key. */

import { aliasOf } from '../syntax/alias.ts'
import type { Expression, Query } from '../syntax/ast.ts'
import type { SqlValue } from '../values/value.ts'

/**
 * The values that the filter requires for the partition key paths, from the first path on without gaps. All
 * paths make a full key, fewer make a prefix of a hierarchical one.
 *
 * Only equalities that every row must satisfy count: terms of the outermost AND, with a literal or a
 * parameter.
 */
export function partitionKeyFilter(
  query: Query,
  paths: readonly (readonly string[])[],
  parameters: ReadonlyMap<string, SqlValue>,
): SqlValue[] {
  const [source] = query.sources
  if (source === undefined || source.iterates) return []
  if (source.collection.kind !== 'path' || source.collection.expression.kind !== 'identifier') return []
  const alias = aliasOf(source) as string
  const demanded = demandedValues(query.where, parameters)
  const values: SqlValue[] = []
  for (const path of paths) {
    const value = demanded.get([alias, ...path.map(name => JSON.stringify(name))].join('.'))
    if (value === undefined) break
    // Adding zero turns -0 into 0. They are equal but hash differently.
    values.push(typeof value === 'number' ? value + 0 : value)
  }
  return values
}

/** Values by path. Of two values for one path either will do: no row satisfies both unless equal. */
function demandedValues(
  where: Expression | undefined,
  parameters: ReadonlyMap<string, SqlValue>,
): ReadonlyMap<string, SqlValue> {
  const terms =
    where === undefined ? [] : where.kind === 'logical' && where.operator === 'AND' ? where.operands : [where]
  const demanded = new Map<string, SqlValue>()
  for (const term of terms) {
    if (term.kind !== 'binary' || term.operator !== '=') continue
    for (const [path, constant] of [
      [term.left, term.right],
      [term.right, term.left],
    ] as const) {
      const key = pathKey(path)
      const value = constantOf(constant, parameters)
      if (key !== undefined && value !== undefined) demanded.set(key, value)
    }
  }
  return demanded
}

function constantOf(node: Expression, parameters: ReadonlyMap<string, SqlValue>): SqlValue {
  if (node.kind === 'literal') return node.value
  if (node.kind === 'parameter') return parameters.get(node.name)
  const isMinus = node.kind === 'unary' && node.operator === '-' && node.operand.kind === 'literal'
  return isMinus && typeof node.operand.value === 'number' ? -node.operand.value : undefined
}

/** `c.a["b"]` as `c."a"."b"`, the same for both notations. */
function pathKey(node: Expression): string | undefined {
  const names: string[] = []
  let rest = node
  for (;;) {
    if (rest.kind === 'identifier') return [rest.name, ...names].join('.')
    if (rest.kind === 'member') names.unshift(JSON.stringify(rest.name))
    else if (rest.kind === 'index' && rest.index.kind === 'literal' && typeof rest.index.value === 'string') {
      names.unshift(JSON.stringify(rest.index.value))
    } else return undefined
    rest = rest.object
  }
}
