/**
 * Decides in which order a gateway writes, and what goes together. `docs/postgres-writes.md` tells the whole
 * story.
 *
 * Writes to 16 neighbouring buckets, a stripe, share a call and a commit. A stripe has one call under way;
 * writes that arrive meanwhile go with the next. A stripe must not wait long: its call gives up soon when
 * somebody else holds a lock, and is not retried when it lost against others. Its writes then go on in lanes.
 *
 * A lane is the queue of one bucket. It is patient: it waits for locks and retries. Transactions go in lanes
 * only. Those of one bucket are grouped like writes; one over several buckets takes a turn in each of their
 * lanes, and has them to itself. While a bucket has a lane, all its writes go there.
 *
 * So the writes of a gateway to a bucket keep the order in which they arrived, never wait for each other's
 * locks, and share commits, the more of them the busier the bucket is.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../../base/error.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'
import type { Connections } from '../connection/connections.ts'
import { isFatal, translate } from '../connection/errors.ts'
import { bucketCount, bucketOf } from '../rows/keys.ts'
import { slotOfStripe } from './call-numbers.ts'
import type { GroupWriter } from './group-writer.ts'
import { type Stripe, Stripes } from './stripes.ts'
import type { Transactions } from './transactions.ts'
import {
  takeTransactions,
  takeWrites,
  type Waiting,
  type WaitingTransaction,
  type WaitingTurn,
  type WaitingWrite,
} from './waiting.ts'

interface LaneKey {
  readonly container: ContainerRecord
  readonly bucket: number
}

interface Lane extends LaneKey {
  readonly queue: Waiting[]
}

interface QueueParts {
  readonly connections: Connections
  readonly groups: GroupWriter
  readonly transactions: Transactions
  /** In a cluster there are no stripes, because the buckets of a stripe may be on several machines. */
  readonly isCluster: boolean
  readonly onFatal: (error: Error) => void
}

export class WriteQueues implements AsyncDisposable {
  readonly #connections: Connections
  readonly #groups: GroupWriter
  readonly #transactions: Transactions
  readonly #onFatal: (error: Error) => void
  readonly #lanes = new Map<number, Lane>()
  readonly #stripes: Stripes | undefined
  readonly #running = new Set<Promise<void>>()
  #isClosed = false

  constructor({ connections, groups, transactions, isCluster, onFatal }: QueueParts) {
    this.#connections = connections
    this.#groups = groups
    this.#transactions = transactions
    this.#onFatal = onFatal
    this.#stripes = isCluster ? undefined : new Stripes()
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    const bucket = bucketOf(container.partitionKey, write.key.epk)
    return new Promise((resolve, reject) => {
      const waiting: WaitingWrite = { kind: 'write', bucket, write, resolve, reject }
      const key = { container, bucket }
      if (this.#stripes === undefined || this.#lanes.has(idOf(key))) {
        this.#lane(key).queue.push(waiting)
        return
      }
      const stripe = this.#stripes.add(container, waiting)
      if (stripe !== undefined) this.#track(this.#runStripe(this.#stripes, stripe))
    })
  }

  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    if (this.#isClosed) return Promise.reject(closed())
    const keys = new Map<number, LaneKey>()
    for (const { container, key } of steps) {
      const lane = { container, bucket: bucketOf(container.partitionKey, key.epk) }
      keys.set(idOf(lane), lane)
    }
    const [only, ...others] = keys.values()
    if (only !== undefined && others.length === 0) {
      return new Promise((resolve, reject) => {
        this.#lane(only).queue.push({ kind: 'transaction', steps, resolve, reject })
      })
    }
    const inOrder = [...keys.values()].sort((a, b) => idOf(a) - idOf(b))
    return this.#takeTurns(inOrder, () => this.#transactions.run(steps))
  }

