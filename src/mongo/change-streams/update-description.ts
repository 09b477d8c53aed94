/** Computes what an update changed, from the document before and after. */

import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, string } from '../../document/bson/value.ts'

/** Nested documents are compared field by field. Any other changed value is shown whole. */
export function updateDescription(before: BsonDocument, after: BsonDocument): BsonDocument {
  const updated: Field[] = []
  const removed: string[] = []
  compare(before, after, '', updated, removed)
  return BsonDocument.of([
    ['updatedFields', BsonDocument.of(updated)],
    ['removedFields', BsonArray.of(removed.map(string))],
    ['truncatedArrays', BsonArray.of([])],
  ])
}

/** Recursion is bounded by the depth of stored documents. */
function compare(before: BsonDocument, after: BsonDocument, path: string, updated: Field[], removed: string[]): void {
  for (const [name] of before.fields) if (after.get(name) === undefined) removed.push(path + name)
  for (const [name, value] of after.fields) {
    const old = before.get(name)
    if (old?.type === bsonType.document && value.type === bsonType.document) {
      compare(old, value, `${path}${name}.`, updated, removed)
    } else if (old === undefined || old.type !== value.type || !equalValues(old, value)) {
      updated.push([path + name, value])
    }
  }
}
