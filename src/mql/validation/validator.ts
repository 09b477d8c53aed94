/** A validator: a filter that documents must match, and the report on one that does not. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, string, trueValue, type Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { isTrue } from '../expressions/core/define-operator.ts'
import { type Constants, Context } from '../expressions/core/scope.ts'
import { expressionCompiler } from '../expressions/expression.ts'
import { compileFilter } from '../filter/match.ts'
import { commandScope } from '../pipeline/pipeline.ts'
import { errorFields } from './failure.ts'
import { type ClauseOptions, failureReporter } from './filter-failures.ts'

/** MongoDB's limits for a report: its bytes, and how deep it nests. */
const reportBytesMax = 12 * 1024 * 1024
const reportDepthMax = 190

interface Compiled {
  matches(document: Uint8Array): boolean
  readonly options: ClauseOptions
  /** Made when the first document fails. */
  reporter?: ReturnType<typeof failureReporter>
}

/** Called only when the filter is compiled. */
export type ConstantsNow = () => Constants

export class Validator {
  readonly filter: BsonDocument
  /** Whether the filter mentions the time. Then it is compiled for each write. */
  readonly #isTimed: boolean
  #compiled: Compiled | undefined

  constructor(filter: BsonDocument) {
    this.filter = filter
    this.#isTimed = mentionsTime(filter)
  }

  /** Throws if the filter is not valid. */
  check(constantsNow: ConstantsNow): void {
    this.#compile(constantsNow)
  }

  /** A document for which an expression cannot be computed does not match. */
  matches(document: Uint8Array, constantsNow: ConstantsNow): boolean {
    try {
      return this.#compile(constantsNow).matches(document)
    } catch (error) {
      if (error instanceof MongoError) return false
      throw error
    }
  }

  /** MongoDB's report on a document that does not match. */
  report(document: Uint8Array, constantsNow: ConstantsNow): BsonDocument {
    const id = BsonDocument.view(document).get('_id')
    const failing: Field[] = id === undefined ? [] : [['failingDocumentId', id]]
    for (const isTruncated of [false, true]) {
      const mark: Field[] = isTruncated ? [['truncated', trueValue]] : []
      const details = this.#details(document, constantsNow, isTruncated)
      if (details instanceof MongoError) {
        const note = string('failed to generate document validation error')
        return BsonDocument.of([...failing, ['note', note], ['details', errorFields(details)]])
      }
      if (depthOf(details) >= reportDepthMax) {
        return BsonDocument.of([
          ['reason', string('generated error was too deeply nested')],
          ['truncated', trueValue],
        ])
      }
      const bytes = encodeDocument([...failing, ...mark, ['details', details]])
      if (bytes.length <= reportBytesMax) return BsonDocument.view(bytes)
    }
    return BsonDocument.of([...failing, ['note', string('detailed error was too large')]])
  }

  #details(document: Uint8Array, constantsNow: ConstantsNow, isTruncated: boolean): BsonDocument | MongoError {
    const compiled = this.#compile(constantsNow)
    try {
      compiled.reporter ??= failureReporter(this.filter, compiled.options)
      return compiled.reporter(document, { isTruncated })
    } catch (error) {
      // A regular expression may be too costly for the document.
      if (error instanceof MongoError) return error
      throw error
    }
  }

  #compile(constantsNow: ConstantsNow): Compiled {
    if (this.#compiled !== undefined && !this.#isTimed) return this.#compiled
    const constants = constantsNow()
    const options = { ...expressionsWith(constants), collation: constants.collation }
    this.#compiled = { options, matches: compileFilter(this.filter, options).matches }
    return this.#compiled
  }
}

/** An expression whose constants cannot be computed fails for each document, and not before. */
function expressionsWith(constants: Constants): ClauseOptions {
  const compiler = expressionCompiler(commandScope({ constants, let: undefined }), { isLazy: true })
  const compute: ClauseOptions['compute'] = spec => {
    const evaluate = compiler.compile(spec)
    const context = new Context()
    return document => evaluate(context.at(BsonDocument.view(document)))
  }
  const expression: ClauseOptions['expression'] = spec => {
    const evaluate = compute(spec)
    return document => isTrue(evaluate(document))
  }
  return { compute, expression }
}

/** Whether the filter depends on the moment. Recurses as deep as documents nest. */
function mentionsTime(value: Value): boolean {
  switch (value.type) {
    case bsonType.string:
      return /^\$\$(NOW|CLUSTER_TIME)\b/.test(value.value)
    case bsonType.array:
      return value.elements.some(mentionsTime)
    case bsonType.document:
      return value.fields.some(([, inner]) => mentionsTime(inner))
    default:
      return false
  }
}

/** How deep a value nests. Recurses as deep. */
function depthOf(value: Value): number {
  if (value.type !== bsonType.document && value.type !== bsonType.array) return 0
  if (value.raw !== undefined) return depthAt(value.raw.bytes, value.raw.start)
  const inner = value.type === bsonType.array ? value.elements : value.fields.map(([, each]) => each)
  return 1 + inner.reduce((deepest, each) => Math.max(deepest, depthOf(each)), 0)
}

function depthAt(bytes: Uint8Array, start: number): number {
  const cursor = new ElementCursor(bytes, start)
  let deepest = 0
  while (cursor.next()) {
    if (cursor.type !== bsonType.document && cursor.type !== bsonType.array) continue
    deepest = Math.max(deepest, depthAt(bytes, cursor.valueStart))
  }
  return 1 + deepest
}
