/**
 * The stripes of a gateway: the writes that wait for neighbouring buckets, and those that are being written.
 */

import type { ContainerRecord } from '../../../store/catalog.ts'
import { bucketCount, firstOfStripe } from '../rows/keys.ts'
import type { WaitingWrite } from './waiting.ts'

export interface Stripe {
  readonly container: ContainerRecord
  readonly firstBucket: number
  readonly queue: WaitingWrite[]
  /** The call that is under way. */
  call: { readonly writes: readonly WaitingWrite[]; readonly ended: Promise<void> } | undefined
}

export class Stripes {
  readonly #stripes = new Map<number, Stripe>()

  /** Returns the stripe if it is new: then somebody has to write its queue. */
  add(container: ContainerRecord, waiting: WaitingWrite): Stripe | undefined {
    const present = this.#find(container, waiting.bucket)
    if (present !== undefined) {
      present.queue.push(waiting)
      return undefined
    }
    const firstBucket = firstOfStripe(waiting.bucket)
    const stripe: Stripe = { container, firstBucket, queue: [waiting], call: undefined }
    this.#stripes.set(idOf(stripe), stripe)
    return stripe
  }

  remove(stripe: Stripe): void {
    this.#stripes.delete(idOf(stripe))
  }

  /** Takes the waiting writes to one bucket out of its stripe. */
  withdraw(container: ContainerRecord, bucket: number): WaitingWrite[] {
    const stripe = this.#find(container, bucket)
    if (stripe === undefined) return []
    const { own = [], others = [] } = Object.groupBy(stripe.queue, each => (each.bucket === bucket ? 'own' : 'others'))
    stripe.queue.splice(0, stripe.queue.length, ...others)
    return own
  }

  /** Waits until no call to the bucket is under way. */
  async ended(container: ContainerRecord, bucket: number): Promise<void> {
    const call = this.#find(container, bucket)?.call
    if (call?.writes.some(write => write.bucket === bucket)) await call.ended
  }

  #find(container: ContainerRecord, bucket: number): Stripe | undefined {
    return this.#stripes.get(idOf({ container, firstBucket: firstOfStripe(bucket) }))
  }
}

function idOf({ container, firstBucket }: Pick<Stripe, 'container' | 'firstBucket'>): number {
  return container.number * bucketCount + firstBucket
}
