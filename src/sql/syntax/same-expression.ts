/**
 * Decides whether two expressions are the same. For example, a select list repeats keys of GROUP BY, which
 * must be recognized.
 *
 * It ignores positions in the text, the case of built-in names, and the difference between `c.x` and
 * `c["x"]`.
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

/** One form for different notations. Nodes and lists of nodes are compared property by property. */
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
