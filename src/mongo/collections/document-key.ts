/**
 * The key of a document's item, from its id (document/bson/document-id.ts) and its shard key.
 *
 * An unsharded collection is one logical partition with an empty partition key.
 */

import { exactInteger, isNumeric } from '../../document/bson/number.ts'
import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { effectivePartitionKey } from '../../document/effective-partition-key.ts'
import {
  canonicalPartitionKey,
  type PartitionKeyComponent,
  type PartitionKeyDefinition,
  undefinedComponent,
} from '../../document/partition-key.ts'
import type { ItemKey } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'

export const unshardedPartition = { epk: '00', pk: '' } as const

/** No document has a field of this name, so the partition key of an unsharded collection is always empty. */
export const unshardedDefinition: PartitionKeyDefinition = { paths: ['/$unsharded'], kind: 'Hash', version: 2 }

export function shardedDefinition(paths: readonly string[]): PartitionKeyDefinition {
  const quoted = paths.map(path =>
    path
      .split('.')
      .map(name => `/${name}`)
      .join(''),
  )
  return { paths: quoted, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 }
}

/** The partition of a document: the values of its shard key. */
export function shardOf(
  definition: PartitionKeyDefinition,
  shardKey: readonly string[],
  document: BsonDocument,
): Pick<ItemKey, 'epk' | 'pk'> {
  return partitionOf(
    definition,
    shardKey.map(path => valueAtPath(document, path)),
  )
}

export function partitionOf(
  definition: PartitionKeyDefinition,
  values: readonly (Value | undefined)[],
): Pick<ItemKey, 'epk' | 'pk'> {
  const components = values.map(component)
  return { epk: effectivePartitionKey(definition, components), pk: canonicalPartitionKey(components) }
}

/** A shard key never leads through arrays. */
function valueAtPath(document: BsonDocument, path: string): Value | undefined {
  let value: Value | undefined = document
  for (const name of path.split('.')) {
    if (value?.type === bsonType.array) {
      throw new CommandError('ShardKeyNotFound', `The shard key '${path}' cannot lead through an array`)
    }
    value = value?.type === bsonType.document ? value.get(name) : undefined
  }
  return value
}

/**
 * Equal values give the same component, whatever their type. Values that JSON lacks are written as ordered
 * keys.
 */
function component(value: Value | undefined): PartitionKeyComponent {
  if (value === undefined) return undefinedComponent
  switch (value.type) {
    case bsonType.string:
    case bsonType.symbol:
      return value.value
    case bsonType.bool:
      return value.value
    case bsonType.null:
      return null
    case bsonType.array:
    case bsonType.regex:
    case bsonType.undefined:
      throw new CommandError('ShardKeyNotFound', 'The value of a shard key cannot be an array, regex or undefined')
    default: {
      const whole = isNumeric(value) ? exactInteger(value) : undefined
      if (whole !== undefined && Number.isSafeInteger(Number(whole))) return Number(whole)
      return `\u0000${Buffer.from(keyOfValue(value)).toString('hex')}`
    }
  }
}
