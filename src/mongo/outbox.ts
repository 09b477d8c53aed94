/**
 * Sends the answers of one turn of the event loop together.
 *
 * Waking a sleeping client costs more than the write itself. When answers follow each other closely, only
 * the first one pays for the wake-up.
 */

import type { Duplex } from 'node:stream'
import { machine } from '../base/clock.ts'

export class Outbox {
  #held: Duplex[] = []
  /** Counts the turns in which something was sent. */
  turn = 0

  /** Holds back writes to the stream until the end of the turn. */
  hold(stream: Duplex): void {
    stream.cork()
    if (this.#held.push(stream) === 1) machine.setImmediate(() => this.#release())
  }

  #release(): void {
    const held = this.#held
    this.#held = []
    this.turn++
    for (const stream of held) stream.uncork()
  }
}
