/** What waits in the queues of a gateway, and how much of it goes into one group. */

import { groupBytesMax, groupWritesMax } from '../../../base/limits.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'

/** A write, and the bucket of its item. */
export interface PlacedWrite {
  readonly bucket: number
  readonly write: ItemWrite
}

export interface WaitingWrite extends PlacedWrite {
  readonly kind: 'write'
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

/** A transaction whose steps are all in one bucket. */
export interface WaitingTransaction {
  readonly kind: 'transaction'
  readonly steps: readonly Step[]
  readonly resolve: (answer: TransactAnswer) => void
  readonly reject: (error: unknown) => void
}

/** A transaction over several buckets. It is called when it has the lane, and keeps it until it resolves. */
export interface WaitingTurn {
  readonly kind: 'turn'
  readonly run: () => Promise<void>
}

export type Waiting = WaitingWrite | WaitingTransaction | WaitingTurn

/** Takes the writes of one call from the front of the queue, sorted by bucket. */
export function takeWrites(queue: Waiting[]): WaitingWrite[] {
  let bytes = 0
  let count = 0
  for (const waiting of queue) {
    if (waiting.kind !== 'write') break
    bytes += bytesOf(waiting.write)
    if (count > 0 && (count === groupWritesMax || bytes > groupBytesMax)) break
    count++
  }
  const taken = queue.splice(0, count) as WaitingWrite[]
  return taken.sort((a, b) => a.bucket - b.bucket)
}

/**
 * Takes transactions from the front of the queue, until they have about as many steps as a group has writes.
 * How many bytes they will write is not known yet.
 */
export function takeTransactions(queue: Waiting[]): WaitingTransaction[] {
  let steps = 0
  let count = 0
  for (const waiting of queue) {
    if (waiting.kind !== 'transaction') break
    steps += waiting.steps.length
    if (count > 0 && steps > groupWritesMax) break
    count++
  }
  return queue.splice(0, count) as WaitingTransaction[]
}

function bytesOf(write: ItemWrite): number {
  if (write.kind === 'delete') return 0
  if (write.draft instanceof Uint8Array) return write.draft.length
  return write.draft.texts.reduce((sum, text) => sum + text.length, 0)
}
