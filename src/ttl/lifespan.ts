/**
 * How long an item lives, and therefore when it dies.
 *
 * Two settings decide: the container's default and the item's own ttl. The container comes first: without a
 * default, expiry is off and an item's ttl is only data. With a default, the item's own ttl overrides it.
 *
 *   container default   item ttl       the item
 *   absent or null      anything       lives for ever
 *   -1                  absent or -1   lives for ever
 *   -1                  n              is dead at _ts + n
 *   d                   absent         is dead at _ts + d
 *   d                   n              is dead at _ts + n
 *   d                   -1             lives for ever
 *
 * An inherited lifespan is never stored. It is looked up at the moment of reading, so changing a container's
 * default is one write, however many items it holds.
 *
 * Death is final. Because nothing is stored in the items, a longer default (or none) would revive items that
 * are dead and not yet removed. Two marks in the policy prevent this when the default changes at T:
 *
 *   - if the old default was n seconds, every inheriting item written at or before T - n is dead and stays
 *     dead;
 *   - if expiry was on at all, every item with an own deadline at or before T is dead and stays dead.
 *
 * Items written later lie beyond both marks, because their `_ts` is at least T.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { assert, RequestError } from '../base/error.ts'
import { neverDeadline, type TtlPolicy } from '../store/policy.ts'

/** Time to live is an int32 number of seconds. */
export const ttlSecondsMax = 2_147_483_647

/** Older than every item: a mark with this value makes no item dead. */
const beforeAllTime = -1

export function newPolicy(defaultTtl: number | null): TtlPolicy {
  return { defaultTtl, inheritedDeadAt: beforeAllTime, ownDeadAt: beforeAllTime }
}

/** The policy after its default was changed at the given moment. */
export function changeDefault(policy: TtlPolicy, defaultTtl: number | null, moment: EpochSeconds): TtlPolicy {
  const { defaultTtl: before, inheritedDeadAt, ownDeadAt } = policy
  return {
    defaultTtl,
    inheritedDeadAt: before !== null && before > 0 ? Math.max(inheritedDeadAt, moment - before) : inheritedDeadAt,
    ownDeadAt: before !== null ? Math.max(ownDeadAt, moment) : ownDeadAt,
  }
}

/** The deadline stored with an item; `null` when it inherits. The item dies no later than `until`. */
export function ownDeadline(
  ttl: number | undefined,
  writtenAt: EpochSeconds,
  until?: EpochSeconds | undefined,
): number | null {
  if (until !== undefined) return Math.min(until, ownDeadline(ttl, writtenAt) ?? neverDeadline)
  if (ttl === undefined) return null
  if (ttl === -1) return neverDeadline
  const deadline = writtenAt + ttl
  assert(deadline > writtenAt, 'a deadline lies after the write')
  return deadline
}

export function isTtl(value: unknown): value is number {
  return Number.isInteger(value) && (value === -1 || ((value as number) >= 1 && (value as number) <= ttlSecondsMax))
}

/**
 * An item's own ttl from its JSON: seconds, -1, or undefined to inherit.
 *
 * The service's documentation says that null is not supported, and Azure refuses it. People write it to mean
 * "no ttl of its own". It counts as absent unless `strict`.
 */
export function parseItemTtl(value: unknown, options: { strict: boolean }): number | undefined {
  if (value === undefined || (value === null && !options.strict)) return undefined
  if (isTtl(value)) return value
  throw new RequestError('malformed', invalidTtlText(value))
}

/** The service's own words, seen in its answers to create and replace. */
export function invalidTtlText(value: unknown): string {
  const shown = typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value)
  return (
    `The input ttl '${shown.length > 100 ? `${shown.slice(0, 100)}…` : shown}' is invalid. Ensure to provide a ` +
    `nonzero positive integer less than or equal to '${ttlSecondsMax}', or '-1' which means never expire.`
  )
}
