/**
 * Ordered keys of BSON values: bytes whose order, compared byte by byte, is the order of `compare.ts`.
 *
 *   every value   its rank (types.ts), then
 *   number        the nearest double towards zero, big-endian, its sign flipped so that negative numbers come
 *                 first; then 00 if that is the exact number, else 01 and the number as decimal: exponent,
 *                 34 digits. For negative numbers all these bytes are complemented. Equal numbers have the
 *                 same bytes, whatever their types.
 *   string        its text, then 00. With a collation: its sort key (collation/sort-key.ts), then 00
 *   document      for each field: the rank of its value, its name as a text, the rest of the value; then 00
 *   array         its elements, then 00
 *   binary        length, subtype, content
 *   others        their bytes in the order in which they are compared
 *
 * key-writer.ts says how texts are written, how keys of several components are put together and where they
 * are cut.
 */

import { spend } from '../../base/work.ts'
import type { Collation } from '../collation/collation.ts'
import { indexKeyBytesMax } from '../key-bytes.ts'
import { KeyWriter, type OrderedKey } from '../key-writer.ts'
import { bytesOf } from './compare.ts'
import { compareFinite, digitsOf, type FiniteDecimal, finite, powerOfTen } from './decimal128.ts'
import { decimalToDouble, exactDecimal, toDecimal } from './number.ts'
import { bsonType, rank, rankOf } from './types.ts'
import { type NumericValue, type Value, valueAt } from './value.ts'
import { doubleAt, ElementCursor, endOfName, endOfValue, int32At, stringAt } from './view.ts'
import { bsonWriteBytesMax } from './writer.ts'

/** A value at its position in the bytes. */
export interface KeyPart {
  readonly bytes: Uint8Array
  readonly type: number
  readonly start: number
  readonly isDescending?: boolean
}

const writer = new KeyWriter(bsonWriteBytesMax)

/** The key of an index entry, cut. */
export function encodeKey(parts: readonly KeyPart[], collation?: Collation | undefined): OrderedKey {
  writer.begin(indexKeyBytesMax)
  writeParts(parts, collation)
  return writer.cutKey()
}

/** The whole key, for sorting. */
export function encodeFullKey(parts: readonly KeyPart[], collation?: Collation | undefined): Uint8Array {
  writer.begin()
  writeParts(parts, collation)
  return writer.fullKey()
}

/** The key of a value. Equal values have equal keys, so it also finds duplicates. */
export function keyOfValue(value: Value, collation?: Collation | undefined): Uint8Array {
  return encodeFullKey([keyPart(value)], collation)
}

export function keyPart(value: Value, isDescending = false): KeyPart {
  return { type: value.type, isDescending, ...bytesOf(value) }
}

function writeParts(parts: readonly KeyPart[], collation: Collation | undefined): void {
  for (const { bytes, type, start, isDescending } of parts) {
    const from = writer.end
    spend((endOfPart(bytes, type, start) - start) >> 5)
    writer.writeByte(rankOf(type))
    writePayload(bytes, type, start, collation)
    if (isDescending === true) writer.complementFrom(from)
    if (writer.isFull) return
  }
}

function endOfPart(bytes: Uint8Array, type: number, start: number): number {
  return type === 0 ? start : endOfValue(bytes, type, start)
}

