/**
 * Views: names that stand for a pipeline over a collection or over another view.
 *
 * A view is resolved anew by each command: the stages of all views down to a collection are joined, and the
 * command's own stages go behind them. So the planner sees one pipeline, with the indexes of the collection.
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, string, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { Engine } from '../../engine/engine.ts'
import { foreignCollections, type ViewPipeline, type ViewPipelines } from '../../mql/pipeline/foreign-collections.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import { nameOf, systemViews } from '../requests/namespace.ts'
import { fromBase64 } from './collection-definition.ts'
import { type CatalogReader, type Collection, entriesOf, findEntry } from './collections.ts'

/** MongoDB's limits for views on views, and for the pipelines of all of them together. */
const viewDepthMax = 20
const viewPipelineBytesMax = 16 * 1024 * 1024

/** A view down to its collection. */
export class ResolvedView implements ViewPipeline {
  readonly on: Namespace
  readonly stages: BsonArray
  /** The collection that it reads, if that exists. */
  readonly collection: Collection | undefined
  readonly collation: Collation | undefined

  constructor(
    on: Namespace,
    stages: readonly Value[],
    { collection, collation }: Pick<ResolvedView, 'collection' | 'collation'>,
  ) {
    this.on = on
    this.stages = BsonArray.of(stages)
    this.collection = collection
    this.collation = collation
  }

  /** The pipeline of a command on the view. */
  with(stages: readonly Value[]): BsonArray {
    return BsonArray.of([...this.stages.elements, ...stages])
  }
}

/** Each definition has a `Collection` object of its own, so what was read of it stays true. */
const knownStages = new WeakMap<Collection, BsonArray>()
const knownReferences = new WeakMap<Collection, readonly string[]>()

export function stagesOf(view: Collection): BsonArray {
  let stages = knownStages.get(view)
  if (stages === undefined) {
    const pipeline = fromBase64(view.definition.view!.pipeline).get('pipeline')
    stages = pipeline?.type === bsonType.array ? pipeline : BsonArray.of([])
    knownStages.set(view, stages)
  }
  return stages
}

/** The names of what a view reads. */
function referencesOf(view: Collection): readonly string[] {
  let references = knownReferences.get(view)
  if (references === undefined) {
    references = [view.definition.view!.on, ...foreignCollections(stagesOf(view))]
    knownReferences.set(view, references)
  }
  return references
}

/** Finds what a reading command reads: a collection, or the collection below a view. */
export function findReadable(
  engine: CatalogReader,
  namespace: Namespace,
): MaybePromise<Collection | ResolvedView | undefined> {
  return andThen(findEntry(engine, namespace), (found): MaybePromise<Collection | ResolvedView | undefined> => {
    if (found?.isView === true) return resolveView(engine, namespace.database, found)
    return found === undefined && namespace.collection === systemViews ? viewList(engine, namespace.database) : found
  })
}

async function resolveView(engine: CatalogReader, database: string, view: Collection): Promise<ResolvedView> {
  let stages: readonly Value[] = []
  let bytes = 0
  let current = view
  for (let depth = 0; depth < viewDepthMax; depth++) {
    const { on, pipeline } = current.definition.view!
    stages = [...stagesOf(current).elements, ...stages]
    bytes += bytesOf(pipeline)
    if (bytes > viewPipelineBytesMax) {
      throw tooLarge(`View pipeline exceeds maximum size; maximum size is ${viewPipelineBytesMax}`)
    }
    const below: Namespace = { database, collection: on }
    const found = await findEntry(engine, below)
    if (found === undefined && on === systemViews) {
      const list = await viewList(engine, database)
      return new ResolvedView(list.on, list.with(stages).elements, { collection: undefined, collation: view.collation })
    }
    if (found?.isView !== true) return new ResolvedView(below, stages, { collection: found, collation: view.collation })
    current = found
  }
  throw new CommandError(
    'ViewDepthLimitExceeded',
    `View depth too deep or view cycle detected; maximum depth is ${viewDepthMax}`,
  )
}

/** The documents of `system.views`, as a pipeline that brings its own documents. */
async function viewList(engine: CatalogReader, database: string): Promise<ResolvedView> {
  const documents = (await viewsOf(engine, database)).map(view =>
    BsonDocument.of([
      ['_id', string(view.name)],
      ['viewOn', string(view.definition.view!.on)],
      ['pipeline', stagesOf(view)],
    ]),
  )
  const literal = BsonDocument.of([['$literal', BsonArray.of(documents)]])
  const source = BsonDocument.of([['$documents', literal]])
  return new ResolvedView({ database, collection: '$cmd.aggregate' }, [source], noCollection)
}

