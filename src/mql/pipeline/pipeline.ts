/**
 * The entry point of aggregation: a pipeline is compiled once, then run over documents.
 *
 *   const pipeline = compilePipeline(stages, { namespace, constants, let: variables })
 *   const documents = pipeline.source.kind === 'collection' ? find(pipeline.source.find) : …
 *   for await (const batch of pipeline.run(documents, collections)) …
 *
 * The first stages become a find where possible (`source.find`); the rest is a stream. A document that no
 * stage changes keeps its bytes. Stages that must see all documents have a memory limit, and long work yields
 * to the event loop.
 */

import { InvariantError } from '../../base/error.ts'
import type { BsonArray, Value } from '../../document/bson/value.ts'
import { bsonBytesMax } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import { type CommandVariables, VariableScope } from '../expressions/core/scope.ts'
import { checkVariableName } from '../expressions/core/variable-name.ts'
import { expressionCompiler, expressionTest } from '../expressions/expression.ts'
import type { Namespace } from '../stages/namespace.ts'
import {
  type Collections,
  type DocumentBatch,
  documentBytes,
  type EachDocument,
  encoded,
  type FindRequest,
  PipelineSlice,
  type Stream,
} from '../stages/stage.ts'
import { collectingStages, sourceStages } from '../stages/table.ts'
import type { WritingStage } from '../stages/write.ts'
import { PipelineCompiler, runStages } from './compiler.ts'
import { withEqualityHints } from './equality-hints.ts'
import type { ViewPipelines } from './foreign-collections.ts'
import { splitLeadingFind } from './leading-find.ts'
import { eachOf, type OwnPart, ownPartOf } from './own-part.ts'
import { readStages } from './stage-list.ts'

export interface PipelineOptions extends CommandVariables {
  /** Where the pipeline runs. Without a collection only the database counts. */
  readonly namespace: Namespace
  /** The path of the collection's only geographic index: the default `key` of `$geoNear`. */
  readonly geoPath?: string | undefined
  /** The views that it names. Other names are those of collections. */
  readonly views?: ViewPipelines | undefined
}

/** A pipeline as the command sent it. */
export interface PipelineSpec {
  readonly stages: BsonArray
  readonly options: PipelineOptions
}

/**
 * Where the documents come from: the collection, a stage that the caller implements (`$changeStream`,
 * `$indexStats` …), or the pipeline itself (`$documents`).
 */
export type PipelineSource =
  /** `stageCount` is the number of stages that the find replaces. */
  | { readonly kind: 'collection'; readonly find: FindRequest; readonly stageCount: number }
  | { readonly kind: 'stage'; readonly name: string; readonly spec: Value }
  | { readonly kind: 'pipeline' }

export interface PipelineRunOptions {
  /** How many stages the input has been through already. */
  readonly passed?: number
  /** Called between slices of the work. It throws if the work must stop. */
  readonly check?: () => void
  /** Most turns of the event loop. Then `WorkTooLong` is thrown. */
  readonly turnsMax?: number
}

export interface Pipeline {
  readonly source: PipelineSource
  /** The collection that `$out` or `$merge` writes to. Such a pipeline returns no documents. */
  readonly target: Namespace | undefined
  /** The part that can run wherever the collection is read. */
  readonly own: OwnPart | undefined
  /** Whether a stage reads everything before it gives a result. */
  readonly collects: boolean
  /** Processes the documents of `source`. May be called once. */
  run(input: Stream, collections: Collections, options?: PipelineRunOptions): Stream
  /** Whether there are stages behind the first `passed` ones, besides one that writes. */
  hasTail(passed: number): boolean
  /** Runs the pipeline without the stage that writes, if there is one. */
  runTail(input: Stream, collections: Collections, options?: PipelineRunOptions): Stream
  /** Completes the results of `runTail`: runs the stage that writes, if there is one, and checks sizes. */
  finish(results: Stream, collections: Collections): Stream
  /** Runs the own part, if it collects documents. */
  runOwn(input: Stream, slice: PipelineSlice): Stream
  /** The own part as a function, if it processes one document at a time. */
  ownEach(): EachDocument
}

