/** Finds the partition keys of a filter: `c.tenant IN ("a", "b") AND …` is true only for two keys. */

import type { ComputedDefinition } from '../../query/statement.ts'
import { aliasOf } from '../syntax/alias.ts'
import type { Expression, Query } from '../syntax/ast.ts'
import { isArray, isPrimitive, type SqlValue } from '../values/value.ts'

type Parameters = ReadonlyMap<string, SqlValue>

type KeyValue = null | boolean | number | string

/** Most keys that a filter can name. A path that would make more of them does not limit the query. */
const keysMax = 1000

/**
 * Returns keys; every row of the query has one of them. If a key has fewer values than there are paths, it
 * is a prefix of hierarchical keys. Undefined if the filter does not limit the keys.
 */
export function partitionKeyFilter(
  query: Query,
  paths: readonly (readonly string[])[],
  parameters: Parameters,
  computed: readonly ComputedDefinition[] = [],
): KeyValue[][] | undefined {
  const [source] = query.sources
  if (query.where === undefined || source === undefined || source.iterates) return undefined
  if (source.collection.kind !== 'path' || source.collection.expression.kind !== 'identifier') return undefined
  const alias = aliasOf(source) as string
  let keys: KeyValue[][] = [[]]
  for (const path of paths) {
    if (computed.some(({ name }) => name === path[0])) break
    const key = [alias, ...path.map(name => JSON.stringify(name))].join('.')
    const values = valuesOf(query.where, key, parameters)
    if (values === undefined || keys.length * values.size > keysMax) break
    keys = keys.flatMap(prefix => [...values].map(value => [...prefix, value]))
  }
  return keys[0]?.length === 0 ? undefined : keys
}

/** The values that the path can have where the condition is true; undefined if there is no limit. */
function valuesOf(node: Expression, path: string, parameters: Parameters): ReadonlySet<KeyValue> | undefined {
  const isPath = (expression: Expression | undefined) => expression !== undefined && pathKey(expression) === path
  switch (node.kind) {
    case 'logical': {
      const sets = node.operands.map(operand => valuesOf(operand, path, parameters))
      if (node.operator === 'AND') return smallest(sets.filter(set => set !== undefined))
      return sets.every(set => set !== undefined) ? new Set(sets.flatMap(set => [...set])) : undefined
    }
    case 'binary': {
      const constant = isPath(node.left) ? node.right : isPath(node.right) ? node.left : undefined
      if (node.operator !== '=' || constant === undefined) return undefined
      return keyValues([constantOf(constant, parameters)])
    }
    case 'in':
      if (node.not || !isPath(node.operand)) return undefined
      return keyValues(node.items.map(item => constantOf(item, parameters)))
    case 'call': {
      const [first, second, third] = node.arguments
      const name = node.isUserDefined ? '' : node.name.toUpperCase().replaceAll('_', '')
      if (name === 'ISNULL' && isPath(first)) return keyValues([null])
      if (name !== 'ARRAYCONTAINS' || !isPath(second) || third !== undefined) return undefined
      const list = listOf(first!, parameters)
      return list && keyValues(list)
    }
    case 'unary':
      return node.operator === 'NOT' && isPath(node.operand) ? keyValues([false]) : undefined
    default:
      return isPath(node) ? keyValues([true]) : undefined
  }
}

function smallest(sets: readonly ReadonlySet<KeyValue>[]): ReadonlySet<KeyValue> | undefined {
  return sets.reduce<ReadonlySet<KeyValue> | undefined>(
    (a, b) => (a === undefined || b.size < a.size ? b : a),
    undefined,
  )
}

/**
 * Undefined if one of the values cannot be a key. Adding zero turns -0 into 0: the two are equal, but have
 * different hashes.
 */
function keyValues(values: readonly SqlValue[]): ReadonlySet<KeyValue> | undefined {
  if (values.length === 0 || !values.every(isKeyValue)) return undefined
  return new Set(values.map(value => (typeof value === 'number' ? value + 0 : value)))
}

function isKeyValue(value: SqlValue): value is KeyValue {
  return isPrimitive(value) && (typeof value !== 'number' || Number.isFinite(value))
}

function listOf(node: Expression, parameters: Parameters): readonly SqlValue[] | undefined {
  if (node.kind === 'array') return node.items.map(item => constantOf(item, parameters))
  const value = constantOf(node, parameters)
  return isArray(value) ? value : undefined
}

function constantOf(node: Expression, parameters: Parameters): SqlValue {
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
