/**
 * Makes one page of a query: takes the page's moment, chooses a source of items, and runs the program over
 * it, in this thread or in the query thread (`where-to-run.ts`).
 *
 *   one partition key and ids    point reads
 *   a small partition            all its items: reading them costs no more than choosing
 *   an index that fits           a part of the index, in its order
 *   an order or bounds of ids    a part of the partition, in the order in which it is kept
 *   otherwise                    all items of the range; if an index would have avoided that, it is reported
 *
 * Rows in source order must come from the same source on every page, so the position names it.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { assert, CapacityError } from '../base/error.ts'
import { scanItemsMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { HoldWatch, isWatched, WorkTooLong, watched } from '../base/work.ts'
import type { Body } from '../document/body.ts'
import type { IndexPath } from '../document/index-definition.ts'
import { chooseIdOrder, type NarrowedRange } from '../query/choose-id-order.ts'
import { chooseIndex, type IndexChoice, wishedIndex } from '../query/choose-index.ts'
import type { Page, PagePosition } from '../query/execute.ts'
import type { CollectedRows } from '../query/packed-rows.ts'
import { describeIndexes, type MadePage, makePage, type PageRunner, type PageTask } from '../query/page-task.ts'
import type { Program } from '../query/program.ts'
import { batchSource, type ItemSource, sourceOf } from '../query/source.ts'
import type { IdOrder, QueryStatement } from '../query/statement.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Viewpoint } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import { type ContainerReader, type ScanRange, wholeRange } from '../store/reading.ts'
import { chooseCount, chooseSource, digestOf, isBound, pathsOf, scan } from './choose-source.ts'
import type { IndexKeeper } from './index-keeper.ts'
import type { ItemQuery } from './item-query.ts'
import { plannedReader, readerOf, unlessStale } from './planned-reader.ts'
import { inlineRowsMax, type Work } from './where-to-run.ts'

/** A page that was started here moves to the query thread after this many slices. */
const inlineSlicesMax = 2

/** A page also moves if the work on one item holds this thread for longer than this. */
const inlineHoldMsMax = 4

/**
 * A page is planned again if indexes changed meanwhile. From this plan on it is made in this thread, if no
 * item takes long. After twice as many plans it is refused.
 */
const pagePlansMax = 3

/** The longest time that the work on one item may hold this thread if the page cannot move (rare). */
const onlyHereHoldMsMax = 100

export interface QueryPageRequest {
  readonly position: PagePosition | undefined
  readonly rowsMax: number
  readonly bytesMax: number
  /** Whether the page says which items its rows come from. */
  readonly keepsOrigins?: boolean
  /** Ends a page that takes long, with the signal's reason. */
  readonly signal?: () => AbortSignal
}

/** The paths of the index that was used, or that would have helped. */
export interface IndexUse {
  readonly used: readonly IndexPath[]
  readonly wished: readonly IndexPath[]
}

export type QueriedPage = Page & { readonly indexUse: IndexUse }

export interface QueryParts {
  readonly store: Store
  readonly keeper: IndexKeeper
  /** Makes pages that would delay other requests; undefined if only this thread can read the store. */
  readonly runner: PageRunner | undefined
  /** Whether the page is made without the runner because indexes have changed again and again. */
  readonly isLastPlan?: boolean
  /** Decides which pages the runner makes from the start (`where-to-run.ts`). */
  readonly isLong: (work: Work) => MaybePromise<boolean>
}

/** A query with the position of its page, and with the order of ids if that was chosen. */
interface Aim extends ItemQuery {
  readonly position: PagePosition | undefined
  readonly idOrder?: IdOrder | undefined
  readonly narrowed?: NarrowedRange | undefined
  /**
   * Rows to skip besides those that the program skips: the rows of earlier pages, if their order was lost.
   */
  readonly first?: number | undefined
}

function aimOf(container: ContainerRecord, query: ItemQuery, position: PagePosition | undefined): Aim {
  if (query.demands.ids === undefined || (position !== undefined && position.isById !== true)) {
    return { ...query, position }
  }
  // Every page keeps the order of the first one, even if an index could serve it better by now.
  const indexes = position === undefined ? container.indexes : []
  const byId = chooseIdOrder(indexes, query.demands, query.partition)
  return byId === undefined ? { ...query, position } : { ...query, ...byId, position: position ?? byId.position }
}

