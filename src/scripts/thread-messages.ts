/**
 * What the server's thread and a thread that runs scripts say to each other.
 *
 * Every message carries the number of its run: when one side has ended a run, words of the other may still be
 * on their way.
 */

import type { HostCall } from './host.ts'

export interface RunMessage {
  readonly kind: 'run'
  readonly run: number
  readonly body: string
  /** As it shows in stack traces. */
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
  /** The run is over for the server; its context can go. */
  | { readonly kind: 'drop'; readonly run: number }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'call'; readonly run: number; readonly call: HostCall }
  /** Without an `end` the run took the engine with it. A thread whose engine is lost runs nothing more. */
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
