/**
 * One page of a query: takes the page's moment, finds the best source of items, and runs the program over it.
 *
 *   one partition key and ids    each item by its key
 *   a small partition            all its items: reading them costs no more than looking around
 *   an index that fits           its part of the items, in its order
 *   otherwise                    all items of the range; if an index would have spared that, it is noted
 *
 * Rows in source order must come from the same source on every page: the position names it.
 */

import { hash } from 'node:crypto'
import type { EpochSeconds } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { scanItemsMax } from '../base/limits.ts'
import type { IndexPath } from '../document/index-definition.ts'
import { chooseIndex, describeIndex, type IndexChoice, isSamePath, wishedIndex } from '../query/choose-index.ts'
import type { Demands } from '../query/demands.ts'
import { executePage, type Page, type PagePosition } from '../query/execute.ts'
import type { Program } from '../query/program.ts'
import { batchSource, indexSource, pointSource, type Source, scanSource } from '../query/source.ts'
import type { ContainerRecord, IndexRecord, ScanRange, Store } from '../storage/port.ts'
import { livingAt } from '../ttl/living.ts'
import type { IndexKeeper } from './index-keeper.ts'
import type { LargePartitions } from './large-partitions.ts'

/** A query as its language understood it. */
export interface ItemQuery {
  readonly range: ScanRange
  readonly demands: Demands
  /** Made for the page's moment, which is all it may know of time. */
  readonly program: (moment: EpochSeconds) => Program
  /** Whether the container's policy lets a path be indexed. */
  readonly mayIndex: (path: IndexPath) => boolean
}

export interface QueryPageRequest {
  readonly position: PagePosition | undefined
  readonly rowsMax: number
  readonly bytesMax: number
}

export type QueriedPage = Page & {
  /** The paths of the index that was used, or would have been. */
  readonly indexUse: { readonly used: readonly IndexPath[]; readonly wished: readonly IndexPath[] }
}

interface Chosen {
  readonly source: Source
  readonly index?: IndexRecord
  readonly paths?: readonly IndexPath[]
}

export async function queryPage(
  store: Store,
  keeper: IndexKeeper,
  container: ContainerRecord,
  query: ItemQuery,
  page: QueryPageRequest,
): Promise<QueriedPage> {
  const moment = await store.moment()
  const program = query.program(moment)
  const counted = await countFromKeys(store, container, query, program, moment)
  if (counted !== undefined) program.countItems?.(counted.count)
  const chosen =
    counted ?? (await chooseSource(store, keeper.largePartitions, container, query, page.position, moment, program))
  const { source, index, paths = [] } = chosen
  const result = await executePage({ ...page, source, program, moment })
  if (index !== undefined) keeper.noteUse(container, index.definition.number, counted?.version ?? result.version)
  const wished = paths.length === 0 ? await noteScan(store, keeper, container, query, result) : []
  const next =
    result.next === undefined || index === undefined ? result.next : { ...result.next, index: digestOf(index) }
  return { ...result, next, indexUse: { used: paths, wished } }
}

const nothing: Source = batchSource({ version: 0, items: [], next: undefined })

/** Numbers of indexes are given again, so a position that travels says what its index is about. */
function digestOf({ definition }: IndexRecord): string {
  return hash('sha256', describeIndex(definition.components), 'base64').slice(0, 12)
}

async function chooseSource(
  store: Store,
  largePartitions: LargePartitions,
  container: ContainerRecord,
  { range, demands }: ItemQuery,
  position: PagePosition | undefined,
  moment: EpochSeconds,
  program: Program,
): Promise<Chosen> {
  const scan = { source: scanSource(store, container, range) }
  const isBound = position !== undefined && program.order === 'source'
  if (isBound && position.index === undefined) return idsWithin(store, container, range, demands) ?? scan
  const indexes = isBound ? container.indexes.filter(index => digestOf(index) === position.index) : container.indexes
  const choice = chooseIndex(indexes, demands)
  if (isBound) {
    if (choice === undefined) {
      throw new RequestError('malformed', 'Invalid Continuation Token: the index it belongs to is gone. Query again.')
    }
    return fromIndex(store, container, choice, range)
  }
  const named = idsWithin(store, container, range, demands)
  if (named !== undefined) return named
  if (choice === undefined) return scan
  if (range.pk !== undefined && !largePartitions.has(container, range.pk)) {
    const partition = await scan.source.read(undefined, moment, scanItemsMax)
    if (partition.next === undefined) return { source: batchSource(partition) }
    largePartitions.add(container, range.pk)
  }
  return fromIndex(store, container, choice, range)
}

function fromIndex(store: Store, container: ContainerRecord, choice: IndexChoice, range: ScanRange): Chosen {
  const { definition } = choice.index
  return {
    source: indexSource(store, container, choice, range),
    index: choice.index,
    paths: definition.components.map(({ path }) => path),
  }
}

const idPath: IndexPath = ['id']

/** Within one partition key an id names an item. */
function idsWithin(
  store: Store,
  container: ContainerRecord,
  range: ScanRange,
  { demands }: Demands,
): Chosen | undefined {
  const { pk, min } = range
  const bounds = demands.find(({ path }) => isSamePath(path, idPath))?.bounds
  if (pk === undefined || bounds === undefined) return undefined
  const ids = new Set<string>()
  for (const bound of bounds) {
    if (!('equals' in bound)) return undefined
    if (typeof bound.equals === 'string') ids.add(bound.equals)
  }
  const keys = [...ids].map(id => ({ epk: min, pk, id }))
  return { source: pointSource(store, container, keys), paths: [idPath] }
}

/**
 * A count over exactly what an index range holds needs no item, as long as nothing in the container is dead but present: the
 * sweeps' own indexes tell that at once.
 */
async function countFromKeys(
  store: Store,
  container: ContainerRecord,
  { range, demands }: ItemQuery,
  program: Program,
  moment: EpochSeconds,
): Promise<(Chosen & { readonly count: number; readonly version: number }) | undefined> {
  const isWhole = range.min === '' && range.maxExclusive === 'FF' && range.pk === undefined
  if (program.countItems === undefined || !isWhole || demands.demands.length === 0) return undefined
  const choice = chooseIndex(container.indexes, demands)
  if (choice === undefined || !choice.isExact) return undefined
  const { inheritedAfter, ownAfter } = livingAt(container.policy, moment)
  const { earliestInherited, earliestOwn, version } = await store.census(container)
  const hasDead =
    (earliestInherited !== null && earliestInherited <= inheritedAfter) ||
    (earliestOwn !== null && earliestOwn <= ownAfter)
  if (hasDead) return undefined
  const { index, keys } = choice
  const count = await store.countEntries(container, { index: index.definition.number, keys })
  return { count, version, index, source: nothing, paths: demands.demands.map(({ path }) => path) }
}

/** Tells the keeper what a scan cost that an index would have spared, and answers which index that would have been. */
async function noteScan(
  store: Store,
  keeper: IndexKeeper,
  container: ContainerRecord,
  { demands, mayIndex }: ItemQuery,
  { statistics }: Page,
): Promise<readonly IndexPath[]> {
  const wish = wishedIndex(demands)
  if (wish === undefined || !mayIndex(wish.path)) return []
  const { rows } = await store.census(container)
  keeper.noteScan(container, wish, statistics.itemsRead, rows)
  return [wish.path]
}
