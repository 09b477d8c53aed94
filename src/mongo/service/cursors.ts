/**
 * Cursors: results that clients fetch batch by batch.
 *
 * A cursor holds no lock and no snapshot. Its source continues where it stopped, at the moment of each
 * batch. A cursor ends with its last document, when it is killed, with its collection, or after ten minutes
 * of machine time without a fetch.
 */

import { randomBytes } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { holding, type MemoryLease } from '../../base/memory-account.ts'
import type { BsonDocument, TimestampValue } from '../../document/bson/value.ts'
import type { RowOrigins } from '../../query/row-origins.ts'
import type { Access } from '../access/authorize.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, type Fields } from '../answers/fields.ts'
import { apiParameters } from '../requests/stable-api.ts'
import type { Client } from '../session/client.ts'
import type { KillReason, Operation } from './operations.ts'

/**
 * An idle cursor is closed after this time, as in MongoDB. The second limit is the number of open cursors.
 */
const mongoCursorIdleMsMax = 10 * 60 * 1000
const mongoCursorsMax = 10_000

/** The same for cursors that hold documents and whose client has closed its connection. */
const mongoCursorLeftMsMax = 60_000

/** The default size of the first batch, and the bytes of any batch. */
const mongoFirstBatchDefault = 101
export const mongoBatchBytesMax = 16 * MiB

/** The command that fetches a batch and pays for it. */
export interface Fetching {
  readonly operation: Operation
  readonly access: Access | undefined
  readonly txnNumber: bigint | undefined
  readonly isInTransaction: boolean
  readonly snapshot: { readonly time: TimestampValue } | undefined
  chargeRu: number
  /** Documents examined, for `explain`. */
  documentsRead: number
}

export interface BatchRequest {
  readonly documentsMax: number
  readonly bytesMax: number
  readonly by: Fetching
  /** How long a change stream may wait for its next event; undefined: as long as it likes. */
  readonly waitMs: number | undefined
}

export interface CursorBatch {
  readonly documents: readonly Uint8Array[]
  /** Memory of documents of the batch only. Whoever has copied all of them may give it up. */
  readonly pieces?: readonly Uint8Array[]
  readonly isEnd: boolean
  /** The items of the documents, if the caller may hold them (`query/row-origins.ts`). */
  readonly origins?: RowOrigins
  /** The position of a change stream after this batch. */
  readonly resumeToken?: BsonDocument
}

export interface CursorSource {
  readonly isChangeStream?: boolean
  /** The position of a change stream. */
  readonly resumeToken?: BsonDocument
  next(request: BatchRequest): MaybePromise<CursorBatch>
  /** Nobody will ask for more. */
  end?(): void
}

export interface CursorSettings {
  readonly namespace: string
  /** Only the session that opened the cursor may fetch from it. */
  readonly session: string | undefined
  readonly hasNoTimeout: boolean
  /** The numbers of the containers it reads. It ends when one of them is deleted. */
  readonly containers: readonly number[]
}

export class Cursor {
  readonly id: bigint
  readonly source: CursorSource
  readonly settings: CursorSettings
  /** The command that opened it had a `maxTimeMS`. */
  readonly isTimeLimited: boolean
  /** The transaction that opened it. */
  readonly txnNumber: bigint | undefined
  /** The API parameters of the command that opened it. */
  readonly api: string | undefined
  /** The user that opened it, and what that needed. Undefined: the account. */
  readonly access: Access | undefined
  usedMs = machine.monotonicMs()
  /** What its source holds between two batches. */
  readonly lease: MemoryLease
  /** Who used it last. */
  client: Client
  /** The command that is fetching now. */
  operation: Operation | undefined

  constructor(
    id: bigint,
    source: CursorSource,
    settings: CursorSettings & { readonly by: Fetching; readonly lease: MemoryLease },
  ) {
    const { by, lease } = settings
    this.id = id
    this.lease = lease
    this.client = by.operation.client
    this.api = apiParameters(by.operation.args)
    this.source = source
    this.settings = settings
    this.access = by.access
    this.isTimeLimited = by.operation.isLimited
    this.txnNumber = by.isInTransaction ? by.txnNumber : undefined
  }
}

export class CursorRegistry {
  /** Least recently used first. */
  readonly #cursors = new Map<bigint, Cursor>()
  #opened = 0
  #timedOut = 0

  get size(): number {
    return this.#cursors.size
  }

