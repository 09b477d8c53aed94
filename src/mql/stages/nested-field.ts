/** Setting fields at paths of a document, as `$unwind`, `$lookup` and `$graphLookup` do: without entering arrays. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { withField } from '../expressions/object.ts'

const nothing = BsonDocument.of([])

/** What is no document on the way gives place to one. Without a value the field is removed. */
export function withPath(document: BsonDocument, names: readonly string[], value: Value | undefined): BsonDocument {
  const [name, ...rest] = names as [string, ...string[]]
  if (rest.length === 0) return withField(document, name, value)
  const inner = document.get(name)
  return withField(document, name, withPath(inner?.type === bsonType.document ? inner : nothing, rest, value))
}

/** The value at a path that leads through documents only. */
export function atPath(document: BsonDocument, names: readonly string[]): Value | undefined {
  let value: Value | undefined = document
  for (const name of names) value = value?.type === bsonType.document ? value.get(name) : undefined
  return value
}
