/**
 * Documents as a stream for pipelines: the results of a find, read a page at a time when more are needed.
 */

import { pageBytesMax } from '../../base/limits.ts'
import { leaseHere } from '../../base/memory-account.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { FindQuery } from '../../mql/program.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { DocumentBatch } from '../../mql/stages/stage.ts'
import { documentOrigin, earliestIn } from '../../query/row-origins.ts'
import { findCollection } from '../collections/collections.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { CommandCall } from '../service/command.ts'
import type { Fetching } from '../service/cursors.ts'
import { documentSource, mongoPageDocumentsMax } from './documents.ts'
import type { LivesOfCursor } from './lives-of-cursor.ts'

/**
 * How much to read ahead. Documents that wait in a stream may die before they are asked for, so at first no
 * more are read than are wanted; a stage that takes everything is given more and more.
 */
export interface Appetite {
  by: Fetching
  documents: number
}

/**
 * The documents that a query finds; none if the collection does not exist. Documents that may die have
 * origins.
 */
export async function* documentStream(
  call: CommandCall,
  namespace: Namespace,
  query: FindQuery,
  { appetite, lives }: { readonly appetite: Appetite; readonly lives: LivesOfCursor },
): AsyncGenerator<DocumentBatch> {
  const collection = await findCollection(catalogOf(call), namespace)
  if (collection === undefined) return
  const { number } = collection.container
  const watched = lives.watch(collection)
  const source = documentSource(call, collection, query, { keepsOrigins: true })
  let isEnd = false
  while (!isEnd) {
    const documentsMax = Math.max(1, Math.min(appetite.documents, mongoPageDocumentsMax))
    const batch = await source.next({ documentsMax, bytesMax: pageBytesMax, by: appetite.by, waitMs: 0 })
    isEnd = batch.isEnd
    appetite.documents *= 2
    const origins = batch.origins ?? []
    if (batch.documents.length === 0) continue
    if (!watched.isTraced) watched.addUntraced(earliestIn(origins))
    // Counted until the batch is worked through.
    using lease = leaseHere('work')
    lease?.add(batch.documents.reduce((sum, { length }) => sum + length, 0))
    yield batch.documents.map((bytes, at) =>
      BsonDocument.view(bytes, 0, watched.isTraced ? documentOrigin(number, origins, at) : undefined),
    )
  }
}

export async function* noDocuments(): AsyncGenerator<DocumentBatch> {}
