/**
 * A provisioned rate, enforced second by second.
 *
 * Requests take from the second in which they arrive; what does not fit is refused until the next second
 * begins. The purger never touches a running second: it spends what the last closed second has left over, and
 * only that. Hence two promises that no scheduling can break:
 *
 *   - in every second, what requests took plus what the purger spent of it is at most the provisioned rate
 *     (except for one operation that alone costs more);
 *   - requests are refused in the same way whether the purger runs or not.
 *
 * Nothing is saved for longer than one second. An operation that costs more than a whole second's budget is
 * accepted if nothing was taken from the second yet; otherwise it could never run.
 *
 * Seconds are machine time: a rate concerns the real world, also when item time is moved by hand.
 */

import { machine } from '../base/clock.ts'

export class Budget {
  readonly #monotonicMs: () => number
  #second = 0
  #takenRu = 0
  #spareRu = 0

  constructor(monotonicMs: () => number = machine.monotonicMs) {
    this.#monotonicMs = monotonicMs
  }

  /** Takes the charge from the present second. Returns 0 when it fits, otherwise the milliseconds to wait. */
  take(chargeRu: number, ruPerSecond: number): number {
    const nowMs = this.#monotonicMs()
    this.#closeSeconds(nowMs, ruPerSecond)
    if (this.#takenRu > 0 && this.#takenRu + chargeRu > ruPerSecond)
      return Math.max(1, Math.ceil(1000 - (nowMs % 1000)))
    this.#takenRu += chargeRu
    return 0
  }

  /** What the last closed second has left over and the purger has not spent yet. */
  spareRu(ruPerSecond: number): number {
    this.#closeSeconds(this.#monotonicMs(), ruPerSecond)
    return this.#spareRu
  }

  spend(chargeRu: number): void {
    this.#spareRu -= chargeRu
  }

  #closeSeconds(nowMs: number, ruPerSecond: number): void {
    const second = Math.floor(nowMs / 1000)
    if (second === this.#second) return
    // A second without requests has its whole rate left over. Only the last closed second counts.
    const takenInLast = second === this.#second + 1 ? this.#takenRu : 0
    this.#spareRu = Math.max(0, ruPerSecond - takenInLast)
    this.#second = second
    this.#takenRu = 0
  }
}
