/** The filters with which `$lookup` and `$graphLookup` find the documents to join. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, nullValue, type Value } from '../../document/bson/value.ts'
import { valuesAtPath } from '../paths/expression-path.ts'

/** Matches documents that have one of the values at the path. Without values it matches null. */
export function joinFilter(path: string, values: readonly Value[]): BsonDocument {
  const wanted = values.length === 0 ? [nullValue] : values
  if (wanted.length === 1) return condition(path, '$eq', wanted[0]!)
  // `$in` would match a regular expression instead of comparing it.
  if (!wanted.some(value => value.type === bsonType.regex)) return condition(path, '$in', BsonArray.of(wanted))
  return BsonDocument.of([['$or', BsonArray.of(wanted.map(value => condition(path, '$eq', value)))]])
}

function condition(path: string, operator: string, operand: Value): BsonDocument {
  return BsonDocument.of([[path, BsonDocument.of([[operator, operand]])]])
}

/**
 * The values by which a document is joined. The old type `undefined` cannot be queried and counts as null.
 */
export function joinValues(document: BsonDocument, names: readonly string[]): readonly Value[] {
  return valuesAtPath(document, names).map(value => (value.type === bsonType.undefined ? nullValue : value))
}

/** A filter that requires all of the given filters. Empty ones are dropped. */
export function allOf(filters: readonly BsonDocument[]): BsonDocument {
  const some = filters.filter(filter => !filter.isEmpty)
  if (some.length <= 1) return some[0] ?? BsonDocument.of([])
  return BsonDocument.of([['$and', BsonArray.of(some)]])
}
