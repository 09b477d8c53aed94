/** `$out` and `$merge`, which write their input to a collection and pass nothing on. */

import { bsonType } from '../../document/bson/types.ts'
import { type BsonArray, BsonDocument, string, type Value } from '../../document/bson/value.ts'
import { namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { Context } from '../expressions/core/scope.ts'
import { checkVariableName } from '../expressions/core/variable-name.ts'
import { DocumentBuilder } from '../expressions/values/document-builder.ts'
import { checkedPath } from '../paths/expression-path.ts'
import type { Namespace } from './namespace.ts'
import {
  type CompileStage,
  type DocumentBatch,
  documentBytes,
  livingBytes,
  type MergeRequest,
  type Stage,
  type StageCompiler,
} from './stage.ts'

/** A stage with a known target. */
export interface WritingStage extends Stage {
  readonly target: Namespace
  /** How `$merge` writes. */
  readonly merge?: MergeRequest
}

function checkTarget(target: Namespace, name: string): Namespace {
  const { database, collection } = target
  if (database === '' || collection === '' || collection.includes('\0') || collection.includes('$')) {
    const separator = name === '$out' ? ',' : ':'
    refuse(73, `Invalid ${name} target namespace${separator} ${database}.${collection}`)
  }
  if (collection.startsWith('system.')) {
    refuse(name === '$out' ? 17385 : 31319, `Can't ${name} to special collection: ${collection}`)
  }
  if (['admin', 'config', 'local'].includes(database)) {
    refuse(name === '$out' ? 31321 : 31320, `Can't ${name} to internal database: ${database}`)
  }
  return target
}

function stringField(value: Value | undefined, path: string): string {
  if (value === undefined) return refuse(40414, `BSON field '${path}' is missing but a required field`)
  if (value.type === bsonType.string) return value.value
  return refuse(14, `BSON field '${path}' is the wrong type '${nameOfType(value)}', expected type 'string'`)
}

function outTarget(spec: Value, { namespace }: StageCompiler): Namespace {
  if (spec.type === bsonType.string) return { database: namespace.database, collection: spec.value }
  if (spec.type !== bsonType.document) {
    return refuse(16990, `$out only supports a string or object argument, but found ${nameOfType(spec)}`)
  }
  const { db, coll } = namedArguments(spec, ['db', 'coll'], unknown =>
    refuse(40415, `BSON field '$out.${unknown}' is an unknown field.`),
  )
  return { database: stringField(db, '$out.db'), collection: stringField(coll, '$out.coll') }
}

/** The work begins when the result is read. */
async function* nothingAfter(work: () => Promise<void>): AsyncGenerator<DocumentBatch> {
  await work()
  yield* []
}

export const outStage: CompileStage = (spec, compiler, name): WritingStage => {
  const target = checkTarget(outTarget(spec, compiler), name)
  return {
    name,
    target,
    run: (input, { collections }) => nothingAfter(() => collections.replace(target, livingBytes(input, collections))),
  }
}

function mergeTarget(value: Value | undefined, { namespace }: StageCompiler): Namespace {
  if (value === undefined) return refuse(40414, "BSON field '$merge.into' is missing but a required field")
  if (value.type === bsonType.string) {
    if (value.value === '') refuse(5786800, "$merge 'into' field cannot be an empty string")
    return { database: namespace.database, collection: value.value }
  }
  if (value.type !== bsonType.document) {
    return refuse(51178, `$merge 'into' field must be either a string or an object, but found ${nameOfType(value)}`)
  }
  const { db, coll } = namedArguments(value, ['db', 'coll'], unknown =>
    refuse(40415, `BSON field 'into.${unknown}' is an unknown field.`),
  )
  if (coll?.type !== bsonType.string || coll.value === '') {
    return refuse(5786801, "$merge 'into' field must specify a 'coll' that is not empty, null or undefined")
  }
  return { database: db === undefined ? namespace.database : stringField(db, 'into.db'), collection: coll.value }
}

function mergeFields(value: Value | undefined): readonly string[] {
  if (value === undefined) return ['_id']
  if (value.type !== bsonType.string && value.type !== bsonType.array) {
    return refuse(
      51186,
      `$merge 'on' field must be either a string or an array of strings, but found ${nameOfType(value)}`,
    )
  }
  const elements = value.type === bsonType.array ? value.elements : [value]
  const fields = elements.map(element => {
    if (element.type === bsonType.string) return checkedPath(element.value).join('.')
    return refuse(51134, `$merge 'on' array elements must be strings, but found ${nameOfType(element)}`)
  })
  if (fields.length === 0) refuse(51187, "If explicitly specifying $merge 'on', must include at least one field")
  for (const [index, field] of fields.entries()) {
    if (fields.indexOf(field) !== index) refuse(31465, `Found a duplicate field '${field}'`)
  }
  return fields
}

function choice<Word extends string>(
  value: Value | undefined,
  words: readonly Word[],
  fallback: Word,
  path: string,
): Word {
  if (value === undefined) return fallback
  const given = stringField(value, path)
  const word = words.find(each => each === given)
  return word ?? refuse(2, `Enumeration value '${given}' for field '${path}' is not a valid value.`)
}

type Update = MergeRequest['update']

/** Sets every field of the incoming document. */
const mergeDocuments: Update = (existing, incoming) => {
  const builder = new DocumentBuilder(BsonDocument.view(existing).fields)
  for (const [name, value] of BsonDocument.view(incoming).fields) builder.set(name, value)
  return documentBytes(builder.document())
}

/** Keeps the `_id`. If the incoming document has another one, the write will be refused. */
const replaceDocument: Update = (existing, incoming) => {
  const document = BsonDocument.view(incoming)
  if (document.get('_id') !== undefined) return incoming
  const id = BsonDocument.view(existing).get('_id')
  return id === undefined ? incoming : documentBytes(BsonDocument.of([['_id', id], ...document.fields]))
}

/** The stages change the existing document; `$$new` is the incoming one. */
function pipelineUpdate(stages: BsonArray, variables: Value | undefined, compiler: StageCompiler): Update {
  const vars = variables?.type === bsonType.document ? variables.fields : []
  for (const [name, value] of vars) {
    checkVariableName(name)
    if (name === 'new' && !(value.type === bsonType.string && value.value === '$$ROOT')) {
      refuse(51273, "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'")
    }
  }
  const given = vars.some(([name]) => name === 'new') ? vars : [...vars, ['new', string('$$ROOT')] as const]
  const values = given.map(([, value]) => compiler.expressions.compile(value))
  const { scope, slots } = compiler.scope.with(given.map(([name]) => name))
  const update = compiler.changes(stages, scope)
  return (existing, incoming) => {
    const outer = new Context()
    outer.at(BsonDocument.view(incoming))
    const inner = new Context()
    for (const [index, value] of values.entries()) inner.slots[slots[index]!] = value(outer)
    return documentBytes(update(inner.at(BsonDocument.view(existing))))
  }
}

const matchedWords = ['replace', 'keepExisting', 'merge', 'fail'] as const
const notMatchedWords = ['insert', 'discard', 'fail'] as const

export const mergeStage: CompileStage = (spec, compiler, name): WritingStage => {
  if (spec.type !== bsonType.string && spec.type !== bsonType.document) {
    return refuse(14, `$merge requires a string or object argument, but found ${nameOfType(spec)}`)
  }
  const into = spec.type === bsonType.string ? BsonDocument.of([['into', spec]]) : spec
  const options = namedArguments(into, ['into', 'on', 'let', 'whenMatched', 'whenNotMatched'], unknown =>
    refuse(40415, `BSON field '$merge.${unknown}' is an unknown field.`),
  )
  const target = checkTarget(mergeTarget(options.into, compiler), name)
  const on = mergeFields(options.on)
  const whenNotMatched = choice(options.whenNotMatched, notMatchedWords, 'insert', '$merge.whenNotMatched')
  const matched = options.whenMatched
  const isPipeline = matched?.type === bsonType.array
  if (matched !== undefined && !isPipeline && matched.type !== bsonType.string) {
    refuse(51191, `$merge 'whenMatched' field must be either a string or an array, but found ${nameOfType(matched)}`)
  }
  const whenMatched = isPipeline ? 'pipeline' : choice(matched, matchedWords, 'merge', '$merge.whenMatched')
  if ((whenMatched === 'fail' || whenMatched === 'keepExisting') && whenNotMatched !== 'insert') {
    const modes = `'whenMatched: ${whenMatched}' and 'whenNotMatched: ${whenNotMatched}'`
    refuse(51189, `Combination of $merge modes ${modes} is not supported`)
  }
  if (options.let !== undefined && !isPipeline) {
    refuse(51199, `Cannot use 'let' variables with 'whenMatched: ${whenMatched}' mode`)
  }
  const update = isPipeline
    ? pipelineUpdate(matched, options.let, compiler)
    : whenMatched === 'replace'
      ? replaceDocument
      : mergeDocuments
  const mode = whenMatched === 'fail' || whenMatched === 'keepExisting' ? whenMatched : 'update'
  const request: MergeRequest = { spec, target, on, whenMatched: mode, update, whenNotMatched }
  return {
    name,
    target,
    merge: request,
    run: (input, { collections }) => nothingAfter(() => collections.merge(request, livingBytes(input, collections))),
  }
}
