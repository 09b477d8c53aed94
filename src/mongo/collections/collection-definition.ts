/**
 * What the catalog remembers of a collection beside its items: its options and its indexes as users declared
 * them.
 *
 * It is kept as JSON. Documents in it (options, index specifications) are BSON in base64, so that their types
 * survive.
 */

import { randomBytes } from 'node:crypto'
import { assert } from '../../base/error.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeFields } from '../answers/fields.ts'

/** As stored. */
export interface StoredDefinition {
  readonly api: 'mongo'
  /** Sixteen bytes in hexadecimal. */
  readonly uuid: string
  /** What `create` was told, as `listCollections` gives it back. */
  readonly options: string
  /** Dotted paths; undefined: one logical partition. */
  readonly shardKey?: readonly string[]
  readonly indexes: readonly StoredIndex[]
  /**
   * What the deadlines that are stored with the items follow: their `ttl`, or dates in fields that indexes
   * name.
   */
  readonly deadlines: 'ttl' | 'dates'
  /** Where the log of its changes begins, if it keeps one. */
  readonly logStart?: string
  /** The deadlines of older items are being rewritten; expiry waits for it. */
  readonly isRewriting?: boolean
}

export interface StoredIndex {
  /** The specification, as `listIndexes` gives it back. */
  readonly spec: string
  /** The store's index that serves it; the index on `_id` needs none, since `_id` is the key. */
  readonly number?: number
}

export function newDefinition(options: BsonDocument, shardKey: readonly string[] | undefined): StoredDefinition {
  return {
    api: 'mongo',
    uuid: randomBytes(16).toString('hex'),
    options: toBase64(options),
    ...(shardKey !== undefined && { shardKey }),
    indexes: [{ spec: Buffer.from(encodeFields({ v: 2, key: { _id: 1 }, name: '_id_' })).toString('base64') }],
    deadlines: 'ttl',
  }
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
