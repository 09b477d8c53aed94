/** Wakes change streams that wait for changes. */

import { machine } from '../../base/clock.ts'

export class ChangeSignal {
  readonly #waiting = new Set<() => void>()

  /** Called after a write. */
  notify(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves at the next change, or after this time: other processes may write to the same store. */
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
