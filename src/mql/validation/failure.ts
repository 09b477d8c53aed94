/** The parts of a report on a document that fails a validator, as MongoDB writes them. */

import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, int32, string, type Value, valueAt } from '../../document/bson/value.ts'
import type { MongoError } from '../errors/mongo-error.ts'
import type { Part } from '../filter/schema-tests.ts'

/** How much a report shows. A truncated one leaves out operands and considered values: they may be large. */
export interface ReportOptions {
  readonly isTruncated: boolean
}

/** `title` and `description` of a schema. */
export function annotationsOf(spec: BsonDocument): Field[] {
  return spec.fields.filter(
    ([name, { type }]) => (name === 'title' || name === 'description') && type === bsonType.string,
  )
}

export function operatorName(name: string): Field {
  return ['operatorName', string(name)]
}

export function reason(text: string): Field {
  return ['reason', string(text)]
}

export function specifiedAs(spec: BsonDocument, { isTruncated }: ReportOptions): Field[] {
  return isTruncated ? [] : [['specifiedAs', spec]]
}

export function consideredValue(value: Value, { isTruncated }: ReportOptions): Field[] {
  return isTruncated ? [] : [['consideredValue', value]]
}

/** One value, or the list of all. */
export function consideredValues(values: readonly Value[], options: ReportOptions): Field[] {
  const [only, second] = values
  if (only !== undefined && second === undefined) return consideredValue(only, options)
  return options.isTruncated ? [] : [['consideredValues', BsonArray.of(values)]]
}

export function consideredTypes(values: readonly Value[]): Field[] {
  return oneOrMore('consideredType', [...new Set(values.map(({ type }) => typeName(type)))])
}

/** A field with one text, or with the sorted list of several. */
export function oneOrMore(name: string, texts: readonly string[]): Field[] {
  const [only, second] = texts
  if (only === undefined) return []
  if (second === undefined) return [[name, string(only)]]
  return [[`${name}s`, BsonArray.of([...texts].sort().map(string))]]
}

export function partValue({ bytes, type, start }: Part): Value {
  return valueAt(bytes, type, start)
}

export function listOf(values: readonly Value[]): BsonArray {
  return BsonArray.of(values)
}

export function textsOf(texts: readonly string[]): BsonArray {
  return BsonArray.of(texts.map(string))
}

/** An error as part of a report. */
export function errorFields({ code, codeName, message }: MongoError): BsonDocument {
  return BsonDocument.of([
    ['code', int32(code)],
    ['codeName', string(codeName)],
    ['errmsg', string(message)],
  ])
}

export function report(...fields: readonly (Field | readonly Field[])[]): BsonDocument {
  return BsonDocument.of(fields.flatMap(each => (isField(each) ? [each] : each)))
}

function isField(value: Field | readonly Field[]): value is Field {
  return typeof value[0] === 'string'
}
