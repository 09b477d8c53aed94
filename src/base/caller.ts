/**
 * Who a request came from, and whether somebody still waits for the answer.
 *
 * Work that takes long asks for `gone` and ends with it. Plain requests never do, so that they pay nothing.
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

  /** Aborted when nobody waits for the answer any more. */
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

/** It is sent to nobody, but it is logged and counted. */
function callerGone(): CapacityError {
  return new CapacityError('timed_out', 'The client did not wait for the answer.', 0)
}
