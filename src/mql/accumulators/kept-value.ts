/** Values that a stage keeps: they own their bytes, and their size and origin are known. */

import { bothOf, type Origin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { BsonWriter } from '../../document/bson/writer.ts'

export interface Kept {
  readonly value: Value
  /** Approximate memory use. */
  readonly bytes: number
}

/** Overhead of a JavaScript object besides its content. */
const objectBytes = 48

/**
 * Copies a value by encoding it. A part of a document is a view that would keep the whole document alive. A
 * value built by an expression may contain the same part many times and be larger than it looks; encoding
 * reveals its size and refuses what is too large.
 */
export function keptValue(value: Value, origin?: Origin): Kept {
  const { value: own, bytes } = ownedValue(value)
  return { value: withOrigin(own, bothOf(value.origin, origin)), bytes }
}

function ownedValue(value: Value): Kept {
  switch (value.type) {
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return { value, bytes: objectBytes + 2 * value.value.length }
    case bsonType.document:
    case bsonType.array: {
      const bytes = bytesOf(value)
      if (value.hasInnerOrigins()) return { value: ownedParts(value), bytes: objectBytes + 2 * bytes.length }
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

/** The parts with their origins, which bytes cannot have. Recurses as deep as values nest. */
function ownedParts(value: BsonDocument | BsonArray): Value {
  if (value.type === bsonType.array) return BsonArray.of(value.elements.map(element => keptValue(element).value))
  return BsonDocument.of(value.fields.map(([name, inner]) => [name, keptValue(inner).value]))
}
