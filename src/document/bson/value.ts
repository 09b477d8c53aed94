/**
 * The values that matching, updates and expressions work with.
 *
 * A value is an immutable object with its BSON type and, depending on the type, a content. The four number
 * types stay distinct. A document or array is either a view of bytes, decoded on first access, or a list of
 * its contents. Both keep the order of fields, repeated names and names that look like numbers. A missing
 * value is JavaScript's `undefined`; BSON's own `undefined` is `undefinedValue`.
 */

import { assert } from '../../base/error.ts'
import { spend } from '../../base/work.ts'
import type { Origin } from './origin.ts'
import { bsonType } from './types.ts'
import { doubleAt, ElementCursor, endOfName, endOfValue, int32At, int64At, stringAt, textAt, uint64At } from './view.ts'

/** What every value may carry besides its content (`origin.ts`). */
interface Traced {
  readonly origin?: Origin | undefined
}

interface Scalar<Type extends number, Content> extends Traced {
  readonly type: Type
  readonly value: Content
}

export type DoubleValue = Scalar<typeof bsonType.double, number>
export type Int32Value = Scalar<typeof bsonType.int32, number>
export type Int64Value = Scalar<typeof bsonType.int64, bigint>
/** The two halves of the 128 bits, so that each encoding of a number is kept. */
export interface Decimal128Value extends Traced {
  readonly type: typeof bsonType.decimal128
  readonly high: bigint
  readonly low: bigint
}
export type NumericValue = DoubleValue | Int32Value | Int64Value | Decimal128Value
export type StringValue = Scalar<typeof bsonType.string, string>
export type SymbolValue = Scalar<typeof bsonType.symbol, string>
export type CodeValue = Scalar<typeof bsonType.code, string>
export type BoolValue = Scalar<typeof bsonType.bool, boolean>
/** Milliseconds since 1970. The range is larger than that of a JavaScript Date. */
export type DateValue = Scalar<typeof bsonType.date, bigint>
/** Unsigned: seconds in the upper half, a counter in the lower. */
export type TimestampValue = Scalar<typeof bsonType.timestamp, bigint>
/** Twelve bytes. */
export type ObjectIdValue = Scalar<typeof bsonType.objectId, Uint8Array>
export interface BinaryValue extends Traced {
  readonly type: typeof bsonType.binary
  readonly subtype: number
  readonly value: Uint8Array
}
export interface RegexValue extends Traced {
  readonly type: typeof bsonType.regex
  readonly pattern: string
  readonly options: string
}
export interface DbPointerValue extends Traced {
  readonly type: typeof bsonType.dbPointer
  readonly namespace: string
  readonly id: Uint8Array
}
export interface CodeWithScopeValue extends Traced {
  readonly type: typeof bsonType.codeWithScope
  readonly code: string
  readonly scope: BsonDocument
}
export interface EmptyValue extends Traced {
  readonly type: typeof bsonType.null | typeof bsonType.undefined | typeof bsonType.minKey | typeof bsonType.maxKey
}

export type Value =
  | NumericValue
  | StringValue
  | SymbolValue
  | CodeValue
  | BoolValue
  | DateValue
  | TimestampValue
  | ObjectIdValue
  | BinaryValue
  | RegexValue
  | DbPointerValue
  | CodeWithScopeValue
  | EmptyValue
  | BsonDocument
  | BsonArray

export type Field = readonly [name: string, value: Value]

export const nullValue: EmptyValue = { type: bsonType.null }
export const undefinedValue: EmptyValue = { type: bsonType.undefined }
export const minKey: EmptyValue = { type: bsonType.minKey }
export const maxKey: EmptyValue = { type: bsonType.maxKey }
export const trueValue: BoolValue = { type: bsonType.bool, value: true }
export const falseValue: BoolValue = { type: bsonType.bool, value: false }

export function double(value: number): DoubleValue {
  return { type: bsonType.double, value }
}

export function int32(value: number): Int32Value {
  return { type: bsonType.int32, value }
}

export function int64(value: bigint): Int64Value {
  return { type: bsonType.int64, value }
}

export function string(value: string): StringValue {
  return { type: bsonType.string, value }
}

export function bool(value: boolean): BoolValue {
  return value ? trueValue : falseValue
}

