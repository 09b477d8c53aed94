/**
 * Finds the conditions of a query that an index can use.
 *
 * Only terms of the outermost AND count: comparisons of a path with a literal, a negated literal or a
 * parameter, BETWEEN, IN, STARTSWITH, IS_DEFINED and ARRAY_CONTAINS. The filter handles everything else; it
 * runs over all items that the index finds.
 */

import { anyElement, type IndexPath } from '../../document/index-definition.ts'
import type { KeyBound } from '../../document/ordered-key.ts'
import { isSamePath } from '../../query/choose-index.ts'
import { type Demand, type Demands, indexBoundsMax } from '../../query/demands.ts'
import type { ComputedDefinition } from '../../query/statement.ts'
import { aliasOf } from '../syntax/alias.ts'
import type { BinaryOperator, Expression, Query } from '../syntax/ast.ts'
import type { SqlValue } from '../values/value.ts'

type Parameters = ReadonlyMap<string, SqlValue>

/** The name of the item in the query, and its properties that no index has: the computed ones. */
interface Root {
  readonly alias: string
  readonly computed: ReadonlySet<string>
}

export function demandsOf(query: Query, parameters: Parameters, computed: readonly ComputedDefinition[] = []): Demands {
  const alias = containerAlias(query)
  if (alias === undefined) return { demands: [], order: [], isWholeFilter: query.where === undefined }
  const root = { alias, computed: new Set(computed.map(({ name }) => name)) }
  const terms = termsOf(query.where)
  const found = terms.map(term => demandOf(term, root, parameters))
  const demands = merge(found.filter(demand => demand !== undefined))
  return {
    demands,
    order: orderOf(query, root),
    isWholeFilter: found.every(demand => demand !== undefined) && query.sources.length === 1,
  }
}

/** The alias of the item in the query; undefined if FROM starts inside the item or elsewhere. */
function containerAlias({ sources }: Query): string | undefined {
  const [source] = sources
  if (source === undefined || source.iterates || source.collection.kind !== 'path') return undefined
  return source.collection.expression.kind === 'identifier' ? aliasOf(source) : undefined
}

function termsOf(where: Expression | undefined): readonly Expression[] {
  if (where === undefined) return []
  return where.kind === 'logical' && where.operator === 'AND' ? where.operands : [where]
}

function demandOf(term: Expression, root: Root, parameters: Parameters): Demand | undefined {
  switch (term.kind) {
    case 'binary':
      return comparison(term.operator, term.left, term.right, root, parameters)
    case 'between': {
      const min = constantOf(term.low, parameters)
      const max = constantOf(term.high, parameters)
      const path = pathOf(term.operand, root)
      if (term.not || path === undefined || !isRangeEnd(min) || !isRangeEnd(max) || typeof min !== typeof max)
        return undefined
      return { path, bounds: [{ min, minInclusive: true, max, maxInclusive: true }] }
    }
    case 'in': {
      const path = pathOf(term.operand, root)
      if (term.not || path === undefined || term.items.length > indexBoundsMax) return undefined
      const values = term.items.map(item => constantOf(item, parameters))
      if (values.some(value => value === undefined)) return undefined
      return { path, bounds: values.map(equals => ({ equals })) }
    }
    case 'call':
      return term.isUserDefined
        ? undefined
        : demandsOfCalls[term.name.toUpperCase()]?.(term.arguments, root, parameters)
    default:
      return undefined
  }
}

type CallDemand = (values: readonly Expression[], root: Root, parameters: Parameters) => Demand | undefined

const demandsOfCalls: Readonly<Record<string, CallDemand>> = {
  STARTSWITH: ([subject, prefix, ignoresCase], root, parameters) => {
    const path = pathOf(subject, root)
    const startsWith = constantOf(prefix, parameters)
    const isExactCase = ignoresCase === undefined || constantOf(ignoresCase, parameters) === false
    return path !== undefined && typeof startsWith === 'string' && isExactCase
      ? { path, bounds: [{ startsWith }] }
      : undefined
  },
  IS_DEFINED: ([subject], root) => {
    const path = pathOf(subject, root)
    return path === undefined ? undefined : { path, bounds: [{ defined: true }] }
  },
  ARRAY_CONTAINS: ([subject, element, isPartial], root, parameters) => {
    const path = pathOf(subject, root)
    const equals = constantOf(element, parameters)
    return path === undefined || equals === undefined || isPartial !== undefined
      ? undefined
      : { path: [...path, anyElement], bounds: [{ equals }] }
  },
}

