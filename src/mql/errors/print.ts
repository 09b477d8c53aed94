/** Formats values as MongoDB prints them in its messages: `{ a: 1, b: "x" }`. */

import { printNumber } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BinaryValue, BsonDocument, Value } from '../../document/bson/value.ts'

export function printElement(name: string, value: Value): string {
  return `${name}: ${printValue(value)}`
}

export function printDocument({ fields }: BsonDocument): string {
  return fields.length === 0 ? '{}' : `{ ${fields.map(([name, value]) => printElement(name, value)).join(', ')} }`
}

export function printValue(value: Value): string {
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
      return JSON.stringify(value.value)
    case bsonType.document:
      return printDocument(value)
    case bsonType.array:
      return value.elements.length === 0 ? '[]' : `[ ${value.elements.map(printValue).join(', ')} ]`
    case bsonType.bool:
      return String(value.value)
    case bsonType.date:
      return `new Date(${value.value})`
    case bsonType.timestamp:
      return `Timestamp(${value.value >> 32n}, ${value.value & 0xffffffffn})`
    case bsonType.objectId:
      return `ObjectId('${hex(value.value)}')`
    case bsonType.binary:
      return printBinary(value)
    case bsonType.regex:
      return `/${value.pattern}/${value.options}`
    case bsonType.dbPointer:
      return `DBRef('${value.namespace}', ${hex(value.id)})`
    case bsonType.codeWithScope:
      return `CodeWScope( ${value.code}, ${printDocument(value.scope)})`
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

function printBinary({ value, subtype }: BinaryValue): string {
  const digits = hex(value)
  if (subtype !== 4 || value.length !== 16) return `BinData(${subtype}, ${digits.toUpperCase()})`
  return `UUID("${digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}")`
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}
