/**
 * The writes that wait for a commit, in two queues.
 *
 * Small writes are committed together at the end of a turn. Large ones have commits of their own, in turns
 * that they share with other heavy work. So a small write waits for one commit of large ones at most.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { heavyBytesMin } from '../../base/heavy-turns.ts'
import { commitBytesMax, groupWritesMax, KiB } from '../../base/limits.ts'

/** A write of more steps is large, and so is one of `heavyBytesMin`. */
const smallStepsMax = 32

/**
 * The most bytes of small writes that wait: about a millisecond of work. When they are reached, further
 * writes of some kilobytes count as large too. Otherwise 100 items of 20 KB in one request would make two
 * commits that all others wait for.
 */
const smallBytesMax = 256 * KiB
const tinyBytesMax = 4 * KiB

/**
 * The work of a write, done inside the transaction of its group. It runs again after the group was rolled
 * back. `mustUndoAlone`: the work sets a savepoint first, if it may have to take back what it did. Otherwise
 * it calls `Turns.undo`.
 */
export type WriteWork<T> = (moment: EpochSeconds, mustUndoAlone: boolean) => T

export interface NewWrite {
  readonly work: WriteWork<unknown>
  readonly freesRoom: boolean
  readonly steps: number
  /** An estimate. */
  readonly bytes: number
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

interface QueuedWrite extends NewWrite {
  readonly isLarge: boolean
  /** It had to be undone, so it has a commit of its own. */
  isAlone: boolean
}

export type WriteGroup = readonly QueuedWrite[]

export class WaitingWrites {
  readonly #small: QueuedWrite[] = []
  readonly #large: QueuedWrite[] = []
  #smallBytes = 0

  get smallCount(): number {
    return this.#small.length
  }

  get largeCount(): number {
    return this.#large.length
  }

  add(write: NewWrite): void {
    const { bytes, steps } = write
    const isLarge = bytes >= heavyBytesMin || steps > smallStepsMax || this.#isOverfull(bytes)
    const queued = { ...write, isLarge, isAlone: false }
    if (isLarge) this.#large.push(queued)
    else this.#small.push(queued)
    if (!isLarge) this.#smallBytes += bytes
  }

  /** Removes the small writes of the next commit from their queue. */
  takeSmall(): WriteGroup {
    const group = takeGroup(this.#small)
    this.#smallBytes -= bytesOf(group)
    return group
  }

  takeLarge(): WriteGroup {
    return takeGroup(this.#large)
  }

  /** Puts writes that the commit had no room for in front of their queue. */
  putBack(rest: WriteGroup): void {
    const small = rest.filter(({ isLarge }) => !isLarge)
    this.#small.unshift(...small)
    this.#smallBytes += bytesOf(small)
    this.#large.unshift(...rest.filter(({ isLarge }) => isLarge))
  }

  #isOverfull(bytes: number): boolean {
    return bytes > tinyBytesMax && this.#smallBytes + bytes > smallBytesMax
  }
}

function takeGroup(queue: QueuedWrite[]): WriteGroup {
  let steps = 0
  let bytes = 0
  let count = 0
  for (const waiting of queue) {
    steps += waiting.steps
    bytes += waiting.bytes
    if (count > 0 && (steps > groupWritesMax || bytes > commitBytesMax || waiting.isAlone)) break
    count++
    if (waiting.isAlone) break
  }
  return queue.splice(0, count)
}

function bytesOf(group: WriteGroup): number {
  let sum = 0
  for (const { bytes } of group) sum += bytes
  return sum
}
