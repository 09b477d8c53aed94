/**
 * The caller of a request: its connection, and whether the client still waits for the answer.
 *
 * Long work uses the signal `gone` to end with the client. Plain requests never ask for it, so they pay
 * nothing.
 */

import { CapacityError } from './error.ts'

export class Caller {
  /** The same object for all requests of a connection. */
  readonly connection: object
  #controller: AbortController | undefined
  #hasLeft = false

  constructor(connection: object = {}) {
    this.connection = connection
  }

  /** Aborted when the client does not wait for the answer any more. */
  get gone(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#hasLeft) this.#controller.abort(callerGone())
    return this.#controller.signal
  }

  leave(): void {
    this.#hasLeft = true
    this.#controller?.abort(callerGone())
  }
}

/** This error is logged and counted, but never sent. */
function callerGone(): CapacityError {
  return new CapacityError('timed_out', 'The client did not wait for the answer.', 0)
}
