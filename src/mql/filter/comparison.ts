/**
 * Tests of a stored value against a constant: comparisons and `$in`.
 *
 * A comparison matches only values of the same type rank as its constant, so `$lt: 5` finds only numbers.
 * There are three exceptions: null also stands for `undefined` and missing values; everything lies between
 * MinKey and MaxKey; and NaN equals NaN but is neither below nor above anything.
 */

import { spend } from '../../base/work.ts'
import { bytesOf, compareAt } from '../../document/bson/compare.ts'
import { compareNumbers, isNaNValue, isNumeric, toDouble } from '../../document/bson/number.ts'
import { encodeFullKey, type KeyPart } from '../../document/bson/ordered-key.ts'
import { bsonType, rank, rankOf } from '../../document/bson/types.ts'
import { type NumericValue, type StringValue, type Value, valueAt } from '../../document/bson/value.ts'
import { doubleAt, int32At, stringAt } from '../../document/bson/view.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { ElementTest } from '../paths/stored-path.ts'
import type { Comparison } from './filter.ts'

/** Whether an operator accepts this result of a comparison. */
const accepts: Readonly<Record<Comparison, (order: number) => boolean>> = {
  eq: order => order === 0,
  lt: order => order < 0,
  lte: order => order <= 0,
  gt: order => order > 0,
  gte: order => order >= 0,
}

export function comparisonTest(operator: Comparison, constant: Value, collation?: Collation | undefined): ElementTest {
  switch (rankOf(constant.type)) {
    case rank.null:
      return accepts[operator](0) ? isNullish : () => false
    case rank.minKey:
    case rank.maxKey: {
      const isBelow = accepts[operator](-1)
      const isAbove = accepts[operator](1)
      const isEqual = accepts[operator](0)
      const others = constant.type === bsonType.maxKey ? isBelow : isAbove
      return (_, type) => (type === constant.type ? isEqual : others)
    }
    case rank.number:
      return numberTest(operator, constant as NumericValue)
    case rank.string:
      if (collation !== undefined) return collatedTest(operator, constant as StringValue, collation)
      return operator === 'eq' ? equalString(constant as StringValue) : orderTest(operator, constant)
    case rank.objectId:
      return operator === 'eq' ? equalBytes(bytesOf(constant).bytes, bsonType.objectId) : orderTest(operator, constant)
    default:
      return orderTest(operator, constant, collation)
  }
}

function collatedTest(operator: Comparison, { value }: StringValue, { compare }: Collation): ElementTest {
  const accept = accepts[operator]
  return (bytes, type, start) =>
    (type === bsonType.string || type === bsonType.symbol) && accept(compare(stringAt(bytes, start), value))
}

function isNullish(_: Uint8Array, type: number): boolean {
  return type === bsonType.null || type === bsonType.undefined || type === 0
}

function orderTest(operator: Comparison, constant: Value, collation?: Collation | undefined): ElementTest {
  const accept = accepts[operator]
  const { bytes: constantBytes, start: constantStart } = bytesOf(constant)
  const constantType = constant.type
  const constantRank = rankOf(constantType)
  return (bytes, type, start) =>
    type !== 0 &&
    rankOf(type) === constantRank &&
    accept(compareAt(bytes, type, start, constantBytes, constantType, constantStart, collation))
}

function equalString({ value }: StringValue): ElementTest {
  const text = Buffer.from(value)
  const { length } = text
  return (bytes, type, start) => {
    if ((type !== bsonType.string && type !== bsonType.symbol) || int32At(bytes, start) !== length + 1) return false
    for (let at = 0; at < length; at += 1) if (bytes[start + 4 + at] !== text[at]) return false
    return true
  }
}

function equalBytes(wanted: Uint8Array, wantedType: number): ElementTest {
  return (bytes, type, start) => {
    if (type !== wantedType) return false
    for (let at = 0; at < wanted.length; at += 1) if (bytes[start + at] !== wanted[at]) return false
    return true
  }
}

function numberTest(operator: Comparison, constant: NumericValue): ElementTest {
  const accept = accepts[operator]
  if (isNaNValue(constant)) {
    if (!accept(0)) return () => false
    return (bytes, type, start) =>
      rankOf(type) === rank.number && isNaNValue(valueAt(bytes, type, start) as NumericValue)
  }
  const near = toDouble(constant)
  if (!isExact(constant, near)) {
    return (bytes, type, start) => {
      if (rankOf(type) !== rank.number) return false
      const value = valueAt(bytes, type, start) as NumericValue
      return !isNaNValue(value) && accept(compareNumbers(value, constant))
    }
  }
  return (bytes, type, start) => {
    // NaN means that the fast path cannot decide: a wide number, NaN itself, or no number at all.
    const value = simpleNumberAt(bytes, type, start)
    if (value < near) return accept(-1)
    if (value > near) return accept(1)
    if (value === near) return accept(0)
    if (type !== bsonType.int64 && type !== bsonType.decimal128) return false
    const wide = valueAt(bytes, type, start) as NumericValue
    return !isNaNValue(wide) && accept(compareNumbers(wide, constant))
  }
}

function isExact(value: NumericValue, near: number): boolean {
  return compareNumbers(value, { type: bsonType.double, value: near }) === 0
}

/** The number if a double holds it exactly, otherwise NaN. */
function simpleNumberAt(bytes: Uint8Array, type: number, start: number): number {
  switch (type) {
    case bsonType.int32:
      return int32At(bytes, start)
    case bsonType.double:
      return doubleAt(bytes, start)
    case bsonType.int64: {
      const high = int32At(bytes, start + 4)
      return high >= -0x200000 && high < 0x200000 ? high * 0x100000000 + (int32At(bytes, start) >>> 0) : Number.NaN
    }
    default:
      return Number.NaN
  }
}

/** Making the keys of a value takes a microsecond. */
const listedSteps = 50

/** Whether a value equals one of many. Strings and simple numbers are the common case and need no key. */
export function listTest(values: readonly Value[], collation?: Collation | undefined): ElementTest {
  if (values.length === 1) return comparisonTest('eq', values[0]!, collation)
  const texts = new Set<string>()
  const numbers = new Set<number>()
  const keys = new Set<string>()
  let hasNull = false
  const textKey = collation === undefined ? (text: string) => text : (text: string) => collation.keyOf(text)
  for (const value of values) {
    spend(listedSteps)
    if (value.type === bsonType.null) hasNull = true
    if (value.type === bsonType.string || value.type === bsonType.symbol) texts.add(textKey(value.value))
    if (isNumeric(value) && isExact(value, toDouble(value))) numbers.add(toDouble(value))
    keys.add(keyText({ type: value.type, ...bytesOf(value) }, collation))
  }
  return (bytes, type, start) => {
    switch (type) {
      case bsonType.string:
      case bsonType.symbol:
        return texts.size > 0 && texts.has(textKey(stringAt(bytes, start)))
      case bsonType.int32:
        return numbers.has(int32At(bytes, start))
      case bsonType.double:
        return numbers.has(doubleAt(bytes, start))
      case bsonType.null:
      case bsonType.undefined:
      case 0:
        return hasNull
      default:
        return keys.has(keyText({ bytes, type, start }, collation))
    }
  }
}

function keyText(part: KeyPart, collation: Collation | undefined): string {
  const key = encodeFullKey([part], collation)
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}
