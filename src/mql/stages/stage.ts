/**
 * Stages of a pipeline: what they take and give, and what they need from outside.
 *
 * Documents go from stage to stage in small batches, so that a stage costs a step of the event loop per batch
 * and not per document. A document is a view of bytes until a stage makes a new one.
 */

import { machine } from '../../base/clock.ts'
import { querySliceMsMax } from '../../base/limits.ts'
import { type BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { type Compiler, Context, type VariableScope } from '../expressions/frame/scope.ts'
import type { Namespace } from '../words/namespace.ts'

/** Documents that go from one stage of a pipeline to the next at a time. */
export const pipelineBatchDocumentsMax = 250

export type DocumentBatch = readonly BsonDocument[]
export type Stream = AsyncIterable<DocumentBatch>
/** As stores keep documents and clients get them. */
export type ByteStream = AsyncIterable<readonly Uint8Array[]>

/** What a find of a collection would be asked for. */
export interface Lead {
  readonly filter: BsonDocument
  readonly sort: BsonDocument | undefined
  readonly skip: number
  readonly limit: number | undefined
}

export interface FindRequest extends Lead {
  /** For the option `expression` of the filter: it knows the variables that the filter may mention. */
  readonly expression: (spec: Value) => (document: Uint8Array) => boolean
}

export interface MergeRequest {
  readonly target: Namespace
  /** The paths whose values say which documents are the same. Together they must be unique. */
  readonly on: readonly string[]
  readonly whenMatched: 'fail' | 'keepExisting' | 'update'
  /** For `update`: what becomes of a document. */
  readonly update: (existing: Uint8Array, incoming: Uint8Array) => Uint8Array
  readonly whenNotMatched: 'insert' | 'discard' | 'fail'
}

/** The collections that a pipeline reads and writes besides the one it runs on. */
export interface Collections {
  /** Of a collection that does not exist: nothing. */
  find(namespace: Namespace, request: FindRequest): ByteStream
  /** `$out`: puts the documents in the place of the collection, all of them or none. */
  replace(target: Namespace, documents: ByteStream): Promise<void>
  /** `$merge`. A document without `_id` gets one where that is what it is matched by. */
  merge(request: MergeRequest, documents: ByteStream): Promise<void>
}

/** One run of a pipeline. */
export interface Run {
  readonly collections: Collections
  /** What the variables of the command and of outer pipelines hold. */
  readonly slots: readonly (Value | undefined)[]
  readonly slice: PipelineSlice
}

export interface Stage {
  readonly name: string
  run(input: Stream, run: Run): Stream
  /** For stages that change one document at a time. */
  readonly change?: (context: Context) => BsonDocument
}

export interface StageCompiler {
  readonly scope: VariableScope
  readonly namespace: Namespace
  /** The path of the collection's only geographic index. */
  readonly geoPath: string | undefined
  readonly expressions: Compiler
  /** Stages that change one document at a time, as one function. */
  changes(stages: BsonArray, scope: VariableScope): (context: Context) => BsonDocument
  /** A pipeline within this one; `stages` is its array. */
  pipeline(stages: Value, options: SubPipelineOptions): SubPipeline
}

export interface SubPipelineOptions {
  readonly scope?: VariableScope
  readonly namespace?: Namespace | undefined
  /** Which stage it is a part of, for refusals. */
  readonly within: '$lookup' | '$unionWith' | '$facet'
}

export interface SubPipeline {
  /** Runs it over its collection, with a filter that its documents must satisfy as well. */
  runOn(namespace: Namespace | undefined, run: Run, filter?: BsonDocument): Stream
  /** Runs it over documents. */
  runOver(input: Stream, run: Run): Stream
}

export type CompileStage = (spec: Value, compiler: StageCompiler, name: string) => Stage

/** Gives others a turn of the event loop whenever a slice of time is over. */
export class PipelineSlice {
  #startMs = machine.monotonicMs()

  get isOver(): boolean {
    return machine.monotonicMs() - this.#startMs > querySliceMsMax
  }

  async turn(): Promise<void> {
    await new Promise<void>(resolve => machine.setImmediate(resolve))
    this.#startMs = machine.monotonicMs()
  }
}

/** The bytes of a document, which are made when it has none. */
export function documentBytes(document: BsonDocument): Uint8Array {
  const { raw } = document
  if (raw === undefined) return encodeDocument(document)
  const isWhole = raw.start === 0 && raw.end === raw.bytes.length
  return isWhole ? raw.bytes : raw.bytes.subarray(raw.start, raw.end)
}

/** The same document as a view of bytes of its own. */
export function written(document: BsonDocument): BsonDocument {
  return document.raw?.start === 0 ? document : BsonDocument.view(documentBytes(document))
}

/** Calls `each` for every document of a stream, in slices. */
export async function forEachDocument(
  input: Stream,
  slice: PipelineSlice,
  each: (document: BsonDocument) => void,
): Promise<void> {
  for await (const batch of input) {
    for (const document of batch) {
      each(document)
      if (slice.isOver) await slice.turn()
    }
  }
}

/** A stage that makes at most one document of each. */
export function eachToOne(name: string, make: (context: Context) => BsonDocument | undefined): Stage {
  return {
    name,
    async *run(input, { slots, slice }) {
      const context = new Context(slots)
      for await (const batch of input) {
        const made: BsonDocument[] = []
        for (const document of batch) {
          const result = make(context.at(document))
          if (result !== undefined) made.push(result)
          if (slice.isOver) await slice.turn()
        }
        if (made.length > 0) yield made
      }
    },
  }
}

/** A stage that changes each document. */
export function change(name: string, make: (context: Context) => BsonDocument): Stage {
  return { ...eachToOne(name, make), change: make }
}

/** Documents as batches of the usual size. */
export async function* inBatches(
  documents: Iterable<BsonDocument>,
  slice: PipelineSlice,
): AsyncGenerator<DocumentBatch> {
  let batch: BsonDocument[] = []
  for (const document of documents) {
    batch.push(document)
    if (slice.isOver) await slice.turn()
    if (batch.length < pipelineBatchDocumentsMax) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

export async function* viewsOf(input: ByteStream): AsyncGenerator<DocumentBatch> {
  for await (const batch of input) yield batch.map(bytes => BsonDocument.view(bytes))
}

export async function* bytesOf(input: Stream): AsyncGenerator<readonly Uint8Array[]> {
  for await (const batch of input) yield batch.map(documentBytes)
}
