/** SQL conditions that several statements share: who is alive, and the order of changes. */

import { bucketCount } from '../rows/keys.ts'

/** The time by which dead items may be removed; `k` is the row of the clock. */
export const sureTime = 'coalesce(k.sure, k.now)'

/** The two thresholds of `ttl/living.ts`; `c` is the row of the container. */
export function inheritedAfter(moment: string): string {
  return `CASE WHEN c.default_ttl > 0 THEN greatest(c.inherited_dead_at, ${moment} - c.default_ttl)
    ELSE c.inherited_dead_at END`
}

export function ownAfter(moment: string): string {
  return `CASE WHEN c.default_ttl IS NOT NULL THEN greatest(c.own_dead_at, ${moment}) ELSE c.own_dead_at END`
}

/** The condition on a row of items, given the thresholds. */
export function isAlive(row: string, inherited: string, own: string): string {
  return `CASE WHEN ${row}.deadline IS NULL THEN ${row}.ts > ${inherited} ELSE ${row}.deadline > ${own} END`
}

/**
 * The first column of the index of the change order. It is an expression, so that no other statement can use
 * that index: when a statement was planned over empty tables, PostgreSQL thought this index as cheap as the
 * one of the key.
 */
export function changeOrder(container: string, bucket: string): string {
  return `${container}::bigint * ${bucketCount} + ${bucket}`
}
