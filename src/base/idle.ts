/** Knows when nobody wants anything: background work asks it for a moment before each bounded step. */

import { machine } from './clock.ts'
import { idleCheckMs, starvationMsMax } from './limits.ts'

export class IdleWatch {
  readonly #activity: () => number

  /** The number grows with every request; standing still means idle. */
  constructor(activity: () => number) {
    this.#activity = activity
  }

  /** Resolves when no request has arrived for a moment, or when the work has waited long enough. */
  async moment(waitMsMax = starvationMsMax): Promise<void> {
    const startMs = machine.monotonicMs()
    let seen = this.#activity()
    await new Promise<void>(resolve => machine.setImmediate(resolve))
    while (this.#activity() !== seen && machine.monotonicMs() - startMs < waitMsMax) {
      seen = this.#activity()
      await new Promise<void>(resolve => machine.setTimeout(resolve, idleCheckMs))
    }
  }
}