/** The same query after the order of ids was lost. Without that order, the program sorts. */
function sortingAim(query: ItemQuery, position: PagePosition | undefined): Aim {
  return { ...query, position: undefined, first: position?.passed }
}

/** What an index or the order of ids does for a query, if either does. */
export interface ExplainedQuery {
  readonly index: IndexChoice | undefined
  readonly idOrder: IdOrder | undefined
}

export function explainQuery(container: ContainerRecord, query: ItemQuery): ExplainedQuery {
  return { index: chooseIndex(container.indexes, query.demands), idOrder: aimOf(container, query, undefined).idOrder }
}

/** The index use of a page that was not made to its end. */
export function plannedIndexUse(container: ContainerRecord, query: ItemQuery): IndexUse {
  const { index } = explainQuery(container, query)
  if (index !== undefined) return { used: pathsOf(index.index), wished: [] }
  const wish = wishedIndex(query.demands)
  return { used: [], wished: wish !== undefined && query.mayIndex(wish.path) ? [wish.path] : [] }
}

export function runQueryPage(
  parts: QueryParts,
  named: ContainerRecord,
  query: ItemQuery,
  page: QueryPageRequest,
): Promise<QueriedPage> {
  return untilFresh(parts, named, async (current, container) => {
    const made = await planAndMake(current, container, aimOf(container, query, page.position), page)
    if (made === 'stale' || made.hasLostOrder !== true) return made
    return planAndMake(current, container, sortingAim(query, page.position), page)
  })
}

/** Plans again when indexes were made or dropped meanwhile; after some attempts without a runner. */
async function untilFresh<T>(
  parts: QueryParts,
  named: ContainerRecord,
  planAndRun: (parts: QueryParts, container: ContainerRecord) => Promise<T | 'stale'>,
): Promise<T> {
  let container = named
  for (let attempt = 1; ; attempt++) {
    const isLastPlan = attempt >= pagePlansMax && parts.runner !== undefined
    const result = await planAndRun(isLastPlan ? { ...parts, runner: undefined, isLastPlan } : parts, container)
    if (result !== 'stale') return result
    if (attempt >= 2 * pagePlansMax) throw indexesKeepChanging()
    const found = await parts.store.findContainer(named.database.id, named.id)
    if (found?.number === named.number) container = found
  }
}

export interface CollectRequest extends Omit<QueryPageRequest, 'position'> {
  /** Whether it was tried in this thread, and took too long. */
  readonly isTooLongHere: boolean
}

/**
 * Collects rows in the query thread, for a query that has no row before its last item was read. Returns
 * undefined if that is not possible, or may not be worth it. Then the caller reads the items page by page.
 */
export function collectElsewhere(
  parts: QueryParts,
  named: ContainerRecord,
  query: ItemQuery,
  request: CollectRequest,
): Promise<CollectedRows | undefined> {
  return untilFresh(parts, named, async (current, container) => {
    const collected = await planAndCollect(current, container, aimOf(container, query, undefined), request)
    if (collected === 'stale' || collected?.hasLostOrder !== true) return collected
    return planAndCollect(current, container, sortingAim(query, undefined), request)
  })
}

async function planAndCollect(
  parts: QueryParts,
  container: ContainerRecord,
  query: Aim,
  { rowsMax, bytesMax, signal, isTooLongHere }: CollectRequest,
): Promise<CollectedRows | 'stale' | undefined> {
  const { store, keeper, runner } = parts
  if (runner?.collect === undefined || query.statement === undefined) return undefined
  using view = await store.view(container)
  const at: Viewpoint = { moment: view.moment, policy: view.policy }
  const { position, idOrder } = query
  const { source, index, paths } = chooseSource(container, query, position, query.program(at.moment, idOrder))
  if (!isTooLongHere && !(source.kind === 'scan' && (await isLargeRange(parts, container, query)))) return undefined
  const { number, indexes } = container
  const task = { position, rowsMax, bytesMax, range: query.range, at, plan: { source, count: undefined } }
  const remote = { ...task, container: number, indexes: describeIndexes(indexes), statement: query.statement(idOrder) }
  const reader = plannedReader(store, container)
  const collected = await unlessStale(() => runner.collect!(remote, { signal: signal?.(), reader }))
  if (collected === 'stale') return 'stale'
  if (index !== undefined) keeper.noteUse(container, index.definition.number)
  if (paths.length === 0) await noteScan(store, keeper, container, query, collected)
  return collected
}

