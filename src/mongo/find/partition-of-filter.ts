/**
 * Where the documents lie that a filter can let through: in one logical partition, and there perhaps under
 * known keys.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { type Condition, type Filter, termsOf } from '../../mql/filter/filter.ts'
import { namedIds } from '../../mql/named-ids.ts'
import type { ItemKey } from '../../store/item.ts'
import { type ScanRange, wholeRange } from '../../store/reading.ts'
import type { Collection } from '../collections/collections.ts'
import { partitionOf, unshardedPartition } from '../collections/document-key.ts'

type Partition = Pick<ItemKey, 'epk' | 'pk'>

/** The only partition that a filter can find something in, if there is one. */
export function partitionWithin({ shardKey, container }: Collection, filter: Filter): Partition | undefined {
  if (shardKey === undefined) return unshardedPartition
  const terms = termsOf(filter)
  const values = shardKey.flatMap(path => fixedValue(terms, path) ?? [])
  return values.length === shardKey.length ? partitionOf(container.partitionKey, values) : undefined
}

/** The part of a sharded collection that a filter is about. */
export function rangeWithin(collection: Collection, filter: Filter): ScanRange {
  const partition = collection.shardKey === undefined ? undefined : partitionWithin(collection, filter)
  if (partition === undefined) return wholeRange
  const { epk, pk } = partition
  return { min: epk, maxExclusive: `${epk}FF`, pk }
}

/** The keys of all documents that a filter can let through, in their order, when it names them. */
export function keysWithin(collection: Collection, filter: Filter): readonly ItemKey[] | undefined {
  const ids = namedIds(filter)
  const partition = ids && partitionWithin(collection, filter)
  return partition && ids.map(id => ({ ...partition, id }))
}

/** What a filter says that a field is equal to. */
function fixedValue(terms: readonly Filter[], path: string): Value | undefined {
  for (const term of terms) {
    const value = term.kind === 'field' && term.path === path ? onlyValue(term.condition) : undefined
    if (value !== undefined && isTelling(value)) return value
  }
  return undefined
}

function onlyValue(condition: Condition): Value | undefined {
  if (condition.kind === 'compare' && condition.operator === 'eq') return condition.value
  const isOne = condition.kind === 'in' && condition.patterns.length === 0 && condition.values.length === 1
  return isOne ? condition.values[0] : undefined
}

/** Null is also what is not there, which lies elsewhere; the others are no values of shard keys. */
function isTelling({ type }: Value): boolean {
  return type !== bsonType.null && type !== bsonType.undefined && type !== bsonType.array && type !== bsonType.regex
}
