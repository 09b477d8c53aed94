/**
 * The order of all BSON values.
 *
 *   MinKey < undefined < null < numbers < string, symbol < document < array < binary < ObjectId < bool
 *   < date < timestamp < regular expression < DBPointer < code < code with scope < MaxKey
 *
 * Numbers are ordered by value, NaN first. Documents are ordered field by field: by rank of the value, then
 * by name, then by the value itself. Arrays are ordered likewise, without names. Binary data is ordered by
 * length, subtype and content.
 *
 * With a collation, strings and symbols are ordered by it, also within documents and arrays. Field names and
 * code are not.
 */

import { spend } from '../../base/work.ts'
import type { Collation } from '../collation/collation.ts'
import { compareTexts } from '../key-writer.ts'
import { compareNumbers } from './number.ts'
import { bsonType, isNumberType, rank, rankOf } from './types.ts'
import { type NumericValue, type Value, valueAt } from './value.ts'
import { doubleAt, ElementCursor, endOfName, endOfValue, int32At, stringAt } from './view.ts'
import { BsonWriter } from './writer.ts'

/** Compares encoded values: negative, zero or positive if left is below, equal to or above right. */
export function compareAt(
  left: Uint8Array,
  leftType: number,
  leftStart: number,
  right: Uint8Array,
  rightType: number,
  rightStart: number,
  collation?: Collation | undefined,
): number {
  const leftRank = rankOf(leftType)
  const difference = leftRank - rankOf(rightType)
  if (difference !== 0) return difference
  switch (leftRank) {
    case rank.number:
      return compareNumbersAt(left, leftType, leftStart, right, rightType, rightStart)
    case rank.string:
      if (collation !== undefined) return collation.compare(stringAt(left, leftStart), stringAt(right, rightStart))
      return compareStringsAt(left, leftStart, right, rightStart)
    case rank.code:
      return compareStringsAt(left, leftStart, right, rightStart)
    case rank.document:
    case rank.array:
      return compareElements(left, leftStart, right, rightStart, leftRank === rank.document, collation)
    case rank.binary: {
      const length = int32At(left, leftStart)
      const longer = length - int32At(right, rightStart)
      // The subtype stands before the content.
      return longer !== 0 ? longer : compareBytes(left, leftStart + 4, length + 1, right, rightStart + 4, length + 1)
    }
    case rank.objectId:
      return compareBytes(left, leftStart, 12, right, rightStart, 12)
    case rank.bool:
      return left[leftStart]! - right[rightStart]!
    case rank.date:
      return compareInt64At(
        left,
        leftStart,
        right,
        rightStart,
        int32At(left, leftStart + 4),
        int32At(right, rightStart + 4),
      )
    case rank.timestamp: {
      const leftHigh = int32At(left, leftStart + 4) >>> 0
      return compareInt64At(left, leftStart, right, rightStart, leftHigh, int32At(right, rightStart + 4) >>> 0)
    }
    case rank.regex: {
      const leftEnd = endOfName(left, leftStart)
      const rightEnd = endOfName(right, rightStart)
      const pattern = compareBytes(left, leftStart, leftEnd - leftStart, right, rightStart, rightEnd - rightStart)
      if (pattern !== 0) return pattern
      const leftOptions = endOfName(left, leftEnd + 1) - leftEnd
      const rightOptions = endOfName(right, rightEnd + 1) - rightEnd
      return compareBytes(left, leftEnd, leftOptions, right, rightEnd, rightOptions)
    }
    case rank.dbPointer: {
      const length = endOfValue(left, leftType, leftStart) - leftStart
      const longer = length - (endOfValue(right, rightType, rightStart) - rightStart)
      return longer !== 0 ? longer : compareBytes(left, leftStart, length, right, rightStart, length)
    }
    case rank.codeWithScope: {
      const code = compareStringsAt(left, leftStart + 4, right, rightStart + 4)
      if (code !== 0) return code
      const scope = endOfValue(left, bsonType.string, leftStart + 4)
      return compareElements(left, scope, right, endOfValue(right, bsonType.string, rightStart + 4), true)
    }
    default:
      return 0
  }
}

function compareNumbersAt(
  left: Uint8Array,
  leftType: number,
  leftStart: number,
  right: Uint8Array,
  rightType: number,
  rightStart: number,
): number {
  if (isShortType(leftType) && isShortType(rightType)) {
    const a = leftType === bsonType.int32 ? int32At(left, leftStart) : doubleAt(left, leftStart)
    const b = rightType === bsonType.int32 ? int32At(right, rightStart) : doubleAt(right, rightStart)
    return compareDoubles(a, b)
  }
  return compareNumbers(
    valueAt(left, leftType, leftStart) as NumericValue,
    valueAt(right, rightType, rightStart) as NumericValue,
  )
}

