/** The logical time that answers carry: drivers hand it back with their next command, and change streams can begin there. */

import type { Clock } from '../base/clock.ts'
import { binary, int64, type TimestampValue, timestamp } from '../document/bson/value.ts'
import type { Fields } from './fields.ts'

const signature = { hash: binary(new Uint8Array(20)), keyId: int64(0n) }

/** Item time in seconds. Within a second all is one: what began in it is not told apart. */
export function timestampOf(epochSeconds: number): TimestampValue {
  return timestamp((BigInt(epochSeconds) << 32n) | 1n)
}

export function clusterTimeOf(clock: Clock): Fields {
  const now = timestampOf(clock.now())
  return { $clusterTime: { clusterTime: now, signature }, operationTime: now }
}
