/**
 * The messages between the server's thread and a thread that runs scripts.
 *
 * Every message carries the number of its run: after one side has ended a run, messages of the other may
 * still be on their way.
 */

import type { HostCall } from './host.ts'

export interface RunMessage {
  readonly kind: 'run'
  readonly run: number
  readonly body: string
  /** The name that stack traces show. */
  readonly fileName: string
  /** JSON text of the guest's settings. */
  readonly settings: string
  readonly msMax: number
}

export type ToThread =
  | RunMessage
  | {
      readonly kind: 'answer'
      readonly run: number
      readonly body: string | undefined
      /** JSON texts. */
      readonly options: string
      readonly error: string | undefined
      readonly isBudgetSpent: boolean
    }
  /** The server has ended the run; its context can be disposed. */
  | { readonly kind: 'drop'; readonly run: number }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'call'; readonly run: number; readonly call: HostCall }
  /** Without `end`, the run has crashed the engine. A thread whose engine is lost runs nothing more. */
  | {
      readonly kind: 'end'
      readonly run: number
      readonly end: RunEnd | undefined
      readonly isEngineLost: boolean
    }

export type RunEnd =
  | {
      readonly kind: 'done'
      /** JSON texts of the bodies. */
      readonly request: string | undefined
      readonly response: string | undefined
      readonly log: string
    }
  | { readonly kind: 'failed'; readonly message: string; readonly number: number | undefined; readonly log: string }
  | { readonly kind: 'late' }
