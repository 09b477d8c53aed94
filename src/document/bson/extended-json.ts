/**
 * Prints BSON as extended JSON (the specification of MongoDB, version 2).
 *
 *   canonical   keeps every type; for other programs
 *   editable    the same, but dates from 1970 to 9999 are ISO text; for people who edit it
 *   relaxed     numbers are JSON numbers; for display only
 *
 * Fields keep their order, repeated names and names that look like numbers. A document with a field of its
 * own that is named `$date` looks like a date. So a caller that lets people edit the text must parse it again
 * and compare.
 */

import { type Steps, withoutTurns } from '../../base/steps.ts'
import { pieceChars, quoteInSteps } from '../long-text.ts'
import { printDecimal, unpackDecimal } from './decimal128.ts'
import { bsonType } from './types.ts'
import { type BsonArray, type BsonDocument, type Field, type Value, valueAt } from './value.ts'
import { ElementCursor } from './view.ts'

export type ExtendedJsonMode = 'canonical' | 'editable' | 'relaxed'

export interface ExtendedJsonLayout {
  readonly mode: ExtendedJsonMode
  /** Spaces for each level; 0 for one line. */
  readonly indent?: number
  /** Parts behind this many characters may be left out. */
  readonly charsMax?: number
}

export function printExtendedJson(value: Value, layout: ExtendedJsonLayout): string {
  return withoutTurns(printInSteps(value, layout))
}

/** Parts that are printed and joined in one step, in about half a millisecond. */
const stepParts = 4096

export function* printInSteps(
  value: Value,
  { mode, indent = 0, charsMax = Number.POSITIVE_INFINITY }: ExtendedJsonLayout,
): Steps<string> {
  const pieces: string[] = []
  let parts: string[] = []
  // Every part has at least one character, so the wanted characters are within this many parts.
  let partsLeft = charsMax
  const open: OpenPart[] = []
  for (let next = value; ; ) {
    if (next.type === bsonType.document || next.type === bsonType.array) {
      const part = new OpenPart(next, open.length, open.at(-1)?.indent ?? indent)
      parts.push(part.start)
      open.push(part)
    } else if (next.type === bsonType.codeWithScope) {
      parts.push('{"$code":', yield* quoteInSteps(next.code), ',"$scope":{')
      open.push(new OpenPart(next.scope, 0, 0, '}'))
    } else if (next.type === bsonType.string) {
      const { value: text } = next
      parts.push(text.length > pieceChars ? yield* quoteInSteps(text) : JSON.stringify(text))
    } else {
      parts.push(printScalar(next, mode))
    }
    let top = open.at(-1)
    while (top !== undefined && (parts.length > partsLeft || !top.next())) {
      parts.push(top.end)
      open.pop()
      top = open.at(-1)
    }
    if (parts.length >= stepParts || top === undefined) {
      partsLeft -= parts.length
      pieces.push(parts.join(''))
      parts = []
      if (top === undefined) return pieces.length === 1 ? pieces[0]! : pieces.join('')
      yield
    }
    parts.push(top.lead)
    if (top.name !== undefined) parts.push(JSON.stringify(top.name), top.indent > 0 ? ': ' : ':')
    next = top.value
  }
}

/** A document or array that is being printed. If it has bytes, they are decoded one part at a time. */
class OpenPart {
  readonly indent: number
  readonly start: string
  readonly #isDocument: boolean
  readonly #cursor: ElementCursor | undefined
  readonly #list: readonly (Field | Value)[]
  readonly #line: string
  readonly #lineOfParts: string
  readonly #after: string
  #count = 0
  /** The current part: `next` moves on to it. */
  name: string | undefined
  value!: Value

  constructor(of: BsonDocument | BsonArray, depth: number, indent: number, after = '') {
    this.#isDocument = of.type === bsonType.document
    this.indent = indent
    this.start = this.#isDocument ? '{' : '['
    this.#line = indent > 0 ? `\n${' '.repeat(indent * depth)}` : ''
    this.#lineOfParts = indent > 0 ? `\n${' '.repeat(indent * (depth + 1))}` : ''
    this.#after = after
    this.#cursor = of.raw === undefined ? undefined : new ElementCursor(of.raw.bytes, of.raw.start)
    this.#list = of.raw !== undefined ? [] : of.type === bsonType.document ? of.fields : of.elements
  }