const flipped: Partial<Record<BinaryOperator, BinaryOperator>> = {
  '=': '=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

function comparison(
  operator: BinaryOperator,
  left: Expression,
  right: Expression,
  root: Root,
  parameters: Parameters,
): Demand | undefined {
  const leftPath = pathOf(left, root)
  const path = leftPath ?? pathOf(right, root)
  const value = constantOf(leftPath === undefined ? left : right, parameters)
  const operatorFromPath = leftPath === undefined ? flipped[operator] : operator
  if (path === undefined || value === undefined || operatorFromPath === undefined) return undefined
  if (operatorFromPath === '=') return { path, bounds: [{ equals: value }] }
  if (!isRangeEnd(value)) return undefined
  if (operatorFromPath === '<' || operatorFromPath === '<=')
    return { path, bounds: [{ max: value, maxInclusive: operatorFromPath === '<=' }] }
  if (operatorFromPath === '>' || operatorFromPath === '>=')
    return { path, bounds: [{ min: value, minInclusive: operatorFromPath === '>=' }] }
  return undefined
}

function isRangeEnd(value: SqlValue): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** `c.a.b` and `c["a"].b` as a list of names. The item itself is not a path. */
function pathOf(expression: Expression | undefined, { alias, computed }: Root): IndexPath | undefined {
  const names: string[] = []
  let node = expression
  while (node?.kind === 'member' || node?.kind === 'index') {
    if (node.kind === 'member') names.unshift(node.name)
    else if (node.index.kind === 'literal' && typeof node.index.value === 'string') names.unshift(node.index.value)
    else return undefined
    node = node.object
  }
  if (node?.kind !== 'identifier' || node.name !== alias || names.length === 0) return undefined
  return computed.has(names[0]!) ? undefined : names
}

function constantOf(expression: Expression | undefined, parameters: Parameters): SqlValue {
  // An index holds only numbers that JSON has: no NaN and no infinity.
  if (expression?.kind === 'literal') return isNonFinite(expression.value) ? undefined : expression.value
  if (expression?.kind === 'parameter') return parameters.get(expression.name)
  if (expression?.kind === 'unary' && expression.operator === '-' && expression.operand.kind === 'literal') {
    const { value } = expression.operand
    return typeof value === 'number' && !isNonFinite(value) ? -value : undefined
  }
  return undefined
}

function isNonFinite(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value)
}

/** Joins a lower and an upper end for one path into one range. */
function merge(demands: readonly Demand[]): Demand[] {
  const merged: Demand[] = []
  for (const demand of demands) {
    const isAdded = merged.some((other, at) => {
      const both = isSamePath(other.path, demand.path) ? joined(other, demand) : undefined
      if (both !== undefined) merged[at] = both
      return both !== undefined
    })
    if (!isAdded) merged.push(demand)
  }
  return merged
}

function joined(left: Demand, right: Demand): Demand | undefined {
  const [a, b] = [left.bounds, right.bounds].map(bounds => (bounds.length === 1 ? bounds[0] : undefined))
  if (a === undefined || b === undefined) return undefined
  const isLower = (bound: KeyBound<unknown>) => 'min' in bound && !('max' in bound)
  const isUpper = (bound: KeyBound<unknown>) => 'max' in bound && !('min' in bound)
  const [low, high] = isLower(a) && isUpper(b) ? [a, b] : isUpper(a) && isLower(b) ? [b, a] : []
  if (low === undefined || high === undefined || !('min' in low) || !('max' in high)) return undefined
  return typeof low.min === typeof high.max ? { path: left.path, bounds: [{ ...low, ...high }] } : undefined
}

function orderOf({ orderBy }: Query, root: Root): Demands['order'] {
  if (orderBy === undefined || orderBy.isRank) return []
  const order = orderBy.items.map(({ expression, direction }) => ({
    path: pathOf(expression, root),
    isDescending: direction === 'DESC',
  }))
  return order.every(({ path }) => path !== undefined) ? (order as Demands['order']) : []
}
