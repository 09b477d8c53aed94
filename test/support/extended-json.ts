/**
 * Reads canonical extended JSON as BSON values.
 *
 * The official package reads `{ "$regex": … }` as a regular expression, where a filter means its operator.
 * Whole numbers are int32 or int64, others double. JSON itself moves names that look like numbers to the
 * front.
 */

import { parseDecimal } from '../../src/document/bson/decimal128.ts'
import { decimal128 } from '../../src/document/bson/number.ts'
import { bsonType } from '../../src/document/bson/types.ts'
import {
  BsonArray,
  BsonDocument,
  binary,
  bool,
  date,
  double,
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
} from '../../src/document/bson/value.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

// biome-ignore lint/suspicious/noExplicitAny: the data are ours, and a wrong shape makes a test fail.
type Part = any

const readers: Readonly<Record<string, (value: Part) => Value>> = {
  $numberInt: text => int32(Number(text)),
  $numberLong: text => int64(BigInt(text)),
  $numberDouble: text => double(Number(text)),
  $numberDecimal: text => decimal128(parseDecimal(text)!),
  $oid: text => objectId(Buffer.from(text, 'hex')),
  $date: ({ $numberLong }) => date(BigInt($numberLong)),
  $binary: ({ base64, subType }) => binary(Buffer.from(base64, 'base64'), Number.parseInt(subType, 16)),
  $timestamp: ({ t, i }) => timestamp((BigInt(t) << 32n) | BigInt(i)),
  $regularExpression: ({ pattern, options }) => regex(pattern, options),
  $minKey: () => minKey,
  $maxKey: () => maxKey,
  $undefined: () => undefinedValue,
  $symbol: value => ({ type: bsonType.symbol, value }),
  $code: value => ({ type: bsonType.code, value }),
  $dbPointer: ({ $ref, $id }) => ({ type: bsonType.dbPointer, namespace: $ref, id: Buffer.from($id.$oid, 'hex') }),
}

export function fromExtendedJson(json: Json): Value {
  if (json === null) return nullValue
  if (typeof json === 'boolean') return bool(json)
  if (typeof json === 'string') return string(json)
  if (typeof json === 'number') {
    if (!Number.isInteger(json)) return double(json)
    return Math.abs(json) <= 2147483647 ? int32(json) : int64(BigInt(json))
  }
  if (Array.isArray(json)) return BsonArray.of(json.map(fromExtendedJson))
  const fields = Object.entries(json) as [string, Json][]
  const [first, second] = fields
  if (first?.[0] === '$code' && second?.[0] === '$scope') {
    return { type: bsonType.codeWithScope, code: first[1] as string, scope: documentOf(second[1]) }
  }
  const reader = fields.length === 1 && Object.hasOwn(readers, first![0]) ? readers[first![0]] : undefined
  if (reader !== undefined) return reader(first![1])
  return BsonDocument.of(fields.map(([name, value]) => [name, fromExtendedJson(value)]))
}

export function documentOf(json: Json): BsonDocument {
  return fromExtendedJson(json) as BsonDocument
}
