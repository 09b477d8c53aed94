/**
 * How a query and the thread of user-defined functions talk: the query cannot wait as others do, since it is
 * in the middle of a row.
 *
 * Messages go through a port. One number in shared memory says whose turn it is, and lets the one that has to
 * wait sleep until then. The asking side sets `asked` before it posts, so that the thread never answers into
 * a turn that has not begun.
 */

import type { MessagePort } from 'node:worker_threads'

export const turn = { idle: 0, asked: 1, working: 2 } as const

export interface FunctionThreadData {
  readonly port: MessagePort
  /** One Int32: the turn. */
  readonly turn: SharedArrayBuffer
}

export type ToFunctionThread =
  | { readonly kind: 'open'; readonly session: number; readonly epochMs: number }
  | {
      readonly kind: 'call'
      readonly session: number
      readonly name: string
      /** Only with the first call of a name in a session. */
      readonly body: string | undefined
      /** JSON text of a list of lists: `[]` is undefined, `[x]` is x. */
      readonly args: string
    }
  | { readonly kind: 'end'; readonly session: number }

export type FromFunctionThread =
  /** `[]` or `[x]`. */
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'failed'; readonly message: string; readonly number: number | undefined }
  | { readonly kind: 'late' }
  | { readonly kind: 'lost' }
