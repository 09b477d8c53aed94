/**
 * Finds the key of a document that a person names in text, in the admin API: `_id` and shard key as extended
 * JSON.
 */

import { RequestError } from '../../base/error.ts'
import { storedId } from '../../document/bson/document-id.ts'
import { parseExtendedJson } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type BsonArray, string, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { StoredDefinition } from './collection-definition.ts'
import { partitionOf, unshardedPartition } from './document-key.ts'

/**
 * `id` is `"abc"`, `7` or `{"$oid":"…"}`. Text that is not JSON is taken as a string. `shard` is an array.
 */
export function namedDocumentKey(container: ContainerRecord, id: string, shard: string | null): ItemKey {
  const document = encodeDocument([['_id', parsed(id) ?? string(id)]])
  return { ...partitionNamed(container, shard), id: storedId(document) }
}

/** The likelier key first: 24 hexadecimal digits may be an ObjectId as well. */
export function possibleDocumentKeys(
  container: ContainerRecord,
  id: string,
  shard: string | null,
): readonly [ItemKey, ...ItemKey[]] {
  const key = namedDocumentKey(container, id, shard)
  if (!/^[0-9a-f]{24}$/i.test(id)) return [key]
  return [key, namedDocumentKey(container, JSON.stringify({ $oid: id }), shard)]
}

function partitionNamed(container: ContainerRecord, shard: string | null): Pick<ItemKey, 'epk' | 'pk'> {
  const { shardKey } = container.definition as StoredDefinition
  if (shardKey === undefined) return unshardedPartition
  const values = shard === null ? undefined : parsed(shard)
  if (values === undefined || !isArray(values) || values.elements.length !== shardKey.length) {
    throw new RequestError('malformed', `Name the shard key of the document: &partitionKey=[${shardKey.join(', ')}].`)
  }
  return partitionOf(container.partitionKey, values.elements)
}

function isArray(value: Value): value is BsonArray {
  return value.type === bsonType.array
}

function parsed(text: string): Value | undefined {
  try {
    return parseExtendedJson(text)
  } catch {
    return undefined
  }
}
