/** Formats values as MongoDB prints them in its messages: `{ a: 1, b: "x" }`. */

import { printNumber } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BinaryValue, BsonDocument, Value } from '../../document/bson/value.ts'

/** A message should not contain a whole document. A longer text is cut, and ends in dots. */
const charsMax = 2000

export function printElement(name: string, value: Value): string {
  return `${cut(name, charsMax)}: ${printValue(value)}`
}

export function printDocument(document: BsonDocument): string {
  return printValue(document)
}

export function printValue(value: Value, roomChars = charsMax): string {
  return cut(textOf(value, roomChars + 1), roomChars)
}

function cut(text: string, roomChars: number): string {
  return text.length > roomChars ? `${text.slice(0, roomChars)}...` : text
}

/**
 * The beginning of the text: at least `roomChars` characters, if there are so many. The whole text may be
 * endless, because an expression can build values that contain the same part very often.
 */
function textOf(value: Value, roomChars: number): string {
  switch (value.type) {
    case bsonType.double: {
      const text = printNumber(value)
      // A whole double prints with `.0`, so that it differs from an integer.
      return Number.isInteger(value.value) && !text.includes('e') ? `${text}.0` : text
    }
    case bsonType.int32:
    case bsonType.int64:
    case bsonType.decimal128:
      return printNumber(value)
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return JSON.stringify(value.value.slice(0, roomChars))
    case bsonType.document:
      return fieldsText(value, roomChars)
    case bsonType.array:
      return listText('[]', value.elements, roomChars, textOf)
    case bsonType.bool:
      return String(value.value)
    case bsonType.date:
      return `new Date(${value.value})`
    case bsonType.timestamp:
      return `Timestamp(${value.value >> 32n}, ${value.value & 0xffffffffn})`
    case bsonType.objectId:
      return `ObjectId('${hex(value.value)}')`
    case bsonType.binary:
      return printBinary(value, roomChars)
    case bsonType.regex:
      return `/${value.pattern}/${value.options}`
    case bsonType.dbPointer:
      return `DBRef('${value.namespace}', ${hex(value.id)})`
    case bsonType.codeWithScope:
      return `CodeWScope( ${value.code.slice(0, roomChars)}, ${fieldsText(value.scope, roomChars)})`
    case bsonType.null:
      return 'null'
    case bsonType.undefined:
      return 'undefined'
    case bsonType.minKey:
      return 'MinKey'
    default:
      return 'MaxKey'
  }
}

function fieldsText({ fields }: BsonDocument, roomChars: number): string {
  return listText('{}', fields, roomChars, ([name, value], room) => `${cut(name, room)}: ${textOf(value, room)}`)
}

function listText<Part>(
  brackets: string,
  parts: readonly Part[],
  roomChars: number,
  write: (part: Part, roomChars: number) => string,
): string {
  if (parts.length === 0) return brackets
  let text = `${brackets.charAt(0)} `
  for (const [index, part] of parts.entries()) {
    if (text.length >= roomChars) break
    text += (index === 0 ? '' : ', ') + write(part, roomChars - text.length)
  }
  return `${text} ${brackets.charAt(1)}`
}

function printBinary({ value, subtype }: BinaryValue, roomChars: number): string {
  const digits = hex(value.subarray(0, roomChars))
  if (subtype !== 4 || value.length !== 16) return `BinData(${subtype}, ${digits.toUpperCase()})`
  return `UUID("${digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}")`
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}