/** Rows that a statement makes of given documents. */
export async function evaluateElsewhere(
  runner: PageRunner,
  {
    statement,
    bodies,
    moment,
    signal,
  }: {
    readonly statement: QueryStatement
    readonly bodies: readonly Body[]
    readonly moment: EpochSeconds
    readonly signal: AbortSignal | undefined
  },
): Promise<readonly Body[]> {
  // Copy the bytes: a message to a thread carries the whole buffer of a view.
  const items = bodies.map((body, sequence) => ({
    ...{ sequence, version: 0, ts: moment, deadline: null },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  }))
  const made = await runner.run(
    {
      plan: { source: { kind: 'given', items }, count: undefined },
      range: wholeRange,
      at: { moment, policy: { defaultTtl: null, inheritedDeadAt: 0, ownDeadAt: 0 } },
      position: undefined,
      rowsMax: Number.POSITIVE_INFINITY,
      bytesMax: Number.POSITIVE_INFINITY,
      container: 0,
      indexes: '',
      statement,
    },
    { signal },
  )
  assert(made !== 'stale', 'documents that are given depend on no index')
  return made.rows
}

/** Items of a reader, in key order, and a query over them. */
export interface ShownItems extends Pick<ItemQuery, 'range' | 'program' | 'mustTravel'> {
  readonly reader: ContainerReader
  readonly at: Viewpoint
  readonly statement: QueryStatement
}

/** Makes a page over items that differ from those in the store, such as the documents of a transaction. */
export async function runPageOver(
  runner: PageRunner,
  { reader, at, range, program, statement, mustTravel = false }: ShownItems,
  { signal, ...page }: QueryPageRequest,
): Promise<Page> {
  const task: PageTask = { ...page, range, at, plan: { source: scan.source, count: undefined } }
  try {
    if (!mustTravel) {
      const limits = { slicesMax: inlineSlicesMax, signal }
      return await watched(new HoldWatch(inlineHoldMsMax), () => makePage(reader, program(at.moment), task, limits))
    }
  } catch (error) {
    if (!(error instanceof WorkTooLong)) throw error
  }
  const remote = { ...task, container: 0, indexes: '', statement }
  const made = await runner.run(remote, { signal: signal?.(), reader, mustRead: true })
  assert(made !== 'stale', 'items that a reader shows depend on no index')
  return made
}

/** Whether a scan of the range surely reads many items. */
async function isLargeRange(
  { store, keeper }: QueryParts,
  container: ContainerRecord,
  { range, narrowed }: Aim,
): Promise<boolean> {
  if (narrowed?.isBounded === true) return false
  if (range.pk !== undefined) return keeper.largePartitions.has(container, range.pk)
  return (await store.census(container)).rows > inlineRowsMax
}

async function planAndMake(
  parts: QueryParts,
  container: ContainerRecord,
  query: Aim,
  page: QueryPageRequest,
): Promise<QueriedPage | 'stale'> {
  const { store, keeper } = parts
  const { position, first, idOrder } = query
  using view = await store.view(container)
  const at: Viewpoint = { moment: view.moment, policy: view.policy }
  const program = query.program(at.moment, idOrder)
  const counted = chooseCount(container, query, program)
  const fitting = chooseSource(container, query, position, program)
  const isFree = query.demands.hint === undefined && !isBound(position, program)
  const mayBeSmall = fitting.index !== undefined && isFree
  const partition = mayBeSmall ? await smallPartition(parts, container, query.range, at) : undefined
  const chosen = partition === undefined ? fitting : scan
  const { rowsMax, bytesMax, keepsOrigins } = page
  const plan = { source: chosen.source, count: counted?.count }
  const task: PageTask = { position, first, rowsMax, bytesMax, keepsOrigins, range: query.range, at, plan }
  const made = await makeHereOrRemotely(parts, container, query, { program, task, partition, signal: page.signal })
  if (made === 'stale' || made.hasLostOrder === true) return made === 'stale' ? made : { ...made, indexUse: noIndexUse }

  const { index, paths } = made.isCounted ? counted! : chosen
  if (index !== undefined) keeper.noteUse(container, index.definition.number)
  const wished = paths.length === 0 ? await noteScan(store, keeper, container, query, made) : []
  const isIndexPosition =
    made.next !== undefined && index !== undefined && !made.isCounted && program.order === 'source'
  const tied = isIndexPosition ? { ...made.next!, index: digestOf(index) } : made.next
  const next = tied !== undefined && idOrder !== undefined ? { ...tied, isById: true as const } : tied
  return { ...made, next, indexUse: { used: paths, wished } }
}

