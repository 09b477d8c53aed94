/**
 * Batches in the form of the .NET SDK: HybridRow rows in a RecordIO stream.
 *
 *   stream      a segment header, then records
 *   segment     a row: its own length
 *   record      a row: length and CRC-32 of the row that follows
 *   row         0x81, the id of its schema, a bit for each optional column, fixed columns, variable columns
 *               with their lengths, and any number of sparse columns: type, name (a number or a text), value
 *
 * The formats are those of microsoft/HybridRow (Docs/Grammar.md, Docs/RecordIO.md). The schemas of operations
 * and results are those of azure-cosmos-dotnet-v3 (HybridRowBatchSchemas.json). Only the parts that these
 * schemas need are implemented.
 */

import { isUtf8 } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { RequestError } from '../../base/error.ts'
import { requestBytesMax } from '../../base/limits.ts'
import { invalidInputText, malformed } from '../definitions/definition-input.ts'
import type { ItemOperation } from '../items/item-operation.ts'
import { binaryJsonToText, isBinaryJson } from '../json/binary-json.ts'
import { decodeJson, parseJson } from '../json/parse-json.ts'
import { type BatchOperation, checkCount } from './batch-request.ts'
import type { BatchResult } from './batch-response.ts'

const rowVersion = 0x81
const headerBytes = 5
const schemas = { segment: 2147473648, record: 2147473649, operation: 2145473648, result: 2145473649 } as const
const types = { false: 2, true: 3, int32: 7, uint32: 11, float64: 16, utf8: 20 } as const

export function isBinaryBatch(body: Buffer): boolean {
  return body[0] === rowVersion
}

/** The .NET SDK's own numbers (OperationType of Microsoft.Azure.Documents). */
const kinds: Readonly<Record<number, ItemOperation['kind']>> = {
  0: 'create',
  1: 'patch',
  2: 'read',
  4: 'delete',
  5: 'replace',
  20: 'upsert',
}

const variableColumns = ['partitionKey', 'effectivePartitionKey', 'id', 'binaryId', 'resourceBody'] as const
const sparseColumns = ['indexingDirective', 'ifMatch', 'ifNoneMatch', 'timeToLiveInSeconds', 'minimalReturnPreference']
/** Names are numbered in schema order, after the empty name. */
const operationNames = ['', 'operationType', 'resourceType', ...variableColumns, ...sparseColumns]

export function parseBinaryBatch(body: Buffer): BatchOperation[] {
  const reader = new Reader(body)
  reader.schema(schemas.segment)
  const segment = reader.int32(1)
  if (segment < headerBytes + 5) malformed(invalidInputText)
  reader.at = segment
  const operations: BatchOperation[] = []
  let textLength = 0
  while (reader.at < body.length) {
    reader.schema(schemas.record)
    const length = reader.int32()
    const checksum = reader.int32() >>> 0
    const row = reader.bytes(length)
    if (crc32(row) !== checksum) malformed(invalidInputText)
    const operation = readOperation(new Reader(row))
    // An item in binary JSON may be much larger as text.
    textLength += operation.body?.text.length ?? 0
    if (textLength > requestBytesMax) throw new RequestError('too_large', 'Request size is too large')
    operations.push(operation)
  }
  checkCount(operations.length)
  return operations
}

function readOperation(reader: Reader): BatchOperation {
  reader.schema(schemas.operation)
  const present = reader.byte()
  const kind = kinds[reader.int32()]
  reader.int32()
  if (kind === undefined) malformed(invalidInputText)
  const variable = new Map<string, Buffer>()
  for (const [at, name] of variableColumns.entries()) {
    if ((present & (1 << (at + 2))) !== 0) variable.set(name, reader.bytes(reader.varuint()))
  }
  const sparse = readSparse(reader)
  // Binary ids and effective partition keys are for clients inside the service.
  if (variable.has('binaryId') || variable.has('effectivePartitionKey')) malformed(invalidInputText)
  const text = (name: string) => {
    const value = sparse.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    kind,
    id: decode(variable.get('id')),
    partitionKey: decode(variable.get('partitionKey')),
    body: bodyOf(variable.get('resourceBody')),
    ifMatch: text('ifMatch'),
    ifNoneMatch: text('ifNoneMatch'),
    isMinimal: sparse.get('minimalReturnPreference') === true,
  }
}

function bodyOf(bytes: Buffer | undefined): BatchOperation['body'] {
  if (bytes === undefined) return undefined
  const text = decodeJson(isBinaryJson(bytes) ? binaryJsonToText(bytes) : bytes)
  return { text, parsed: parseJson(text) }
}

function decode(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined
  if (!isUtf8(bytes)) malformed(invalidInputText)
  return bytes.toString('utf8')
}

function readSparse(reader: Reader): Map<string, string | number | boolean> {
  const found = new Map<string, string | number | boolean>()
  while (!reader.isAtEnd) {
    const type = reader.byte()
    const token = reader.varuint()
    const name = operationNames[token] ?? decode(reader.bytes(token - operationNames.length))!
    if (type === types.true || type === types.false) found.set(name, type === types.true)
    else if (type === types.int32) found.set(name, reader.int32())
    else if (type === types.utf8) found.set(name, decode(reader.bytes(reader.varuint()))!)
    else malformed(invalidInputText)
  }
  return found
}

/** Reads forward. Reading beyond the end is a malformed request. */
class Reader {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  bytes(length: number): Buffer {
    const end = this.at + length
    if (length < 0 || end > this.#bytes.length) malformed(invalidInputText)
    const part = this.#bytes.subarray(this.at, end)
    this.at = end
    return part
  }

  byte(): number {
    return this.bytes(1)[0]!
  }

  int32(skipped = 0): number {
    this.bytes(skipped)
    return this.bytes(4).readInt32LE()
  }

  schema(expected: number): void {
    if (this.byte() !== rowVersion || this.int32() !== expected) malformed(invalidInputText)
  }

  /** Seven bits per byte, lowest first. */
  varuint(): number {
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    malformed(invalidInputText)
  }
}

export function printBinaryResults(results: readonly BatchResult[]): Buffer {
  const parts = [header(schemas.segment), Buffer.from([1]), int32(headerBytes + 5)]
  for (const result of results) {
    const row = resultRow(result)
    parts.push(header(schemas.record), int32(row.length), int32(crc32(row) | 0), row)
  }
  return Buffer.concat(parts)
}

/** For a failed operation, the SDK shows the body as its error message. */
function resultRow({ status, chargeRu, etag, body, substatus = 0, message, retryAfterMs }: BatchResult): Buffer {
  const shown = body ?? message
  const present = 0b0011 | (etag === undefined ? 0 : 0b0100) | (shown === undefined ? 0 : 0b1000)
  const parts = [header(schemas.result), Buffer.from([present]), int32(status), int32(substatus)]
  if (etag !== undefined) parts.push(variable(etag))
  if (shown !== undefined) parts.push(variable(shown))
  if (retryAfterMs !== undefined)
    parts.push(Buffer.from([types.uint32, resultNames.retryAfterMilliseconds]), int32(retryAfterMs))
  const charge = Buffer.alloc(8)
  charge.writeDoubleLE(chargeRu)
  parts.push(Buffer.from([types.float64, resultNames.requestCharge]), charge)
  return Buffer.concat(parts)
}

const resultNames = { retryAfterMilliseconds: 5, requestCharge: 6 } as const

function header(schema: number): Buffer {
  return Buffer.concat([Buffer.from([rowVersion]), int32(schema)])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

function variable(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length: number[] = []
  let rest = bytes.length
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}
