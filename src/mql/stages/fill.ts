/** `$fill`: replaces null and missing values. It is a `$setWindowFields` followed by an `$addFields`. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, string, type Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import { addFieldsStage } from './projection.ts'
import { setWindowFieldsStage } from './set-window-fields.ts'
import type { CompileStage, Stage } from './stage.ts'
import { stageArguments, stageDocument, stringsIn } from './stage-arguments.ts'

const methods: Readonly<Record<string, string>> = { linear: '$linearFill', locf: '$locf' }

export const fillStage: CompileStage = (spec, compiler, name) => {
  const given = stageArguments(stageDocument(spec, name, 'The'), name, {
    sortBy: { type: 'object' },
    partitionBy: { type: 'stringOrObject' },
    partitionByFields: { type: 'array' },
    output: { type: 'object', isRequired: true },
  })
  const output = given.output as BsonDocument
  if (output.isEmpty) refuse(6050203, "The output field in '$fill' must contain an object with at least one element")
  const filled: Field[] = []
  const set: Field[] = []
  for (const [field, each] of output.fields) {
    const { method, value } = fillOf(each, name)
    const path = string(`$${field}`)
    if (method !== undefined) filled.push([field, BsonDocument.of([[method, path]])])
    else set.push([field, BsonDocument.of([['$ifNull', BsonArray.of([path, value!])]])])
  }
  const partitionBy = partitionOf(given.partitionBy, stringsIn(given.partitionByFields, `${name}.partitionByFields`))
  const windows: Field[] = [['output', BsonDocument.of(filled)]]
  if (given.sortBy !== undefined) windows.push(['sortBy', given.sortBy])
  if (partitionBy !== undefined) windows.push(['partitionBy', partitionBy])
  const stages: Stage[] = []
  if (filled.length > 0) stages.push(setWindowFieldsStage(BsonDocument.of(windows), compiler, '$setWindowFields'))
  if (set.length > 0) stages.push(addFieldsStage(BsonDocument.of(set), compiler, '$addFields'))
  return { name, run: (input, run) => stages.reduce((stream, stage) => stage.run(stream, run), input) }
}

function fillOf(spec: Value, name: string): { readonly method?: string; readonly value?: Value } {
  if (spec.type !== bsonType.document) {
    return refuse(6050200, 'Each fill output specification must be an object with exactly one field')
  }
  const { method, value } = stageArguments(spec, name, { method: { type: 'string' }, value: { type: 'any' } })
  if (method === undefined) {
    return value === undefined
      ? refuse(6050200, 'Each fill output specification must be an object with exactly one field')
      : { value }
  }
  if (value !== undefined) {
    refuse(6050201, "Each fill output specification must have exactly one of 'method' or 'value' fields, not both")
  }
  const named = method.type === bsonType.string && Object.hasOwn(methods, method.value) && methods[method.value]
  return named ? { method: named } : refuse(6050202, 'Method must be either locf or linear')
}

function partitionOf(expression: Value | undefined, fields: readonly string[]): Value | undefined {
  if (fields.length === 0) return expression
  if (expression !== undefined) {
    refuse(6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'")
  }
  return BsonDocument.of(fields.map((field): Field => [field, string(`$${field}`)]))
}
