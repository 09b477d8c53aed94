/** The cluster time that answers carry. Drivers send it back, and change streams can start at it. */

import type { Clock } from '../../base/clock.ts'
import { binary, int64, type TimestampValue, timestamp } from '../../document/bson/value.ts'
import { encodeFields } from '../answers/fields.ts'

const signature = { hash: binary(new Uint8Array(20)), keyId: int64(0n) }

/** Item time in seconds. Events within one second have the same timestamp. */
export function timestampOf(epochSeconds: number): TimestampValue {
  return timestamp((BigInt(epochSeconds) << 32n) | 1n)
}

/** The time fields of every answer. They are built once a second. */
export class ClusterTime {
  readonly #clock: Clock
  #second = -1
  #elements: Buffer = Buffer.alloc(0)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The fields as encoded elements of a document. */
  elements(): Buffer {
    const second = this.#clock.now()
    if (second !== this.#second) {
      const now = timestampOf(second)
      this.#second = second
      const document = encodeFields({ $clusterTime: { clusterTime: now, signature }, operationTime: now })
      this.#elements = document.subarray(4, -1)
    }
    return this.#elements
  }
}
