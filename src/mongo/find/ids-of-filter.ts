/** Filters that name documents by their `_id`: they are read by key, without a search. */

import { bytesOf } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { endOfValue } from '../../document/bson/view.ts'
import type { Filter } from '../../mql/filter/filter.ts'
import { itemId } from '../collections/document-key.ts'

/** Values of `_id` that a filter may name to be read one by one; a search serves more of them better. */
const mongoIdsMax = 1000

/**
 * The item ids of a filter that lets through nothing but documents with certain values of `_id`, in key
 * order.
 */
export function namedIds(filter: Filter): readonly string[] | undefined {
  if (filter.kind === 'and') {
    for (const part of filter.of) {
      const ids = namedIds(part)
      if (ids !== undefined) return ids
    }
    return undefined
  }
  if (filter.kind !== 'field' || filter.path !== '_id') return undefined
  const { condition } = filter
  if (condition.kind === 'compare' && condition.operator === 'eq') return idsOf([condition.value])
  const isList = condition.kind === 'in' && condition.patterns.length === 0 && condition.values.length <= mongoIdsMax
  return isList ? idsOf(condition.values) : undefined
}

function idsOf(values: readonly Value[]): readonly string[] {
  const ids = values.map(value => {
    const { bytes, start } = bytesOf(value)
    return itemId(bytes, value.type, start)
  })
  return [...new Set(ids)].sort()
}

const dollar = 0x24

/**
 * The item id of a filter that is nothing but `{_id: value}`, read off its bytes. Operators, patterns and
 * arrays are left to those who understand them.
 */
export function onlyId({ raw }: BsonDocument): string | undefined {
  if (raw === undefined) return undefined
  const { bytes, start, end } = raw
  // The first field is called _id.
  if (bytes[start + 5] !== 0x5f || bytes[start + 6] !== 0x69 || bytes[start + 7] !== 0x64 || bytes[start + 8] !== 0) {
    return undefined
  }
  const type = bytes[start + 4]!
  const valueStart = start + 9
  if (type === bsonType.array || type === bsonType.regex || type === bsonType.undefined) return undefined
  if (type === bsonType.document && bytes[valueStart + 5] === dollar) return undefined
  return endOfValue(bytes, type, valueStart) === end - 1 ? itemId(bytes, type, valueStart) : undefined
}
