/**
 * Calls of which nobody knows whether they have happened, and that must not happen any more once others were
 * written behind them.
 *
 * A call that was lost and given up may still arrive. Where it would leave its number stands that of a later
 * call by then, if that went the same way. But the writes to a bucket go in its lane or in its stripe
 * (`lanes.ts`), so whoever comes next writes the number there first.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { PostgresSession } from '../connection/connections.ts'
import { bucketCount, firstOfStripe } from '../rows/keys.ts'

interface LostCall {
  readonly container: number
  /** A bucket, or a stripe behind all buckets. */
  readonly lane: number
  readonly batch: number
  readonly moment: EpochSeconds
}

const closeStatement = {
  name: 'fence',
  text: `INSERT INTO mayfly.lanes AS l (container, bucket, gateway, batch, ts, inherited_dead_at, own_dead_at, outcomes, sequences, versions)
      VALUES ($1, $2, $3, $4, $5, 0, 0, '', '{}', '{}')
    ON CONFLICT (container, bucket, gateway) DO UPDATE SET batch = greatest(l.batch, excluded.batch)`,
}

export class Fences {
  readonly #gateway: string
  /** The last one of each lane: it closes those before it as well. */
  readonly #open = new Map<string, LostCall>()

  constructor(gateway: string) {
    this.#gateway = gateway
  }

  add(call: LostCall): void {
    this.#open.set(nameOf(call), call)
  }

  /** undefined: there is nothing to wait for. */
  close(session: PostgresSession, container: number, bucket: number): Promise<void> | undefined {
    return this.#open.size === 0 ? undefined : this.#close(session, container, firstOfStripe(bucket))
  }

  async #close(session: PostgresSession, container: number, firstBucket: number): Promise<void> {
    for (const [name, fence] of this.#open) {
      const isOfStripe = firstOfStripe(fence.lane % bucketCount) === firstBucket
      if (fence.container !== container || !isOfStripe) continue
      const values = [container, fence.lane, this.#gateway, fence.batch, fence.moment]
      await session.query({ ...closeStatement, values })
      // Unless another one was given up meanwhile.
      if (this.#open.get(name) === fence) this.#open.delete(name)
    }
  }
}

function nameOf({ container, lane }: LostCall): string {
  return `${container} ${lane}`
}
