/**
 * Reads BSON in place: nothing is decoded before it is asked for.
 *
 * These functions trust the bytes. Bytes from outside go through `validate.ts` first; bytes from the writer
 * or the store are valid.
 *
 *   document   int32 length (of all of it), elements, 00
 *   element    type, name, 00, value
 */

import { InvariantError } from '../../base/error.ts'
import { spend } from '../../base/work.ts'
import { bsonType } from './types.ts'

const scratch = new Uint8Array(8)
const scratchDouble = new Float64Array(scratch.buffer)
const scratchInt64 = new BigInt64Array(scratch.buffer)
const scratchUint64 = new BigUint64Array(scratch.buffer)

export function int32At(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

function fillScratch(bytes: Uint8Array, at: number): void {
  scratch[0] = bytes[at]!
  scratch[1] = bytes[at + 1]!
  scratch[2] = bytes[at + 2]!
  scratch[3] = bytes[at + 3]!
  scratch[4] = bytes[at + 4]!
  scratch[5] = bytes[at + 5]!
  scratch[6] = bytes[at + 6]!
  scratch[7] = bytes[at + 7]!
}

export function doubleAt(bytes: Uint8Array, at: number): number {
  fillScratch(bytes, at)
  return scratchDouble[0]!
}

export function int64At(bytes: Uint8Array, at: number): bigint {
  fillScratch(bytes, at)
  return scratchInt64[0]!
}

export function uint64At(bytes: Uint8Array, at: number): bigint {
  fillScratch(bytes, at)
  return scratchUint64[0]!
}

type Slice = (this: Uint8Array, start: number, end: number) => string
/** Works on any Uint8Array; creating a Buffer first would cost more than reading a short text. */
const utf8Slice = (Buffer.prototype as unknown as { utf8Slice: Slice }).utf8Slice

/** The UTF-8 text between two positions. Short ASCII is faster without a call into the runtime. */
export function textAt(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 24) return utf8Slice.call(bytes, start, end)
  let text = ''
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!
    if (byte >= 0x80) return utf8Slice.call(bytes, start, end)
    text += String.fromCharCode(byte)
  }
  return text
}

/** The text of the string whose length is stored here. */
export function stringAt(bytes: Uint8Array, start: number): string {
  return textAt(bytes, start + 4, start + 3 + int32At(bytes, start))
}

/** The position of the NUL that ends the name (or pattern) starting here. */
export function endOfName(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at] !== 0) at += 1
  return at
}

/** The end of a value (exclusive). */
export function endOfValue(bytes: Uint8Array, type: number, start: number): number {
  switch (type) {
    case bsonType.double:
    case bsonType.date:
    case bsonType.timestamp:
    case bsonType.int64:
      return start + 8
    case bsonType.int32:
      return start + 4
    case bsonType.string:
    case bsonType.code:
    case bsonType.symbol:
      return start + 4 + int32At(bytes, start)
    case bsonType.document:
    case bsonType.array:
    case bsonType.codeWithScope:
      return start + int32At(bytes, start)
    case bsonType.objectId:
      return start + 12
    case bsonType.bool:
      return start + 1
    case bsonType.null:
    case bsonType.undefined:
    case bsonType.minKey:
    case bsonType.maxKey:
      return start
    case bsonType.binary:
      return start + 5 + int32At(bytes, start)
    case bsonType.decimal128:
      return start + 16
    case bsonType.regex:
      return endOfName(bytes, endOfName(bytes, start) + 1) + 1
    case bsonType.dbPointer:
      return start + 16 + int32At(bytes, start)
    default:
      throw new InvariantError(`a stored document holds no type ${type}`)
  }
}

/**
 * Iterates over the elements of one document or array.
 *
 *   const cursor = new ElementCursor(bytes, start)
 *   while (cursor.next()) …cursor.type, cursor.name(), cursor.valueStart…
 */
export class ElementCursor {
  readonly bytes: Uint8Array
  type = 0
  nameStart = 0
  nameEnd = 0
  valueStart = 0
  /** Also the start of the next element. */
  valueEnd: number

  /** `start` is the position of the document's length field. */
  constructor(bytes: Uint8Array, start = 0) {
    this.bytes = bytes
    this.valueEnd = start + 4
  }

  next(): boolean {
    const { bytes, valueEnd } = this
    const type = bytes[valueEnd]!
    if (type === 0) return false
    spend(1)
    this.type = type
    this.nameStart = valueEnd + 1
    this.nameEnd = endOfName(bytes, valueEnd + 1)
    this.valueStart = this.nameEnd + 1
    this.valueEnd = endOfValue(bytes, type, this.valueStart)
    return true
  }

  name(): string {
    return textAt(this.bytes, this.nameStart, this.nameEnd)
  }
}

/**
 * The start of the first element with this name in a document, or -1. The byte there is its type; its value
 * starts `name.length + 2` bytes later. The name is in UTF-8.
 */
export function findElement(bytes: Uint8Array, documentStart: number, name: Uint8Array): number {
  const { length } = name
  let at = documentStart + 4
  for (;;) {
    const type = bytes[at]!
    if (type === 0) {
      spend((at - documentStart) >> 4)
      return -1
    }
    let same = 0
    // The wanted name may contain a NUL; it must not match past the end of the name that is here.
    while (same < length && bytes[at + 1 + same] === name[same] && name[same] !== 0) same += 1
    const nameEnd = endOfName(bytes, at + 1 + same)
    if (same === length && nameEnd === at + 1 + length) {
      spend((at - documentStart) >> 4)
      return at
    }
    at = endOfValue(bytes, type, nameEnd + 1)
  }
}