/**
 * Most variables of a command: nobody writes so many. They are computed again wherever a part of the command
 * is compiled.
 */
const commandVariablesMax = 1000

/** The scope of a command: the system variables and the command's own. */
export function commandScope({ constants, let: variables }: CommandVariables): VariableScope {
  const scope = VariableScope.outermost(constants)
  const fields = variables?.fields ?? []
  if (fields.length > commandVariablesMax) refuse(2, `'let' defines more than ${commandVariablesMax} variables`)
  const compiler = expressionCompiler(scope)
  for (const [name, spec] of fields) {
    checkVariableName(name)
    const found = compiler.valueNow(spec)
    if (found === undefined) {
      return refuse(
        4890500,
        'Command let Expression tried to access a field, but this is not allowed because Command let ' +
          'Expressions run before the query examines any documents.',
      )
    }
    scope.define(name, found.value)
  }
  return scope
}

export function compilePipeline(stages: BsonArray, options: PipelineOptions): Pipeline {
  const scope = commandScope(options)
  const compiler = new PipelineCompiler(scope, options.namespace, { geoPath: options.geoPath, views: options.views })
  const specs = readStages(stages)
  const [first] = specs
  const isOutside = first !== undefined && sourceStages.has(first.name)
  const inner = isOutside ? specs.slice(1) : specs
  const isCollection = !isOutside && first?.name !== '$documents'
  const { lead, count } = splitLeadingFind(isCollection ? inner : [])
  // The stages of the find are compiled too, so that errors have the texts of the stages.
  const compiled = compiler.compile(inner)
  const rest = compiled.slice(count)
  const target = (rest.at(-1) as Partial<WritingStage> | undefined)?.target
  const tail = target === undefined ? rest : rest.slice(0, -1)
  const own = isCollection ? ownPartOf(lead, inner.slice(count), rest) : undefined
  const source: PipelineSource = isOutside
    ? { kind: 'stage', ...first }
    : isCollection
      ? {
          kind: 'collection',
          find: {
            ...lead,
            filter: withEqualityHints(lead.filter, scope),
            expression: expressionTest(scope),
            variables: options,
            collation: options.constants.collation,
          },
          stageCount: count,
        }
      : { kind: 'pipeline' }
  return {
    source,
    target,
    own,
    collects: inner.slice(count).some(({ name }) => collectingStages.has(name)),
    run: (input, collections, { passed = 0, ...limits } = {}) => {
      const run = { collections, slots: [], slice: new PipelineSlice(limits) }
      return answered(runStages(rest.slice(passed), input, run))
    },
    hasTail: passed => tail.length > passed,
    runTail: (input, collections, { passed = 0, ...limits } = {}) => {
      const run = { collections, slots: [], slice: new PipelineSlice(limits) }
      return runStages(tail.slice(passed), input, run)
    },
    finish: (results, collections) => {
      const run = { collections, slots: [], slice: new PipelineSlice() }
      return answered(runStages(rest.slice(tail.length), results, run))
    },
    runOwn: (input, slice) => {
      const stages = rest.slice(0, own!.stageCount)
      return runStages(stages, input, { collections: noCollections, slots: [], slice })
    },
    ownEach: () => eachOf(rest.slice(0, own!.stageCount)),
  }
}

const missing = () => {
  throw new InvariantError('the own part of a pipeline needs no other collection')
}
const noCollections: Collections = { find: missing, replace: missing, merge: missing }

/** MongoDB allows results to be a little larger than stored documents. */
const resultBytesMax = bsonBytesMax + 16 * 1024

async function* answered(documents: Stream): AsyncGenerator<DocumentBatch> {
  try {
    for await (const made of documents) {
      const batch = made.map(encoded)
      for (const document of batch) {
        const { length } = documentBytes(document)
        if (length <= resultBytesMax) continue
        const size = `BSONObj size: ${length} (0x${length.toString(16).toUpperCase()}) is invalid.`
        refuse(10334, `${size} Size must be between 0 and ${resultBytesMax}(16MB)`)
      }
      yield batch
    }
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw error.prefixed('PlanExecutor error during aggregation :: caused by :: ')
  }
}
