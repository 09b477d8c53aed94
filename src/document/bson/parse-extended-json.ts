/**
 * Reads extended JSON, canonical or relaxed, as BSON: types, the order of fields and repeated names are kept.
 *
 * `{"$regex": …}` stays a document, because in a filter it is an operator; the type is `$regularExpression`.
 * Whole numbers are int32 or int64 if they fit, others double. An object that begins like a type but is not
 * valid (`{"$oid": 7}`) is refused. The error tells its place in the text.
 */

import { type Steps, withoutTurns } from '../../base/steps.ts'
import { JsonReader, type JsonVisitor, readInSteps } from '../json-reader.ts'
import { parseDecimal } from './decimal128.ts'
import { decimal128, int32Max, int32Min, int64Max, int64Min } from './number.ts'
import { bsonType } from './types.ts'
import {
  BsonArray,
  BsonDocument,
  binary,
  bool,
  date,
  double,
  type Field,
  int32,
  int64,
  maxKey,
  minKey,
  nullValue,
  objectId,
  regex,
  string,
  timestamp,
  undefinedValue,
  type Value,
} from './value.ts'

/** Stored documents nest less deeply. */
const extendedJsonDepthMax = 180

export function parseExtendedJson(text: string): Value {
  return withoutTurns(parseInSteps(text))
}

export function* parseInSteps(text: string): Steps<Value> {
  const reader = new JsonReader(text)
  const values = new ReadValues(reader)
  yield* readInSteps(reader, values, extendedJsonDepthMax)
  reader.end()
  return values.last
}

/** Reads a text that must be one document. */
export function parseExtendedDocument(text: string): BsonDocument {
  return withoutTurns(parseDocumentInSteps(text))
}

export function* parseDocumentInSteps(text: string): Steps<BsonDocument> {
  const value = yield* parseInSteps(text)
  if (value.type === bsonType.document) return value
  return new JsonReader(text).fail('the text must be one document: { … }')
}

/** An object or array that is being read. */
interface OpenPart {
  readonly start: number
  /** Undefined for an array. */
  readonly fields: Field[] | undefined
  readonly elements: Value[]
  name: string
  readonly outer: OpenPart | undefined
}

const noElements: Value[] = []

/** Builds BSON values from the parts that the reader reports. */
class ReadValues implements JsonVisitor {
  readonly #reader: JsonReader
  /** The innermost object or array that is not complete. */
  #open: OpenPart | undefined
  #last: Value = nullValue

  constructor(reader: JsonReader) {
    this.#reader = reader
  }

  /** The value that was completed last. At the end of the text it is the whole value. */
  get last(): Value {
    return this.#last
  }

  begin(isObject: boolean, start: number): void {
    const [fields, elements] = isObject ? [[], noElements] : [undefined, []]
    this.#open = { start, fields, elements, name: '', outer: this.#open }
  }

  name(name: string): void {
    this.#open!.name = name
  }

  string(value: string): void {
    this.#add(string(value))
  }

  scalar(reader: JsonReader): void {
    const word = reader.word()
    if (word === undefined) this.#add(numberOf(reader.number()))
    else this.#add(word === null ? nullValue : bool(word))
  }

  end(): void {
    const { fields, elements, start, outer } = this.#open!
    this.#open = outer
    this.#add(fields === undefined ? BsonArray.of(elements) : this.#objectOf(fields, start))
  }

  #add(value: Value): void {
    const into = this.#open
    if (into === undefined) this.#last = value
    else if (into.fields === undefined) into.elements.push(value)
    else into.fields.push([into.name, value])
  }

  #objectOf(fields: readonly Field[], start: number): Value {
    const first = fields[0]?.[0]
    if (first === undefined || !first.startsWith('$') || !Object.hasOwn(types, first)) return BsonDocument.of(fields)
    const value = types[first]!(new Parts(fields))
    return value ?? this.#reader.fail(`this is not a valid ${first}`, start)
  }
}

/** The 19 digits of an int64 and its sign. BigInt takes seconds for a million digits. */
const wholeCharsMax = 20

function numberOf(written: string): Value {
  if (written.length > wholeCharsMax || /[.eE]/.test(written) || written === '-0') return double(Number(written))
  const whole = BigInt(written)
  if (whole >= BigInt(int32Min) && whole <= BigInt(int32Max)) return int32(Number(whole))
  return whole >= int64Min && whole <= int64Max ? int64(whole) : double(Number(written))
}

/** The fields of an object that stands for a value. */
class Parts {
  readonly #fields: readonly Field[]

  constructor(fields: readonly Field[]) {
    this.#fields = fields
  }

  hasOnly(...names: readonly string[]): boolean {
    return this.#fields.length === names.length && names.every(name => this.value(name) !== undefined)
  }

  value(name: string): Value | undefined {
    return this.#fields.find(([each]) => each === name)?.[1]
  }

  text(name: string): string | undefined {
    const value = this.value(name)
    return value?.type === bsonType.string ? value.value : undefined
  }

  whole(name: string): bigint | undefined {
    return wholeOf(this.value(name))
  }

  inside(name: string): Parts | undefined {
    const value = this.value(name)
    return value?.type === bsonType.document ? new Parts(value.fields) : undefined
  }
}

function wholeOf(value: Value | undefined): bigint | undefined {
  if (value?.type === bsonType.int32) return BigInt(value.value)
  return value?.type === bsonType.int64 ? value.value : undefined
}

