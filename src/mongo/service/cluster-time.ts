/**
 * The logical time that answers carry: drivers hand it back with their next command, and change streams can
 * begin there.
 */

import type { Clock } from '../../base/clock.ts'
import { binary, int64, type TimestampValue, timestamp } from '../../document/bson/value.ts'
import { encodeFields } from '../answers/fields.ts'

const signature = { hash: binary(new Uint8Array(20)), keyId: int64(0n) }

/** Item time in seconds. Within a second all is one: what began in it is not told apart. */
export function timestampOf(epochSeconds: number): TimestampValue {
  return timestamp((BigInt(epochSeconds) << 32n) | 1n)
}

/** What every answer says of the time, made once a second. */
export class ClusterTime {
  readonly #clock: Clock
  #second = -1
  #elements: Buffer = Buffer.alloc(0)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** As elements of a document. */
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
