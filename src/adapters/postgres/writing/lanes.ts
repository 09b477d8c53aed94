/**
 * The order of what a gateway writes: in stripes as long as all is simple, and in one lane for each bucket
 * where it is not.
 *
 * A lane or a stripe has one group of writes under way; what arrives meanwhile is the next group. So the
 * writes of one gateway to a bucket keep the order in which they were asked for, never wait for each other's
 * locks, and share their commits, the more the busier it is. Transactions have lanes only: those of one
 * bucket are grouped in the same way; one over several has all their lanes to itself. What goes in lanes is
 * tried again and waits for others as long as it has to.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../../base/error.ts'
import { groupBytesMax, groupWritesMax } from '../../../base/limits.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'
import type { Connections } from '../connection/connections.ts'
import { isFatal, translate } from '../connection/errors.ts'
import { bucketCount, bucketOf } from '../rows/keys.ts'
import { type PlacedWrite, type StripeName, Stripes, type Waiting } from './stripes.ts'
import type { Result } from './transactions.ts'

export interface LaneName {
  readonly container: ContainerRecord
  readonly bucket: number
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

export interface LaneWork {
  /** Writes to one bucket. */
  write(lane: LaneName, writes: readonly PlacedWrite[], session: PoolClient): Promise<readonly WriteAnswer[]>
  /** Writes to some buckets, in their order; undefined: these have to go one by one. */
  writeTogether(
    stripe: StripeName,
    writes: readonly PlacedWrite[],
    session: PoolClient,
  ): Promise<readonly WriteAnswer[] | undefined>
  /** Transactions of one bucket. */
  transact(jobs: readonly (readonly Step[])[]): Promise<readonly Result[]>
}

export class Lanes {
  readonly #connections: Connections
  readonly #work: LaneWork
  readonly #onFatal: (error: Error) => void
  readonly #lanes = new Map<number, Lane>()
  /** Not in a cluster, where the buckets of a stripe may be on several machines. */
  readonly #stripes: Stripes | undefined
  readonly #running = new Set<Promise<void>>()
  #isClosed = false

  constructor(
    connections: Connections,
    work: LaneWork,
    { isCluster, onFatal }: { isCluster: boolean; onFatal: (error: Error) => void },
  ) {
    this.#connections = connections
    this.#work = work
    this.#onFatal = onFatal
    if (isCluster) return
    this.#stripes = new Stripes(connections, {
      take,
      write: work.writeTogether,
      toLanes: (container, writes) => this.#toLanes(container, writes),
      fail: (writes, cause) => this.#fail(writes, cause),
    })
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    const bucket = bucketOf(container.partitionKey, write.key.epk)
    return new Promise((resolve, reject) => {
      const waiting = { bucket, write, resolve, reject }
      const name = { container, bucket }
      if (this.#stripes === undefined || this.#lanes.has(laneNumber(name))) this.#enqueue(name, waiting)
      else this.#track(this.#stripes.add(container, waiting))
    })
  }

  /** A transaction whose steps are all about this bucket. */
  transact(name: LaneName, steps: readonly Step[]): Promise<TransactAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    return new Promise((resolve, reject) => this.#enqueue(name, { steps, resolve, reject }))
  }

  /**
   * Runs the work while nothing else of this gateway writes to these buckets. Taken in one order, so that
   * none waits for ever.
   */
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
    this.#lane(name).queue.push(waiting)
  }

  /** What could not go together came before all that is in the lanes. */
  #toLanes(container: ContainerRecord, writes: readonly Waiting[]): void {
    for (const write of writes.toReversed()) this.#lane({ container, bucket: write.bucket }).queue.unshift(write)
  }

  #lane(name: LaneName): Lane {
    const present = this.#lanes.get(laneNumber(name))
    if (present !== undefined) return present
    const lane: Lane = { ...name, queue: this.#stripes?.withdraw(name.container, name.bucket) ?? [] }
    this.#lanes.set(laneNumber(name), lane)
    this.#track(this.#run(lane))
    return lane
  }

  #track(run: Promise<void> | undefined): void {
    if (run === undefined) return
    const running = run.finally(() => {
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  async #run(lane: Lane): Promise<void> {
    await this.#stripes?.left(lane.container, lane.bucket)
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
      taken = take(lane.queue)
      const answers = await this.#work.write(lane, taken, session)
      for (const [index, { resolve }] of taken.entries()) resolve(answers[index]!)
    } catch (cause) {
      if (taken.length === 0) taken = take(lane.queue)
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

export function laneNumber({ container, bucket }: LaneName): number {
  return container.number * bucketCount + bucket
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The store is closed.', 0)
}

/** As many as one call takes, in the order of their buckets. */
function take(queue: Lane['queue']): Waiting[] {
  let bytes = 0
  let count = 0
  for (const waiting of queue) {
    if (!('write' in waiting)) break
    bytes += bytesOf(waiting.write)
    if (count > 0 && (count === groupWritesMax || bytes > groupBytesMax)) break
    count++
  }
  const taken = queue.splice(0, count) as Waiting[]
  return taken.sort((a, b) => a.bucket - b.bucket)
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
