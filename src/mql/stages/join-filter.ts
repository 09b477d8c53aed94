/** Filters with which `$lookup` and `$graphLookup` ask for the documents they join. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, nullValue, type Value } from '../../document/bson/value.ts'
import { valuesAtPath } from '../paths/expression-path.ts'

/** Documents that hold one of the values at the path, as equality in filters has it; no value means null. */
export function joinFilter(path: string, values: readonly Value[]): BsonDocument {
  const wanted = values.length === 0 ? [nullValue] : values
  if (wanted.length === 1) return condition(path, '$eq', wanted[0]!)
  // `$in` would search for a regular expression instead of comparing with it.
  if (!wanted.some(value => value.type === bsonType.regex)) return condition(path, '$in', BsonArray.of(wanted))
  return BsonDocument.of([['$or', BsonArray.of(wanted.map(value => condition(path, '$eq', value)))]])
}

function condition(path: string, operator: string, operand: Value): BsonDocument {
  return BsonDocument.of([[path, BsonDocument.of([[operator, operand]])]])
}

/** The values that a document is joined by. BSON's old `undefined` cannot be asked for and counts as null. */
export function joinValues(document: BsonDocument, names: readonly string[]): readonly Value[] {
  return valuesAtPath(document, names).map(value => (value.type === bsonType.undefined ? nullValue : value))
}

/** All of the filters hold; empty ones say nothing. */
export function allOf(filters: readonly BsonDocument[]): BsonDocument {
  const some = filters.filter(filter => !filter.isEmpty)
  if (some.length <= 1) return some[0] ?? BsonDocument.of([])
  return BsonDocument.of([['$and', BsonArray.of(some)]])
}
