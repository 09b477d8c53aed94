/**
 * Documents as a stream for pipelines: what a find gives, a page at a time, as far as somebody wants more.
 */

import { pageBytesMax } from '../../base/limits.ts'
import type { FindQuery } from '../../mql/program.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { ByteStream } from '../../mql/stages/stage.ts'
import { findCollection } from '../collections/collections.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { CommandCall } from '../service/command.ts'
import type { Fetching } from '../service/cursors.ts'
import { documentSource, mongoPageDocumentsMax } from './documents.ts'

/**
 * How much to read ahead. Documents that wait in a stream while nobody asks may die there, so at first no
 * more are read than are wanted; a stage that takes everything is given more and more.
 */
export interface Appetite {
  by: Fetching
  documents: number
}

/** Of a collection that does not exist: nothing. */
export async function* documentStream(
  call: CommandCall,
  namespace: Namespace,
  query: FindQuery,
  appetite: Appetite,
): AsyncGenerator<readonly Uint8Array[]> {
  const collection = await findCollection(catalogOf(call), namespace)
  if (collection === undefined) return
  const source = documentSource(call, collection, query)
  let isEnd = false
  while (!isEnd) {
    const documentsMax = Math.max(1, Math.min(appetite.documents, mongoPageDocumentsMax))
    const batch = await source.next({ documentsMax, bytesMax: pageBytesMax, by: appetite.by, waitMs: 0 })
    isEnd = batch.isEnd
    appetite.documents *= 2
    if (batch.documents.length > 0) yield batch.documents
  }
}

export async function* noDocuments(): ByteStream & AsyncGenerator<readonly Uint8Array[]> {}
