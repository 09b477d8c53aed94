/** Wakes readers that wait for new entries of the journal. A waiting reader costs only a timer. */

import { machine } from '../base/clock.ts'
import type { JournalWait } from '../store/reading.ts'

/** Node fires longer timers at once. */
const timerMsMax = 2 ** 31 - 1

export class JournalWaiters {
  /** The tick that each waiter has seen, by the function that wakes the waiter. */
  readonly #waiting = new Map<() => void, number>()
  /** Called when the first waiter comes, and when the last one has gone. */
  readonly #onWaiting: (isAnybody: boolean) => void
  #tick: number

  constructor(tick: number, onWaiting: (isAnybody: boolean) => void = () => {}) {
    this.#tick = tick
    this.#onWaiting = onWaiting
  }

  /** The highest tick that is known. */
  get tick(): number {
    return this.#tick
  }

  /** Called when there are entries up to this tick. */
  advance(tick: number): void {
    if (tick <= this.#tick) return
    this.#tick = tick
    for (const [wake, after] of this.#waiting) if (after < tick) wake()
  }

  wait(after: number, { ms, onBegin }: JournalWait): Promise<boolean> {
    if (this.#tick > after) return Promise.resolve(true)
    return new Promise(resolve => {
      const wake = () => {
        if (!this.#waiting.delete(wake)) return
        machine.clearTimeout(timer)
        if (this.#waiting.size === 0) this.#onWaiting(false)
        resolve(this.#tick > after)
      }
      const timer = machine.setTimeout(wake, Math.min(ms, timerMsMax))
      timer.unref()
      this.#waiting.set(wake, after)
      if (this.#waiting.size === 1) this.#onWaiting(true)
      onBegin?.(wake)
    })
  }
}