function isShortType(type: number): boolean {
  return type === bsonType.int32 || type === bsonType.double
}

function compareDoubles(a: number, b: number): number {
  if (a < b) return -1
  if (a > b) return 1
  if (a === b) return 0
  return (Number.isNaN(a) ? 0 : 1) - (Number.isNaN(b) ? 0 : 1)
}

function compareStringsAt(left: Uint8Array, leftStart: number, right: Uint8Array, rightStart: number): number {
  return compareBytes(
    left,
    leftStart + 4,
    int32At(left, leftStart) - 1,
    right,
    rightStart + 4,
    int32At(right, rightStart) - 1,
  )
}

function compareInt64At(
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  leftHigh: number,
  rightHigh: number,
): number {
  if (leftHigh !== rightHigh) return leftHigh < rightHigh ? -1 : 1
  return (int32At(left, leftStart) >>> 0) - (int32At(right, rightStart) >>> 0)
}

/** Byte by byte. A prefix comes before the longer one. */
function compareBytes(
  left: Uint8Array,
  leftStart: number,
  leftLength: number,
  right: Uint8Array,
  rightStart: number,
  rightLength: number,
): number {
  const length = leftLength < rightLength ? leftLength : rightLength
  spend(length >> 5)
  for (let at = 0; at < length; at += 1) {
    const difference = left[leftStart + at]! - right[rightStart + at]!
    if (difference !== 0) return difference
  }
  return leftLength - rightLength
}

/** Recursion depth: the nesting of documents, which validation bounds. */
function compareElements(
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  isNamed: boolean,
  collation?: Collation | undefined,
): number {
  const a = new ElementCursor(left, leftStart)
  const b = new ElementCursor(right, rightStart)
  for (;;) {
    const hasLeft = a.next()
    const hasRight = b.next()
    if (!hasLeft || !hasRight) return (hasLeft ? 1 : 0) - (hasRight ? 1 : 0)
    const ranks = rankOf(a.type) - rankOf(b.type)
    if (ranks !== 0) return ranks
    if (isNamed) {
      const names = compareBytes(
        left,
        a.nameStart,
        a.nameEnd - a.nameStart,
        right,
        b.nameStart,
        b.nameEnd - b.nameStart,
      )
      if (names !== 0) return names
    }
    const values = compareAt(left, a.type, a.valueStart, right, b.type, b.valueStart, collation)
    if (values !== 0) return values
  }
}

/** Compares decoded values. A missing one ranks as `undefined`. */
export function compareValues(
  left: Value | undefined,
  right: Value | undefined,
  collation?: Collation | undefined,
): number {
  spend(1)
  const leftType = left?.type ?? 0
  const rightType = right?.type ?? 0
  const difference = rankOf(leftType) - rankOf(rightType)
  if (difference !== 0) return difference
  if (left === undefined || right === undefined) return 0
  if (isNumberType(leftType)) return compareNumbers(left as NumericValue, right as NumericValue)
  if (left.type === bsonType.string && right.type === bsonType.string) {
    return collation === undefined
      ? compareStrings(left.value, right.value)
      : collation.compare(left.value, right.value)
  }
  if (left.type === bsonType.date && right.type === bsonType.date) {
    return left.value < right.value ? -1 : left.value > right.value ? 1 : 0
  }
  const [a, b] = [bytesOf(left), bytesOf(right)]
  return compareAt(a.bytes, leftType, a.start, b.bytes, rightType, b.start, collation)
}

export function equalValues(
  left: Value | undefined,
  right: Value | undefined,
  collation?: Collation | undefined,
): boolean {
  return compareValues(left, right, collation) === 0
}

function compareStrings(left: string, right: string): number {
  spend(Math.min(left.length, right.length) >> 5)
  return compareTexts(left, right)
}

/** The encoded value. Most values are encoded for this call. */
export function bytesOf(value: Value): { readonly bytes: Uint8Array; readonly start: number } {
  if ((value.type === bsonType.document || value.type === bsonType.array) && value.raw !== undefined) return value.raw
  const writer = new BsonWriter(64)
  writer.value(value)
  return { bytes: writer.bytes(), start: 0 }
}

/** Whether a collation can decide how the value compares: it is a string, or may contain one. */
export function isCollatable({ type }: Value): boolean {
  const itsRank = rankOf(type)
  return itsRank === rank.string || itsRank === rank.document || itsRank === rank.array
}