export function date(epochMs: bigint): DateValue {
  return { type: bsonType.date, value: epochMs }
}

export function timestamp(value: bigint): TimestampValue {
  return { type: bsonType.timestamp, value }
}

export function objectId(value: Uint8Array): ObjectIdValue {
  assert(value.length === 12, 'an ObjectId has twelve bytes')
  return { type: bsonType.objectId, value }
}

export function binary(value: Uint8Array, subtype = 0): BinaryValue {
  return { type: bsonType.binary, subtype, value }
}

export function regex(pattern: string, options = ''): RegexValue {
  return { type: bsonType.regex, pattern, options }
}

/** The bytes of a document or array; its length field is at `start`. */
export interface RawPart {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

/** Fields or elements that are decoded between two calls of `spend`. */
const readAtOnce = 512

export class BsonDocument {
  readonly type = bsonType.document
  /** The bytes it was made from; copying them is the fastest way to write it. */
  readonly raw: RawPart | undefined
  readonly origin: Origin | undefined
  #fields: readonly Field[] | undefined
  #hasInnerOrigins: boolean | undefined

  private constructor(raw: RawPart | undefined, fields: readonly Field[] | undefined, origin?: Origin) {
    this.raw = raw
    this.#fields = fields
    this.origin = origin
  }

  /** The document at `start` in the bytes. They must be valid and never change. */
  static view(bytes: Uint8Array, start = 0, origin?: Origin): BsonDocument {
    return new BsonDocument({ bytes, start, end: start + int32At(bytes, start) }, undefined, origin)
  }

  static of(fields: readonly Field[]): BsonDocument {
    return new BsonDocument(undefined, fields)
  }

  withOrigin(origin: Origin | undefined): BsonDocument {
    return new BsonDocument(this.raw, this.#fields, origin)
  }

  get fields(): readonly Field[] {
    if (this.#fields === undefined) {
      const fields: Field[] = []
      const cursor = new ElementCursor(this.raw!.bytes, this.raw!.start)
      while (cursor.next()) {
        if (fields.push([cursor.name(), valueAt(cursor.bytes, cursor.type, cursor.valueStart)]) % readAtOnce === 0) {
          spend(readAtOnce)
        }
      }
      this.#fields = fields
    }
    return this.#fields
  }

  /** The value of the first field with this name. */
  get(name: string): Value | undefined {
    const fields = this.#fields
    if (fields !== undefined) {
      spend(fields.length >> 3)
      return fields.find(field => field[0] === name)?.[1]
    }
    const { bytes, start } = this.raw!
    const found = findNamed(bytes, start, name)
    return found === undefined ? undefined : valueAt(found.bytes, found.type, found.valueStart)
  }

  /** Whether something inside has an origin. Bytes have none. */
  hasInnerOrigins(depth = 0): boolean {
    if (this.raw !== undefined || depth > depthMax) return false
    this.#hasInnerOrigins ??= this.#fields!.some(field => isTraced(field[1], depth + 1))
    return this.#hasInnerOrigins
  }

  get isEmpty(): boolean {
    return this.raw === undefined ? this.#fields!.length === 0 : this.raw.bytes[this.raw.start + 4] === 0
  }
}

function findNamed(bytes: Uint8Array, start: number, name: string): ElementCursor | undefined {
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) if (isNamed(cursor, name)) return cursor
  return undefined
}

/** Compares without decoding if the name is ASCII. */
function isNamed(cursor: ElementCursor, name: string): boolean {
  const { bytes, nameStart, nameEnd } = cursor
  const { length } = name
  // A name has at least as many bytes as UTF-16 units.
  if (nameEnd - nameStart < length) return false
  for (let at = 0; at < length; at += 1) {
    const unit = name.charCodeAt(at)
    if (unit >= 0x80) return cursor.name() === name
    if (bytes[nameStart + at] !== unit) return false
  }
  return nameEnd - nameStart === length
}

export class BsonArray {
  readonly type = bsonType.array
  readonly raw: RawPart | undefined
  readonly origin: Origin | undefined
  #elements: readonly Value[] | undefined
  #hasInnerOrigins: boolean | undefined

  private constructor(raw: RawPart | undefined, elements: readonly Value[] | undefined, origin?: Origin) {
    this.raw = raw
    this.#elements = elements
    this.origin = origin
  }

