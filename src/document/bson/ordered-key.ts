/**
 * Ordered keys of BSON values: bytes whose order, compared byte by byte, is the order of `compare.ts`.
 *
 *   every value   its rank (types.ts), then
 *   number        the nearest double towards zero, big-endian, its sign flipped so that negative numbers come
 *                 first; then 00 if that is the exact number, else 01 and the number as decimal: exponent,
 *                 34 digits. For negative numbers all these bytes are complemented. Equal numbers have the
 *                 same bytes, whatever their types.
 *   string        its text, then 00
 *   document      for each field: the rank of its value, its name as a text, the rest of the value; then 00
 *   array         its elements, then 00
 *   binary        length, subtype, content
 *   others        their bytes in the order in which they are compared
 *
 * No encoded value is the beginning of another one, so the key of several components is their concatenation,
 * and a descending component has all its bytes complemented. Text never contains the byte 00: 00 and 01 are
 * written 01 01 and 01 02. (Escaping 00 by a byte behind it would break under the complement.)
 *
 * Keys of an index are cut at `indexKeyBytesMax`. Cutting never turns an order around, but it can make two
 * keys equal.
 */

import { RequestError } from '../../base/error.ts'
import { indexKeyBytesMax } from '../key-bytes.ts'
import { bytesOf } from './compare.ts'
import { compareFinite, digitsOf, type FiniteDecimal, finite, powerOfTen } from './decimal128.ts'
import { decimalToDouble, exactDecimal, toDecimal } from './number.ts'
import { bsonType, rank, rankOf } from './types.ts'
import { type NumericValue, type Value, valueAt } from './value.ts'
import { doubleAt, ElementCursor, endOfName, endOfValue, int32At } from './view.ts'
import { bsonWriteBytesMax } from './writer.ts'

/** A value where it lies. */
export interface KeyPart {
  readonly bytes: Uint8Array
  readonly type: number
  readonly start: number
  readonly isDescending?: boolean
}

/**
 * Scratch space. Every function that writes here copies its result out before it returns, so nothing is
 * remembered from one call to the next.
 */
const scratchBytes = 64 * 1024
let scratch = Buffer.allocUnsafeSlow(scratchBytes)
let view = new DataView(scratch.buffer)
let end = 0
/** Once `end` has passed it, what is written no longer matters. */
let limit = 0

/** The key of an index entry, cut. */
export function encodeKey(
  parts: readonly KeyPart[],
  bytesMax = indexKeyBytesMax,
): { readonly key: Uint8Array; readonly isCut: boolean } {
  write(parts, bytesMax)
  const isCut = end > bytesMax
  return { key: copyOut(isCut ? bytesMax : end), isCut }
}

/** The whole key, for sorting. */
export function encodeFullKey(parts: readonly KeyPart[]): Uint8Array {
  write(parts, bsonWriteBytesMax)
  if (end > bsonWriteBytesMax) {
    shrink()
    throw new RequestError('too_large', 'A value is too large to be sorted.')
  }
  return copyOut(end)
}

/** The key of a value: equal values have the same, so it also serves to find equal ones. */
export function keyOfValue(value: Value, isDescending = false): Uint8Array {
  return encodeFullKey([keyPart(value, isDescending)])
}

export function keyPart(value: Value, isDescending = false): KeyPart {
  return { type: value.type, isDescending, ...bytesOf(value) }
}

function write(parts: readonly KeyPart[], bytesMax: number): void {
  end = 0
  limit = bytesMax
  for (const { bytes, type, start: from, isDescending } of parts) {
    const start = end
    writeByte(rankOf(type))
    writePayload(bytes, type, from)
    if (isDescending === true) for (let at = start; at < end; at += 1) scratch[at] = ~scratch[at]!
    if (end > limit) return
  }
}

function copyOut(length: number): Uint8Array {
  const key = Buffer.allocUnsafe(length)
  scratch.copy(key, 0, 0, length)
  shrink()
  return key
}

function shrink(): void {
  if (scratch.length > scratchBytes) resize(scratchBytes)
}

function reserve(length: number): void {
  if (end + length <= scratch.length) return
  const old = scratch
  resize(Math.max(end + length, 2 * old.length))
  old.copy(scratch, 0, 0, end)
}

function resize(length: number): void {
  scratch = Buffer.allocUnsafeSlow(length)
  view = new DataView(scratch.buffer)
}

function writeByte(byte: number): void {
  reserve(1)
  scratch[end++] = byte
}

