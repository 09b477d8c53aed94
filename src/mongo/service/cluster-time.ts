/**
 * The cluster time that answers carry. Drivers send it back, and change streams can start at it.
 *
 * It is the second and a number within the second, which is the tick of the last entry of the journal. So an
 * event and the answer of the write behind it have the same time.
 */

import type { Clock } from '../../base/clock.ts'
import { binary, int64, type TimestampValue, timestamp } from '../../document/bson/value.ts'
import { encodeFields } from '../answers/fields.ts'

const signature = { hash: binary(new Uint8Array(20)), keyId: int64(0n) }

/** How many numbers there are within a second; MongoDB's start at 1. */
const incrementsMax = 2 ** 32 - 1

/** The last second of a timestamp, in the year 2106. It stands for all later ones. */
const timestampSecondMax = 2 ** 32 - 1

export function incrementOf(tick: number): number {
  return (tick % incrementsMax) + 1
}

export function timestampOf(epochSeconds: number, tick: number): TimestampValue {
  const second = Math.min(epochSeconds, timestampSecondMax)
  return timestamp((BigInt(second) << 32n) | BigInt(incrementOf(tick)))
}

/** The time fields of every answer. They are built when the second or the tick changes. */
export class ClusterTime {
  readonly #clock: Clock
  readonly #lastTick: () => number
  #second = -1
  #tick = -1
  #elements: Buffer = Buffer.alloc(0)

  constructor(clock: Clock, lastTick: () => number) {
    this.#clock = clock
    this.#lastTick = lastTick
  }

  now(): TimestampValue {
    return timestampOf(this.#clock.now(), this.#lastTick())
  }

  /** The fields as encoded elements of a document. */
  elements(): Buffer {
    const second = this.#clock.now()
    const tick = this.#lastTick()
    if (second !== this.#second || tick !== this.#tick) {
      this.#second = second
      this.#tick = tick
      const now = timestampOf(second, tick)
      const document = encodeFields({ $clusterTime: { clusterTime: now, signature }, operationTime: now })
      this.#elements = document.subarray(4, -1)
    }
    return this.#elements
  }
}
