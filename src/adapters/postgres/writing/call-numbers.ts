/**
 * Numbers the calls of a gateway, and fences off calls that were given up.
 *
 * Each call that writes leaves a receipt in PostgreSQL: its number and its answers, in a row of
 * `mayfly.lanes`. The row is named by the gateway and a slot: a bucket has one, a stripe has one. There is
 * never more than one call under way in a slot, so one row is enough. A call whose number is not higher than
 * that of the receipt writes nothing.
 *
 * When the connection breaks during a call, it is not known whether the call took effect. It is sent again
 * with the same number; if the first one took effect, the second is answered from the receipt. If no attempt
 * is answered, the call is given up. It may still take effect later, behind other writes, and that must not
 * happen. A later call in the same slot stops it, because its receipt has a higher number. But the writes to
 * a bucket use two slots, that of the bucket and that of its stripe. So the next write to the bucket first
 * puts the number of the lost call into its slot. That receipt is the fence.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { PostgresSession } from '../connection/connections.ts'
import { bucketCount, firstOfStripe } from '../rows/keys.ts'

interface LostCall {
  readonly container: number
  readonly slot: number
  readonly callNumber: number
  readonly moment: EpochSeconds
}

/** The slot of a bucket is its number; those of the stripes follow behind all buckets. */
export function slotOfStripe(firstBucket: number): number {
  return bucketCount + firstBucket
}

const fenceStatement = {
  name: 'fence',
  text: `
    INSERT INTO mayfly.lanes AS l
      (container, bucket, gateway, batch, ts, inherited_dead_at, own_dead_at, outcomes, sequences, versions)
      VALUES ($1, $2, $3, $4, $5, 0, 0, '', '{}', '{}')
    ON CONFLICT (container, bucket, gateway) DO UPDATE SET batch = greatest(l.batch, excluded.batch)`,
}

export class CallNumbers {
  /** The id of this gateway. */
  readonly gateway: string
  #last = 0
  /** The last lost call of each slot: its fence stops those before it as well. */
  readonly #lost = new Map<string, LostCall>()

  constructor(gateway: string) {
    this.gateway = gateway
  }

  next(): number {
    return ++this.#last
  }

  /** Gives up a lost call: its answer is not needed any more, and the call must be fenced off. */
  giveUp(call: LostCall): void {
    this.#lost.set(nameOf(call), call)
  }

  /** Fences off the lost calls of the bucket's stripe; undefined when there is nothing to wait for. */
  fence(session: PostgresSession, container: number, bucket: number): Promise<void> | undefined {
    return this.#lost.size === 0 ? undefined : this.#fence(session, container, firstOfStripe(bucket))
  }

  async #fence(session: PostgresSession, container: number, firstBucket: number): Promise<void> {
    for (const [name, lost] of this.#lost) {
      const isOfStripe = firstOfStripe(lost.slot % bucketCount) === firstBucket
      if (lost.container !== container || !isOfStripe) continue
      const values = [container, lost.slot, this.gateway, lost.callNumber, lost.moment]
      await session.query({ ...fenceStatement, values })
      // Unless a later call was given up meanwhile.
      if (this.#lost.get(name) === lost) this.#lost.delete(name)
    }
  }
}

function nameOf({ container, slot }: LostCall): string {
  return `${container} ${slot}`
}
