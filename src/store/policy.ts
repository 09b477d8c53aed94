/** What decides who is alive in a container: its policy, and the moment at which a page is judged. */

import type { EpochSeconds } from '../base/clock.ts'

/** What decides over life and death in a container; the rules are in `ttl/lifespan.ts`. */
export interface TtlPolicy {
  /** `null`: expiry is off. `-1`: on, without a default. Otherwise seconds. */
  readonly defaultTtl: number | null
  /** Items that inherit their lifespan and were written at or before this second are dead for ever. */
  readonly inheritedDeadAt: number
  /** Items whose own deadline is at or before this second are dead for ever. */
  readonly ownDeadAt: number
}

/** The policy and a moment, reduced to two comparisons. Made only by `ttl/living.ts`. */
export interface Living {
  /** An item that inherits is alive when it was written after this. */
  readonly inheritedAfter: number
  /** An item with its own deadline is alive when that is after this. */
  readonly ownAfter: number
}

/** The deadline of an item that never dies by its own wish (`ttl: -1`). Larger than every real deadline. */
export const neverDeadline = Number.MAX_SAFE_INTEGER

/** What decides who is alive: a moment, and the policy that held at it. All of a page is judged by one. */
export interface Viewpoint {
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
}

/**
 * Until it is disposed of, sweeps of an embedded store leave what is living in it. Gateways that share a
 * store know nothing of each other's pages.
 */
export type View = Viewpoint & Disposable
