/**
 * Finds documents: by `_id` where the filter names it, through the planner otherwise, at the moment of each
 * page.
 *
 * Within a transaction, its own writes stand in the place of stored documents.
 */

import { assert, RequestError } from '../../base/error.ts'
import { pageBytesMax, queryMemoryBytesMax } from '../../base/limits.ts'
import { leaseHere, type MemoryLease } from '../../base/memory-account.ts'
import type { Body } from '../../document/body.ts'
import { storedId } from '../../document/bson/document-id.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument } from '../../document/bson/value.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import type { QueryResult } from '../../engine/engine.ts'
import type { ItemQuery } from '../../engine/item-query.ts'
import { demandsOf } from '../../mql/demands.ts'
import { DistinctValues } from '../../mql/distinct.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import type { Sort } from '../../mql/paths/sort-order.ts'
import type { PipelineSpec } from '../../mql/pipeline/pipeline.ts'
import { countStatement, distinctStatement, findStatement, pipelineStatement } from '../../mql/prepare.ts'
import { countProgram, type DistinctQuery, distinctProgram, type FindQuery, findProgram } from '../../mql/program.ts'
import { PipelineSlice } from '../../mql/stages/stage.ts'
import { withServedTies } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import type { PagePosition, PageStatistics } from '../../query/execute.ts'
import type { CollectedRows } from '../../query/packed-rows.ts'
import { noItem, originOf, type RowOrigin } from '../../query/row-origins.ts'
import type { IndexRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { isAlive, livingAt } from '../../ttl/living.ts'
import type { Collection } from '../collections/collections.ts'
import { isPlanned } from '../collections/planned-collection.ts'
import { promising } from '../index-specs/wildcard-index.ts'
import type { CommandCall } from '../service/command.ts'
import {
  type BatchRequest,
  type CursorBatch,
  type CursorSource,
  type Fetching,
  mongoBatchBytesMax,
} from '../service/cursors.ts'
import { withElsewhere } from '../service/elsewhere.ts'
import { requireOverlay } from '../service/statement.ts'
import { TransactionOverlay } from '../session/overlay.ts'
import type { PastDocument } from '../session/past-documents.ts'
import { HeldDocuments, heldBytes } from './held-documents.ts'
import { keysWithin, partitionWithin, rangeWithin } from './partition-of-filter.ts'

/** Documents asked for at once while a batch is put together. */
export const mongoPageDocumentsMax = 10_000

/**
 * The most documents that a cursor keeps after a page had to sort everything. When they are used up, the
 * next ones are sorted again. This bounds the memory of a cursor.
 */
const sortedBytesMax = mongoBatchBytesMax
const sortedDocumentsMax = 100_000

/**
 * A cursor over what a query finds. With `keepsOrigins` its batches tell where their documents come from.
 */
export function documentSource(
  call: CommandCall,
  collection: Collection,
  query: FindQuery,
  { keepsOrigins = false } = {},
): CursorSource {
  if (!isSearched(call, collection, query.matcher)) return collectedSource(call, collection, query)
  const itemQuery = findItems(collection, query)
  const held = new HeldDocuments(call.service.engine, collection)
  let mayHold = query.sort !== undefined || query.matcher.order !== undefined
  let position: PagePosition | undefined
  let isEnd = false
  /** How many documents to sort at once, when the page before had to sort. */
  let sortedAhead = 0
  return {
    async next({ documentsMax, bytesMax, by }: BatchRequest): Promise<CursorBatch> {
      const documents: Uint8Array[] = []
      const origins: number[] = []
      const pieces: Uint8Array[] = []
      // Documents that wait for the next page of their batch exist already, so they are counted even if
      // there is no room.
      using lease = leaseHere('work')
      let bytes = 0
      while (documents.length < documentsMax && bytes < bytesMax) {
        if (held.count > 0) {
          bytes += await held.take({ documents, origins }, { documentsMax, bytesMax: bytesMax - bytes })
          if (held.count > 0) break
          continue
        }
        if (isEnd) break
        const wanted = Math.min(documentsMax - documents.length, mongoPageDocumentsMax)
        let page: QueryResult
        try {
          page = await call.service.engine.queryPage(collection.container, itemQuery, {
            position,
            rowsMax: Math.max(wanted, sortedAhead),
            bytesMax: sortedAhead > 0 ? sortedBytesMax : bytesMax - bytes,
            keepsOrigins: keepsOrigins || mayHold,
            signal: () => by.operation.signal,
          })
        } catch (error) {
          if (sortedAhead === 0 || !(error instanceof RequestError)) throw error
          // The documents are larger than those before: sort no more than a batch needs.
          sortedAhead = 0
          mayHold = false
          continue
        }
        by.chargeRu += page.chargeRu
        by.documentsRead += page.statistics.itemsRead
        by.operation.check()
        position = page.next
        isEnd = position === undefined
        const found = { documents: page.rows as readonly Uint8Array[], origins: page.origins ?? [] }
        if (sortedAhead > 0) {
          held.fill(found)
          continue
        }
        for (const row of found.documents) {
          documents.push(row)
          bytes += row.length
        }
        if (page.piece !== undefined) pieces.push(page.piece)
        lease?.force(page.statistics.bytesOut)
        if (keepsOrigins) for (let at = 0; at < found.origins.length; at++) origins.push(found.origins[at]!)
        if (page.isSorted === true && mayHold) sortedAhead = documentsAhead(page.statistics)
      }
      return { documents, pieces, isEnd: isEnd && held.count === 0, ...(keepsOrigins && { origins }) }
    },
  }
}

/**
 * How many documents to sort at once: as many as the cursor may hold and a sort has memory for, if documents
 * are as large as those so far.
 */
function documentsAhead({ rowsOut, bytesOut, itemsRead, bytesRead }: PageStatistics): number {
  const held = (sortedBytesMax * rowsOut) / Math.max(1, bytesOut)
  const sorted = (queryMemoryBytesMax * itemsRead) / Math.max(1, 4 * bytesRead)
  return Math.max(1, Math.floor(Math.min(sortedDocumentsMax, held, sorted)))
}

/**
 * Runs a query and the collecting part of a pipeline in another thread, and returns the rows. Undefined:
 * both must run here.
 */
export async function collectedElsewhere(
  call: CommandCall,
  collection: Collection,
  query: FindQuery,
  { spec, by, isTooLongHere }: { spec: PipelineSpec; by: Fetching; isTooLongHere: boolean },
): Promise<CollectedRows | undefined> {
  if (!isSearched(call, collection, query.matcher)) return undefined
  const itemQuery = findItems(collection, query, tied => pipelineStatement(spec, tied))
  const collected = await call.service.engine.collectRows(collection.container, itemQuery, {
    rowsMax: mongoPageDocumentsMax,
    bytesMax: pageBytesMax,
    signal: () => by.operation.signal,
    isTooLongHere,
  })
  if (collected === undefined) return undefined
  by.chargeRu += collected.chargeRu
  by.documentsRead += collected.statistics.itemsRead
  by.operation.check()
  return collected
}

/**
 * Whether documents must be searched for: the filter does not name them by their `_id`, and the command
 * reads neither in a transaction nor in a snapshot.
 */
export function isSearched(
  { isInTransaction, snapshot }: Pick<CommandCall, 'isInTransaction' | 'snapshot'>,
  collection: Collection,
  matcher: Matcher,
): boolean {
  if (isInTransaction || snapshot !== undefined) return false
  return matcher.hint !== undefined || keysWithin(collection, matcher) === undefined
}

/**
 * A cursor over documents that are all found at once: those that are named by their `_id`, or seen in a
 * transaction or snapshot.
 */
function collectedSource(call: CommandCall, collection: Collection, query: FindQuery): CursorSource {
  const { matcher, sort = matcher.order, skip = 0, limit = Number.POSITIVE_INFINITY, projection } = query
  const shown = (document: Uint8Array) =>
    projection === undefined
      ? document
      : projection.project(document, projection.isPositional ? matcher.position(document) : undefined)
  let held: HeldDocuments | undefined
  return {
    async next({ documentsMax, bytesMax }: BatchRequest): Promise<CursorBatch> {
      if (held === undefined) {
        using lease = leaseHere('work')
        const found: FoundDocument[] = []
        for await (const batch of foundDocuments(call, collection, matcher, lease)) {
          for (const each of batch) found.push(each)
        }
        const sorted = sort === undefined ? found : sortedBy(found, sort)
        const window = sorted.slice(skip, skip + limit)
        held = new HeldDocuments(call.service.engine, collection)
        const documents: Uint8Array[] = []
        for (const { document } of window) documents.push(await withElsewhere(call, () => shown(document)))
        // The cursor counts them from here on.
        lease?.set(0)
        held.fill({ documents, origins: window.flatMap(({ origin }) => origin) })
      }
      const batch = { documents: [] as Uint8Array[], origins: [] as number[] }
      await held.take(batch, { documentsMax, bytesMax })
      return { ...batch, isEnd: held.count === 0 }
    },
  }
}

interface FoundDocument {
  readonly document: Uint8Array
  readonly origin: RowOrigin
}

/** Stable: what is equal stays in the order in which it was found. */
function sortedBy(documents: readonly FoundDocument[], sort: Sort): FoundDocument[] {
  return documents
    .map(found => ({ found, key: sort.keyOf(found.document) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ found }) => found)
}

/** Every document that a filter lets through, batch by batch, as stored. */
export async function* matchingDocuments(
  call: CommandCall,
  collection: Collection,
  matcher: Matcher,
): AsyncGenerator<Uint8Array[]> {
  using lease = leaseHere('work')
  for await (const batch of foundDocuments(call, collection, matcher, lease)) {
    yield batch.map(({ document }) => document)
  }
}

/** What cannot be given page by page is counted on the lease. */
async function* foundDocuments(
  call: CommandCall,
  collection: Collection,
  matcher: Matcher,
  lease: MemoryLease | undefined,
): AsyncGenerator<readonly FoundDocument[]> {
  const overlay = await overlayOf(call, collection)
  const keys = matcher.hint === undefined ? keysWithin(collection, matcher) : undefined
  if (keys !== undefined) {
    const found: FoundDocument[] = []
    for (const key of keys) {
      const one = await readDocument(call, collection, key, overlay)
      if (one === undefined || !(await withElsewhere(call, () => matcher.matches(one.document)))) continue
      lease?.add(one.document.length + heldBytes)
      found.push(one)
    }
    yield found
    return
  }
  const query = findItems(collection, { matcher })
  const stored: FoundDocument[] = []
  let position: PagePosition | undefined
  let isEnd = isPlanned(collection)
  while (!isEnd) {
    const page = await call.service.engine.queryPage(collection.container, query, {
      position,
      rowsMax: mongoPageDocumentsMax,
      bytesMax: pageBytesMax,
      keepsOrigins: true,
      signal: () => call.operation.signal,
    })
    call.chargeRu += page.chargeRu
    call.documentsRead += page.statistics.itemsRead
    call.operation.check()
    position = page.next
    isEnd = position === undefined
    const { rows, origins = [] } = page
    const found = rows.map((row, at): FoundDocument => {
      return { document: row as Uint8Array, origin: [origins[2 * at]!, origins[2 * at + 1]!] }
    })
    if (overlay === undefined) yield found
    else {
      lease?.add(found.reduce((sum, { document }) => sum + document.length + heldBytes, 0))
      for (const each of found) stored.push(each)
    }
  }
  if (overlay === undefined) return
  const { isEmpty, hides, written, past } = overlay.cover()
  if (isEmpty) {
    yield stored
    return
  }
  const ours = written.map((document): FoundDocument => ({ document, origin: noItem }))
  const others = await livingPast(call, collection, past)
  yield* inTurns(call, stored, ({ document }) => !hides(document))
  yield* inTurns(call, [...ours, ...others], ({ document }) => matcher.matches(document))
}

/** Filters one by one. When a slice is over, other requests get a turn. */
async function* inTurns<T>(call: CommandCall, all: readonly T[], isShown: (one: T) => boolean): AsyncGenerator<T[]> {
  const slice = new PipelineSlice({ check: () => call.operation.check() })
  const shown: T[] = []
  for (const one of all) {
    if (await withElsewhere(call, () => isShown(one))) shown.push(one)
    if (slice.isOver) await slice.turn()
  }
  yield shown
}

/** What a reader of a snapshot sees in the place of stored documents. Undefined: it reads the present. */
async function overlayOf(call: CommandCall, collection: Collection): Promise<TransactionOverlay | undefined> {
  if (call.isInTransaction) return requireOverlay(call, collection)
  if (call.snapshot === undefined) return undefined
  const { snapshot } = call.snapshot
  await snapshot.ready
  return new TransactionOverlay(collection, snapshot, Number.POSITIVE_INFINITY)
}

/** Documents of the past that have not died since. */
async function livingPast(
  { service }: CommandCall,
  { container }: Collection,
  past: readonly PastDocument[],
): Promise<FoundDocument[]> {
  if (past.length === 0) return []
  using view = await service.engine.view(container)
  const living = livingAt(view.policy, view.moment)
  return past.flatMap(({ item }) =>
    item !== undefined && isAlive(living, item)
      ? [{ document: item.body as Uint8Array, origin: originOf({ sequence: -1, ...item }) }]
      : [],
  )
}

async function readDocument(
  call: CommandCall,
  collection: Collection,
  key: ItemKey,
  overlay: TransactionOverlay | undefined,
): Promise<FoundDocument | undefined> {
  const pending = overlay?.find(key)
  if (pending !== undefined) return pending.document && { document: pending.document, origin: noItem }
  if (isPlanned(collection)) return undefined
  const { item, chargeRu } = await call.service.engine.findItem(collection.container, key)
  call.chargeRu += chargeRu
  const past = overlay?.past(key)
  if (past !== undefined) return (await livingPast(call, collection, [past]))[0]
  if (item === undefined) return undefined
  call.documentsRead += 1
  return { document: item.body as Uint8Array, origin: originOf(item) }
}

/** How many documents a filter lets through. */
export async function countDocuments(call: CommandCall, collection: Collection, matcher: Matcher): Promise<number> {
  if (!isSearched(call, collection, matcher)) {
    let count = 0
    for await (const batch of matchingDocuments(call, collection, matcher)) count += batch.length
    return count
  }
  const query: ItemQuery = {
    ...aboutItems(collection, { matcher }),
    program: (_, idOrder) => countProgram({ matcher, idOrder }),
    statement: countStatement(matcher),
  }
  return Number(await onlyRow(call, collection, query))
}

/** The values at a path of the documents that a filter lets through, in their order. */
export async function distinctValues(
  call: CommandCall,
  collection: Collection,
  query: DistinctQuery,
): Promise<BsonArray> {
  const { matcher, path } = query
  if (!isSearched(call, collection, matcher)) {
    const found = new DistinctValues(path, matcher.collation)
    for await (const batch of matchingDocuments(call, collection, matcher)) for (const each of batch) found.add(each)
    return BsonArray.of(found.values())
  }
  const row = await onlyRow(call, collection, {
    ...aboutItems(collection, { matcher }),
    program: (_, idOrder) => distinctProgram({ ...query, idOrder }),
    statement: distinctStatement(matcher, path),
  })
  const values = BsonDocument.view(row as Uint8Array).get('values')
  assert(values?.type === bsonType.array, 'the row of a distinct holds its values')
  return values
}

/** The row of a query that makes exactly one. */
async function onlyRow(call: CommandCall, { container }: Collection, query: ItemQuery): Promise<Body> {
  const page = await call.service.engine.queryPage(container, query, {
    position: undefined,
    rowsMax: 1,
    bytesMax: pageBytesMax,
    signal: () => call.operation.signal,
  })
  call.chargeRu += page.chargeRu
  call.documentsRead += page.statistics.itemsRead
  call.operation.check()
  return page.rows[0]!
}

/** What a query says of its collection. */
function aboutItems(collection: Collection, { matcher, sort }: Pick<FindQuery, 'matcher' | 'sort'>) {
  return {
    range: rangeWithin(collection, matcher),
    isRangeOfFilter: true,
    partition: partitionWithin(collection, matcher),
    demands: usableDemands(collection, matcher, sort),
    isPromised: (path: IndexPath) =>
      matcher.collation === undefined && promising(collection.indexes, path) !== undefined,
    // An index on `_id` is useless where documents are stored in the order of their `_id`. An index without
    // a collation is useless where strings compare by a collation.
    mayIndex: (path: IndexPath) =>
      matcher.collation === undefined && (collection.shardKey !== undefined || !isIdPath(path)),
  }
}

/** A find, in terms of the store. */
export function findItems(
  collection: Collection,
  query: FindQuery,
  statement: (query: FindQuery) => ItemQuery['statement'] = findStatement,
): ItemQuery {
  const about = aboutItems(collection, query)
  const tied = { ...query, isTieReversed: about.demands.isTieReversed }
  return {
    ...about,
    program: (_, idOrder) => findProgram({ ...tied, idOrder }),
    statement: statement(tied),
  }
}

function isIdPath(path: IndexPath): boolean {
  return path.length === 1 && path[0] === '_id'
}

/** Hidden indexes are updated, but no query uses them. */
function usableDemands(
  { indexes, container }: Collection,
  { filter, order, hint, collation }: Matcher,
  sort: Sort | undefined,
): Demands {
  const demands = demandsOf(filter, sort, collation)
  const isByIndex = typeof hint === 'object'
  const ids = order === undefined && !isByIndex ? demands.ids : undefined
  const hidden = indexes.flatMap(({ isHidden, number }) => (isHidden ? [number] : []))
  const mayUse = (index: IndexRecord) => !hidden.includes(index.definition.number) && demands.mayUse?.(index) !== false
  const usable = { ...demands, ids, mayUse, hint }
  return withServedTies(container.indexes, usable)
}

/** The key of a stored document, from what it holds. */
export function keyOfDocument(collection: Collection, document: Uint8Array): ItemKey {
  return collection.keyOf(storedId(document), document)
}
