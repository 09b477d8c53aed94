/** Detects idle moments. Background work waits for one before each bounded step. */

import { machine } from './clock.ts'

/** The longest wait of background work for an idle moment. Then one step runs although requests arrive. */
export const starvationMsMax = 50

/** Long enough that a client in a tight loop has sent its next request. */
const idleCheckMs = 5

export class IdleWatch {
  readonly #activity: () => number

  /** `activity` returns a number that grows with every request. While it does not change, it is idle. */
  constructor(activity: () => number) {
    this.#activity = activity
  }

  /**
   * Resolves if no request arrives within one turn of the event loop, or else within 5 ms; at the latest
   * after about `waitMsMax`.
   */
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
