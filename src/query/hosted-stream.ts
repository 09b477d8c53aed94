/**
 * What a thread and the server say to each other while the thread holds a pipeline for a cursor. The thread
 * reads documents through the server and gives its results to the server. The server answers when it wants
 * more.
 */

import type { PackedRows } from './packed-rows.ts'
import type { QueryStatement } from './statement.ts'

/** The number of a stream of documents: 0 is the input of the pipeline. */
export type StreamNumber = number

/**
 * A find that the server runs for the thread. Conditions that only the thread can compute are left out.
 * Documents are BSON.
 */
export interface HostedFind {
  readonly namespace: { readonly database: string; readonly collection: string }
  readonly filter: Uint8Array
  readonly sort: Uint8Array | undefined
  readonly skip: number
  readonly limit: number | undefined
}

/** What the thread asks the server for. */
export interface StreamHost {
  open(find: HostedFind): Promise<StreamNumber> | StreamNumber
  /** The next documents of a stream. Undefined: there are no more. */
  next(stream: StreamNumber): Promise<PackedRows | undefined>
  close(stream: StreamNumber): Promise<void> | void
  /** Resolves when more results are wanted. */
  give(results: PackedRows): Promise<void>
}

export interface HostedTask {
  readonly statement: QueryStatement
  /** How many stages of the pipeline its input has already passed. */
  readonly passed: number
}
