/**
 * Finds the part of a query that stays the same when a client resumes an ORDER BY over several partitions.
 *
 * The plan's rewritten query has a placeholder in its filter (`query-plan.ts`). Clients write `true` there
 * at first. To resume, they write a condition on the ORDER BY values, such as `c.n >= 3`, and send the token
 * that they got for the first text. A position in sort key order is valid whatever the condition says.
 */

import { namesOf } from '../syntax/alias.ts'
import type { Expression, Query } from '../syntax/ast.ts'
import { printQuery } from '../syntax/print.ts'
import { sameExpression } from '../syntax/same-expression.ts'
import { isExpression, visit } from '../syntax/walk.ts'

/** The text that a continuation token belongs to. */
export function resumableText(query: Query, text: string): string {
  if (query.where === undefined || query.orderBy === undefined || !isRewritten(query)) return text
  const keys = query.orderBy.items.map(({ expression }) => expression)
  const operands = termsOf(query.where).filter(term => !isOnlyAbout(term, keys))
  const where: Expression | undefined =
    operands.length > 1 ? { kind: 'logical', operator: 'AND', operands, span: query.span } : operands[0]
  return printQuery({ ...query, where })
}

function isRewritten({ selection }: Query): boolean {
  if (selection.kind !== 'list') return false
  const names = namesOf(selection.items)
  return names.includes('orderByItems') && names.includes('payload')
}

/** The terms of an AND, also of one in parentheses. */
function termsOf(where: Expression): Expression[] {
  const terms: Expression[] = []
  visit(where, node => {
    if (isExpression(node) && node.kind === 'logical' && node.operator === 'AND') return true
    terms.push(node as Expression)
    return false
  })
  return terms
}

/** Whether the term depends on nothing but ORDER BY values and constants. */
function isOnlyAbout(term: Expression, keys: readonly Expression[]): boolean {
  let isOnly = true
  visit(term, node => {
    if (!isExpression(node) || node.kind === 'identifier' || node.kind === 'subquery') isOnly = false
    return isOnly && !keys.some(key => sameExpression(key, node as Expression))
  })
  return isOnly
}