  get statistics(): { readonly opened: number; readonly timedOut: number } {
    return { opened: this.#opened, timedOut: this.#timedOut }
  }

  open(
    source: CursorSource,
    settings: CursorSettings & { readonly by: Fetching; readonly lease: MemoryLease },
  ): Cursor {
    this.closeIdle()
    if (this.#cursors.size >= mongoCursorsMax) {
      throw new CommandError('OperationFailed', `There are ${mongoCursorsMax} open cursors; close some`)
    }
    let id: bigint
    do {
      id = randomBytes(8).readBigInt64LE() & 0x7fff_ffff_ffff_ffffn
    } while (id === 0n || this.#cursors.has(id))
    const cursor = new Cursor(id, source, settings)
    this.#cursors.set(id, cursor)
    this.#opened++
    return cursor
  }

  find(id: bigint): Cursor | undefined {
    this.closeIdle()
    return this.#cursors.get(id)
  }

  touch(cursor: Cursor): void {
    if (!this.#cursors.delete(cursor.id)) return
    cursor.usedMs = machine.monotonicMs()
    this.#cursors.set(cursor.id, cursor)
  }

  /** A command that is fetching from it fails with the reason. */
  close(cursor: Cursor, reason: KillReason = 'CursorKilled'): boolean {
    cursor.operation?.kill(reason)
    cursor.lease[Symbol.dispose]()
    cursor.source.end?.()
    return this.#cursors.delete(cursor.id)
  }

  /** Nobody can find a cursor without a session once the connection that opened it is closed. */
  closeOfClient(client: Client): void {
    for (const cursor of this.#cursors.values()) {
      if (cursor.client === client && cursor.settings.session === undefined) this.close(cursor)
    }
  }

  /** A client that has gone may come back on another connection, but not with much in our memory. */
  closeLeft(): void {
    const before = machine.monotonicMs() - mongoCursorLeftMsMax
    for (const cursor of this.#cursors.values()) {
      if (cursor.usedMs > before) return
      if (cursor.client.hasGone && cursor.lease.bytes > 0 && cursor.operation === undefined) this.close(cursor)
    }
  }

  closeOfSession(session: string): void {
    for (const cursor of this.#cursors.values()) if (cursor.settings.session === session) this.close(cursor)
  }

  closeOfContainer(container: number): void {
    for (const cursor of this.#cursors.values()) {
      if (cursor.settings.containers.includes(container)) this.close(cursor, 'QueryPlanKilled')
    }
  }

  /** The least recently used come first. Cursors without a timeout are skipped. */
  closeIdle(): void {
    const before = machine.monotonicMs() - mongoCursorIdleMsMax
    for (const cursor of this.#cursors.values()) {
      if (cursor.usedMs > before) return
      if (cursor.settings.hasNoTimeout || cursor.operation !== undefined) continue
      this.close(cursor)
      this.#timedOut++
    }
  }
}

export interface FirstBatchRequest extends CursorSettings {
  /** Undefined: MongoDB's default. */
  readonly batchSize: number | undefined
  readonly isSingleBatch: boolean
  readonly by: Fetching
}

/** Answers a command that opens a cursor: the first batch, and a cursor id if there is more. */
export function openCursor(
  cursors: CursorRegistry,
  source: CursorSource,
  request: FirstBatchRequest,
): MaybePromise<Fields> {
  const { batchSize = mongoFirstBatchDefault, isSingleBatch, by, namespace } = request
  const lease = by.operation.client.share.hold('cursors')
  const first = (): MaybePromise<CursorBatch> =>
    batchSize === 0 && !isSingleBatch
      ? { documents: [], isEnd: false, ...(source.resumeToken && { resumeToken: source.resumeToken }) }
      : source.next({ documentsMax: batchSize, bytesMax: mongoBatchBytesMax, by, waitMs: 0 })
  const answer = ({ documents, pieces, isEnd, resumeToken }: CursorBatch): Fields => {
    const isOver = isEnd || isSingleBatch
    const isClosed = isOver || by.operation.isAbandoned
    const cursor = isClosed ? undefined : cursors.open(source, { ...request, lease })
    if (cursor === undefined) {
      source.end?.()
      lease[Symbol.dispose]()
    }
    return {
      cursor: {
        firstBatch: new Documents(documents, pieces),
        postBatchResumeToken: resumeToken,
        id: cursor?.id ?? 0n,
        ns: namespace,
        atClusterTime: by.snapshot?.time,
      },
    }
  }
  const fail = (error: unknown): never => {
    source.end?.()
    lease[Symbol.dispose]()
    throw error
  }
  try {
    const batch = holding(lease, first)
    return batch instanceof Promise ? batch.then(answer).catch(fail) : answer(batch)
  } catch (error) {
    return fail(error)
  }
}

/** A source over a short list, in one batch if it fits. */
export function listSource(documents: readonly Uint8Array[]): CursorSource {
  let at = 0
  return {
    next({ documentsMax, bytesMax }) {
      const batch: Uint8Array[] = []
      let bytes = 0
      while (at < documents.length && batch.length < documentsMax) {
        const document = documents[at]!
        if (batch.length > 0 && bytes + document.length > bytesMax) break
        batch.push(document)
        bytes += document.length
        at++
      }
      return { documents: batch, isEnd: at === documents.length }
    },
  }
}
