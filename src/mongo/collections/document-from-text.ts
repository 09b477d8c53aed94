/**
 * Finds the key of a document that a person names in text, in the admin API: `_id` and shard key as extended
 * JSON.
 */

import { EJSON, serialize } from 'bson'
import { RequestError } from '../../base/error.ts'
import { itemId } from '../../document/bson/document-id.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { findElement } from '../../document/bson/view.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { StoredDefinition } from './collection-definition.ts'
import { partitionOf, unshardedPartition } from './document-key.ts'

/**
 * `id` is `"abc"`, `7` or `{"$oid":"…"}`. Text that is not JSON is taken as a string. `shard` is an array.
 */
export function namedDocumentKey(container: ContainerRecord, id: string, shard: string | null): ItemKey {
  const bytes = serialize({ _id: parsed(id) ?? id })
  const at = findElement(bytes, 0, idName)
  return { ...partitionNamed(container, shard), id: itemId(bytes, bytes[at]!, at + idName.length + 2) }
}

function partitionNamed(container: ContainerRecord, shard: string | null): Pick<ItemKey, 'epk' | 'pk'> {
  const { shardKey } = container.definition as StoredDefinition
  if (shardKey === undefined) return unshardedPartition
  const values = shard === null ? undefined : parsed(shard)
  if (!Array.isArray(values) || values.length !== shardKey.length) {
    throw new RequestError('malformed', `Name the shard key of the document: &partitionKey=[${shardKey.join(', ')}].`)
  }
  const document = BsonDocument.view(serialize(Object.fromEntries(values.map((value, at) => [`v${at}`, value]))))
  return partitionOf(
    container.partitionKey,
    values.map((_, at) => document.get(`v${at}`)),
  )
}

const idName = Buffer.from('_id')

function parsed(text: string): unknown {
  try {
    return EJSON.parse(text, { relaxed: false })
  } catch {
    return undefined
  }
}
