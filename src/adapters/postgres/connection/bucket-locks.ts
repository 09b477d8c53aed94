/** Locks buckets until the transaction ends, sorted, so that there are no deadlocks. */

import type { PostgresSession } from './connections.ts'

/** Not async: in a pipeline its error must come first, before the errors that follow from it. */
export function lockBuckets(
  session: PostgresSession,
  places: readonly { readonly container: number; readonly bucket: number }[],
): Promise<unknown> {
  return session.query('SELECT mayfly.lock_buckets($1, $2)', [
    places.map(({ container }) => container),
    places.map(({ bucket }) => bucket),
  ])
}
