/**
 * How often something is tried again that failed for no fault of its own, and how long that may take
 * altogether.
 */

import { machine } from '../../../base/clock.ts'

/**
 * How often something is tried that lost its connection or lost against another transaction, and the first
 * wait between.
 */
const postgresAttemptsMax = 5
export const postgresRetryMs = 20

/**
 * After this nothing is tried again: the client has more use for a 503 than for an answer that comes too
 * late.
 */
const postgresPatienceMs = 10_000

export class Attempts {
  readonly #max: number
  readonly #endMs = machine.monotonicMs() + postgresPatienceMs
  #made = 0

  constructor(max = postgresAttemptsMax) {
    this.#max = max
  }

  /** Whether there may be another one. Waits a little longer each time, and not at all before the second. */
  async another(): Promise<boolean> {
    this.#made++
    if (this.#made >= this.#max || machine.monotonicMs() > this.#endMs) return false
    if (this.#made > 1) {
      const ms = postgresRetryMs * 2 ** (this.#made - 2)
      await new Promise<void>(resolve => machine.setTimeout(resolve, ms))
    }
    return true
  }
}