/** Recurses as deep as documents nest, which validation bounds. */
function writePayload(bytes: Uint8Array, type: number, start: number): void {
  switch (rankOf(type)) {
    case rank.number:
      writeNumber(bytes, type, start)
      return
    case rank.string:
    case rank.code:
      writeText(bytes, start + 4, start + 3 + int32At(bytes, start))
      return
    case rank.document:
      writeFields(bytes, start)
      return
    case rank.array: {
      const cursor = new ElementCursor(bytes, start)
      while (end <= limit && cursor.next()) {
        writeByte(rankOf(cursor.type))
        writePayload(bytes, cursor.type, cursor.valueStart)
      }
      writeByte(0)
      return
    }
    case rank.binary: {
      const length = int32At(bytes, start)
      writeUint32(length)
      writeBytes(bytes, start + 4, length + 1)
      return
    }
    case rank.objectId:
      writeBytes(bytes, start, 12)
      return
    case rank.bool:
      writeByte(bytes[start]!)
      return
    case rank.date:
      writeUint32(int32At(bytes, start + 4) ^ 0x80000000)
      writeUint32(int32At(bytes, start))
      return
    case rank.timestamp:
      writeUint32(int32At(bytes, start + 4))
      writeUint32(int32At(bytes, start))
      return
    case rank.regex: {
      const patternEnd = endOfName(bytes, start)
      writeText(bytes, start, patternEnd)
      writeText(bytes, patternEnd + 1, endOfName(bytes, patternEnd + 1))
      return
    }
    case rank.dbPointer: {
      const length = endOfValue(bytes, type, start) - start
      writeUint32(length)
      writeBytes(bytes, start, length)
      return
    }
    case rank.codeWithScope:
      writeText(bytes, start + 8, start + 7 + int32At(bytes, start + 4))
      writeFields(bytes, endOfValue(bytes, bsonType.string, start + 4))
      return
    default:
  }
}

function writeFields(bytes: Uint8Array, start: number): void {
  const cursor = new ElementCursor(bytes, start)
  while (end <= limit && cursor.next()) {
    writeByte(rankOf(cursor.type))
    writeText(bytes, cursor.nameStart, cursor.nameEnd)
    writePayload(bytes, cursor.type, cursor.valueStart)
  }
  writeByte(0)
}

function writeUint32(value: number): void {
  reserve(4)
  view.setInt32(end, value)
  end += 4
}

/** No more of them than matter. */
function writeBytes(bytes: Uint8Array, start: number, length: number): void {
  const count = Math.min(length, Math.max(0, limit + 1 - end))
  reserve(count)
  for (let at = 0; at < count; at += 1) scratch[end + at] = bytes[start + at]!
  end += count
}

function writeText(bytes: Uint8Array, start: number, textEnd: number): void {
  const count = Math.min(textEnd - start, Math.max(0, limit + 1 - end))
  reserve(2 * count + 1)
  let to = end
  for (let at = start; at < start + count; at += 1) {
    const byte = bytes[at]!
    if (byte > 1) {
      scratch[to++] = byte
    } else {
      scratch[to++] = 1
      scratch[to++] = byte + 1
    }
  }
  scratch[to++] = 0
  end = to
}

function writeNumber(bytes: Uint8Array, type: number, start: number): void {
  if (type === bsonType.int32) writeExactDouble(int32At(bytes, start))
  else if (type === bsonType.double) writeExactDouble(doubleAt(bytes, start))
  else writeWideNumber(valueAt(bytes, type, start) as NumericValue)
}

/** `high` and `low` in ascending order for all doubles but NaN. */
function writeDouble(value: number): void {
  view.setFloat64(end, value)
  const high = view.getInt32(end)
  // Negative numbers have all their bits turned, because a larger magnitude is a smaller number.
  view.setInt32(end, high < 0 ? ~high : high ^ 0x80000000)
  if (high < 0) view.setInt32(end + 4, ~view.getInt32(end + 4))
  end += 8
}

function writeExactDouble(value: number): void {
  reserve(9)
  if (Number.isNaN(value)) {
    // Below what -Infinity becomes.
    scratch.fill(0, end, end + 9)
    end += 9
    return
  }
  // Adding zero makes 0 of -0, which equals it.
  writeDouble(value + 0)
  scratch[end++] = value < 0 ? 0xff : 0x00
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
/** The smallest exponent of 34 digits is that of 10^-6176 with 33 zeros behind it. */
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
  reserve(9 + 2 + coefficientBytes)
  writeDouble(sign * (order > 0 ? doubleBelow(near) : near))
  const start = end
  scratch[end++] = 1
  const missing = keyDigits - digitsOf(magnitude.coefficient)
  view.setUint16(end, magnitude.exponent - missing + exponentBias)
  end += 2
  const digits = (magnitude.coefficient * powerOfTen(missing)).toString(16).padStart(2 * coefficientBytes, '0')
  end += scratch.write(digits, end, 'hex')
  if (decimal.isNegative) for (let at = start; at < end; at += 1) scratch[at] = ~scratch[at]!
}

const bits = new DataView(new ArrayBuffer(8))

/** The next double towards zero of a positive one. */
function doubleBelow(value: number): number {
  bits.setFloat64(0, value)
  bits.setBigUint64(0, bits.getBigUint64(0) - 1n)
  return bits.getFloat64(0)
}
