/**
 * What the catalog stores about a collection: its options and its indexes as users declared them.
 *
 * It is stored as JSON. Documents in it (options, index specifications) are BSON in base64, so that their
 * types survive.
 */

import { randomBytes } from 'node:crypto'
import { assert } from '../../base/error.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeFields } from '../answers/fields.ts'

/** The stored form. */
export interface StoredDefinition {
  readonly api: 'mongo'
  /** Sixteen bytes in hexadecimal. */
  readonly uuid: string
  /** The options given to `create`, as `listCollections` shows them. */
  readonly options: string
  /** Dotted paths. Undefined: the collection is one logical partition. */
  readonly shardKey?: readonly string[]
  readonly indexes: readonly StoredIndex[]
  /** Set of a view. Nothing is stored in its container. */
  readonly view?: StoredView
  /**
   * Where the stored deadlines come from: the documents' `ttl`, or dates in fields that TTL indexes name.
   */
  readonly deadlines: 'ttl' | 'dates'
  /** The second in which the collection, which was there before, began to keep a log for change streams. */
  readonly loggedSince?: number
  /** The deadlines of older items are being rewritten. Expiry waits until that is done. */
  readonly isRewriting?: boolean
}

export interface StoredView {
  /** The collection or view that it reads, of the same database. */
  readonly on: string
  /** A document with the field `pipeline`. */
  readonly pipeline: string
}

export interface StoredIndex {
  /** The specification, as `listIndexes` gives it back. */
  readonly spec: string
  /** The store's index behind it. The index on `_id` names none, because `_id` is the key. */
  readonly number?: number
}

export function newDefinition(
  options: BsonDocument,
  shardKey: readonly string[] | undefined,
  collation?: BsonDocument | undefined,
): StoredDefinition {
  const idIndex = encodeFields({ v: 2, key: { _id: 1 }, name: '_id_', collation })
  return {
    api: 'mongo',
    uuid: randomBytes(16).toString('hex'),
    options: toBase64(options),
    ...(shardKey !== undefined && { shardKey }),
    indexes: [{ spec: Buffer.from(idIndex).toString('base64') }],
    deadlines: 'ttl',
  }
}

export function newViewDefinition(view: StoredView, given: BsonDocument): StoredDefinition {
  const { api, uuid, options, deadlines } = newDefinition(given, undefined)
  return { api, uuid, options, deadlines, indexes: [], view }
}

export function storedDefinition(definition: unknown): StoredDefinition {
  const stored = definition as StoredDefinition
  assert(stored.api === 'mongo', 'a collection has the definition of one')
  return stored
}

export function toBase64(document: BsonDocument): string {
  assert(document.raw !== undefined, 'a document that is kept is one of bytes')
  const { bytes, start, end } = document.raw
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('base64')
}

export function fromBase64(text: string): BsonDocument {
  return BsonDocument.view(Buffer.from(text, 'base64'))
}
