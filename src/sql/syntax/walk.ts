/** Walks over a syntax tree: a table of the children of every kind of node, and walks without recursion. */

import { queryDepthMax } from '../../base/limits.ts'
import type { Expression, Query } from './ast.ts'
import { tooDeep } from './token-stream.ts'

type Children = readonly (Expression | Query)[]

/** The direct children of an expression. */
const children: { [Kind in Expression['kind']]: (node: Extract<Expression, { kind: Kind }>) => Children } = {
  literal: () => none,
  parameter: () => none,
  identifier: () => none,
  member: node => [node.object],
  index: node => [node.object, node.index],
  unary: node => [node.operand],
  binary: node => [node.left, node.right],
  logical: node => node.operands,
  coalesce: node => [node.left, node.right],
  conditional: node => [node.condition, node.consequent, node.alternative],
  between: node => [node.operand, node.low, node.high],
  in: node => [node.operand, ...node.items],
  like: node => [node.operand, node.pattern],
  array: node => node.items,
  object: node => node.properties.map(property => property.value),
  call: node => node.arguments,
  subquery: node => [node.query],
  let: node => [node.value, node.body],
}

const none: Children = []

export function isExpression(node: Expression | Query): node is Expression {
  return 'kind' in node
}

function childrenOf(node: Expression | Query): Children {
  if (!isExpression(node)) return partsOf(node)
  return (children[node.kind] as (node: Expression) => Children)(node)
}

/** The expressions and subqueries of a query, clause by clause; a FROM subquery comes as a query. */
function partsOf(query: Query): Children {
  const { selection } = query
  const parts: (Expression | Query)[] = []
  if (selection.kind === 'value') parts.push(selection.expression)
  if (selection.kind === 'list') for (const item of selection.items) parts.push(item.expression)
  for (const { collection } of query.sources) {
    parts.push(collection.kind === 'query' ? collection.query : collection.expression)
  }
  if (query.where !== undefined) parts.push(query.where)
  if (query.groupBy !== undefined) for (const key of query.groupBy) parts.push(key)
  if (query.orderBy !== undefined) for (const item of query.orderBy.items) parts.push(item.expression)
  return parts
}

/** Visits every node, parents first, without recursion. The visitor returns false to skip children. */
export function visit(root: Expression | Query, visitor: (node: Expression | Query) => boolean): void {
  const open: (Expression | Query)[] = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!visitor(node)) continue
    const below = childrenOf(node)
    for (let index = below.length - 1; index >= 0; index -= 1) open.push(below[index] as Expression | Query)
  }
}

/** Whether the tree contains a matching node; `enters` can exclude subqueries. */
export function contains(
  root: Expression | Query,
  found: (node: Expression | Query) => boolean,
  enters: (node: Expression | Query) => boolean = () => true,
): boolean {
  let answer = false
  visit(root, node => {
    answer ||= found(node)
    return !answer && enters(node)
  })
  return answer
}

/**
 * Refuses a tree that is too deep. The parser bounds its own recursion, but chains such as `1 + 1 + …` and
 * `c.a.b.…` grow to the left without recursion.
 */
export function checkDepth(query: Query, text: string): void {
  let level: Children = [query]
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > queryDepthMax) throw tooDeep(text, (level[0] as Expression).span)
    const below: (Expression | Query)[] = []
    for (const node of level) {
      for (const child of childrenOf(node)) {
        if (!isExpression(child) || childrenOf(child).length > 0) below.push(child)
      }
    }
    level = below
  }
}
