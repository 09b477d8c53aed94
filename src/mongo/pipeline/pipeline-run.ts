/** Runs a pipeline: its beginning as a find, the rest as a stream, its results as a cursor. */

import { heldHere } from '../../base/memory-account.ts'
import { HoldWatch, WorkTooLong, watched } from '../../base/work.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, int32 } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { ViewPipelines } from '../../mql/pipeline/foreign-collections.ts'
import { compilePipeline, type Pipeline, type PipelineSpec } from '../../mql/pipeline/pipeline.ts'
import { unpackDocuments } from '../../mql/pipeline/row-marks.ts'
import { prepareLeadingFind } from '../../mql/prepare.ts'
import type { FindQuery } from '../../mql/program.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { type DocumentBatch, documentBytes, PipelineSlice, type Stream, viewsOf } from '../../mql/stages/stage.ts'
import { firstStages, sourceStages } from '../../mql/stages/table.ts'
import type { CollectedRows, PackedRows } from '../../query/packed-rows.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'
import { type Collection, notOnView } from '../collections/collections.ts'
import { isReversed, withHint } from '../collections/hint.ts'
import { findReadable, ResolvedView, viewsWithin } from '../collections/views.ts'
import { type Appetite, documentStream, noDocuments } from '../find/document-stream.ts'
import { collectedElsewhere, countDocuments, isSearched } from '../find/documents.ts'
import { LivesOfCursor } from '../find/lives-of-cursor.ts'
import type { Arguments } from '../requests/arguments.ts'
import { collationOfCall } from '../requests/collation.ts'
import { nameOf } from '../requests/namespace.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { CommandCall } from '../service/command.ts'
import type { BatchRequest, CursorBatch, CursorSource, Fetching } from '../service/cursors.ts'
import { variablesOf } from '../service/query-language.ts'
import { hostedResults } from './hosted-pipeline.ts'
import { pipelineCollections } from './pipeline-collections.ts'
import { stageSource } from './stage-sources.ts'

/** A pipeline, and where it runs. The stages of a view stand before those of the command. */
export interface PipelineTarget {
  readonly namespace: Namespace
  readonly stages: BsonArray
  readonly collection: Collection | undefined
  readonly views: ViewPipelines | undefined
  readonly collation: Collation | undefined
}

/** Finds the collection below a view, and the views that the pipeline names. */
export async function pipelineTarget(
  call: CommandCall,
  namespace: Namespace,
  stages: BsonArray,
): Promise<PipelineTarget> {
  const engine = catalogOf(call)
  const { args } = call
  const found = await findReadable(engine, namespace)
  if (!(found instanceof ResolvedView)) {
    const collation = await collationOfCall(args, found)
    const views = await viewsWithin(engine, namespace.database, stages)
    refuseOtherCollation(views, collation)
    return { namespace, stages: inHintedOrder(args, stages), collection: found, views, collation }
  }
  const [first] = stages.elements
  const [name] = first?.type === bsonType.document ? (first.fields[0] ?? []) : []
  if (name !== undefined && sourceStages.has(name)) {
    throw notOnView(`Namespace ${nameOf(namespace)} is a view, not a collection`)
  }
  const collation = await collationOfCall(args, found)
  if (collation?.name !== found.collation?.name) throw otherCollation()
  const whole = found.with(stages.elements)
  const views = await viewsWithin(engine, namespace.database, whole)
  refuseOtherCollation(views, collation)
  const hinted = inHintedOrder(args, whole)
  return { namespace: found.on, stages: hinted, collection: found.collection, views, collation }
}

/** All views of a pipeline compare strings in one way. */
function refuseOtherCollation(views: ViewPipelines | undefined, collation: Collation | undefined): void {
  for (const view of views?.values() ?? []) {
    if ((view as ResolvedView).collation?.name !== collation?.name) throw otherCollation()
  }
}

function otherCollation(): CommandError {
  return new CommandError('OptionNotSupportedOnView', "Cannot override a view's default collation")
}

/** With a hint `{ $natural: -1 }` the documents of the collection come in the opposite order. */
function inHintedOrder(args: Arguments, stages: BsonArray): BsonArray {
  if (!args.has('hint') || !isReversed(args)) return stages
  const [first] = stages.elements
  const [name] = first?.type === bsonType.document ? (first.fields[0] ?? []) : []
  if (name !== undefined && firstStages.has(name)) return stages
  const sort = BsonDocument.of([['$sort', BsonDocument.of([['_id', int32(-1)]])]])
  return BsonArray.of([sort, ...stages.elements])
}