const whole = /^-?\d{1,20}$/
const hex24 = /^[0-9a-fA-F]{24}$/

/** The types, by the first field name. They return undefined if the fields do not fit. */
const types: Readonly<Record<string, (parts: Parts) => Value | undefined>> = {
  $oid: parts => {
    const text = parts.text('$oid')
    return parts.hasOnly('$oid') && text !== undefined && hex24.test(text)
      ? objectId(Buffer.from(text, 'hex'))
      : undefined
  },
  $numberInt: parts => {
    const value = parts.hasOnly('$numberInt') ? wholeText(parts.text('$numberInt')) : undefined
    return value !== undefined && value >= BigInt(int32Min) && value <= BigInt(int32Max)
      ? int32(Number(value))
      : undefined
  },
  $numberLong: parts => {
    const value = parts.hasOnly('$numberLong') ? wholeText(parts.text('$numberLong')) : undefined
    return value !== undefined && value >= int64Min && value <= int64Max ? int64(value) : undefined
  },
  $numberDouble: parts => {
    const text = parts.hasOnly('$numberDouble') ? parts.text('$numberDouble') : undefined
    if (text === undefined || !/^(NaN|-?Infinity|-?\d+(\.\d+)?([eE][+-]?\d+)?)$/.test(text)) return undefined
    return double(Number(text))
  },
  $numberDecimal: parts => {
    const text = parts.hasOnly('$numberDecimal') ? parts.text('$numberDecimal') : undefined
    const decimal = text === undefined ? undefined : parseDecimal(text)
    return decimal === undefined ? undefined : decimal128(decimal)
  },
  $date: parts => (parts.hasOnly('$date') ? dateOf(parts.value('$date')!) : undefined),
  $binary: parts => {
    const inner = parts.inside('$binary')
    if (inner !== undefined)
      return parts.hasOnly('$binary') ? binaryOf(inner.text('base64'), inner.text('subType')) : undefined
    return parts.hasOnly('$binary', '$type') ? binaryOf(parts.text('$binary'), parts.text('$type')) : undefined
  },
  $uuid: parts => {
    const digits = parts.hasOnly('$uuid') ? parts.text('$uuid')?.replaceAll('-', '') : undefined
    return digits !== undefined && /^[0-9a-fA-F]{32}$/.test(digits) ? binary(Buffer.from(digits, 'hex'), 4) : undefined
  },
  $timestamp: parts => {
    const inner = parts.hasOnly('$timestamp') ? parts.inside('$timestamp') : undefined
    const [seconds, counter] = [inner?.whole('t'), inner?.whole('i')]
    if (seconds === undefined || counter === undefined || !isUint32(seconds) || !isUint32(counter)) return undefined
    return timestamp((seconds << 32n) | counter)
  },
  $regularExpression: parts => {
    const inner = parts.hasOnly('$regularExpression') ? parts.inside('$regularExpression') : undefined
    const [pattern, options] = [inner?.text('pattern'), inner?.text('options')]
    return pattern === undefined || options === undefined ? undefined : regex(pattern, options)
  },
  $symbol: parts => {
    const value = parts.hasOnly('$symbol') ? parts.text('$symbol') : undefined
    return value === undefined ? undefined : { type: bsonType.symbol, value }
  },
  $code: parts => {
    const code = parts.text('$code')
    if (code === undefined) return undefined
    if (parts.hasOnly('$code')) return { type: bsonType.code, value: code }
    const scope = parts.value('$scope')
    if (!parts.hasOnly('$code', '$scope') || scope?.type !== bsonType.document) return undefined
    return { type: bsonType.codeWithScope, code, scope }
  },
  $dbPointer: parts => {
    const inner = parts.hasOnly('$dbPointer') ? parts.inside('$dbPointer') : undefined
    const [namespace, id] = [inner?.text('$ref'), inner?.value('$id')]
    if (namespace === undefined || id?.type !== bsonType.objectId) return undefined
    return { type: bsonType.dbPointer, namespace, id: id.value }
  },
  $undefined: parts => (parts.hasOnly('$undefined') ? undefinedValue : undefined),
  $minKey: parts => (parts.hasOnly('$minKey') ? minKey : undefined),
  $maxKey: parts => (parts.hasOnly('$maxKey') ? maxKey : undefined),
}

function wholeText(text: string | undefined): bigint | undefined {
  return text !== undefined && whole.test(text) ? BigInt(text) : undefined
}

function isUint32(value: bigint): boolean {
  return value >= 0n && value <= 0xffffffffn
}

const isoDate = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

/** ISO text, or milliseconds since 1970. */
function dateOf(value: Value): Value | undefined {
  if (value.type === bsonType.string) {
    const ms = isoDate.test(value.value) ? Date.parse(value.value.replace(/([+-]\d{2})(\d{2})$/, '$1:$2')) : Number.NaN
    return Number.isNaN(ms) ? undefined : date(BigInt(ms))
  }
  const ms = wholeOf(value)
  return ms === undefined ? undefined : date(ms)
}

function binaryOf(base64: string | undefined, subType: string | undefined): Value | undefined {
  if (base64 === undefined || subType === undefined || !/^[0-9a-fA-F]{1,2}$/.test(subType)) return undefined
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined
  return binary(Buffer.from(base64, 'base64'), Number.parseInt(subType, 16))
}
