/**
 * Where the documents lie that a filter can let through: in one logical partition, and there perhaps under
 * known keys.
 */

import { isCollatable } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { type Condition, type Filter, termsOf } from '../../mql/filter/filter.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import { namedIds } from '../../mql/named-ids.ts'
import type { ItemKey } from '../../store/item.ts'
import { type ScanRange, wholeRange } from '../../store/reading.ts'
import type { Collection } from '../collections/collections.ts'
import { partitionOf, unshardedPartition } from '../collections/document-key.ts'

/** A filter, and how its strings compare. */
type FilterOfCall = Pick<Matcher, 'filter' | 'collation'>

type Partition = Pick<ItemKey, 'epk' | 'pk'>

/** The only partition that a filter can find something in, if there is one. */
export function partitionWithin({ shardKey, container }: Collection, matcher: FilterOfCall): Partition | undefined {
  if (shardKey === undefined) return unshardedPartition
  const terms = termsOf(matcher.filter)
  const values = shardKey.flatMap(path => fixedValue(terms, path, matcher.collation) ?? [])
  return values.length === shardKey.length ? partitionOf(container.partitionKey, values) : undefined
}

/** The part of a sharded collection that a filter is about. */
export function rangeWithin(collection: Collection, matcher: FilterOfCall): ScanRange {
  const partition = collection.shardKey === undefined ? undefined : partitionWithin(collection, matcher)
  if (partition === undefined) return wholeRange
  const { epk, pk } = partition
  return { min: epk, maxExclusive: `${epk}FF`, pk }
}

/** The keys of all documents that a filter can let through, in their order, when it names them. */
export function keysWithin(collection: Collection, matcher: FilterOfCall): readonly ItemKey[] | undefined {
  const ids = namedIds(matcher.filter, matcher.collation)
  const partition = ids && partitionWithin(collection, matcher)
  return partition && ids.map(id => ({ ...partition, id }))
}

/** What a filter says that a field is equal to. */
function fixedValue(terms: readonly Filter[], path: string, collation: Collation | undefined): Value | undefined {
  for (const term of terms) {
    const value = term.kind === 'field' && term.path === path ? onlyValue(term.condition) : undefined
    if (value === undefined || !isTelling(value)) continue
    // The shard key is hashed by its bytes, and strings that a collation takes for equal may have other
    // bytes.
    if (collation === undefined || !isCollatable(value)) return value
  }
  return undefined
}

function onlyValue(condition: Condition): Value | undefined {
  if (condition.kind === 'compare' && condition.operator === 'eq') return condition.value
  const isOne = condition.kind === 'in' && condition.patterns.length === 0 && condition.values.length === 1
  return isOne ? condition.values[0] : undefined
}

/**
 * Null also matches documents without the field, which are in another partition. The other types are no
 * values of shard keys.
 */
function isTelling({ type }: Value): boolean {
  return type !== bsonType.null && type !== bsonType.undefined && type !== bsonType.array && type !== bsonType.regex
}