const noCollection = { collection: undefined, collation: undefined }

/** The views of a database, sorted by name. */
export async function viewsOf(engine: CatalogReader, database: string): Promise<readonly Collection[]> {
  const record = await engine.catalog.findDatabase(database)
  return record === undefined ? [] : (await entriesOf(engine, record)).filter(({ isView }) => isView)
}

/** The views that a pipeline names, and those that these name. Undefined: none. */
export async function viewsWithin(
  engine: CatalogReader,
  database: string,
  stages: BsonArray,
): Promise<ViewPipelines | undefined> {
  const views = new Map<string, ViewPipeline>()
  const pending = [...foreignCollections(stages)]
  const seen = new Set<string>()
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    const found = await findReadable(engine, { database, collection: name })
    if (!(found instanceof ResolvedView)) continue
    views.set(name, found)
    pending.push(...foreignCollections(found.stages))
  }
  return views.size === 0 ? undefined : views
}

/** A view that is to be created or changed. */
export interface ViewDraft extends Namespace {
  readonly on: string
  readonly stages: BsonArray
  readonly collation: Collation | undefined
}

/**
 * Refuses a view that would contain itself, or would make a chain of views too long. Two clients that create
 * views at the same time may still make a cycle; then reading it is refused.
 */
export async function checkViewGraph(engine: Engine, draft: ViewDraft): Promise<void> {
  const { database, collection, on, stages } = draft
  const present = await viewsOf(engine, database)
  const used = new Set([on, ...foreignCollections(stages)])
  const other = present.find(view => used.has(view.container.id) && view.collation?.name !== draft.collation?.name)
  if (other !== undefined) {
    const problem = `View ${nameOf(draft)} has conflicting collation with view ${other.name}`
    throw new CommandError('OptionNotSupportedOnView', problem)
  }
  const references = new Map(present.map(view => [view.container.id, referencesOf(view)]))
  references.set(collection, [on, ...foreignCollections(stages)])
  refuseCycle(references, { database, collection })
  const users = new Map<string, string[]>()
  for (const [user, used] of references) {
    for (const name of used) {
      const known = users.get(name)
      if (known === undefined) users.set(name, [user])
      else known.push(user)
    }
  }
  const below = longestChain(collection, name => (references.get(name) ?? []).filter(each => references.has(each)))
  const above = longestChain(collection, name => users.get(name) ?? [])
  if (below + above - 1 > viewDepthMax) {
    throw new CommandError('ViewDepthLimitExceeded', `View depth limit exceeded; maximum depth is ${viewDepthMax}`)
  }
}

function refuseCycle(references: ReadonlyMap<string, readonly string[]>, { database, collection }: Namespace): void {
  const seen = new Set<string>()
  const walk = (name: string, path: readonly string[]): void => {
    for (const next of references.get(name) ?? []) {
      const longer = [...path, next]
      if (next === collection) {
        const names = [next, ...longer.toReversed()].map(each => nameOf({ database, collection: each }))
        throw new CommandError('GraphContainsCycle', `View cycle detected: ${names.join(' => ')}`)
      }
      if (seen.has(next)) continue
      seen.add(next)
      walk(next, longer)
    }
  }
  walk(collection, [collection])
}

/** The number of views on the longest way from a view. The graph has no cycle through it. */
function longestChain(from: string, next: (name: string) => readonly string[]): number {
  const known = new Map<string, number>()
  const walk = (name: string, depth: number): number => {
    const found = known.get(name)
    if (found !== undefined) return found
    // Beyond the limit the exact length does not matter. This also ends the walk in a cycle elsewhere.
    if (depth > viewDepthMax) return 1
    let longest = 0
    for (const each of next(name)) longest = Math.max(longest, walk(each, depth + 1))
    known.set(name, longest + 1)
    return longest + 1
  }
  return walk(from, 0)
}

/** The bytes that base64 text stands for. */
function bytesOf(base64: string): number {
  return Math.floor((base64.length / 4) * 3)
}

function tooLarge(message: string): CommandError {
  return new CommandError('ViewPipelineMaxSizeExceeded', message)
}
