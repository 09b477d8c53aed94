/**
 * The stages of a pipeline: their input and output, and what they need from outside.
 *
 * Documents go from stage to stage in small batches, so that a stage costs one step of the event loop per
 * batch instead of per document. A document is a view of stored bytes until a stage makes a new one.
 */

import { machine } from '../../base/clock.ts'
import { querySliceMsMax } from '../../base/limits.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { nextSlice } from '../../base/slices.ts'
import type { Steps } from '../../base/steps.ts'
import { lookAtWork, WorkTooLong } from '../../base/work.ts'
import { comingFrom } from '../../document/bson/traced-values.ts'
import { type BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { type CommandVariables, type Compiler, Context, type VariableScope } from '../expressions/core/scope.ts'
import type { Namespace } from './namespace.ts'

/** Most documents in one batch between two stages. */
export const pipelineBatchDocumentsMax = 250

/** Documents that can die while a stage holds them have an origin (`document/bson/origin.ts`). */
export type DocumentBatch = readonly BsonDocument[]
export type Stream = AsyncIterable<DocumentBatch>
/** Encoded documents, as the store holds them. */
export type ByteStream = AsyncIterable<readonly Uint8Array[]>

/** The find that replaces the first stages of a pipeline. */
export interface LeadingFind {
  readonly filter: BsonDocument
  readonly sort: BsonDocument | undefined
  readonly skip: number
  readonly limit: number | undefined
}

export interface FindRequest extends LeadingFind {
  /** The `expression` option of the filter. It knows the variables that the filter may use. */
  readonly expression: (spec: Value) => (document: Uint8Array) => boolean
  readonly collation: Collation | undefined
  /** The variables of the command. Undefined if the filter uses others. */
  readonly variables?: CommandVariables
}

export interface MergeRequest {
  /** The stage as the command sent it. */
  readonly spec: Value
  readonly target: Namespace
  /** Paths whose values identify a document. Together they must be unique. */
  readonly on: readonly string[]
  readonly whenMatched: 'fail' | 'keepExisting' | 'update'
  /** For `update`: computes the new document. */
  readonly update: (existing: Uint8Array, incoming: Uint8Array) => Uint8Array
  readonly whenNotMatched: 'insert' | 'discard' | 'fail'
}

/** The other collections that a pipeline reads and writes. */
export interface Collections {
  /** A collection that does not exist is empty. */
  find(namespace: Namespace, request: FindRequest): Stream
  /** The living parts of documents that were held. Called when they are to be shown or written. */
  living?(batch: DocumentBatch): MaybePromise<DocumentBatch>
  /** `$out`: replaces the whole collection with the documents, or changes nothing. */
  replace(target: Namespace, documents: ByteStream): Promise<void>
  /** `$merge`. A document without `_id` gets one if it is matched by `_id`. */
  merge(request: MergeRequest, documents: ByteStream): Promise<void>
}

/** One run of a pipeline. */
export interface Run {
  readonly collections: Collections
  /** Values of the variables of the command and of outer pipelines. */
  readonly slots: readonly (Value | undefined)[]
  readonly slice: PipelineSlice
}

/** Turns one document into any number. Stops when `emit` returns false, and then returns false. */
export type EachDocument = (document: BsonDocument, emit: (made: BsonDocument) => boolean) => boolean

export interface Stage {
  readonly name: string
  run(input: Stream, run: Run): Stream
  /** Set by stages that change one document at a time. */
  readonly change?: (context: Context) => BsonDocument
  /**
   * Set by stages that process one document at a time: the same as a function, for a pipeline that is not
   * nested.
   */
  readonly each?: () => EachDocument
}

export interface StageCompiler {
  readonly scope: VariableScope
  readonly namespace: Namespace
  /** The path of the collection's only geographic index. */
  readonly geoPath: string | undefined
  readonly expressions: Compiler
  /** Compiles stages that change one document at a time into one function. */
  changes(stages: BsonArray, scope: VariableScope): (context: Context) => BsonDocument
  /** Compiles a nested pipeline; `stages` is its array. */
  pipeline(stages: Value, options: SubPipelineOptions): SubPipeline
}

export interface SubPipelineOptions {
  readonly scope?: VariableScope
  readonly namespace?: Namespace | undefined
  /** The stage that contains the nested pipeline. It does not allow some stages. */
  readonly within: '$lookup' | '$unionWith' | '$facet'
}

export interface SubPipeline {
  /** True if it gives stored documents in any order: all of its collection, or those that match a filter. */
  readonly isOnlyFilter: boolean
  /** Runs it over its collection. Documents must also match the filter. */
  runOn(namespace: Namespace | undefined, run: Run, filter?: BsonDocument): Stream
  /** Runs it over the given documents. */
  runOver(input: Stream, run: Run): Stream
}

export type CompileStage = (spec: Value, compiler: StageCompiler, name: string) => Stage

/** Yields to the event loop whenever a time slice is used up. */
export class PipelineSlice {
  #startMs = machine.monotonicMs()
  readonly #check: (() => void) | undefined
  /** When no turns are left, `WorkTooLong` is thrown: the work can be done in another thread. */
  turnsLeft: number

  /** `check` is called at each turn. It throws if the work must stop. */
  constructor({ check, turnsMax = Number.POSITIVE_INFINITY }: { check?: () => void; turnsMax?: number } = {}) {
    this.#check = check
    this.turnsLeft = turnsMax
  }

  get isOver(): boolean {
    return machine.monotonicMs() - this.#startMs > querySliceMsMax
  }

  async turn(): Promise<void> {
    if (this.turnsLeft-- <= 0) throw new WorkTooLong()
    await nextSlice()
    this.#check?.()
    lookAtWork()
    this.#startMs = machine.monotonicMs()
  }
}

/** The bytes of a document. A document without bytes is encoded. */
export function documentBytes(document: BsonDocument): Uint8Array {
  const { raw } = document
  if (raw === undefined) return encodeDocument(document)
  const isWhole = raw.start === 0 && raw.end === raw.bytes.length
  return isWhole ? raw.bytes : raw.bytes.subarray(raw.start, raw.end)
}

/** The same document as a view of its own bytes, unless its parts have origins, which bytes cannot have. */
export function encoded(document: BsonDocument): BsonDocument {
  if (document.raw?.start === 0 || document.hasInnerOrigins()) return document
  return BsonDocument.view(documentBytes(document), 0, document.origin)
}

/** Calls `each` for every document of a stream, in time slices. */
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

/** A stage that turns each document into one or none. */
export function eachToOne(name: string, make: (context: Context) => BsonDocument | undefined): Stage {
  return {
    name,
    each: () => {
      const context = new Context()
      return (document, emit) => {
        const result = make(context.at(document))
        return result === undefined || emit(comingFrom(result, document.origin))
      }
    },
    async *run(input, { slots, slice }) {
      const context = new Context(slots)
      for await (const batch of input) {
        const made: BsonDocument[] = []
        for (const document of batch) {
          const result = make(context.at(document))
          if (result !== undefined) made.push(comingFrom(result, document.origin))
          if (slice.isOver) await slice.turn()
        }
        if (made.length > 0) yield made
      }
    },
  }
}

/** A stage that turns each document into one. */
export function change(name: string, make: (context: Context) => BsonDocument): Stage {
  return { ...eachToOne(name, make), change: make }
}

/** Does work in time slices. */
export async function inSlices<T>(steps: Steps<T>, slice: PipelineSlice): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (slice.isOver) await slice.turn()
  }
}

/** Most documents in a batch, if the stage may make small documents large: a batch is encoded at once. */
export const largeBatchDocumentsMax = 16

/** Splits documents into batches. `undefined` in place of a document is a pause. */
export async function* inBatches(
  documents: Iterable<BsonDocument | undefined>,
  slice: PipelineSlice,
  documentsMax = pipelineBatchDocumentsMax,
): AsyncGenerator<DocumentBatch> {
  let batch: BsonDocument[] = []
  for (const document of documents) {
    if (document !== undefined) batch.push(document)
    if (slice.isOver) await slice.turn()
    if (batch.length < documentsMax) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

export async function* viewsOf(input: ByteStream): AsyncGenerator<DocumentBatch> {
  for await (const batch of input) yield batch.map(bytes => BsonDocument.view(bytes))
}

/** The bytes of the living documents that a stage writes. */
export async function* livingBytes(input: Stream, collections: Collections): AsyncGenerator<readonly Uint8Array[]> {
  for await (const batch of input) {
    // Encoding refuses documents that are so large that `living` could not walk through them.
    for (const document of batch) if (document.hasInnerOrigins()) documentBytes(document)
    yield ((await collections.living?.(batch)) ?? batch).map(documentBytes)
  }
}