export function callPipeline(call: CommandCall, target: PipelineTarget): Pipeline {
  const { stages, options } = pipelineSpec(call, target)
  return compilePipeline(stages, options)
}

function pipelineSpec(call: CommandCall, target: PipelineTarget): PipelineSpec {
  const { namespace, stages, collection, views, collation } = target
  const geoPath = collection && geoPathOf(collection)
  return { stages, options: { namespace, geoPath, views, ...variablesOf(call, collation) } }
}

/** The path of the `2dsphere` indexes, if they all have the same one. */
function geoPathOf({ indexes }: Collection): string | undefined {
  const paths = indexes.flatMap(({ key }) =>
    key.fields.flatMap(([path, kind]) => (kind.type === bsonType.string && kind.value === '2dsphere' ? [path] : [])),
  )
  return new Set(paths).size === 1 ? paths[0] : undefined
}

export async function pipelineSource(call: CommandCall, target: PipelineTarget): Promise<CursorSource> {
  const { collection, collation } = target
  const spec = pipelineSpec(call, target)
  const pipeline = compilePipeline(spec.stages, spec.options)
  const counted = await countedSource(call, target, pipeline)
  if (counted !== undefined) return counted
  const known: KnownRows = { collected: undefined }
  /** Starts from the beginning: here, or in a thread for streams. */
  const begin = (isHere: boolean): PipelineUnderWay => {
    const appetite: Appetite = { by: call, documents: 0 }
    const lives = new LivesOfCursor(call.service.engine, pipeline)
    const { input, passed } = inputOf(call, { pipeline, spec, collection, appetite, lives, known })
    const collections = pipelineCollections(call, lives, collation)
    const check = checkOf(appetite)
    const made = { appetite, lives, end: () => {}, mayMove: true }
    if (!pipeline.hasTail(passed)) {
      return { ...made, results: pipeline.run(input, collections, { passed, check }), mayMove: false }
    }
    if (isHere) {
      const results = pipeline.run(underHold(input), collections, { passed, check, turnsMax: inlineTurnsMax })
      return { ...made, results: pipeline.target === undefined ? underHold(results) : results }
    }
    const hosted = hostedResults(call, { spec, passed, input, collections, appetite })
    const { end } = hosted
    return { ...made, end, results: pipeline.finish(hosted.results, collections) }
  }
  const canMove = call.service.engine.canHost && pipeline.target === undefined
  return canMove ? movingSource(begin) : streamSource(begin(!call.service.engine.canHost))
}

/** The results of a pipeline over documents that are given, all of them. It reads no collection. */
export async function pipelineOver(
  call: CommandCall,
  target: PipelineTarget,
  documents: DocumentBatch,
  by: Fetching,
): Promise<readonly BsonDocument[]> {
  const spec = pipelineSpec(call, target)
  const collections = { find: refuseOthers, replace: refuseOthers, merge: refuseOthers }
  async function* given(): AsyncGenerator<DocumentBatch> {
    yield documents
  }
  const all = async (results: Stream) => {
    const made: BsonDocument[] = []
    for await (const batch of results) made.push(...batch)
    return made
  }
  try {
    const check = () => by.operation.check()
    const compiled = compilePipeline(spec.stages, spec.options)
    return await all(underHold(compiled.run(given(), collections, { check })))
  } catch (error) {
    if (!(error instanceof WorkTooLong) || !call.service.engine.canHost) throw error
  }
  const appetite: Appetite = { by, documents: 0 }
  return all(hostedResults(call, { spec, passed: 0, input: given(), collections, appetite }).results)
}

function refuseOthers(): never {
  throw new CommandError('IllegalOperation', 'Other collections are not available here.')
}

/**
 * The source of a pipeline that stays here: it must not move, or ends with this batch. Undefined: it must
 * begin again in another thread.
 */
async function firstSource(run: PipelineUnderWay, request: BatchRequest): Promise<CursorSource | undefined> {
  const source = streamSource(run)
  if (!run.mayMove) return source
  const lease = heldHere()
  const heldBytes = lease?.bytes ?? 0
  try {
    const batch = await source.next(request)
    if (batch.isEnd) return { next: () => batch }
  } catch (error) {
    if (!(error instanceof WorkTooLong)) throw error
  }
  source.end?.()
  // What the stages have held is garbage now.
  lease?.set(heldBytes)
  return undefined
}

