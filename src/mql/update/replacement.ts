/** Replaces a whole document, except its `_id`, by one that was sent or that a pipeline made. */

import { compareAt } from '../../document/bson/compare.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { bsonDepthMax } from '../../document/bson/validate.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { fieldAt, levelsOf, printRawField, type RawValue, type UpdateContext } from './modifier.ts'

const idName = Buffer.from('_id')

export function idOf(document: Uint8Array): RawValue | undefined {
  return fieldAt(document, 0, idName)
}

/** Throws if the value cannot be an `_id`. */
export function checkId(id: RawValue): void {
  if (id.type === bsonType.array || id.type === bsonType.regex || id.type === bsonType.undefined) {
    throw new MongoError(53, `The '_id' value cannot be of type ${typeName(id.type)}`)
  }
  if (id.type === bsonType.document) refuseInnerDollars(BsonDocument.view(id.bytes, id.start))
}

/** Throws on nested names that begin with `$`, except in DBRefs. Recurses as deep as validated bytes nest. */
function refuseInnerDollars(id: BsonDocument): void {
  for (const [name, value] of id.fields) {
    const isReference = name === '$ref' || name === '$id' || name === '$db'
    if (name.startsWith('$') && !isReference) {
      throw new MongoError(52, `_id fields may not contain '$'-prefixed fields: ${name} is not valid for storage.`)
    }
    if (value.type === bsonType.document) refuseInnerDollars(value)
  }
}

/** The `_id` followed by the fields of the replacement. If both have an `_id`, they must be equal. */
export function replaced(original: Uint8Array, replacement: Uint8Array): Uint8Array {
  const [kept, id] = [idOf(original), idOf(replacement)]
  if (id !== undefined) checkId(id)
  if (kept !== undefined && id !== undefined) refuseOtherId(kept, id)
  return withId(replacement, id ?? kept)
}

function refuseOtherId(kept: RawValue, id: RawValue): void {
  if (compareAt(kept.bytes, kept.type, kept.start, id.bytes, id.type, id.start) === 0) return
  throw new MongoError(
    66,
    `After applying the update, the (immutable) field '_id' was found to have been altered to ` +
      `${printRawField('_id', id)}`,
  )
}

/** Puts this `_id` in front of the document. */
export function withId(document: Uint8Array, id: RawValue | undefined): Uint8Array {
  if (id === undefined) return document
  const writer = new BsonWriter(document.length + id.end - id.start + 16)
  const opened = writer.open()
  writer.name(id.type, '_id')
  writer.raw(id.bytes, id.start, id.end)
  const cursor = new ElementCursor(document)
  let copied = 4
  let isMet = false
  while (!isMet && cursor.next()) {
    if (!isId(cursor)) continue
    isMet = true
    writer.raw(document, copied, cursor.nameStart - 1)
    copied = cursor.valueEnd
  }
  writer.raw(document, copied, document.length - 1)
  writer.close(opened)
  return writer.bytes()
}

export function refuseSecondId(document: Uint8Array): void {
  const cursor = new ElementCursor(document)
  let count = 0
  while (cursor.next()) if (isId(cursor)) count += 1
  if (count > 1) throw new MongoError(2, "Can't have multiple _id fields in one document")
}

function isId(cursor: ElementCursor): boolean {
  return cursor.nameEnd - cursor.nameStart === 3 && cursor.name() === '_id'
}

/** Top-level fields whose names begin with `$` must make up a DBRef. */
export function checkDollars(document: Uint8Array, isConcerned: (name: string) => boolean): void {
  const fields: { readonly name: string; readonly type: number }[] = []
  const cursor = new ElementCursor(document)
  while (cursor.next()) fields.push({ name: cursor.name(), type: cursor.type })
  for (const [at, { name, type }] of fields.entries()) {
    if (!name.startsWith('$') || !isConcerned(name)) continue
    const [before, after] = [fields[at - 1]?.name, fields[at + 1]?.name]
    if (name === '$ref') {
      if (type !== bsonType.string)
        throw invalidReference(`The DBRef $ref field must be a String, not a ${typeName(type)}`)
      if (after !== '$id') throw invalidReference('The DBRef $ref field must be followed by a $id field')
    } else if (name === '$id') {
      if (before !== '$ref') throw invalidReference('Found $id field without a $ref before it, which is invalid.')
    } else if (name === '$db') {
      if (type !== bsonType.string)
        throw invalidReference(`The DBRef $db field must be a String, not a ${typeName(type)}`)
      if (before !== '$id') throw invalidReference('Found $db field without a $id before it, which is invalid.')
    } else {
      throw new MongoError(
        52,
        `The dollar ($) prefixed field '${name}' in '${name}' is not allowed in the context of an update's ` +
          `replacement document. Consider using an aggregation pipeline with $replaceWith.`,
      )
    }
  }
}

function invalidReference(message: string): MongoError {
  return new MongoError(55, message)
}

/** Replaces zero timestamps at the top level with the current one, as an insert does; not in `_id`. */
export function withTimestamps(document: Uint8Array, { now }: UpdateContext): Uint8Array {
  let stamped: Buffer | undefined
  const cursor = new ElementCursor(document)
  while (cursor.next()) {
    if (cursor.type !== bsonType.timestamp || isId(cursor)) continue
    const { valueStart, valueEnd } = cursor
    if (document.subarray(valueStart, valueEnd).some(byte => byte !== 0)) continue
    stamped ??= Buffer.from(document)
    stamped.writeBigUInt64LE(now.timestamp, valueStart)
  }
  return stamped ?? document
}

export function checkDocumentDepth(document: Uint8Array): void {
  const levels = levelsOf({ type: bsonType.document, bytes: document, start: 0, end: document.length })
  if (levels > bsonDepthMax) {
    throw new MongoError(15, `Document exceeds maximum nesting depth of ${bsonDepthMax}`)
  }
}
