/** Requests of the Mongo protocol as bytes, with what drivers send and nothing more. */

import { randomBytes } from 'node:crypto'
import { Binary, type Document, Long, type ObjectId } from 'bson'
import { DocumentStamp, documentId } from './mongo-documents.ts'
import { opMsg, setRequestId } from './mongo-wire.ts'
import { DATABASE, type RequestSource, shuffled, takingTurns } from './requests.ts'

export type MongoRequests =
  /** Each of `documents` documents by its `_id`. */
  | { readonly kind: 'mongo-find-one'; readonly collection: string; readonly documents: number }
  /** All documents of one of `groups` groups. */
  | { readonly kind: 'mongo-find-group'; readonly collection: string; readonly groups: number }
  | MongoInserts

/** Inserts of new documents. */
export interface MongoInserts {
  readonly kind: 'mongo-insert'
  readonly collection: string
  readonly firstDocument: number
  readonly bytes: number
  readonly groups: number
  readonly perMessage: number
  /**
   * Whether this is a retryable write, which is the default of drivers. The server then remembers its answer.
   */
  readonly isRetryable: boolean
}

export function mongoSource(requests: MongoRequests): RequestSource {
  switch (requests.kind) {
    case 'mongo-find-one':
      return findSource(requests.documents, (n, lsid) => findOne(requests.collection, documentId(n), lsid))
    case 'mongo-find-group':
      return findSource(requests.groups, (n, lsid) => findGroup(requests.collection, n, lsid))
    case 'mongo-insert':
      return insertSource(requests)
  }
}

function session(): Document {
  return { id: new Binary(randomBytes(16), Binary.SUBTYPE_UUID) }
}

export function findOne(collection: string, _id: ObjectId, lsid = session()): Buffer {
  return opMsg({ find: collection, filter: { _id }, limit: 1, singleBatch: true, lsid, $db: DATABASE })
}

export function findGroup(collection: string, group: number, lsid = session()): Buffer {
  return opMsg({ find: collection, filter: { group }, lsid, $db: DATABASE })
}

/** A few sessions, as a driver's pool has them. */
const SESSIONS = 32

function findSource(count: number, requestOf: (n: number, lsid: Document) => Buffer): RequestSource {
  const sessions = Array.from({ length: SESSIONS }, session)
  const requests = Array.from({ length: count }, (_, n) => {
    const request = requestOf(n, sessions[n % SESSIONS]!)
    setRequestId(request, n + 1)
    return request
  })
  return takingTurns(shuffled(requests))
}

/** The buffer of each connection is reused: its message was answered, so it has been sent. */
function insertSource(inserts: MongoInserts): RequestSource {
  // Documents whose numbers have the same remainder share a group, so those of a group are far apart.
  const stamp = new DocumentStamp(inserts.bytes, n => n % inserts.groups)
  const messages: InsertMessage[] = []
  let next = inserts.firstDocument
  return connection => {
    messages[connection] ??= new InsertMessage(inserts, stamp)
    const message = messages[connection].fill(next)
    next += inserts.perMessage
    return message
  }
}

class InsertMessage {
  readonly #stamp: DocumentStamp
  readonly #bytes: Buffer
  readonly #documentsAt: number
  readonly #documentBytes: number
  /** Position of the transaction number of a retryable write; 0 if it is not retryable. */
  readonly #numberAt: number
  #number = 0

  constructor({ collection, bytes, perMessage, isRetryable }: MongoInserts, stamp: DocumentStamp) {
    const documents = stamp.room(perMessage)
    const command = { insert: collection, ordered: true, lsid: session(), $db: DATABASE }
    this.#stamp = stamp
    this.#bytes = opMsg(isRetryable ? { ...command, txnNumber: Long.ONE } : command, { name: 'documents', documents })
    this.#documentsAt = this.#bytes.length - documents.length
    this.#documentBytes = bytes
    this.#numberAt = isRetryable ? this.#bytes.indexOf('txnNumber\0') + 'txnNumber\0'.length : 0
  }

  fill(first: number): Buffer {
    setRequestId(this.#bytes, ++this.#number)
    if (this.#numberAt > 0) this.#bytes.writeInt32LE(this.#number, this.#numberAt)
    for (let at = this.#documentsAt, n = first; at < this.#bytes.length; at += this.#documentBytes, n++) {
      this.#stamp.write(this.#bytes, at, n)
    }
    return this.#bytes
  }
}
