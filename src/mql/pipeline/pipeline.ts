/**
 * The door of aggregation: a pipeline, compiled once, then run over the bytes of documents.
 *
 *   const pipeline = compilePipeline(stages, { namespace, constants, let: variables })
 *   const documents = pipeline.source.kind === 'collection' ? find(pipeline.source.find) : …
 *   for await (const batch of pipeline.run(documents, collections)) …
 *
 * The beginning of a pipeline is a find, if it begins like one (`source.find`); the rest is a stream. A
 * document that no stage changes keeps its bytes. What has to wait for the last document keeps to a bound of
 * memory, and long work gives others their turns.
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
  type ByteStream,
  bytesOf,
  type Collections,
  type EachDocument,
  type FindRequest,
  PipelineSlice,
  viewsOf,
} from '../stages/stage.ts'
import { sourceStages } from '../stages/table.ts'
import type { WritingStage } from '../stages/write.ts'
import { PipelineCompiler, runStages } from './compiler.ts'
import { withEqualityHints } from './equality-hints.ts'
import { splitLead } from './find-prefix.ts'
import { eachOf, type OwnPart, ownPartOf } from './own-part.ts'
import { readStages } from './stage-list.ts'

export interface PipelineOptions extends CommandVariables {
  /** Where the pipeline runs. Of a pipeline without a collection only the database counts. */
  readonly namespace: Namespace
  /** The path of the collection's only geographic index: what `$geoNear` is about if it does not say. */
  readonly geoPath?: string | undefined
}

/** A pipeline as a command brought it. */
export interface PipelineWords {
  readonly stages: BsonArray
  readonly options: PipelineOptions
}

/**
 * Where the documents come from: from the collection, from a stage that who runs the pipeline knows
 * (`$changeStream`, `$indexStats` …), or from the pipeline itself (`$documents`).
 */
export type PipelineSource =
  /** The find stands for so many stages. */
  | { readonly kind: 'collection'; readonly find: FindRequest; readonly stageCount: number }
  | { readonly kind: 'stage'; readonly name: string; readonly spec: Value }
  | { readonly kind: 'pipeline' }

export interface Pipeline {
  readonly source: PipelineSource
  /** Where `$out` or `$merge` write; such a pipeline gives no documents. */
  readonly target: Namespace | undefined
  /** What can run wherever the collection is read. */
  readonly own: OwnPart | undefined
  /**
   * Takes what `source` asks for and makes the result of it. To be run once. `passed`: how many stages the
   * input has been through already.
   */
  run(input: ByteStream, collections: Collections, passed?: number): ByteStream
  /** The own part of it, if that is collected. */
  runOwn(input: ByteStream, slice: PipelineSlice): ByteStream
  /** The own part of it, if it looks at one document at a time. */
  ownEach(): EachDocument
}

/** The scope of a command: the system's variables, and those that it brings. */
export function commandScope({ constants, let: variables }: CommandVariables): VariableScope {
  let scope = VariableScope.outermost(constants)
  for (const [name, spec] of variables?.fields ?? []) {
    checkVariableName(name)
    const constant = expressionCompiler(scope).constant(spec)
    if (constant === undefined) {
      return refuse(
        4890500,
        'Command let Expression tried to access a field, but this is not allowed because Command let ' +
          'Expressions run before the query examines any documents.',
      )
    }
    scope = scope.knowing(name, constant.value)
  }
  return scope
}

export function compilePipeline(stages: BsonArray, options: PipelineOptions): Pipeline {
  const scope = commandScope(options)
  const compiler = new PipelineCompiler(scope, options.namespace, { geoPath: options.geoPath })
  const specs = readStages(stages)
  const [first] = specs
  const isOutside = first !== undefined && sourceStages.has(first.name)
  const inner = isOutside ? specs.slice(1) : specs
  const isCollection = !isOutside && first?.name !== '$documents'
  const { lead, count } = splitLead(isCollection ? inner : [])
  // The lead is compiled as well, to refuse it with the words of its stages.
  const compiled = compiler.compile(inner)
  const rest = compiled.slice(count)
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
          },
          stageCount: count,
        }
      : { kind: 'pipeline' }
  return {
    source,
    target: (rest.at(-1) as Partial<WritingStage> | undefined)?.target,
    own,
    run: (input, collections, passed = 0) => {
      const run = { collections, slots: [], slice: new PipelineSlice() }
      return answered(bytesOf(runStages(rest.slice(passed), viewsOf(input), run)))
    },
    runOwn: (input, slice) => {
      const stages = rest.slice(0, own!.stageCount)
      return bytesOf(runStages(stages, viewsOf(input), { collections: noCollections, slots: [], slice }))
    },
    ownEach: () => eachOf(rest.slice(0, own!.stageCount)),
  }
}

const missing = () => {
  throw new InvariantError('the own part of a pipeline needs no other collection')
}
const noCollections: Collections = { find: missing, replace: missing, merge: missing }

/** MongoDB allows its own documents a little more than what users may store. */
const resultBytesMax = bsonBytesMax + 16 * 1024

async function* answered(documents: ByteStream): AsyncGenerator<readonly Uint8Array[]> {
  try {
    for await (const batch of documents) {
      for (const { length } of batch) {
        if (length <= resultBytesMax) continue
        const size = `BSONObj size: ${length} (0x${length.toString(16).toUpperCase()}) is invalid.`
        refuse(10334, `${size} Size must be between 0 and ${resultBytesMax}(16MB)`)
      }
      yield batch
    }
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new MongoError(error.code, `PlanExecutor error during aggregation :: caused by :: ${error.message}`)
  }
}
