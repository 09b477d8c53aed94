/**
 * Whether two expressions are written the same: a select list repeats the keys of GROUP BY, and must be
 * recognized.
 *
 * Places in the text do not count, nor does the case of built-in names, nor whether a property is named `c.x`
 * or `c["x"]`.
 */

import type { Expression } from './ast.ts'

export function sameExpression(left: Expression, right: Expression): boolean {
  return kindOf(left) === kindOf(right) && same(left, right)
}

/** Most pairs differ here already. */
function kindOf(node: Expression): string {
  return node.kind === 'index' ? 'member' : node.kind
}

function same(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return left === right
  const [a, b] = [normalized(left), normalized(right)]
  const names = Object.keys(a).filter(name => name !== 'span')
  return (
    names.length === Object.keys(b).filter(name => name !== 'span').length &&
    names.every(name => Object.hasOwn(b, name) && same(a[name], b[name]))
  )
}

/**
 * One form for what can be written in several ways. Nodes and lists of nodes are compared alike, name by
 * name.
 */
function normalized(node: object): Readonly<Record<string, unknown>> {
  const expression = node as Expression
  if (expression.kind === 'call' && !expression.isUserDefined) {
    return { ...expression, name: expression.name.toUpperCase() }
  }
  if (
    expression.kind === 'index' &&
    expression.index.kind === 'literal' &&
    typeof expression.index.value === 'string'
  ) {
    return { kind: 'member', object: expression.object, name: expression.index.value }
  }
  return node as Readonly<Record<string, unknown>>
}
