/**
 * Writes BSON documents from plain JavaScript objects: answers, and what is stored about collections.
 *
 * Whole numbers that fit become int32, `bigint` becomes int64. BSON values keep their type. Stored documents
 * are copied unchanged. A field whose value is `undefined` is left out.
 */

import { giveUp } from '../../base/large-buffer.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, double, type Value } from '../../document/bson/value.ts'
import { BsonWriter } from '../../document/bson/writer.ts'

/** Documents that are written as one array. */
export class Documents {
  readonly list: readonly Uint8Array[]
  /** Memory that holds nothing but documents of the list; `giveUpBatch` gives it up. */
  readonly pieces: readonly Uint8Array[]

  constructor(list: readonly Uint8Array[], pieces: readonly Uint8Array[] = []) {
    this.list = list
    this.pieces = pieces
  }
}

export type FieldValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Value
  | Documents
  | readonly FieldValue[]
  | Fields

export interface Fields {
  readonly [name: string]: FieldValue
}

/**
 * About the size of an answer that has a batch of documents, or the errors of a batch; 0 for other answers.
 */
export function bytesOfBatch(answer: Fields): number {
  const { writeErrors } = answer
  if (writeErrors instanceof BsonArray) return writeErrors.raw!.end - writeErrors.raw!.start
  return batchOf(answer)?.list.reduce((sum, { length }) => sum + length + elementBytesMax, 0) ?? 0
}

/** Gives up the memory of a batch that was written: nobody reads it again. */
export function giveUpBatch(answer: Fields): void {
  for (const piece of batchOf(answer)?.pieces ?? []) giveUp(piece)
}

function batchOf({ cursor }: Fields): Documents | undefined {
  if (cursor === null || typeof cursor !== 'object') return undefined
  const { firstBatch, nextBatch = firstBatch } = cursor as Fields
  return nextBatch instanceof Documents ? nextBatch : undefined
}

/** The type and the name of an element of an array. */
const elementBytesMax = 8

export const one = double(1)

export const emptyDocument = BsonDocument.view(Uint8Array.of(5, 0, 0, 0, 0))

export function encodeFields(fields: Fields): Buffer {
  const writer = new BsonWriter()
  writeDocument(writer, fields)
  return writer.bytes()
}

export function writeDocument(writer: BsonWriter, fields: Fields): void {
  const start = writer.open()
  writeFields(writer, fields)
  writer.close(start)
}

export function writeFields(writer: BsonWriter, fields: Fields): void {
  for (const name in fields) writeField(writer, name, fields[name])
}

function writeField(writer: BsonWriter, name: string, value: FieldValue): void {
  switch (typeof value) {
    case 'undefined':
      return
    case 'string':
      writer.field(name, { type: bsonType.string, value })
      return
    case 'boolean':
      writer.field(name, { type: bsonType.bool, value })
      return
    case 'number':
      if ((value | 0) === value && !Object.is(value, -0)) {
        writer.name(bsonType.int32, name)
        writer.int32(value)
      } else {
        writer.field(name, double(value))
      }
      return
    case 'bigint':
      writer.field(name, { type: bsonType.int64, value: BigInt.asIntN(64, value) })
      return
    default:
      writeObject(writer, name, value)
  }
}

function writeObject(writer: BsonWriter, name: string, value: object | null): void {
  if (value === null) {
    writer.name(bsonType.null, name)
  } else if (value instanceof Documents) {
    writer.name(bsonType.array, name)
    const start = writer.open()
    for (let index = 0; index < value.list.length; index++) {
      const document = value.list[index]!
      writer.name(bsonType.document, String(index))
      writer.raw(document, 0, document.length)
    }
    writer.close(start)
  } else if (Array.isArray(value)) {
    writer.name(bsonType.array, name)
    const start = writer.open()
    for (let index = 0; index < value.length; index++) writeField(writer, String(index), value[index] ?? null)
    writer.close(start)
  } else if (isValue(value)) {
    writer.field(name, value)
  } else {
    writer.name(bsonType.document, name)
    writeDocument(writer, value as Fields)
  }
}

/** Our own objects never have a numeric field `type`, so such an object is a BSON value. */
function isValue(value: object): value is Value {
  return typeof (value as { type?: unknown }).type === 'number'
}