  /** Waits for all that is under way; nothing is accepted any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Runs the work when it has all these lanes. Everybody takes them in one order: no deadlock. */
  async #takeTurns<T>([next, ...rest]: readonly LaneKey[], work: () => Promise<T>): Promise<T> {
    if (next === undefined) return work()
    return new Promise((resolve, reject) => {
      const run: WaitingTurn['run'] = () => this.#takeTurns(rest, work).then(resolve, reject)
      this.#lane(next).queue.push({ kind: 'turn', run })
    })
  }

  /** The lane of the bucket. A new one takes over what waits for the bucket in its stripe. */
  #lane(key: LaneKey): Lane {
    const present = this.#lanes.get(idOf(key))
    if (present !== undefined) return present
    const lane: Lane = { ...key, queue: this.#stripes?.withdraw(key.container, key.bucket) ?? [] }
    this.#lanes.set(idOf(key), lane)
    this.#track(this.#runLane(lane))
    return lane
  }

  #track(run: Promise<void>): void {
    const running = run.finally(() => {
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  async #runStripe(stripes: Stripes, stripe: Stripe): Promise<void> {
    const { queue } = stripe
    while (queue.length > 0) {
      try {
        // While it waits for a connection, more writes may join.
        const session = await this.#connections.acquire()
        const writes = takeWrites(queue)
        if (writes.length === 0) {
          session.release()
          break
        }
        const ended = this.#writeStripe(stripe, writes, session)
        stripe.call = { writes, ended }
        await ended
        stripe.call = undefined
      } catch (cause) {
        this.#fail(takeWrites(queue), cause)
      }
    }
    stripes.remove(stripe)
  }

  async #writeStripe(
    { container, firstBucket }: Stripe,
    writes: readonly WaitingWrite[],
    session: PoolClient,
  ): Promise<void> {
    try {
      const target = { container, slot: slotOfStripe(firstBucket), isPatient: false }
      const result = await this.#groups.write(target, writes, session)
      if (result.kind === 'written') answer(writes, result.answers)
      else this.#moveToLanes(container, writes)
    } catch (cause) {
      this.#fail(writes, cause)
    }
  }

  /** These writes arrived before all that is in the lanes. */
  #moveToLanes(container: ContainerRecord, writes: readonly WaitingWrite[]): void {
    for (const write of writes.toReversed()) this.#lane({ container, bucket: write.bucket }).queue.unshift(write)
  }

  async #runLane(lane: Lane): Promise<void> {
    // Earlier writes of the bucket may be in the stripe's call. If that is blocked, they come to the front
    // here. The await also lets the caller of `#lane` fill a new queue first.
    await this.#stripes?.ended(lane.container, lane.bucket)
    while (lane.queue.length > 0) {
      const next = lane.queue[0]!
      if (next.kind === 'turn') {
        lane.queue.shift()
        await next.run()
      } else if (next.kind === 'transaction') {
        await this.#runTransactions(lane)
      } else {
        await this.#writeGroup(lane)
      }
    }
    this.#lanes.delete(idOf(lane))
  }

  async #writeGroup({ container, bucket, queue }: Lane): Promise<void> {
    let taken: WaitingWrite[] = []
    try {
      // While it waits for a connection, more writes may join.
      const session = await this.#connections.acquire()
      taken = takeWrites(queue)
      const result = await this.#groups.write({ container, slot: bucket, isPatient: true }, taken, session)
      answer(taken, result.kind === 'written' ? result.answers : await this.#transactions.write(container, taken))
    } catch (cause) {
      if (taken.length === 0) taken = takeWrites(queue)
      this.#fail(taken, cause)
    }
  }

  async #runTransactions({ queue }: Lane): Promise<void> {
    const taken = takeTransactions(queue)
    try {
      const results = await this.#transactions.runTogether(taken.map(({ steps }) => steps))
      for (const [index, { resolve, reject }] of taken.entries()) {
        const result = results[index]!
        if (result.kind === 'threw') reject(result.thrown)
        else resolve(result.answer)
      }
    } catch (cause) {
      this.#fail(taken, cause)
    }
  }

  #fail(taken: readonly (WaitingWrite | WaitingTransaction)[], cause: unknown): void {
    const error = translate(cause)
    if (isFatal(cause)) this.#onFatal(error)
    for (const { reject } of taken) reject(error)
  }
}

function answer(writes: readonly WaitingWrite[], answers: readonly WriteAnswer[]): void {
  for (const [index, { resolve }] of writes.entries()) resolve(answers[index]!)
}

function idOf({ container, bucket }: LaneKey): number {
  return container.number * bucketCount + bucket
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The store is closed.', 0)
}
