/**
 * The moment of the store: a row in PostgreSQL that all gateways share.
 *
 * A gateway whose own clock is ahead of the row moves it forward before it asks anything: a tick. One whose
 * clock is behind uses the time of the others. The moment of an answer is read from the row by the statement
 * that found the answer, never from here.
 */

import { type Clock, type EpochSeconds, ManualClock } from '../../../base/clock.ts'
import type { Connections } from './connections.ts'

const tickStatement = { name: 'tick', text: 'SELECT mayfly.tick($1) AS moment' }
const nowStatement = { name: 'now', text: 'SELECT now AS moment FROM mayfly.clock WHERE one = 1' }

/** After so many overtaken answers in a row, the row itself must be behind. */
const overtakenMax = 3

export class Moments {
  readonly #connections: Connections
  readonly #clock: Clock
  /** The row shows at least this moment. */
  #known: EpochSeconds
  #tick: { readonly to: EpochSeconds; readonly done: Promise<void> } | undefined
  /** The latest moment that was handed out. */
  #latest: EpochSeconds

  constructor(connections: Connections, clock: Clock, known: EpochSeconds) {
    this.#connections = connections
    this.#clock = clock
    this.#known = known
    this.#latest = known
  }

  /** The gateway's own clock; a change of policy moves the row to it. */
  get own(): EpochSeconds {
    return this.#clock.now()
  }

  /** Moves the row forward if it is behind; undefined when there is nothing to wait for. */
  tick(): Promise<void> | undefined {
    const now = this.#clock.now()
    if (now <= this.#known) return undefined
    if (this.#tick !== undefined && this.#tick.to >= now) return this.#tick.done
    const tick = { to: now, done: this.#move(now) }
    this.#tick = tick
    return tick.done
  }

  take(): Promise<EpochSeconds> {
    return this.inOrder(
      async () => (await this.#connections.ask<{ moment: EpochSeconds }>(nowStatement, []))[0]!.moment,
      moment => moment,
    )
  }

  /**
   * Asks again when the answer is older than a moment that was already handed out (P6): two statements on
   * two connections may overtake each other around a tick. If the row itself is behind, because PostgreSQL
   * was restored to an earlier state, it is moved forward again. The order counts in the turn in which the
   * promise resolves, so callers must return the promise as it is.
   */
  async inOrder<T>(ask: () => Promise<T>, momentOf: (answer: T) => EpochSeconds): Promise<T> {
    const tick = this.tick()
    if (tick !== undefined) await tick
    for (let attempt = 1; ; attempt++) {
      const answer = await ask()
      const moment = momentOf(answer)
      if (moment >= this.#latest) {
        this.#latest = moment
        this.#moveManualClock(moment)
        return answer
      }
      if (attempt > overtakenMax) await this.#move(this.#latest)
    }
  }

  /** A manual clock follows the time of the store; otherwise advancing it would begin in the past. */
  #moveManualClock(moment: EpochSeconds): void {
    if (this.#clock instanceof ManualClock && this.#clock.now() < moment) this.#clock.set(moment)
  }

  async #move(to: EpochSeconds): Promise<void> {
    try {
      // Not from the pool: all of its connections may be held by work that waits for this tick.
      const [row] = await this.#connections.ask<{ moment: EpochSeconds }>(tickStatement, [to])
      if (row!.moment > this.#known) this.#known = row!.moment
    } finally {
      if (this.#tick?.to === to) this.#tick = undefined
    }
  }
}
