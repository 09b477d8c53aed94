/** What decides who is alive in a container: its policy, and a moment. */

import type { EpochSeconds } from '../base/clock.ts'

/** The settings of a container that decide how long its items live; `ttl/lifespan.ts` has the rules. */
export interface TtlPolicy {
  /** `null`: expiry is off. `-1`: on, without a default. Otherwise seconds. */
  readonly defaultTtl: number | null
  /** Items that inherit their lifespan and were written at or before this second are dead for ever. */
  readonly inheritedDeadAt: number
  /** Items whose own deadline is at or before this second are dead for ever. */
  readonly ownDeadAt: number
}

/** Whether items can die at all. */
export function isExpiryOn({ defaultTtl }: TtlPolicy): boolean {
  return defaultTtl !== null
}

/** A policy and a moment, reduced to two thresholds. `ttl/living.ts` makes them. */
export interface Living {
  /** An item that inherits is alive when it was written after this. */
  readonly inheritedAfter: number
  /** An item with its own deadline is alive when that is after this. */
  readonly ownAfter: number
}

/** Thresholds by which every stored item is alive. */
export const everyItemLives: Living = { inheritedAfter: -1, ownAfter: -1 }

/** Thresholds by which no item is alive. */
export const noItemLives: Living = {
  inheritedAfter: Number.MAX_SAFE_INTEGER,
  ownAfter: Number.MAX_SAFE_INTEGER,
}

/** The deadline of an item that never dies (`ttl: -1`): higher than every real deadline. */
export const neverDeadline = Number.MAX_SAFE_INTEGER

/** A moment and the policy at that moment. All items of a page are judged by one viewpoint. */
export interface Viewpoint {
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
}

/**
 * A viewpoint that is registered: until it is disposed of, sweeps of this process leave what is alive in it.
 * Gateways that share a store do not know each other's views.
 */
export type View = Viewpoint & Disposable
