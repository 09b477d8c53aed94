/** How long one request may work: until its time is over, or until its client has gone. */

import type { Caller } from '../../base/caller.ts'
import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'

/**
 * The time limit of one page of a query, and of other requests that read much. A page in source order ends
 * much sooner. SDKs give up after about a minute.
 */
export const requestWorkMsMax = 60_000

export class WorkTime implements Disposable {
  readonly #caller: Caller
  readonly #startMs = machine.monotonicMs()
  #over: AbortController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(caller: Caller) {
    this.#caller = caller
  }

  /** Created when it is first asked for, so that short work pays nothing. */
  readonly signal = (): AbortSignal => {
    if (this.#over === undefined) {
      this.#over = new AbortController()
      const { gone } = this.#caller
      gone.addEventListener('abort', this.#onGone)
      if (gone.aborted) this.#onGone()
      const leftMs = requestWorkMsMax - (machine.monotonicMs() - this.#startMs)
      this.#timer = machine.setTimeout(() => this.#over!.abort(tooLong()), leftMs)
    }
    return this.#over.signal
  };

  [Symbol.dispose](): void {
    if (this.#over === undefined) return
    machine.clearTimeout(this.#timer)
    this.#caller.gone.removeEventListener('abort', this.#onGone)
  }

  readonly #onGone = (): void => this.#over!.abort(this.#caller.gone.reason)
}

function tooLong(): CapacityError {
  const seconds = requestWorkMsMax / 1000
  return new CapacityError('timed_out', `The request worked for more than ${seconds} seconds. Read less at a time.`, 0)
}
