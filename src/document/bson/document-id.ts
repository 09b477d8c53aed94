/**
 * The id of the item that a document is kept in, from its `_id`.
 *
 * The item id is the ordered key of `_id` in hexadecimal. So 1, 1.0 and NumberLong(1) are the same `_id`, as
 * in MongoDB, and the items of a partition are sorted by `_id`. A long key is cut and ends in a digest.
 */

import { hash } from 'node:crypto'
import { encodeFullKey } from './ordered-key.ts'
import { bsonType } from './types.ts'
import { int32At } from './view.ts'

/** An `_id` is part of an index key. A longer one is cut and ends in a digest. */
const idKeyBytesMax = 384

/** The item id of the `_id` at this position in the bytes. */
export function itemId(bytes: Uint8Array, type: number, start: number): string {
  const key = encodeFullKey([{ bytes, type, start }]) as Buffer
  if (key.length <= idKeyBytesMax) return key.toString('hex')
  return `${key.toString('hex', 0, idKeyBytesMax - 32)}${hash('sha256', key, 'hex')}`
}

/** Stored documents begin with their `_id`. */
export function storedId(document: Uint8Array): string {
  return itemId(document, document[4]!, 9)
}

/** Ids up to this length are in the order of their values; longer ones may have a digest in them. */
export const orderedIdLength = 2 * (idKeyBytesMax - 32)

/** The key of a value of at most this size is never cut. */
const surelyOrderedBytes = 64

const typesOfAnySize: ReadonlySet<number> = new Set([
  ...[bsonType.string, bsonType.symbol, bsonType.code, bsonType.codeWithScope],
  ...[bsonType.document, bsonType.binary, bsonType.dbPointer],
])

/** Whether a stored document may be out of `_id` order. */
export function isOutOfOrder(document: Uint8Array): boolean {
  const type = document[4]!
  if (!typesOfAnySize.has(type) || int32At(document, 9) <= surelyOrderedBytes) return false
  return storedId(document).length > orderedIdLength
}