  next(): boolean {
    const cursor = this.#cursor
    if (cursor !== undefined) {
      if (!cursor.next()) return false
      if (this.#isDocument) this.name = cursor.name()
      this.value = valueAt(cursor.bytes, cursor.type, cursor.valueStart)
    } else {
      if (this.#count === this.#list.length) return false
      const part = this.#list[this.#count]!
      if (this.#isDocument) [this.name, this.value] = part as Field
      else this.value = part as Value
    }
    this.#count++
    return true
  }

  /** The text before the current part. */
  get lead(): string {
    return this.#count === 1 ? this.#lineOfParts : `,${this.#lineOfParts}`
  }

  get end(): string {
    return `${this.#count === 0 ? '' : this.#line}${this.#isDocument ? '}' : ']'}${this.#after}`
  }
}

type Scalar = Exclude<Value, BsonDocument | { readonly type: typeof bsonType.array | typeof bsonType.codeWithScope }>

function printScalar(value: Scalar, mode: ExtendedJsonMode): string {
  const isRelaxed = mode === 'relaxed'
  switch (value.type) {
    case bsonType.null:
      return 'null'
    case bsonType.bool:
      return String(value.value)
    case bsonType.string:
      return JSON.stringify(value.value)
    case bsonType.int32:
      return isRelaxed ? String(value.value) : `{"$numberInt":"${value.value}"}`
    case bsonType.int64:
      return isRelaxed ? String(value.value) : `{"$numberLong":"${value.value}"}`
    case bsonType.double:
      return isRelaxed && Number.isFinite(value.value)
        ? printDouble(value.value)
        : `{"$numberDouble":"${printDouble(value.value)}"}`
    case bsonType.decimal128:
      return `{"$numberDecimal":"${printDecimal(unpackDecimal(value))}"}`
    case bsonType.objectId:
      return `{"$oid":"${hex(value.value)}"}`
    case bsonType.date:
      return printDate(value.value, mode)
    case bsonType.binary: {
      const base64 = Buffer.from(value.value).toString('base64')
      return `{"$binary":{"base64":"${base64}","subType":"${value.subtype.toString(16).padStart(2, '0')}"}}`
    }
    case bsonType.timestamp:
      return `{"$timestamp":{"t":${value.value >> 32n},"i":${value.value & 0xffffffffn}}}`
    case bsonType.regex:
      return (
        `{"$regularExpression":{"pattern":${JSON.stringify(value.pattern)},` +
        `"options":${JSON.stringify(value.options)}}}`
      )
    case bsonType.symbol:
      return `{"$symbol":${JSON.stringify(value.value)}}`
    case bsonType.code:
      return `{"$code":${JSON.stringify(value.value)}}`
    case bsonType.dbPointer:
      return `{"$dbPointer":{"$ref":${JSON.stringify(value.namespace)},"$id":{"$oid":"${hex(value.id)}"}}}`
    case bsonType.undefined:
      return '{"$undefined":true}'
    case bsonType.minKey:
      return '{"$minKey":1}'
    default:
      return '{"$maxKey":1}'
  }
}

/** The shortest digits that give the number back; a whole number has `.0`, so that it stays a double. */
function printDouble(value: number): string {
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

/** 10000-01-01: later years have no ISO text of four digits. */
const isoEndMs = 253402300800000n

function printDate(epochMs: bigint, mode: ExtendedJsonMode): string {
  if (mode === 'canonical' || epochMs < 0n || epochMs >= isoEndMs) return `{"$date":{"$numberLong":"${epochMs}"}}`
  return `{"$date":"${new Date(Number(epochMs)).toISOString().replace('.000Z', 'Z')}"}`
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}
