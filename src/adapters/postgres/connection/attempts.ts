/** Limits of the retries after a lost connection or a lost race: their number and time. */

import { machine } from '../../../base/clock.ts'

/** Attempts in all, after a lost connection or a lost race, and the first wait between two of them. */
const postgresAttemptsMax = 5
export const postgresRetryMs = 20

/** After this nothing is retried: a 503 helps the client more than an answer that comes too late. */
const postgresPatienceMs = 10_000

export class Attempts {
  readonly #max: number
  readonly #endMs = machine.monotonicMs() + postgresPatienceMs
  #made = 0

  constructor(max = postgresAttemptsMax) {
    this.#max = max
  }

  /** Whether there may be another attempt. The second comes at once, later ones wait ever longer. */
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
