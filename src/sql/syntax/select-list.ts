/** The expressions of a select list, and the aggregates among them. */

import { isAggregate } from '../values/aggregate.ts'
import type { Expression, FunctionCall, Query } from './ast.ts'
import { isExpression, visit } from './walk.ts'

/** The aggregates of the select list itself. Those inside its subqueries run within one item. */
export function selectedAggregates(query: Query): readonly FunctionCall[] {
  const found: FunctionCall[] = []
  for (const expression of selectExpressions(query)) {
    visit(expression, node => {
      if (!isExpression(node)) return false
      if (isAggregateCall(node)) found.push(node)
      return true
    })
  }
  return found
}

export function selectExpressions({ selection }: Query): readonly Expression[] {
  if (selection.kind === 'star') return []
  return selection.kind === 'value' ? [selection.expression] : selection.items.map(item => item.expression)
}

export function isAggregateCall(node: Expression | Query): node is FunctionCall {
  return isExpression(node) && node.kind === 'call' && !node.isUserDefined && isAggregate(node.name)
}
