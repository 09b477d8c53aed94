/** Inserts a document for an upsert that found nothing to update. */

import type { EpochSeconds } from '../../base/clock.ts'
import { bytesOf } from '../../document/bson/compare.ts'
import { itemId } from '../../document/bson/document-id.ts'
import { BsonDocument, objectId, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { termsOf } from '../../mql/filter/filter.ts'
import { compileParsed } from '../../mql/filter/match.ts'
import { parseFilter } from '../../mql/filter/parse-filter.ts'
import type { CompiledUpdate } from '../../mql/update/update.ts'
import { upsertDocument } from '../../mql/update/upsert.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'
import { newObjectId } from '../collections/object-id.ts'
import type { CommandCall } from '../service/command.ts'
import { withElsewhere } from '../service/elsewhere.ts'
import type { StatementResult } from '../session/retry-record.ts'
import { updateTime } from './document-updates.ts'
import { writeDocuments } from './document-writes.ts'

export interface Inserted {
  readonly id: Value
  readonly document: Uint8Array
  readonly moment: EpochSeconds
}

/** Undefined: another client inserted a matching document meanwhile. Update that one instead. */
export async function insertUpserted(
  call: CommandCall,
  collection: Collection,
  statement: {
    readonly filter: BsonDocument
    readonly update: CompiledUpdate
    readonly collation: Collation | undefined
  },
  remember: ((inserted: Inserted) => ReadonlyMap<number, StatementResult>) | undefined,
): Promise<Inserted | undefined> {
  const { filter, update, collation } = statement
  // A generated `_id` stays the same when the write is retried.
  const ownId = objectId(newObjectId())
  const made = (moment: EpochSeconds): Inserted => ({
    ...upsertDocument(filter, update, updateTime(call, moment), () => ownId),
    moment,
  })
  let inserted = await withElsewhere(call, async () => made(await call.service.engine.moment()))
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
  if (refusal !== undefined) {
    const isMeant = !call.isInTransaction && isForTheOther(refusal.error, filter, inserted.document, collation)
    if (!isMeant) throw refusal.error
    return undefined
  }
  return isTaken ? undefined : inserted
}

/**
 * Whether a document with the same unique key is the one that the filter looks for. That is so if the filter
 * only compares the fields of the index by equality, and the update does not change them. MongoDB retries
 * the update in this case, and so do we.
 */
function isForTheOther(
  error: unknown,
  filter: BsonDocument,
  document: Uint8Array,
  collation: Collation | undefined,
): boolean {
  const keyPattern = error instanceof CommandError ? error.fields.keyPattern : undefined
  if (!(keyPattern instanceof BsonDocument)) return false
  const parsed = parseFilter(filter)
  const paths = termsOf(parsed).flatMap(term =>
    term.kind === 'field' && term.condition.kind === 'compare' && term.condition.operator === 'eq' ? [term.path] : [],
  )
  const isOnlyKey =
    paths.length === termsOf(parsed).length &&
    paths.length === keyPattern.fields.length &&
    keyPattern.fields.every(([path]) => paths.includes(path))
  return isOnlyKey && compileParsed(parsed, { collation }).matches(document)
}
