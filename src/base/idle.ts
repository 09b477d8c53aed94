/** Knows when nobody wants anything: background work asks it for a moment before each bounded step. */

import { machine } from './clock.ts'

/**
 * How long background work waits for an idle moment while requests keep coming before it gets one step
 * anyway.
 */
export const starvationMsMax = 50

/** Long enough that a client in a tight loop would have been heard from. */
const idleCheckMs = 5

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
