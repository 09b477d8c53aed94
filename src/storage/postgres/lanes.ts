/**
 * Writes, in one lane for each bucket.
 *
 * A lane has one group of writes under way; what arrives meanwhile is the next group. So the writes of one gateway to a
 * bucket keep the order in which they were asked for, never wait for each other's locks, and share their commits, the more
 * the busier the bucket is. Transactions of one bucket are grouped in the same way; one over several has all their lanes to
 * itself.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../base/error.ts'
import { groupBytesMax, groupWritesMax } from '../../base/limits.ts'
import type { ContainerRecord, ItemWrite, Step, TransactAnswer, WriteAnswer } from '../port.ts'
import type { Connections } from './connections.ts'
import { isFatal, translate } from './errors.ts'
import { bucketCount, bucketOf } from './keys.ts'
import type { Result } from './transactions.ts'

export interface LaneName {
  readonly container: ContainerRecord
  readonly bucket: number
}

interface Waiting {
  readonly write: ItemWrite
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

interface WaitingTransaction {
  readonly steps: readonly Step[]
  readonly resolve: (answer: TransactAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Whoever wants the lane to itself: called when it has it, and tells when it does not need it any more. */
type Turn = () => Promise<void>

interface Lane extends LaneName {
  readonly queue: (Waiting | WaitingTransaction | Turn)[]
}

/** What is done with groups that are all of one bucket. */
export interface LaneWork {
  write(lane: LaneName, writes: readonly ItemWrite[], session: PoolClient): Promise<readonly WriteAnswer[]>
  transact(jobs: readonly (readonly Step[])[]): Promise<readonly Result[]>
}

export class Lanes {
  readonly #connections: Connections
  readonly #work: LaneWork
  readonly #onFatal: (error: Error) => void
  readonly #lanes = new Map<number, Lane>()
  readonly #running = new Set<Promise<void>>()
  #isClosed = false

  constructor(connections: Connections, work: LaneWork, onFatal: (error: Error) => void) {
    this.#connections = connections
    this.#work = work
    this.#onFatal = onFatal
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    const bucket = bucketOf(container.partitionKey, write.key.epk)
    return new Promise((resolve, reject) => this.#enqueue({ container, bucket }, { write, resolve, reject }))
  }

  /** A transaction whose steps are all about this bucket. */
  transact(name: LaneName, steps: readonly Step[]): Promise<TransactAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    return new Promise((resolve, reject) => this.#enqueue(name, { steps, resolve, reject }))
  }

  /** Runs the work while nothing else of this gateway writes to these buckets. Taken in one order, so that none waits for ever. */
  alone<T>(names: readonly LaneName[], work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(closed())
    return this.#alone(
      names.toSorted((a, b) => laneNumber(a) - laneNumber(b)),
      work,
    )
  }

  async #alone<T>([next, ...rest]: readonly LaneName[], work: () => Promise<T>): Promise<T> {
    if (next === undefined) return work()
    return new Promise((resolve, reject) => {
      this.#enqueue(next, () => this.#alone(rest, work).then(resolve, reject))
    })
  }

  /** Waits for what is under way; nothing may be asked for afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #enqueue(name: LaneName, waiting: Lane['queue'][number]): void {
    const number = laneNumber(name)
    const lane = this.#lanes.get(number)
    if (lane !== undefined) {
      lane.queue.push(waiting)
      return
    }
    const started: Lane = { ...name, queue: [waiting] }
    this.#lanes.set(number, started)
    const running = this.#run(started).finally(() => {
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  async #run(lane: Lane): Promise<void> {
    while (lane.queue.length > 0) {
      const [next] = lane.queue
      if (typeof next === 'function') {
        lane.queue.shift()
        await next()
      } else if ('steps' in next!) {
        await this.#runTransactions(lane)
      } else {
        await this.#runGroup(lane)
      }
    }
    this.#lanes.delete(laneNumber(lane))
  }

  async #runGroup(lane: Lane): Promise<void> {
    let taken: Waiting[] = []
    try {
      // While they wait for a connection, more writes may join them.
      const session = await this.#connections.acquire()
      taken = take(lane)
      const answers = await this.#work.write(
        lane,
        taken.map(({ write }) => write),
        session,
      )
      for (const [index, { resolve }] of taken.entries()) resolve(answers[index]!)
    } catch (cause) {
      if (taken.length === 0) taken = take(lane)
      this.#fail(taken, cause)
    }
  }

  async #runTransactions(lane: Lane): Promise<void> {
    const taken = takeTransactions(lane)
    try {
      const results = await this.#work.transact(taken.map(({ steps }) => steps))
      for (const [index, { resolve, reject }] of taken.entries()) {
        const result = results[index]!
        if ('thrown' in result) reject(result.thrown)
        else resolve(result.answer)
      }
    } catch (cause) {
      this.#fail(taken, cause)
    }
  }

  #fail(taken: readonly (Waiting | WaitingTransaction)[], cause: unknown): void {
    const error = translate(cause)
    if (isFatal(cause)) this.#onFatal(error)
    for (const { reject } of taken) reject(error)
  }
}

function laneNumber({ container, bucket }: LaneName): number {
  return container.number * bucketCount + bucket
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The store is closed.', 0)
}

/** As many as one call takes. */
function take(lane: Lane): Waiting[] {
  let bytes = 0
  let count = 0
  for (const waiting of lane.queue) {
    if (!('write' in waiting)) break
    bytes += bytesOf(waiting.write)
    if (count > 0 && (count === groupWritesMax || bytes > groupBytesMax)) break
    count++
  }
  return lane.queue.splice(0, count) as Waiting[]
}

/** As many as have about as many steps as a group has writes. What they will write, nobody knows yet. */
function takeTransactions(lane: Lane): WaitingTransaction[] {
  let steps = 0
  let count = 0
  for (const waiting of lane.queue) {
    if (!('steps' in waiting)) break
    steps += waiting.steps.length
    if (count > 0 && steps > groupWritesMax) break
    count++
  }
  return lane.queue.splice(0, count) as WaitingTransaction[]
}

function bytesOf(write: ItemWrite): number {
  if (write.kind === 'delete') return 0
  if (write.draft instanceof Uint8Array) return write.draft.length
  return write.draft.texts.reduce((sum, text) => sum + text.length, 0)
}
