/**
 * Wildcard indexes: every field below a path counts as indexed. A field gets a real index when the first
 * query needs it, so fields that nobody queries cost nothing.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import type { IndexSpec } from './index-spec.ts'
import { everyField, readWildcardProjection } from './wildcard-projection.ts'

/** The wildcard index that covers this field. */
export function promising<Spec extends IndexSpec>(indexes: readonly Spec[], path: IndexPath): Spec | undefined {
  const field = path.map(String).join('.')
  return indexes.find(index => index.kind === 'wildcard' && !index.isHidden && covers(index, field))
}

function covers({ parts, partialFilter, document }: IndexSpec, field: string): boolean {
  if (partialFilter !== undefined) return false
  const projection = document.get('wildcardProjection')
  const { isInclusion, named } =
    projection?.type === bsonType.document ? readWildcardProjection(projection) : everyField
  const isNamed = [...named].some(([path]) => isBelow(field, path))
  if (isBelow(field, '_id')) return named.get('_id') === true
  return isBelow(field, parts[0]!.path) && isNamed === isInclusion
}

function isBelow(field: string, path: string): boolean {
  return path === '' || field === path || field.startsWith(`${path}.`)
}
