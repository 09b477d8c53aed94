/** Writes BSON: values, fields, and copies of parts of other documents. */

import { RequestError } from '../../base/error.ts'
import { largeBuffer } from '../../base/large-buffer.ts'
import { KiB, MiB } from '../../base/limits.ts'
import type { Steps } from '../../base/steps.ts'
import { spend } from '../../base/work.ts'
import { bsonType } from './types.ts'
import { BsonDocument, type Field, type Value } from './value.ts'

/**
 * Most levels that are written. Expressions and updates may build values that nest deeper than stored
 * documents, before they are refused. No recursion over a value goes deeper than this.
 */
export const bsonWriteDepthMax = 200

/** MongoDB's own limit for a buffer. `bsonBytesMax` refuses a document much earlier. */
export const bsonWriteBytesMax = 64 * MiB

/** MongoDB's limit for one document. */
export const bsonBytesMax = 16 * MiB

/** Node takes smaller buffers from its pool. */
const pooledBytesMax = 4 * KiB

/**
 *   const writer = new BsonWriter()
 *   const document = writer.open()
 *   writer.field('a', int32(1))
 *   writer.name(bsonType.array, 'list'); const list = writer.open(); …; writer.close(list)
 *   writer.close(document)
 *   writer.bytes()
 */
export class BsonWriter {
  #buffer: Buffer
  #end = 0

  constructor(bytes = 256) {
    this.#buffer = bytes <= pooledBytesMax ? Buffer.allocUnsafe(bytes) : largeBuffer(bytes)
  }

  get length(): number {
    return this.#end
  }

  /** The bytes written so far; later writes do not change them. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  /** Starts a document or array; pass the result to `close`. */
  open(): number {
    const start = this.#end
    this.#reserve(5)
    this.#end += 4
    return start
  }

  close(start: number): void {
    this.byte(0)
    this.#buffer.writeInt32LE(this.#end - start, start)
  }

  /** Starts an element; its value must follow. */
  name(type: number, name: string): void {
    const units = name.length
    spend(units >> 4)
    this.#reserve(2 + 3 * units)
    const buffer = this.#buffer
    let at = this.#end
    buffer[at++] = type
    for (let index = 0; index < units; index += 1) {
      const unit = name.charCodeAt(index)
      if (unit === 0) refuseNul()
      if (unit >= 0x80) {
        if (name.includes('\0', index)) refuseNul()
        at += buffer.write(name.slice(index), at)
        break
      }
      buffer[at++] = unit
    }
    buffer[at++] = 0
    this.#end = at
  }

  field(name: string, value: Value): void {
    this.name(value.type, name)
    this.#value(value, 0)
  }

  /** A whole document. */
  document(document: BsonDocument): void {
    this.#value(document, 0)
  }

  /** The value without type and name. */
  value(value: Value): void {
    this.#value(value, 0)
  }

  /** Copies bytes of another document: whole elements, or a value. */
  raw(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    spend(length >> 8)
    this.#reserve(length)
    if (length < 32) {
      for (let index = 0; index < length; index += 1) this.#buffer[this.#end + index] = bytes[start + index]!
    } else {
      this.#buffer.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), this.#end)
    }
    this.#end += length
  }

  /** Starts the value of a code with a scope. The scope must follow; then pass the result to `endCode`. */
  openCode(code: string): number {
    const start = this.#end
    this.int32(0)
    this.#string(code)
    return start
  }

  endCode(start: number): void {
    this.#buffer.writeInt32LE(this.#end - start, start)
  }

  byte(byte: number): void {
    this.#reserve(1)
    this.#buffer[this.#end++] = byte
  }

  int32(value: number): void {
    this.#reserve(4)
    this.#end = this.#buffer.writeInt32LE(value, this.#end)
  }

