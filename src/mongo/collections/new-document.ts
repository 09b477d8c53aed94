/** Checks a new document from a client and moves its `_id` to the front. */

import { stepsInHeavyTurns } from '../../base/heavy-turns.ts'
import { itemId } from '../../document/bson/document-id.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { validateDocument, validateInSteps, WantedFields } from '../../document/bson/validate.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter, bsonBytesMax } from '../../document/bson/writer.ts'
import { CommandError } from '../answers/command-error.ts'
import { newObjectId } from './object-id.ts'

export interface NewDocument {
  readonly bytes: Uint8Array
  /** The item id of its `_id`. */
  readonly id: string
}

const wantedNames = ['_id']
const wanted = new WantedFields(wantedNames)

/** Offset of the first field's name: four bytes of length, one of type. */
const firstName = 5

/** Validates bytes from outside. */
export function newDocument(given: Uint8Array): NewDocument {
  refuseSize(given.length)
  validateDocument(given, { end: given.length, wanted })
  return madeOf(given, wanted)
}

/** The same for a large document: other work has turns meanwhile. */
export async function largeNewDocument(given: Uint8Array, by: object): Promise<NewDocument> {
  refuseSize(given.length)
  const found = new WantedFields(wantedNames)
  await stepsInHeavyTurns(validateInSteps(given, { end: given.length, wanted: found }), by)
  return madeOf(given, found)
}

function madeOf(given: Uint8Array, wanted: WantedFields): NewDocument {
  const type = wanted.type(0)
  if (type === 0) return withNewId(given)
  const start = wanted.start(0)
  const end = wanted.end(0)
  checkIdType(given, type, start)
  const id = itemId(given, type, start)
  return { bytes: start === firstName + 4 ? given : idFirst(given, start - 5, end), id }
}

function refuseSize(bytes: number): void {
  if (bytes > bsonBytesMax) {
    throw new CommandError(
      'BSONObjectTooLarge',
      `object to insert too large. size in bytes: ${bytes}, max size: ${bsonBytesMax}`,
    )
  }
}

function withNewId(given: Uint8Array): NewDocument {
  const id = newObjectId()
  const writer = new BsonWriter(given.length + 17)
  const document = writer.open()
  writer.name(bsonType.objectId, '_id')
  writer.raw(id, 0, id.length)
  writer.raw(given, 4, given.length - 1)
  writer.close(document)
  return { bytes: writer.bytes(), id: itemId(id, bsonType.objectId, 0) }
}

/** MongoDB moves `_id` to the front as well. */
function idFirst(given: Uint8Array, elementStart: number, elementEnd: number): Uint8Array {
  const writer = new BsonWriter(given.length)
  const document = writer.open()
  writer.raw(given, elementStart, elementEnd)
  writer.raw(given, 4, elementStart)
  writer.raw(given, elementEnd, given.length - 1)
  writer.close(document)
  return writer.bytes()
}

function checkIdType(bytes: Uint8Array, type: number, start: number): void {
  if (type === bsonType.array || type === bsonType.regex || type === bsonType.undefined) {
    throw new CommandError('InvalidIdField', `The '_id' value cannot be of type ${typeName(type)}`)
  }
  if (type !== bsonType.document) return
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    if (bytes[cursor.nameStart] === 0x24) {
      throw new CommandError(
        'DollarPrefixedFieldName',
        `_id fields may not contain '$'-prefixed fields: ${cursor.name()} is not valid for storage.`,
      )
    }
  }
}
