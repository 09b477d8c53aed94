/**
 * Locks buckets until the transaction ends, in an order that lets no two transactions wait for each other.
 */

import type { PostgresSession } from './connections.ts'

/**
 * Not async: who sends it with others must hear of its failure first, and only then of theirs that follow
 * from it.
 */
export function lockBuckets(
  session: PostgresSession,
  places: readonly { readonly container: number; readonly bucket: number }[],
): Promise<unknown> {
  return session.query('SELECT mayfly.lock_buckets($1, $2)', [
    places.map(({ container }) => container),
    places.map(({ bucket }) => bucket),
  ])
}
