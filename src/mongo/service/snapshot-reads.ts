/**
 * Reads of the state at a cluster time, outside of transactions (`readConcern: {level: 'snapshot'}`).
 *
 * The first read of a session takes a snapshot, and its answer says at which cluster time. The driver sends
 * that time with the session's later reads, and so they see the same state. A snapshot is kept for the time
 * that MongoDB keeps its history. No other times can be read.
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type TimestampValue, timestamp } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'
import type { PastDocuments, ReadSnapshot } from '../session/past-documents.ts'
import type { ClusterTime } from './cluster-time.ts'

/** MongoDB's `minSnapshotHistoryWindowInSeconds`. */
const mongoSnapshotMsMax = 300_000

/** Snapshots cost little themselves. What was written meanwhile has a limit of its own. */
const mongoSnapshotsMax = 1000

export interface TimedSnapshot {
  readonly time: TimestampValue
  readonly snapshot: ReadSnapshot
}

const commands: ReadonlySet<string> = new Set(['find', 'aggregate', 'distinct'])

export class SnapshotReads {
  readonly #past: PastDocuments
  readonly #clusterTime: ClusterTime
  /** By their times, the oldest one first. */
  readonly #kept = new Map<bigint, TimedSnapshot>()

  constructor(past: PastDocuments, clusterTime: ClusterTime) {
    this.#past = past
    this.#clusterTime = clusterTime
  }

  /** The snapshot that a command with this read concern reads. */
  take(args: Arguments): TimedSnapshot {
    if (!commands.has(args.name)) {
      throw new CommandError(
        'InvalidOptions',
        `Command ${args.name} does not support { readConcern: { level: "snapshot", provenance: "clientSupplied" } }` +
          ' :: caused by :: read concern not supported',
      )
    }
    const asked = args.within('readConcern')?.present('atClusterTime')
    if (asked === undefined) return this.#open(this.#clusterTime.now().value)
    if (asked.type !== bsonType.timestamp) {
      throw new CommandError('TypeMismatch', "BSON field 'readConcern.atClusterTime' is the wrong type")
    }
    const kept = this.#kept.get(asked.value)
    if (kept !== undefined) return kept
    const now = this.#clusterTime.now().value
    if (asked.value > now) {
      throw new CommandError(
        'InvalidOptions',
        'readConcern atClusterTime value must not be greater than the current clusterTime. Requested clusterTime: ' +
          `${printTime(asked.value)}; current clusterTime: ${printTime(now)}`,
      )
    }
    throw new CommandError(
      'SnapshotTooOld',
      `Read timestamp ${printTime(asked.value)} is older than the oldest available timestamp.`,
    )
  }

  /** Two snapshots have different times, also if they were taken in the same second. */
  #open(now: bigint): TimedSnapshot {
    let value = now
    while (this.#kept.has(value)) value++
    const taken = { time: timestamp(value), snapshot: this.#past.open() }
    this.#kept.set(value, taken)
    machine.setTimeout(() => this.#close(value), mongoSnapshotMsMax).unref()
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > mongoSnapshotsMax) this.#close(oldest!)
    return taken
  }

  #close(value: bigint): void {
    this.#kept.get(value)?.snapshot.close()
    this.#kept.delete(value)
  }
}

function printTime(value: bigint): string {
  return `Timestamp(${value >> 32n}, ${value & 0xffff_ffffn})`
}
