/**
 * Wildcard indexes: every field below a path counts as indexed. A field gets a real index when the first
 * query needs it, so fields that nobody queries cost nothing.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import { numberOf } from '../requests/arguments.ts'
import type { IndexSpec } from './index-spec.ts'

/** The wildcard index that covers this field. */
export function promising<Spec extends IndexSpec>(indexes: readonly Spec[], path: IndexPath): Spec | undefined {
  const field = path.map(String).join('.')
  return indexes.find(index => index.kind === 'wildcard' && !index.isHidden && covers(index, field))
}

function covers({ parts, partialFilter, document }: IndexSpec, field: string): boolean {
  if (partialFilter !== undefined) return false
  const projection = document.get('wildcardProjection')
  const { isInclusion, named } = projection?.type === bsonType.document ? readProjection(projection) : everything
  const isNamed = [...named].some(([path]) => isBelow(field, path))
  if (isBelow(field, '_id')) return named.get('_id') === true
  return isBelow(field, parts[0]!.path) && isNamed === isInclusion
}

const everything = { isInclusion: false, named: new Map<string, boolean>() }

function isBelow(field: string, path: string): boolean {
  return path === '' || field === path || field.startsWith(`${path}.`)
}

/**
 * The fields that a projection names, and whether it includes or excludes them. `_id` may be an exception.
 */
function readProjection(projection: BsonDocument, prefix = ''): typeof everything {
  const named = new Map<string, boolean>()
  for (const [name, value] of projection.fields) {
    const path = `${prefix}${name}`
    if (value.type === bsonType.document) {
      for (const [inner, isTaken] of readProjection(value, `${path}.`).named) named.set(inner, isTaken)
    } else {
      named.set(path, value.type === bsonType.bool ? value.value : numberOf(value) !== 0)
    }
  }
  const isInclusion = [...named].some(([path, isTaken]) => path !== '_id' && isTaken)
  return { isInclusion, named }
}
