/**
 * Finds documents: by `_id` where the filter names it, through the planner otherwise, at the moment of each
 * page.
 *
 * Within a transaction what it has written stands in the place of what is stored.
 */

import { pageBytesMax } from '../../base/limits.ts'
import type { Body } from '../../document/body.ts'
import { storedId } from '../../document/bson/document-id.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import type { ItemQuery } from '../../engine/query.ts'
import { demandsOf } from '../../mql/demands.ts'
import { DistinctValues } from '../../mql/distinct.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import type { Sort } from '../../mql/paths/sort-order.ts'
import type { PipelineSpec } from '../../mql/pipeline/pipeline.ts'
import { countStatement, distinctStatement, findStatement, pipelineStatement } from '../../mql/prepare.ts'
import { countProgram, type DistinctQuery, distinctProgram, type FindQuery, findProgram } from '../../mql/program.ts'
import { withServedTies } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { CollectedRows } from '../../query/packed-rows.ts'
import type { IndexRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { isAlive, livingAt } from '../../ttl/living.ts'
import type { Collection } from '../collections/collections.ts'
import { isPlanned } from '../collections/planned-collection.ts'
import { promising } from '../index-specs/wildcard-index.ts'
import type { CommandCall } from '../service/command.ts'
import type { BatchRequest, CursorBatch, CursorSource, Fetching } from '../service/cursors.ts'
import { requireOverlay } from '../service/statement.ts'
import type { TransactionOverlay } from '../session/overlay.ts'
import type { PastDocument } from '../session/past-documents.ts'
import { keysWithin, partitionWithin, rangeWithin } from './partition-of-filter.ts'

/** Documents asked for at once while a batch is put together. */
export const mongoPageDocumentsMax = 10_000

/** A cursor over what a query finds. */
export function documentSource(call: CommandCall, collection: Collection, query: FindQuery): CursorSource {
  if (!isSearched(call, collection, query.matcher)) return collectedSource(call, collection, query)
  const itemQuery = findItems(collection, query)
  let position: PagePosition | undefined
  let isEnd = false
  return {
    async next({ documentsMax, bytesMax, by }: BatchRequest): Promise<CursorBatch> {
      const documents: Uint8Array[] = []
      let bytes = 0
      while (!isEnd && documents.length < documentsMax && bytes < bytesMax) {
        const page = await call.service.engine.queryPage(collection.container, itemQuery, {
          position,
          rowsMax: Math.min(documentsMax - documents.length, mongoPageDocumentsMax),
          bytesMax: bytesMax - bytes,
          signal: () => by.operation.signal,
        })
        by.chargeRu += page.chargeRu
        by.documentsRead += page.statistics.itemsRead
        by.operation.check()
        for (const row of page.rows) {
          documents.push(row as Uint8Array)
          bytes += row.length
        }
        position = page.next
        isEnd = position === undefined
      }
      return { documents, isEnd }
    },
  }
}

/**
 * What the collecting part of a pipeline makes of what a query finds, when that is made elsewhere. Undefined
 * where it is to be made here.
 */
export async function collectedElsewhere(
  { service, isInTransaction }: CommandCall,
  collection: Collection,
  query: FindQuery,
  { spec, by, isTooLongHere }: { spec: PipelineSpec; by: Fetching; isTooLongHere: boolean },
): Promise<CollectedRows | undefined> {
  if (!isSearched({ isInTransaction }, collection, query.matcher)) return undefined
  const itemQuery = findItems(collection, query, tied => pipelineStatement(spec, tied))
  const collected = await service.engine.collectRows(collection.container, itemQuery, {
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

/** Documents are looked for, and neither named by their `_id` nor seen from within a transaction. */
export function isSearched(
  { isInTransaction }: Pick<CommandCall, 'isInTransaction'>,
  collection: Collection,
  { filter }: Matcher,
): boolean {
  return !isInTransaction && keysWithin(collection, filter) === undefined
}

/** Few documents, all at once: those that are named, or seen from within a transaction. */
function collectedSource(call: CommandCall, collection: Collection, query: FindQuery): CursorSource {
  const { matcher, sort = matcher.order, skip = 0, limit = Number.POSITIVE_INFINITY, projection } = query
  const shown = (document: Uint8Array) =>
    projection === undefined
      ? document
      : projection.project(document, projection.isPositional ? matcher.position(document) : undefined)
  let rest: Uint8Array[] | undefined
  return {
    async next({ documentsMax, bytesMax }: BatchRequest): Promise<CursorBatch> {
      if (rest === undefined) {
        const found: Uint8Array[] = []
        for await (const batch of matchingDocuments(call, collection, matcher)) found.push(...batch)
        const sorted = sort === undefined ? found : sortedBy(found, sort)
        const window = sorted.slice(skip, skip + limit)
        rest = window.map(shown)
      }
      let count = 0
      let bytes = 0
      while (count < rest.length && count < documentsMax && (count === 0 || bytes + rest[count]!.length <= bytesMax)) {
        bytes += rest[count]!.length
        count++
      }
      const documents = rest.slice(0, count)
      rest = rest.slice(count)
      return { documents, isEnd: rest.length === 0 }
    },
  }
}

/** Stable: what is equal stays in the order in which it was found. */
function sortedBy(documents: readonly Uint8Array[], sort: Sort): Uint8Array[] {
  return documents
    .map(document => ({ document, key: sort.keyOf(document) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ document }) => document)
}

/** Every document that a filter lets through, batch by batch, as stored. */
export async function* matchingDocuments(
  call: CommandCall,
  collection: Collection,
  matcher: Matcher,
): AsyncGenerator<Uint8Array[]> {
  const overlay = await overlayOf(call, collection)
  const keys = keysWithin(collection, matcher.filter)
  if (keys !== undefined) {
    const found: Uint8Array[] = []
    for (const key of keys) {
      const document = await readDocument(call, collection, key, overlay)
      if (document !== undefined && matcher.matches(document)) found.push(document)
    }
    yield found
    return
  }
  const query = findItems(collection, { matcher })
  const stored: Uint8Array[] = []
  let position: PagePosition | undefined
  let isEnd = isPlanned(collection)
  while (!isEnd) {
    const page = await call.service.engine.queryPage(collection.container, query, {
      position,
      rowsMax: mongoPageDocumentsMax,
      bytesMax: pageBytesMax,
      signal: () => call.operation.signal,
    })
    call.chargeRu += page.chargeRu
    call.documentsRead += page.statistics.itemsRead
    call.operation.check()
    position = page.next
    isEnd = position === undefined
    if (overlay === undefined) yield page.rows as Uint8Array[]
    else for (const row of page.rows) stored.push(row as Uint8Array)
  }
  if (overlay === undefined) return
  const { documents, past } = overlay.cover(stored)
  for (const document of await livingPast(call, collection, past)) documents.push(document)
  yield documents.filter(document => matcher.matches(document))
}

/** What a reader of a snapshot sees in the place of stored documents. Undefined: it reads the present. */
async function overlayOf(call: CommandCall, collection: Collection): Promise<TransactionOverlay | undefined> {
  return call.isInTransaction ? requireOverlay(call, collection) : undefined
}

/** Documents of the past that have not died since. */
async function livingPast(
  { service }: CommandCall,
  { container }: Collection,
  past: readonly PastDocument[],
): Promise<Uint8Array[]> {
  if (past.length === 0) return []
  using view = await service.engine.view(container)
  const living = livingAt(view.policy, view.moment)
  return past.flatMap(({ item }) => (item !== undefined && isAlive(living, item) ? [item.body as Uint8Array] : []))
}

async function readDocument(
  call: CommandCall,
  collection: Collection,
  key: ItemKey,
  overlay: TransactionOverlay | undefined,
): Promise<Uint8Array | undefined> {
  const pending = overlay?.find(key)
  if (pending !== undefined) return pending.document
  if (isPlanned(collection)) return undefined
  const { item, chargeRu } = await call.service.engine.findItem(collection.container, key)
  call.chargeRu += chargeRu
  const past = overlay?.past(key)
  if (past !== undefined) return (await livingPast(call, collection, [past]))[0]
  if (item === undefined) return undefined
  call.documentsRead += 1
  return item.body as Uint8Array
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
): Promise<readonly Value[]> {
  const { matcher, path } = query
  if (!isSearched(call, collection, matcher)) {
    const found = new DistinctValues(path)
    for await (const batch of matchingDocuments(call, collection, matcher)) for (const each of batch) found.add(each)
    return found.values()
  }
  const row = await onlyRow(call, collection, {
    ...aboutItems(collection, { matcher }),
    program: (_, idOrder) => distinctProgram({ ...query, idOrder }),
    statement: distinctStatement(matcher, path),
  })
  const values = BsonDocument.view(row as Uint8Array).get('values')
  return values?.type === bsonType.array ? values.elements : []
}

/** The row of a query that has one. */
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
    range: rangeWithin(collection, matcher.filter),
    isRangeOfFilter: true,
    partition: partitionWithin(collection, matcher.filter),
    demands: usableDemands(collection, matcher, sort),
    isPromised: (path: IndexPath) => promising(collection.indexes, path) !== undefined,
    // Where documents lie in the order of their `_id`, an index of it would serve nobody.
    mayIndex: (path: IndexPath) => collection.shardKey !== undefined || !isIdPath(path),
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

/** Hidden indexes are kept up and serve nobody. */
function usableDemands(
  { indexes, container }: Collection,
  { filter, order }: Matcher,
  sort: Sort | undefined,
): Demands {
  const demands = demandsOf(filter, sort)
  const ids = order === undefined ? demands.ids : undefined
  const hidden = indexes.flatMap(({ isHidden, number }) => (isHidden ? [number] : []))
  const mayUse = (index: IndexRecord) => !hidden.includes(index.definition.number) && demands.mayUse?.(index) !== false
  const usable = { ...demands, ids, mayUse }
  return withServedTies(container.indexes, usable)
}

/** The key of a stored document, from what it holds. */
export function keyOfDocument(collection: Collection, document: Uint8Array): ItemKey {
  return collection.keyOf(storedId(document), document)
}