  static view(bytes: Uint8Array, start: number): BsonArray {
    return new BsonArray({ bytes, start, end: start + int32At(bytes, start) }, undefined)
  }

  static of(elements: readonly Value[]): BsonArray {
    return new BsonArray(undefined, elements)
  }

  withOrigin(origin: Origin | undefined): BsonArray {
    return new BsonArray(this.raw, this.#elements, origin)
  }

  hasInnerOrigins(depth = 0): boolean {
    if (this.raw !== undefined || depth > depthMax) return false
    this.#hasInnerOrigins ??= this.#elements!.some(element => isTraced(element, depth + 1))
    return this.#hasInnerOrigins
  }

  /** One element, without decoding the others. */
  at(index: number): Value | undefined {
    if (this.#elements !== undefined) return this.#elements[index]
    const cursor = new ElementCursor(this.raw!.bytes, this.raw!.start)
    for (let left = index; cursor.next(); left--) {
      if (left === 0) return valueAt(cursor.bytes, cursor.type, cursor.valueStart)
    }
    return undefined
  }

  /** In stored order. The names of elements are ignored, as in MongoDB. */
  get elements(): readonly Value[] {
    if (this.#elements === undefined) {
      const elements: Value[] = []
      const cursor = new ElementCursor(this.raw!.bytes, this.raw!.start)
      while (cursor.next()) {
        if (elements.push(valueAt(cursor.bytes, cursor.type, cursor.valueStart)) % readAtOnce === 0) spend(readAtOnce)
      }
      this.#elements = elements
    }
    return this.#elements
  }
}

/** Deeper values cannot be written (`bsonWriteDepthMax`), so nobody sees what is in them. */
const depthMax = 200

/**
 * Whether a value or something inside it has an origin. Each document and array caches its answer, since an
 * expression can build values that contain the same part very often.
 */
export function isTraced(value: Value, depth = 0): boolean {
  if (value.origin !== undefined) return true
  return (value.type === bsonType.document || value.type === bsonType.array) && value.hasInnerOrigins(depth)
}

/** The value of a given type at a position. Documents, arrays and binary data are views of the bytes. */
export function valueAt(bytes: Uint8Array, type: number, start: number): Value {
  switch (type) {
    case bsonType.double:
      return double(doubleAt(bytes, start))
    case bsonType.int32:
      return int32(int32At(bytes, start))
    case bsonType.int64:
      return int64(int64At(bytes, start))
    case bsonType.decimal128:
      return { type: bsonType.decimal128, high: uint64At(bytes, start + 8), low: uint64At(bytes, start) }
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return { type, value: stringAt(bytes, start) }
    case bsonType.document:
      return BsonDocument.view(bytes, start)
    case bsonType.array:
      return BsonArray.view(bytes, start)
    case bsonType.bool:
      return bool(bytes[start] === 1)
    case bsonType.date:
      return date(int64At(bytes, start))
    case bsonType.objectId:
      return { type, value: bytes.subarray(start, start + 12) }
    case bsonType.timestamp:
      return timestamp(uint64At(bytes, start))
    case bsonType.binary:
      return binary(bytes.subarray(start + 5, start + 5 + int32At(bytes, start)), bytes[start + 4]!)
    case bsonType.regex: {
      const patternEnd = endOfName(bytes, start)
      const optionsEnd = endOfName(bytes, patternEnd + 1)
      return regex(textAt(bytes, start, patternEnd), textAt(bytes, patternEnd + 1, optionsEnd))
    }
    case bsonType.null:
      return nullValue
    case bsonType.undefined:
      return undefinedValue
    case bsonType.minKey:
      return minKey
    case bsonType.maxKey:
      return maxKey
    case bsonType.dbPointer: {
      const end = endOfValue(bytes, type, start)
      return { type, namespace: stringAt(bytes, start), id: bytes.subarray(end - 12, end) }
    }
    default: {
      assert(type === bsonType.codeWithScope, 'a stored document holds known types only')
      const code = start + 4
      return {
        type: bsonType.codeWithScope,
        code: stringAt(bytes, code),
        scope: BsonDocument.view(bytes, endOfValue(bytes, bsonType.string, code)),
      }
    }
  }
}
