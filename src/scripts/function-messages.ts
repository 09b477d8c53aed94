/**
 * How a query talks to the thread of user-defined functions. The query is in the middle of a row, so it must
 * wait synchronously.
 *
 * Messages go through a port. One number in shared memory says whose turn it is; the waiting side sleeps on
 * it. The query sets `asked` before it posts, so the thread never answers before the turn has begun.
 */

import type { MessagePort } from 'node:worker_threads'

export const turn = { idle: 0, asked: 1, working: 2 } as const

export interface FunctionThreadData {
  readonly port: MessagePort
  /** One Int32 that holds the turn. */
  readonly turn: SharedArrayBuffer
}

export type ToFunctionThread =
  | { readonly kind: 'open'; readonly session: number; readonly epochMs: number }
  | {
      readonly kind: 'call'
      readonly session: number
      readonly name: string
      /** Sent only with the first call of a name in a session. */
      readonly body: string | undefined
      /** JSON text of an array with one array per argument: `[]` is undefined, `[x]` is x. */
      readonly args: string
    }
  | { readonly kind: 'end'; readonly session: number }

export type FromFunctionThread =
  /** `[]` is undefined, `[x]` is x. */
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'failed'; readonly message: string; readonly number: number | undefined }
  | { readonly kind: 'late' }
  | { readonly kind: 'lost' }