/** Recursion depth: the nesting of documents, which validation bounds. */
function writePayload(bytes: Uint8Array, type: number, start: number, collation: Collation | undefined): void {
  switch (rankOf(type)) {
    case rank.number:
      writeNumber(bytes, type, start)
      return
    case rank.string:
      if (collation !== undefined) {
        const key = Buffer.from(collation.keyOf(stringAt(bytes, start), writer.bytesMax), 'latin1')
        writer.writeUtf8(key, 0, key.length)
        return
      }
      writer.writeUtf8(bytes, start + 4, start + 3 + int32At(bytes, start))
      return
    case rank.code:
      writer.writeUtf8(bytes, start + 4, start + 3 + int32At(bytes, start))
      return
    case rank.document:
      writeFields(bytes, start, collation)
      return
    case rank.array: {
      const cursor = new ElementCursor(bytes, start)
      while (!writer.isFull && cursor.next()) {
        writer.writeByte(rankOf(cursor.type))
        writePayload(bytes, cursor.type, cursor.valueStart, collation)
      }
      writer.writeTerminator()
      return
    }
    case rank.binary: {
      const length = int32At(bytes, start)
      writer.writeUint32(length)
      writer.writeBytes(bytes, start + 4, length + 1)
      return
    }
    case rank.objectId:
      writer.writeBytes(bytes, start, 12)
      return
    case rank.bool:
      writer.writeByte(bytes[start]!)
      return
    case rank.date:
      writer.writeUint32(int32At(bytes, start + 4) ^ 0x80000000)
      writer.writeUint32(int32At(bytes, start))
      return
    case rank.timestamp:
      writer.writeUint32(int32At(bytes, start + 4))
      writer.writeUint32(int32At(bytes, start))
      return
    case rank.regex: {
      const patternEnd = endOfName(bytes, start)
      writer.writeUtf8(bytes, start, patternEnd)
      writer.writeUtf8(bytes, patternEnd + 1, endOfName(bytes, patternEnd + 1))
      return
    }
    case rank.dbPointer: {
      const length = endOfValue(bytes, type, start) - start
      writer.writeUint32(length)
      writer.writeBytes(bytes, start, length)
      return
    }
    case rank.codeWithScope:
      writer.writeUtf8(bytes, start + 8, start + 7 + int32At(bytes, start + 4))
      writeFields(bytes, endOfValue(bytes, bsonType.string, start + 4), undefined)
      return
    default:
  }
}

function writeFields(bytes: Uint8Array, start: number, collation: Collation | undefined): void {
  const cursor = new ElementCursor(bytes, start)
  while (!writer.isFull && cursor.next()) {
    writer.writeByte(rankOf(cursor.type))
    writer.writeUtf8(bytes, cursor.nameStart, cursor.nameEnd)
    writePayload(bytes, cursor.type, cursor.valueStart, collation)
  }
  writer.writeTerminator()
}

function writeNumber(bytes: Uint8Array, type: number, start: number): void {
  if (type === bsonType.int32) writeExactDouble(int32At(bytes, start))
  else if (type === bsonType.double) writeExactDouble(doubleAt(bytes, start))
  else writeWideNumber(valueAt(bytes, type, start) as NumericValue)
}

function writeExactDouble(value: number): void {
  if (Number.isNaN(value)) {
    // Nine zero bytes are below the bytes of -Infinity.
    writer.writeUint32(0)
    writer.writeUint32(0)
    writer.writeByte(0)
    return
  }
  // Adding zero turns -0 into 0, which is equal to it.
  writer.writeDouble(value + 0)
  writer.writeByte(value < 0 ? 0xff : 0x00)
}

function writeWideNumber(value: NumericValue): void {
  if (value.type === bsonType.int64) {
    const near = Number(value.value)
    if (BigInt(near) === value.value) {
      writeExactDouble(near)
      return
    }
  }
  const decimal = toDecimal(value)
  if (decimal.kind === 'nan') writeExactDouble(Number.NaN)
  else if (decimal.kind === 'infinity') writeExactDouble(decimal.isNegative ? -Infinity : Infinity)
  else if (decimal.coefficient === 0n) writeExactDouble(0)
  else writeDecimal(decimal)
}

const keyDigits = 34
const coefficientBytes = 15
/** The smallest exponent with 34 digits: 10^-6176 padded with 33 zeros. */
const exponentBias = 6176 + keyDigits

function writeDecimal(decimal: FiniteDecimal): void {
  const magnitude = finite(false, decimal.coefficient, decimal.exponent)
  const near = Math.min(decimalToDouble(magnitude), Number.MAX_VALUE)
  const order = compareFinite(exactDecimal(near) as FiniteDecimal, magnitude)
  const sign = decimal.isNegative ? -1 : 1
  if (order === 0) {
    writeExactDouble(sign * near)
    return
  }
  writer.writeDouble(sign * (order > 0 ? doubleBelow(near) : near))
  const start = writer.end
  writer.writeByte(1)
  const missing = keyDigits - digitsOf(magnitude.coefficient)
  writer.writeUint16(magnitude.exponent - missing + exponentBias)
  writer.writeHex((magnitude.coefficient * powerOfTen(missing)).toString(16).padStart(2 * coefficientBytes, '0'))
  if (decimal.isNegative) writer.complementFrom(start)
}

const bits = new DataView(new ArrayBuffer(8))

/** The next smaller double of a positive one. */
function doubleBelow(value: number): number {
  bits.setFloat64(0, value)
  bits.setBigUint64(0, bits.getBigUint64(0) - 1n)
  return bits.getFloat64(0)
}
