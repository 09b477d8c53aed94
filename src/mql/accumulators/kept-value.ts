/** Values that are kept for a while: they own their bytes, and it is known how many. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { BsonWriter } from '../../document/bson/writer.ts'

export interface Kept {
  readonly value: Value
  /** About as many bytes as it takes in memory. */
  readonly bytes: number
}

/** What a JavaScript object takes beside its content. */
const objectBytes = 48

/**
 * A part of a document is a view of the document's bytes, and would keep all of them alive. What an
 * expression built may share parts with itself and be far larger than it looks; written out it is what it is,
 * and what cannot be written is refused.
 */
export function keptValue(value: Value): Kept {
  switch (value.type) {
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return { value, bytes: objectBytes + 2 * value.value.length }
    case bsonType.document:
    case bsonType.array: {
      const bytes = bytesOf(value)
      const own = value.type === bsonType.document ? BsonDocument.view(bytes) : BsonArray.view(bytes, 0)
      return { value: own, bytes: objectBytes + bytes.length }
    }
    case bsonType.objectId:
      return { value: { ...value, value: value.value.slice() }, bytes: 2 * objectBytes }
    case bsonType.binary:
      return { value: { ...value, value: value.value.slice() }, bytes: objectBytes + value.value.length }
    case bsonType.codeWithScope:
      return { value, bytes: objectBytes + bytesOf(value.scope).length + value.code.length }
    case bsonType.regex:
      return { value, bytes: objectBytes + value.pattern.length }
    default:
      return { value, bytes: objectBytes }
  }
}

function bytesOf(value: BsonDocument | BsonArray): Uint8Array {
  const { raw } = value
  if (raw === undefined) {
    const writer = new BsonWriter()
    writer.value(value)
    return writer.bytes()
  }
  const isWhole = raw.start === 0 && raw.end === raw.bytes.length
  return isWhole ? raw.bytes : Buffer.from(raw.bytes.subarray(raw.start, raw.end))
}