/** A run of a pipeline, and what it needs. */
interface PipelineUnderWay {
  readonly results: Stream
  readonly appetite: Appetite
  readonly lives: LivesOfCursor
  readonly end: () => void
  /** There are stages that may take long here. */
  readonly mayMove: boolean
}

/**
 * A pipeline that begins here. If it does not come to its end with the first batch, in a few slices, it
 * begins again in a thread for streams, and goes on there for all batches.
 */
function movingSource(begin: (isHere: boolean) => PipelineUnderWay): CursorSource {
  let source: CursorSource | undefined
  return {
    async next(request) {
      source ??= await firstSource(begin(true), request)
      source ??= streamSource(begin(false))
      return source.next(request)
    },
    end: () => source?.end?.(),
  }
}

/** Ends the work when the command that waits for it is killed or out of time. */
function checkOf(appetite: Appetite): () => void {
  return () => appetite.by.operation.check()
}

interface PipelineCall {
  readonly pipeline: Pipeline
  readonly spec: PipelineSpec
  readonly collection: Collection | undefined
  readonly appetite: Appetite
  readonly lives: LivesOfCursor
  readonly known: KnownRows
}

/** Rows that were collected elsewhere, in case the pipeline begins again. */
interface KnownRows {
  collected: CollectedRows | undefined
}

/** The input of the stages of a pipeline, and how many stages it has passed already. */
function inputOf(
  call: CommandCall,
  { pipeline, spec, collection, appetite, lives, known }: PipelineCall,
): { readonly input: Stream; readonly passed: number } {
  const { source, own } = pipeline
  const { namespace } = spec.options
  if (source.kind === 'stage') return { input: viewsOf(stageSource(call, namespace, source)), passed: 0 }
  if (source.kind === 'pipeline') return { input: noDocuments(), passed: 0 }
  const find = withHint(call.args, collection, prepareLeadingFind(source.find))
  const isOwn = own !== undefined && collection !== undefined && isSearched(call, collection, find.matcher)
  if (isOwn && own.kind === 'each') {
    const each = { make: pipeline.ownEach(), spec }
    return { input: documentStream(call, namespace, { ...find, each }, { appetite, lives }), passed: own.stageCount }
  }
  const documents = documentStream(call, namespace, find, { appetite, lives })
  if (!isOwn || !call.service.engine.hasPageRunner) return { input: documents, passed: 0 }
  const input = collectedStream(call, { pipeline, spec, collection, find, documents, appetite, lives, known })
  return { input, passed: own.stageCount }
}

/** With more turns than this, a pipeline that began here is run elsewhere. */
const inlineTurnsMax = 4

/** The output of the collecting stages. Their rows may be collected elsewhere, and then come out at once. */
async function* collectedStream(
  call: CommandCall,
  {
    pipeline,
    spec,
    collection,
    find,
    documents,
    appetite,
    lives,
    known,
  }: PipelineCall & { readonly collection: Collection; readonly find: FindQuery; readonly documents: Stream },
): AsyncGenerator<DocumentBatch> {
  const collect = (isTooLongHere: boolean) =>
    collectedElsewhere(call, collection, find, { spec, by: appetite.by, isTooLongHere })
  let collected = known.collected ?? (await collect(false))
  if (collected === undefined) {
    const slice = new PipelineSlice({ turnsMax: inlineTurnsMax, check: checkOf(appetite) })
    const here = underHold(pipeline.runOwn(documents, slice))[Symbol.asyncIterator]()
    try {
      // The first batch takes all the work: collecting stages give nothing before they have seen everything.
      let next = await here.next()
      slice.turnsLeft = Number.POSITIVE_INFINITY
      for (; next.done !== true; next = await here.next()) yield next.value
      return
    } catch (error) {
      if (!(error instanceof WorkTooLong)) throw error
    } finally {
      await here.return?.()
    }
    collected = await collect(true)
  }
  if (collected === undefined || collected.isTooLarge === true) {
    const again = documentStream(call, spec.options.namespace, find, { appetite, lives })
    yield* pipeline.runOwn(again, new PipelineSlice({ check: checkOf(appetite) }))
    return
  }
  // Kept in case the pipeline begins a second time, and no longer.
  const mayBeginAgain = known.collected === undefined && pipeline.hasTail(pipeline.own!.stageCount)
  known.collected = mayBeginAgain ? collected : undefined
  const watched = lives.watch(collection)
  if (collected.untraced !== undefined) watched.addUntraced(collected.untraced)
  const lease = heldHere()
  const bytesOf = ({ bytes, marks }: PackedRows) => bytes.length + 8 * (marks?.length ?? 0)
  for (const piece of collected.pieces) lease?.add(bytesOf(piece))
  for (const piece of collected.pieces) {
    yield unpackDocuments(piece)
    lease?.release(bytesOf(piece))
  }
}

