/** Inserts what an update found nothing to update of. */

import type { EpochSeconds } from '../base/clock.ts'
import { bytesOf } from '../document/bson/compare.ts'
import { type BsonDocument, objectId, type Value } from '../document/bson/value.ts'
import type { CompiledUpdate } from '../mql/update.ts'
import { upsertDocument } from '../mql/update-upsert.ts'
import type { Collection } from './collections.ts'
import type { Call } from './command.ts'
import { itemId } from './document-key.ts'
import { updateContext } from './document-updates.ts'
import { writeDocuments } from './document-writes.ts'
import { newObjectId } from './object-id.ts'
import type { StatementResult } from './retry-record.ts'

export interface Inserted {
  readonly id: Value
  readonly document: Uint8Array
}

/** undefined: somebody else has inserted a document with this `_id` meanwhile, which the update may be for. */
export async function insertUpserted(
  call: Call,
  collection: Collection,
  { filter, update }: { readonly filter: BsonDocument; readonly update: CompiledUpdate },
  remember: ((inserted: Inserted) => ReadonlyMap<number, StatementResult>) | undefined,
): Promise<Inserted | undefined> {
  // An `_id` of our own making stays the same when the write has to be tried again.
  const ownId = objectId(newObjectId())
  const made = (moment: EpochSeconds): Inserted =>
    upsertDocument(filter, update, updateContext(moment, undefined, true).now, () => ownId)
  let inserted = made(await call.service.engine.store.moment())
  const { bytes, start } = bytesOf(inserted.id)
  let isTaken = false
  const write = {
    key: collection.keyOf(itemId(bytes, inserted.id.type, start), inserted.document),
    bytes: inserted.document.length,
    decide: (found: Uint8Array | undefined, moment: EpochSeconds) => {
      isTaken = found !== undefined
      if (isTaken) return undefined
      inserted = made(moment)
      return { kind: 'put', document: inserted.document } as const
    },
  }
  const results = remember === undefined ? undefined : () => (isTaken ? new Map() : remember(inserted))
  const refusal = await writeDocuments(call, collection, [write], results)
  if (refusal !== undefined) throw refusal.error
  return isTaken ? undefined : inserted
}
