/**
 * Prints BSON as extended JSON (the specification of MongoDB, version 2).
 *
 *   canonical   every type is kept; what others read
 *   editable    the same, but dates from 1970 to 9999 as ISO text: what people edit
 *   relaxed     numbers as JSON numbers; for display only
 *
 * Fields keep their order, repeated names and names that look like numbers. A document that has a field such
 * as `$date` itself cannot be told from a date: whoever lets people edit the text parses it again, and
 * compares.
 */

import { printDecimal, unpackDecimal } from './decimal128.ts'
import { bsonType } from './types.ts'
import type { BsonDocument, Value } from './value.ts'

export type ExtendedJsonMode = 'canonical' | 'editable' | 'relaxed'

export interface ExtendedJsonLayout {
  readonly mode: ExtendedJsonMode
  /** Spaces for each level; 0 for one line. */
  readonly indent?: number
  /** More than this is not wanted: the rest of the parts may be left out. */
  readonly charsMax?: number
}

export function printExtendedJson(
  value: Value | BsonDocument,
  { mode, indent = 0, charsMax = Number.POSITIVE_INFINITY }: ExtendedJsonLayout,
): string {
  const parts: string[] = []
  // A part has one character at least.
  print(value, { mode, indent, parts, partsMax: charsMax }, 0)
  return parts.join('')
}

interface Printing {
  readonly mode: ExtendedJsonMode
  readonly indent: number
  readonly parts: string[]
  readonly partsMax: number
}

function print(value: Value, printing: Printing, depth: number): void {
  const { parts, indent } = printing
  if (value.type === bsonType.document) {
    const { fields } = value
    printParts('{', '}', fields.length, printing, depth, at => {
      const [name, field] = fields[at]!
      parts.push(JSON.stringify(name), indent > 0 ? ': ' : ':')
      print(field, printing, depth + 1)
    })
  } else if (value.type === bsonType.array) {
    const { elements } = value
    printParts('[', ']', elements.length, printing, depth, at => print(elements[at]!, printing, depth + 1))
  } else if (value.type === bsonType.codeWithScope) {
    parts.push(`{"$code":${JSON.stringify(value.code)},"$scope":`)
    print(value.scope, { ...printing, indent: 0 }, depth + 1)
    parts.push('}')
  } else {
    parts.push(printScalar(value, printing.mode))
  }
}

function printParts(
  open: string,
  close: string,
  count: number,
  { parts, indent, partsMax }: Printing,
  depth: number,
  part: (at: number) => void,
): void {
  parts.push(open)
  for (let at = 0; at < count && parts.length <= partsMax; at++) {
    if (at > 0) parts.push(',')
    if (indent > 0) parts.push('\n', ' '.repeat(indent * (depth + 1)))
    part(at)
  }
  if (indent > 0 && count > 0) parts.push('\n', ' '.repeat(indent * depth))
  parts.push(close)
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
