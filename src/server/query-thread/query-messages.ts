/** The messages between the server and its query threads. They are plain data, also the errors. */

import { codeOf, withCode } from '../../adapters/sqlite/file/errors.ts'
import type { SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import {
  CapacityError,
  type CapacityErrorKind,
  InvariantError,
  RequestError,
  type RequestErrorKind,
} from '../../base/error.ts'
import type { ThreadMemory } from '../../base/memory-account.ts'
import { WorkTooLong } from '../../base/work.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import type { HostedTask, StreamHost } from '../../query/hosted-stream.ts'
import type { PackedRows } from '../../query/packed-rows.ts'
import type { MadePage, RemotePageTask } from '../../query/page-task.ts'
import { ScriptError } from '../../scripts/script-error.ts'
import type { ContainerReader } from '../../store/reading.ts'

export type Ask =
  | {
      readonly kind: 'page' | 'collect'
      readonly task: RemotePageTask
      /** The thread does not read the store by itself. It asks the server for items (`ReaderCall`). */
      readonly readsHere: boolean
    }
  /** The server is its `StreamHost`. */
  | { readonly kind: 'hold'; readonly task: HostedTask }
  | { readonly kind: 'sort'; readonly task: SortTask }
  | { readonly kind: 'checkpoint' }

export interface Question {
  readonly number: number
  readonly ask: Ask
  /** Shared memory. Its first element becomes 1 when the client does not wait any more. */
  readonly end: Int32Array
  /** How long the work may hold the thread in one turn. Undefined: as long as it takes. */
  readonly holdMsMax: number | undefined
  /** The bytes that the work may hold: the free part of the client's share. */
  readonly memoryBytesMax?: number | undefined
}

/** The data that a thread gets at its start. */
export interface ThreadData {
  /** The folder of the database file. Undefined: there is no file that a thread can read. */
  readonly directory: string | undefined
  /** The nice value of the thread, where threads have their own. */
  readonly nice: number
  /** Its part of the account of held memory. */
  readonly memory: ThreadMemory | undefined
}

/** The thread reads something through the server. */
export interface ReaderCall {
  readonly reader: number
  readonly call: number
  readonly name: keyof ContainerReader | keyof StreamHost
  readonly args: readonly unknown[]
}

/** `over`: the question has ended, perhaps because reading failed. */
export type ReaderAnswer = { readonly call: number } & ({ readonly answer: unknown } | { readonly over: true })

export type WorkerReply = { readonly number: number } & ({ readonly result: unknown } | { readonly error: PlainError })

/** The first message of a thread: its number in the system, where it has one. */
export interface ThreadBegun {
  readonly task: number | undefined
}

/** A page whose rows are in one piece, if they are bytes. */
export interface PackedPage {
  readonly page: MadePage
  readonly rows: PackedRows | undefined
}

type PlainError =
  /** With MongoDB's code, if the language has given it one. */
  | { readonly kind: RequestErrorKind; readonly message: string; readonly code?: number }
  | { readonly kind: CapacityErrorKind; readonly message: string; readonly retryAfterMs: number }
  /** Of a user-defined function. */
  | { readonly kind: 'script'; readonly message: string; readonly number: number | undefined; readonly log: string }
  /** Of SQLite, where it was not translated: of a checkpoint. */
  | { readonly kind: 'sqlite'; readonly message: string; readonly errcode: number }
  | { readonly kind: 'internal'; readonly message: string; readonly stack: string | undefined }
  | { readonly kind: 'too long here' }

export function toPlainError(error: unknown): PlainError {
  if (error instanceof WorkTooLong) return { kind: 'too long here' }
  if (error instanceof MongoError) return { kind: error.kind, message: error.message, code: error.code }
  if (error instanceof ScriptError) {
    return { kind: 'script', message: error.message, number: error.number, log: error.log }
  }
  if (error instanceof RequestError) return { kind: error.kind, message: error.message }
  if (error instanceof CapacityError) {
    return { kind: error.kind, message: error.message, retryAfterMs: error.retryAfterMs }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const errcode = codeOf(error)
  if (errcode !== undefined) return { kind: 'sqlite', message, errcode }
  return { kind: 'internal', message, stack }
}

export function fromPlainError(plain: PlainError): Error {
  if (plain.kind === 'too long here') return new WorkTooLong()
  if (plain.kind === 'sqlite') return withCode(plain.message, plain.errcode)
  if (plain.kind === 'script') return new ScriptError(plain.message, plain.number, plain.log)
  if ('retryAfterMs' in plain) return new CapacityError(plain.kind, plain.message, plain.retryAfterMs)
  if (plain.kind !== 'internal') {
    if (plain.code !== undefined) return new MongoError(plain.code, plain.message, plain.kind)
    return new RequestError(plain.kind, plain.message)
  }
  return new InvariantError(`the query thread failed: ${plain.message}`, { cause: plain.stack })
}
