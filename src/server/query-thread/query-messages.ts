/** The messages between the server and its query thread. They are plain data, also the errors. */

import type { SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import {
  CapacityError,
  type CapacityErrorKind,
  InvariantError,
  type MayflyError,
  RequestError,
  type RequestErrorKind,
} from '../../base/error.ts'
import type { ThreadMemory } from '../../base/memory-account.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import type { PackedRows } from '../../query/packed-rows.ts'
import type { MadePage, RemotePageTask } from '../../query/page-task.ts'

export interface Question {
  readonly number: number
  readonly ask:
    | { readonly kind: 'page' | 'collect'; readonly task: RemotePageTask }
    | { readonly kind: 'sort'; readonly task: SortTask }
    | { readonly kind: 'checkpoint' }
  /** What the work may hold: what is left of the share of whoever asks. */
  readonly memoryBytesMax?: number | undefined
}

/** What a thread is started with. */
export interface ThreadStart {
  readonly directory: string
  /** Its part of the account of held memory. */
  readonly memory: ThreadMemory | undefined
}

/** Nobody waits for the answer to this question any more. */
export interface Cancellation {
  readonly cancel: number
}

export type WorkerReply = { readonly number: number } & ({ readonly result: unknown } | { readonly error: PlainError })

/** A page whose rows are in one piece, if they are bytes. */
export interface PackedPage {
  readonly page: MadePage
  readonly rows: PackedRows | undefined
}

type PlainError =
  /** With MongoDB's code, if the language has given it one. */
  | { readonly kind: RequestErrorKind; readonly message: string; readonly code?: number }
  | { readonly kind: CapacityErrorKind; readonly message: string; readonly retryAfterMs: number }
  | { readonly kind: 'internal'; readonly message: string; readonly stack: string | undefined }

export function toPlainError(error: unknown): PlainError {
  if (error instanceof MongoError) return { kind: error.kind, message: error.message, code: error.code }
  if (error instanceof RequestError) return { kind: error.kind, message: error.message }
  if (error instanceof CapacityError) {
    return { kind: error.kind, message: error.message, retryAfterMs: error.retryAfterMs }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'internal', message, stack }
}

export function fromPlainError(plain: PlainError): MayflyError {
  if ('retryAfterMs' in plain) return new CapacityError(plain.kind, plain.message, plain.retryAfterMs)
  if (plain.kind !== 'internal') {
    if (plain.code !== undefined) return new MongoError(plain.code, plain.message, plain.kind)
    return new RequestError(plain.kind, plain.message)
  }
  return new InvariantError(`the query thread failed: ${plain.message}`, { cause: plain.stack })
}