  #reserve(length: number): void {
    const needed = this.#end + length
    if (needed <= this.#buffer.length) return
    // An expression can build a value of any size from parts that it uses many times.
    if (needed > bsonWriteBytesMax) throw new RequestError('too_large', 'A value is too large to be written.')
    const grown = largeBuffer(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
  }

  #value(value: Value, depth: number): void {
    spend(1)
    switch (value.type) {
      case bsonType.double:
        this.#reserve(8)
        this.#end = this.#buffer.writeDoubleLE(value.value, this.#end)
        return
      case bsonType.int32:
        this.int32(value.value)
        return
      case bsonType.int64:
      case bsonType.date:
        this.#reserve(8)
        this.#end = this.#buffer.writeBigInt64LE(value.value, this.#end)
        return
      case bsonType.timestamp:
        this.#reserve(8)
        this.#end = this.#buffer.writeBigUInt64LE(value.value, this.#end)
        return
      case bsonType.decimal128:
        this.#reserve(16)
        this.#end = this.#buffer.writeBigUInt64LE(value.low, this.#end)
        this.#end = this.#buffer.writeBigUInt64LE(value.high, this.#end)
        return
      case bsonType.string:
      case bsonType.symbol:
      case bsonType.code:
        this.#string(value.value)
        return
      case bsonType.bool:
        this.byte(value.value ? 1 : 0)
        return
      case bsonType.objectId:
        this.raw(value.value, 0, 12)
        return
      case bsonType.document: {
        if (value.raw !== undefined) this.raw(value.raw.bytes, value.raw.start, value.raw.end)
        else this.#fields(value.fields, depth)
        return
      }
      case bsonType.array: {
        if (value.raw !== undefined) this.raw(value.raw.bytes, value.raw.start, value.raw.end)
        else this.#elements(value.elements, depth)
        return
      }
      case bsonType.binary:
        this.int32(value.value.length)
        this.byte(value.subtype)
        this.raw(value.value, 0, value.value.length)
        return
      case bsonType.regex:
        this.#cstring(value.pattern)
        this.#cstring(value.options)
        return
      case bsonType.dbPointer:
        this.#string(value.namespace)
        this.raw(value.id, 0, 12)
        return
      case bsonType.codeWithScope: {
        const start = this.openCode(value.code)
        this.#value(value.scope, depth + 1)
        this.endCode(start)
        return
      }
      default:
    }
  }

  #fields(fields: readonly Field[], depth: number): void {
    refuseDepth(depth)
    const start = this.open()
    for (const [name, value] of fields) {
      this.name(value.type, name)
      this.#value(value, depth + 1)
    }
    this.close(start)
  }

  #elements(elements: readonly Value[], depth: number): void {
    refuseDepth(depth)
    const start = this.open()
    for (let index = 0; index < elements.length; index += 1) {
      const value = elements[index]!
      this.name(value.type, String(index))
      this.#value(value, depth + 1)
    }
    this.close(start)
  }

  #string(text: string): void {
    spend(text.length >> 4)
    const start = this.#end
    this.#reserve(5 + 3 * text.length)
    this.#end += 4
    this.#end += this.#buffer.write(text, this.#end)
    this.#buffer[this.#end++] = 0
    this.#buffer.writeInt32LE(this.#end - start - 4, start)
  }

  #cstring(text: string): void {
    spend(text.length >> 4)
    if (text.includes('\0')) refuseNul()
    this.#reserve(1 + 3 * text.length)
    this.#end += this.#buffer.write(text, this.#end)
    this.#buffer[this.#end++] = 0
  }
}

function refuseNul(): never {
  throw new RequestError('malformed', 'A field name or regular expression contains a null byte.')
}

function refuseDepth(depth: number): void {
  if (depth >= bsonWriteDepthMax) throw new RequestError('malformed', 'A value is nested too deeply.')
}

/** Encodes a document into its own bytes. */
export function encodeDocument(document: BsonDocument | readonly Field[]): Buffer {
  const writer = new BsonWriter()
  writer.document(document instanceof BsonDocument ? document : BsonDocument.of(document))
  return writer.bytes()
}

/** A copy without anything behind it: a message to another thread carries the whole buffer of a view. */
export function encodedForMessage(document: BsonDocument): Uint8Array {
  return new Uint8Array(encodeDocument(document))
}

/** Values that one step writes, in less than half a millisecond. */
const stepValues = 1000

/** A document or array that is being written. */
interface OpenPart {
  readonly parts: readonly (Field | Value)[]
  readonly isArray: boolean
  readonly start: number
  /** Where the code value starts, if this is its scope. */
  readonly codeStart: number | undefined
  at: number
}

/** Encodes a large document in steps. */
export function* encodeInSteps(document: BsonDocument): Steps<Buffer> {
  const writer = new BsonWriter()
  const open: OpenPart[] = []
  let next: Value = document
  for (let values = 1; ; values++) {
    const of: Value = next.type === bsonType.codeWithScope ? next.scope : next
    const codeStart = next.type === bsonType.codeWithScope ? writer.openCode(next.code) : undefined
    if ((of.type === bsonType.document || of.type === bsonType.array) && of.raw === undefined) {
      refuseDepth(open.length)
      const isArray = of.type === bsonType.array
      const parts = isArray ? of.elements : of.fields
      open.push({ parts, isArray, start: writer.open(), codeStart, at: 0 })
    } else {
      writer.value(of)
      if (codeStart !== undefined) writer.endCode(codeStart)
    }
    let top = open.at(-1)
    for (; top !== undefined && top.at === top.parts.length; top = open.at(-1)) {
      writer.close(top.start)
      if (top.codeStart !== undefined) writer.endCode(top.codeStart)
      open.pop()
    }
    if (top === undefined) return writer.bytes()
    const part: Field | Value = top.parts[top.at]!
    next = top.isArray ? (part as Value) : (part as Field)[1]
    writer.name(next.type, top.isArray ? String(top.at) : (part as Field)[0])
    top.at++
    if (values % stepValues === 0) yield
  }
}