const noIndexUse: IndexUse = { used: [], wished: [] }

interface Making {
  readonly program: Program
  readonly task: PageTask
  /** All items of a small partition, already read. */
  readonly partition: ItemSource | undefined
  readonly signal: (() => AbortSignal) | undefined
}

async function makeHereOrRemotely(
  { store, keeper, runner, isLastPlan = false, isLong }: QueryParts,
  container: ContainerRecord,
  { range, demands, statement, mustTravel = false, narrowed, idOrder }: Aim,
  { program, task, partition, signal }: Making,
): Promise<MadePage | 'stale'> {
  const readsIndex = task.plan.source.kind === 'index' || task.plan.count !== undefined
  const reader = readsIndex ? plannedReader(store, container) : readerOf(store, container)
  if (runner === undefined || statement === undefined) {
    const make = () => makePage(reader, program, task, { source: partition, signal })
    return unlessStale(() => (isLastPlan ? onlyHere(make) : make()))
  }
  const isSmall = partition !== undefined
  const { largePartitions } = keeper
  const rows = () => andThen(store.census(container), census => census.rows)
  const isKnown = range.pk !== undefined && narrowed?.isBounded !== true && largePartitions.has(container, range.pk)
  const known = range.pk === undefined ? undefined : isKnown ? 'large' : 'unknown'
  const isUnfiltered = narrowed?.isWholeFilter
  const goesAtOnce =
    mustTravel ||
    (!isSmall && (await isLong({ plan: task.plan, program, demands, isUnfiltered, rows, partition: known })))
  try {
    if (!goesAtOnce) {
      const limits = { source: partition, slicesMax: inlineSlicesMax, signal }
      const make = () => makePage(reader, program, task, limits)
      return await unlessStale(() => watched(new HoldWatch(inlineHoldMsMax), make))
    }
  } catch (error) {
    if (!(error instanceof WorkTooLong)) throw error
    const isWholePartition = range.pk !== undefined && narrowed?.isBounded !== true
    if (!isSmall && isWholePartition && task.plan.source.kind === 'scan') largePartitions.add(container, range.pk)
  }
  const { number, indexes } = container
  const remote = { ...task, container: number, indexes: describeIndexes(indexes), statement: statement(idOrder) }
  const plannedOn = plannedReader(store, container)
  return unlessStale(() => runner.run(remote, { signal: signal?.(), reader: plannedOn }))
}

/**
 * Makes a page in this thread, with a limit of its own. If it is part of work that is watched already, that
 * watch applies: it may move the whole work elsewhere.
 */
async function onlyHere<T>(work: () => Promise<T>): Promise<T> {
  if (isWatched()) return work()
  try {
    return await watched(new HoldWatch(onlyHereHoldMsMax), work)
  } catch (error) {
    if (!(error instanceof WorkTooLong)) throw error
    throw indexesKeepChanging()
  }
}

export function indexesKeepChanging(): CapacityError {
  return new CapacityError('unavailable', 'The indexes of the container keep changing. Please try again.', 0)
}

/** The items of a partition that is too small for an index to help. Large partitions are remembered. */
async function smallPartition(
  { store, keeper: { largePartitions } }: QueryParts,
  container: ContainerRecord,
  range: ScanRange,
  at: Viewpoint,
): Promise<ItemSource | undefined> {
  if (range.pk === undefined || largePartitions.has(container, range.pk)) return undefined
  const whole = sourceOf(scan.source, readerOf(store, container), range, { isOrderFree: false })
  const partition = await whole.read(undefined, at, scanItemsMax)
  if (partition.next === undefined) return batchSource(partition)
  largePartitions.add(container, range.pk)
  return undefined
}

/** Reports a scan that an index would have avoided to the keeper. Returns the paths of that index. */
async function noteScan(
  store: Store,
  keeper: IndexKeeper,
  container: ContainerRecord,
  { demands, mayIndex, isPromised }: ItemQuery,
  { statistics }: Pick<Page, 'statistics'>,
): Promise<readonly IndexPath[]> {
  const wish = wishedIndex(demands)
  if (wish === undefined || !mayIndex(wish.path)) return []
  const { rows } = await store.census(container)
  keeper.noteScan(container, wish, {
    scanned: statistics.itemsRead,
    rows,
    isPromised: isPromised?.(wish.path) === true,
  })
  return [wish.path]
}
