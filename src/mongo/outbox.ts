/**
 * Answers that leave together when all that arrived in a turn of the event loop has been looked at.
 *
 * A client that is asleep costs its waking, more than the write itself; of answers that follow each other
 * closely only the first one pays it.
 */

import type { Duplex } from 'node:stream'
import { machine } from '../base/clock.ts'

export class Outbox {
  #held: Duplex[] = []

  /** Holds back what is written to the stream until then. */
  hold(stream: Duplex): void {
    stream.cork()
    if (this.#held.push(stream) === 1) machine.setImmediate(() => this.#release())
  }

  #release(): void {
    const held = this.#held
    this.#held = []
    for (const stream of held) stream.uncork()
  }
}
