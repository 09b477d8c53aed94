/**
 * Writes that go together: those of a gateway to some neighbouring buckets, in one call and one commit.
 *
 * A stripe has one call under way; what arrives meanwhile goes with the next. No bucket is to wait for the
 * troubles of another: a call does not wait long for what somebody else has locked, and is not tried again
 * when it lost against others. Its writes then go on in the lanes of their buckets, and so does whatever
 * comes for those until they are empty (`lanes.ts`).
 */

import type { PoolClient } from 'pg'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ItemWrite, WriteAnswer } from '../../../store/writing.ts'
import type { Connections } from '../connection/connections.ts'
import { bucketCount, firstOfStripe } from '../rows/keys.ts'

/** A write, and the bucket that it is to. */
export interface PlacedWrite {
  readonly bucket: number
  readonly write: ItemWrite
}

export interface Waiting extends PlacedWrite {
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

export interface StripeName {
  readonly container: ContainerRecord
  readonly firstBucket: number
}

interface Stripe extends StripeName {
  readonly queue: Waiting[]
  /** What is under way. */
  call: { readonly writes: readonly Waiting[]; readonly ended: Promise<void> } | undefined
}

export interface StripeWork {
  /** The most that one call takes of these, in the order of their buckets. */
  take(queue: Waiting[]): Waiting[]
  /** undefined: they cannot go together. */
  write(name: StripeName, writes: readonly Waiting[], session: PoolClient): Promise<readonly WriteAnswer[] | undefined>
  toLanes(container: ContainerRecord, writes: readonly Waiting[]): void
  fail(writes: readonly Waiting[], cause: unknown): void
}

export class Stripes {
  readonly #connections: Connections
  readonly #work: StripeWork
  readonly #stripes = new Map<number, Stripe>()

  constructor(connections: Connections, work: StripeWork) {
    this.#connections = connections
    this.#work = work
  }

  /** What has begun with it, if it has to. */
  add(container: ContainerRecord, waiting: Waiting): Promise<void> | undefined {
    const present = this.#find(container, waiting.bucket)
    if (present !== undefined) {
      present.queue.push(waiting)
      return undefined
    }
    const firstBucket = firstOfStripe(waiting.bucket)
    const stripe: Stripe = { container, firstBucket, queue: [waiting], call: undefined }
    this.#stripes.set(numberOf(stripe), stripe)
    return this.#run(stripe)
  }

  /** Takes back what waits to go to a bucket. */
  withdraw(container: ContainerRecord, bucket: number): Waiting[] {
    const stripe = this.#find(container, bucket)
    if (stripe === undefined) return []
    const { bucket: own, others } = Object.groupBy(stripe.queue, each => (each.bucket === bucket ? 'bucket' : 'others'))
    stripe.queue.splice(0, stripe.queue.length, ...(others ?? []))
    return own ?? []
  }

  /** When nothing is under way to the bucket. */
  async left(container: ContainerRecord, bucket: number): Promise<void> {
    const call = this.#find(container, bucket)?.call
    if (call?.writes.some(write => write.bucket === bucket)) await call.ended
  }

  #find(container: ContainerRecord, bucket: number): Stripe | undefined {
    return this.#stripes.get(numberOf({ container, firstBucket: firstOfStripe(bucket) }))
  }

  async #run(stripe: Stripe): Promise<void> {
    while (stripe.queue.length > 0) {
      try {
        const session = await this.#connections.acquire()
        const writes = this.#work.take(stripe.queue)
        if (writes.length === 0) {
          session.release()
          break
        }
        const ended = this.#write(stripe, writes, session)
        stripe.call = { writes, ended }
        await ended
        stripe.call = undefined
      } catch (cause) {
        this.#work.fail(this.#work.take(stripe.queue), cause)
      }
    }
    this.#stripes.delete(numberOf(stripe))
  }

  async #write(stripe: Stripe, writes: readonly Waiting[], session: PoolClient): Promise<void> {
    try {
      const answers = await this.#work.write(stripe, writes, session)
      if (answers === undefined) this.#work.toLanes(stripe.container, writes)
      else for (const [index, { resolve }] of writes.entries()) resolve(answers[index]!)
    } catch (cause) {
      this.#work.fail(writes, cause)
    }
  }
}

function numberOf({ container, firstBucket }: StripeName): number {
  return container.number * bucketCount + firstBucket
}