/** How long the work of a stage may hold this thread in one turn. */
const holdMsMax = 4

/** Every document of the stream is made under a watch. */
function underHold(stream: Stream): Stream {
  const hold = new HoldWatch(holdMsMax)
  const iterator = stream[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => watched(hold, () => iterator.next()),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/**
 * Results of a stream, as many as are asked for; the rest waits for the next time. What has died meanwhile
 * is left out of the batch.
 */
function streamSource({ results, appetite, lives, end }: PipelineUnderWay): CursorSource {
  const iterator = results[Symbol.asyncIterator]()
  let rest: DocumentBatch = []
  let restBytes = 0
  let isEnd = false

  /** Takes results of the rest, as far as they fit. Returns whether the batch is full. */
  function take(batch: BsonDocument[], { documentsMax, bytesMax }: BatchRequest, bytes: { taken: number }): boolean {
    let count = 0
    let isFull = false
    while (count < rest.length && batch.length < documentsMax && !isFull) {
      const document = rest[count]!
      const { length } = documentBytes(document)
      isFull = batch.length > 0 && bytes.taken + length > bytesMax
      if (isFull) break
      batch.push(document)
      bytes.taken += length
      count++
    }
    rest = rest.slice(count)
    return isFull || (batch.length >= documentsMax && documentsMax > 0)
  }

  return {
    end() {
      end()
      // Streams release their memory when they are ended.
      iterator.return?.().catch(() => {})
    },
    async next(request: BatchRequest): Promise<CursorBatch> {
      const { documentsMax, by } = request
      appetite.by = by
      appetite.documents = documentsMax
      const lease = heldHere()
      lease?.release(restBytes)
      restBytes = 0
      for (;;) {
        const batch: BsonDocument[] = []
        const bytes = { taken: 0 }
        while (!take(batch, request, bytes) && !isEnd) {
          by.operation.check()
          const { value, done } = await iterator.next()
          if (done === true) isEnd = true
          else rest = value
        }
        const living = await lives.living(batch)
        const isOver = isEnd && rest.length === 0
        if (living.length === 0 && !isOver) continue
        restBytes = rest.reduce((sum, document) => sum + documentBytes(document).length, 0)
        lease?.force(restBytes)
        return { documents: living.map(documentBytes), isEnd: isOver }
      }
    },
  }
}

/**
 * What the drivers' `countDocuments` sends, `[{$match}, …, {$group: {_id: 1, n: {$sum: 1}}}]`, is counted
 * and not read, where the filter allows it.
 */
async function countedSource(
  call: CommandCall,
  { stages, collection }: PipelineTarget,
  { source, target }: Pipeline,
): Promise<CursorSource | undefined> {
  const last = stages.elements.at(-1)
  const group = last?.type === bsonType.document && last.fields.length === 1 ? last.get('$group') : undefined
  if (source.kind !== 'collection' || target !== undefined || group?.type !== bsonType.document) return undefined
  const [id, sum] = group.fields
  const one = sum?.[1].type === bsonType.document ? sum[1].get('$sum') : undefined
  const isCount =
    group.fields.length === 2 &&
    id?.[0] === '_id' &&
    (id[1].type === bsonType.int32 || id[1].type === bsonType.null) &&
    one?.type === bsonType.int32 &&
    one.value === 1
  const isOnlyLead = stages.elements.slice(0, -1).every(stage => {
    const name = stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
    return name === '$match' || name === '$skip' || name === '$limit'
  })
  if (!isCount || !isOnlyLead) return undefined
  const find = withHint(call.args, collection, prepareLeadingFind(source.find))
  const { matcher, skip = 0, limit = Number.POSITIVE_INFINITY } = find
  const all = collection === undefined ? 0 : await countDocuments(call, collection, matcher)
  const count = Math.min(limit, Math.max(0, all - skip))
  const document = encodeFields({ _id: id![1], [sum![0]]: count })
  return { next: () => ({ documents: count === 0 ? [] : [document], isEnd: true }) }
}
