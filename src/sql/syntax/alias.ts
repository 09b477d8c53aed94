/** Default names of a query: of its sources and of the properties it selects. */

import type { Expression, FromSource, SelectItem } from './ast.ts'

/** The last name of a path: `b` for `c.a.b` and `c.a["b"]`; `c.a[0]` has none. */
function lastName(expression: Expression): string | undefined {
  if (expression.kind === 'identifier' || expression.kind === 'member') return expression.name
  if (expression.kind !== 'index' || expression.index.kind !== 'literal') return undefined
  return typeof expression.index.value === 'string' ? expression.index.value : undefined
}

/** `FROM c.children` binds `children`. */
export function aliasOf({ alias, collection }: FromSource): string | undefined {
  return alias ?? (collection.kind === 'path' ? lastName(collection.expression) : undefined)
}

/** The property name of each select item: its alias, the last name of its path, or $1, $2, … */
export function namesOf(items: readonly SelectItem[]): string[] {
  let unnamed = 0
  return items.map(({ expression, alias }) => {
    const name = alias ?? lastName(expression)
    if (name !== undefined) return name
    unnamed += 1
    return `$${unnamed}`
  })
}
