/** Finds the values or the bounds that a filter gives for `_id`, as item ids. */

import { bytesOf, isCollatable } from '../document/bson/compare.ts'
import { itemId, orderedIdLength } from '../document/bson/document-id.ts'
import { bsonType } from '../document/bson/types.ts'
import type { BsonDocument, Value } from '../document/bson/value.ts'
import { endOfValue } from '../document/bson/view.ts'
import type { Collation } from '../document/collation/collation.ts'
import { type Filter, termsOf } from './filter/filter.ts'

/** Most values of `_id` that are read one by one. Beyond that a search is faster. */
const mongoIdsMax = 1000

/** The item ids, in key order, if the filter allows only certain values of `_id`. */
export function namedIds(filter: Filter, collation: Collation | undefined): readonly string[] | undefined {
  if (filter.kind === 'and') {
    for (const part of filter.of) {
      const ids = namedIds(part, collation)
      if (ids !== undefined) return ids
    }
    return undefined
  }
  if (filter.kind !== 'field' || filter.path !== '_id') return undefined
  const { condition } = filter
  if (condition.kind === 'compare' && condition.operator === 'eq') return idsOf([condition.value], collation)
  const isList = condition.kind === 'in' && condition.patterns.length === 0 && condition.values.length <= mongoIdsMax
  return isList ? idsOf(condition.values, collation) : undefined
}

/**
 * Item ids are made from the bytes of `_id`. With a collation, equal strings may have other bytes, so a
 * string names no id.
 */
function idsOf(values: readonly Value[], collation: Collation | undefined): readonly string[] | undefined {
  if (collation !== undefined && values.some(isCollatable)) return undefined
  const ids = values.map(value => {
    const { bytes, start } = bytesOf(value)
    return itemId(bytes, value.type, start)
  })
  return [...new Set(ids)].sort()
}

const dollar = 0x24

/**
 * The item id of a filter that is just `{_id: value}`, read from its bytes. Undefined for operators, patterns
 * and arrays.
 */
export function onlyId({ raw }: BsonDocument): string | undefined {
  if (raw === undefined) return undefined
  const { bytes, start, end } = raw
  // The first field is named _id.
  if (bytes[start + 5] !== 0x5f || bytes[start + 6] !== 0x69 || bytes[start + 7] !== 0x64 || bytes[start + 8] !== 0) {
    return undefined
  }
  const type = bytes[start + 4]!
  const valueStart = start + 9
  if (type === bsonType.array || type === bsonType.regex || type === bsonType.undefined) return undefined
  if (type === bsonType.document && bytes[valueStart + 5] === dollar) return undefined
  return endOfValue(bytes, type, valueStart) === end - 1 ? itemId(bytes, type, valueStart) : undefined
}

export interface IdBounds {
  readonly above: string | undefined
  readonly below: string | undefined
}

/** The range of item ids that a filter can match. */
export function idBounds(filter: Filter): IdBounds {
  const above: string[] = []
  const below: string[] = []
  for (const term of termsOf(filter)) {
    if (term.kind !== 'field' || term.path !== '_id' || term.condition.kind !== 'compare') continue
    const { operator, value } = term.condition
    const { bytes, start } = bytesOf(value)
    const id = itemId(bytes, value.type, start)
    if (id.length > orderedIdLength) continue
    if (operator === 'gt') above.push(id)
    if (operator === 'gte') above.push(id.slice(0, -1))
    if (operator === 'lt') below.push(id)
    // Ids are hexadecimal, so `~` sorts after all of them.
    if (operator === 'lte') below.push(`${id}~`)
  }
  return { above: above.sort().at(-1), below: below.sort().at(0) }
}
