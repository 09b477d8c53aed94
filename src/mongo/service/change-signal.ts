/** Wakes those who wait for changes. */

import { machine } from '../../base/clock.ts'

export class ChangeSignal {
  readonly #waiting = new Set<() => void>()

  /** Something was written. */
  notify(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves at the next change, or after so long: others may write to the same store. */
  wait(ms: number): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        machine.clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = machine.setTimeout(wake, ms)
      timer.unref()
      this.#waiting.add(wake)
    })
  }
}
