/** Ranges of index keys for BSON values that satisfy a bound. (For JSON: document/ordered-key.ts.) */

import { assert } from '../../base/error.ts'
import type { Collation } from '../collation/collation.ts'
import { type Ends, indexKeyBytesMax, type KeyRange, mirrored, rangeAfterPrefix, successor } from '../key-bytes.ts'
import { hashTailBytes } from '../key-writer.ts'
import type { KeyBound, KeyRangeOptions } from '../ordered-key.ts'
import { encodeFullKey, keyOfValue, keyPart } from './ordered-key.ts'
import { bsonType, rank, rankOf } from './types.ts'
import { double, string, type Value } from './value.ts'

/** Long keys of unique indexes end in a hash, so only the bytes before it are reliable. */
const reliableBytes = indexKeyBytesMax - hashTailBytes

/**
 * A range stays within the rank of its ends. MinKey and MaxKey are exceptions: all values lie above or below
 * them.
 *
 * A search for null is the range from `undefined` to null. A range that includes null is never exact: a path
 * that ends in an empty array has the same key as a missing value, but a filter for null does not match it.
 */
export function bsonKeyRange(
  bound: KeyBound<Value>,
  options: KeyRangeOptions = {},
  collation?: Collation | undefined,
): KeyRange {
  const { isDescending = false, after = [] } = options
  const ascending = ends(bound, collation)
  const before = after.map(each => keyPart(each.value as Value, each.isDescending))
  const prefix = encodeFullKey(before, collation)
  const range = rangeAfterPrefix(prefix, isDescending ? mirrored(ascending) : ascending, reliableBytes)
  return hasNull(bound) ? { ...range, isExact: false } : range
}

function hasNull(bound: KeyBound<Value>): boolean {
  if ('min' in bound && (bound.min.type === bsonType.undefined || bound.min.type === bsonType.minKey)) return true
  return 'defined' in bound || ('max' in bound && bound.max.type === bsonType.maxKey)
}

const first = Uint8Array.of(rank.minKey)
const end = Uint8Array.of(rank.maxKey + 1)

function ends(bound: KeyBound<Value>, collation: Collation | undefined): Ends {
  if ('defined' in bound) return [first, end]
  if ('equals' in bound) {
    const key = keyOfValue(bound.equals as Value, collation)
    return [key, successor(key)]
  }
  if ('startsWith' in bound) {
    assert(collation === undefined || bound.startsWith === '', 'the beginning of a text has no sort key')
    // Without the byte that ends a string.
    const prefix = keyOfValue(string(bound.startsWith)).subarray(0, -1)
    return [prefix, successor(prefix)]
  }
  const low = 'min' in bound ? lowEnd(bound.min, bound.minInclusive, collation) : undefined
  const high = 'max' in bound ? highEnd(bound.max, bound.maxInclusive, collation) : undefined
  return [low ?? lowestComparable(bound as { max: Value }), high ?? endOfComparable(bound as { min: Value })]
}

function lowEnd(min: Value, isInclusive: boolean, collation: Collation | undefined): Uint8Array {
  const key = keyOfValue(min, collation)
  return isInclusive ? key : successor(key)
}

function highEnd(max: Value, isInclusive: boolean, collation: Collation | undefined): Uint8Array {
  const key = keyOfValue(max, collation)
  return isInclusive ? successor(key) : key
}

/** The lowest key of the values that can be below `max`. NaN is not below any number. */
function lowestComparable({ max }: { readonly max: Value }): Uint8Array {
  if (max.type === bsonType.maxKey) return first
  const itsRank = rankOf(max.type)
  return itsRank === rank.number ? keyOfValue(double(Number.NEGATIVE_INFINITY)) : Uint8Array.of(itsRank)
}

function endOfComparable({ min }: { readonly min: Value }): Uint8Array {
  return min.type === bsonType.minKey ? end : Uint8Array.of(rankOf(min.type) + 1)
}
