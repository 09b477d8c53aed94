/** How often something is tried again that failed for no fault of its own, and how long that may take altogether. */

import { machine } from '../../../base/clock.ts'
import { postgresAttemptsMax, postgresPatienceMs, postgresRetryMs } from '../../../base/limits.ts'

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
