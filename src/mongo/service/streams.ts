/**
 * Change streams that are being opened, and those that wait for events.
 *
 * Commands that write wait for streams that arrived before them and are being opened: a stream shows what was
 * written after it arrived, even if its collections must first begin to keep a log.
 */

import { SharedSlice } from '../../base/slices.ts'

/**
 * How long a stream waits before it answers that nothing happened, if its client does not say: a second, as
 * in MongoDB. The clients of many streams would send hundreds of commands a second for nothing. So each
 * stream beyond 50 makes all wait longer: 500 streams get 20 empty answers a second. A change ends every
 * wait. The limit is below the half minute that clients may have as a timeout of their sockets.
 */
const mongoStreamWaitMs = 1000
const mongoStreamWaitMsMax = 28_000
const freeStreams = 50
const waitMsPerStream = 70

/** Streams that a change has woken together shall not come back together: they wait up to a tenth less. */
const waitSteps = 32

/** The commands that wait: all that leave something in the journal. */
export const waitsForStreams: ReadonlySet<string> = new Set([
  'insert',
  'update',
  'delete',
  'findAndModify',
  'findandmodify',
  'commitTransaction',
  'create',
  'drop',
  'dropDatabase',
  'renameCollection',
  'collMod',
  'createIndexes',
  'dropIndexes',
  'deleteIndexes',
  'customAction',
  'shardCollection',
])

export class Streams {
  /** One change may wake all streams in one turn. */
  readonly slice = new SharedSlice()
  #count = 0
  #opened: Promise<void> | undefined
  #resolve: (() => void) | undefined
  #waiting = 0
  #turn = 0

  /** Counts a stream that waits. */
  async wait<T>(waiting: Promise<T>): Promise<T> {
    this.#waiting++
    try {
      return await waiting
    } finally {
      this.#waiting--
    }
  }

  /** How long the next stream waits if its client does not say. */
  waitMs(): number {
    const moreMs = Math.max(0, this.#waiting - freeStreams) * waitMsPerStream
    if (moreMs === 0) return mongoStreamWaitMs
    this.#turn = (this.#turn + 1) % waitSteps
    return Math.min(mongoStreamWaitMs + moreMs, mongoStreamWaitMsMax) * (1 - this.#turn / waitSteps / 10)
  }

  /** Resolves when all streams that have arrived are open. undefined: none is being opened. */
  get opened(): Promise<void> | undefined {
    return this.#opened
  }

  async hold<T>(opening: Promise<T>): Promise<T> {
    this.#count++
    this.#opened ??= new Promise(resolve => {
      this.#resolve = resolve
    })
    try {
      return await opening
    } finally {
      this.#count--
      if (this.#count === 0) {
        this.#resolve!()
        this.#opened = undefined
      }
    }
  }
}
