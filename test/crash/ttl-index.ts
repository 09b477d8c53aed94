/** The default of a collection: the TTL index on `_ts`. */

import { check } from './violation.ts'
import type { WireClient } from './wire-client.ts'

const name = '_ts_1'

export async function changeTtlIndex(
  wire: WireClient,
  collection: string,
  from: number | null,
  to: number | null,
): Promise<void> {
  if (to === null) {
    if (from !== null) await wire.run({ dropIndexes: collection, index: name })
  } else if (from === null) {
    const index = { key: { _ts: 1 }, name, expireAfterSeconds: to }
    await wire.run({ createIndexes: collection, indexes: [index] })
  } else {
    await wire.run({ collMod: collection, index: { name, expireAfterSeconds: to } })
  }
}

/** The seconds of the index, which must be what the store says. */
export async function readTtlIndex(
  wire: WireClient,
  collection: string,
  stored: number | null,
): Promise<number | null> {
  const { cursor } = await wire.run({ listIndexes: collection })
  const index = (cursor.firstBatch as { name: string; expireAfterSeconds?: number }[]).find(each => each.name === name)
  const seconds = index?.expireAfterSeconds ?? null
  check(seconds === stored, `the TTL index of ${collection} says ${seconds}, its store ${stored}`)
  return seconds
}
