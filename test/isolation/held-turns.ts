/** Watches how long the event loop of this process is held, in processor time. */

import { machine } from '../../src/base/clock.ts'

export class HeldTurns implements Disposable {
  #lastMs = threadMs()
  #longestMs = 0
  #isOver = false

  constructor() {
    this.#turn()
  }

  /** The longest turn since this was asked last. */
  takeLongestMs(): number {
    const longestMs = this.#longestMs
    this.#longestMs = 0
    return longestMs
  }

  [Symbol.dispose](): void {
    this.#isOver = true
  }

  readonly #turn = (): void => {
    const nowMs = threadMs()
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    if (!this.#isOver) machine.setTimeout(() => machine.setImmediate(this.#turn), 1)
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
