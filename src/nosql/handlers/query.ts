/**
 * Queries: over definitions in memory, over items page by page, and the plans of cross-partition queries.
 */

import { hash } from 'node:crypto'
import { RequestError } from '../../base/error.ts'
import { pageBytesMax, requestBytesMax } from '../../base/limits.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { ShortWork } from '../../base/short-work.ts'
import { textOf } from '../../document/body.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../../document/partition-key.ts'
import type { Engine, QueryResult } from '../../engine/engine.ts'
import type { ItemQuery } from '../../engine/item-query.ts'
import type { QueryPageRequest } from '../../engine/query.ts'
import { wishedIndex } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { SourceItem } from '../../query/program.ts'
import type { StatementFunctions } from '../../query/statement.ts'
import { demandsOf } from '../../sql/planning/demands.ts'
import { featuresOf, isSplittable, readsItems, wholeQueryMark } from '../../sql/planning/features.ts'
import { partitionKeyFilter } from '../../sql/planning/partition-key-filter.ts'
import {
  isComposed,
  makeQueryPlan,
  makeWholePlan,
  type QueryPlan,
  type QueryRange,
} from '../../sql/planning/query-plan.ts'
import { resumableText } from '../../sql/planning/resume-filter.ts'
import { PreparedQueries, type PreparedQuery, toParameters } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import { runQueryOver } from '../../sql/run.ts'
import { selectedAggregates } from '../../sql/syntax/select-list.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { type ScanRange, wholeRange } from '../../store/reading.ts'
import { checkCompositeOrder } from '../definitions/composite-order.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { readObject, readString } from '../definitions/definition-input.ts'
import { isPathIndexed } from '../definitions/indexed-paths.ts'
import { type ContainerView, sessionHeader, tokenRange, viewOf } from '../http/container-view.ts'
import { decodeRangeContinuation, encodeRangeContinuation } from '../http/continuation.ts'
import { CrossPartitionError } from '../http/error-map.ts'
import { pageSize } from '../http/feed.ts'
import { documentList } from '../http/list-body.ts'
import { requireContainer } from '../http/named-resource.ts'
import { hasFlag, headerOf, jsonBody, type NosqlRequest, partitionKeyHeader, type Service } from '../http/request.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { WorkTime } from '../http/work-time.ts'
import { callsElsewhere, findFunctions, withFunctions } from '../scripts/query-functions.ts'
import { feedOfItems, rangeOf } from './item-feed.ts'
import { metricsHeaders } from './query-metrics.ts'

type Definitions = readonly { readonly number: number; readonly resource: object }[]

interface QueryRequest {
  readonly prepared: PreparedQuery
  readonly parameters: ReadonlyMap<string, SqlValue>
}

const queries = new PreparedQueries()

function parseQueryRequest(request: NosqlRequest, container?: ContainerRecord): QueryRequest {
  const body = readObject(jsonBody(request, requestBytesMax), 'query')
  const { computedProperties } = (container?.definition ?? {}) as Partial<ContainerDefinition>
  const prepared = queries.prepare(readString(body.query, 'query'), computedProperties)
  return { prepared, parameters: toParameters(body.parameters) }
}

/**
 * Definitions are few and in memory. Rows keep their order and get new numbers for the pages of the feed.
 */
export async function queryDefinitions(request: NosqlRequest, definitions: Definitions): Promise<Definitions> {
  const { prepared, parameters } = parseQueryRequest(request)
  const momentMs = (await request.service.engine.moment()) * 1000
  const items = definitions.map(({ resource }) => resource as SqlValue)
  const rows = new ShortWork().do('The query', () => runQueryOver(prepared, { parameters, momentMs }, items))
  return rows.map((row, number) => ({ number, resource: row as object }))
}

export function planQuery(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), container => {
    const query = parseQueryRequest(request, container)
    checkOrder(query, container)
    const whole = wholePlanFor(query)
    if (whole === undefined) checkSupportedFeatures(request, query)
    return { status: 200, body: JSON.stringify(whole ?? planFor(query, viewOf(container))), chargeRu: 1 }
  })
}

/** The plan of a query whose parts no client can put together: one request, answered completely. */
function wholePlanFor({ prepared: { query, text } }: QueryRequest): QueryPlan | undefined {
  if (!isSplittable(query)) return makeWholePlan(query, text + wholeQueryMark)
  return readsItems(query) || !isComposed(query) ? undefined : makeWholePlan(query, '')
}

/** The client must be able to merge what a plan splits, or it would take partial rows for results. */
function checkSupportedFeatures(request: NosqlRequest, { prepared }: QueryRequest): void {
  const header = headerOf(request, 'x-ms-cosmos-supported-query-features')
  if (header === undefined) return
  const supported = new Set(header.split(',').map(feature => feature.trim()))
  const missing = [...featuresOf(prepared.query)].filter(feature => !supported.has(feature))
  if (missing.length === 0) return
  throw new RequestError(
    'malformed',
    `Query contains the following features, which the calling client does not support: ${missing.join(' ')}`,
  )
}

function checkOrder({ prepared, parameters }: QueryRequest, { definition }: ContainerRecord): Demands {
  const demands = demandsOf(prepared.query, parameters)
  const { indexingPolicy } = definition as ContainerDefinition
  // Aggregates do not depend on the order of the rows.
  const isAggregated = selectedAggregates(prepared.query).length > 0
  checkCompositeOrder(isAggregated ? 0 : (prepared.query.orderBy?.items.length ?? 0), demands, indexingPolicy)
  const { computed } = prepared
  return computed.length === 0 ? demands : demandsOf(prepared.query, parameters, computed)
}

export function queryItems(request: NosqlRequest, container: ContainerRecord): MaybePromise<NosqlResponse> {
  const query = parseQueryRequest(request, container)
  const view = viewOf(container)
  const { prepared } = query
  const demands = checkOrder(query, container)
  const { indexingPolicy } = container.definition as ContainerDefinition
  const range = targetOf(request, query, view)
  if (range === undefined) throw new CrossPartitionError(planFor(query, view))
  if (isWholeFeed(prepared)) return feedOfItems(request, container)
  const mayIndex = (path: IndexPath) => isPathIndexed(indexingPolicy, path)
  return andThen(findFunctions(request.service, view, prepared), functions => {
    const programs = programsOf(query, functions)
    return answerPage(request, query, view, { range, demands, ...programs, mayIndex })
  })
}

/**
 * A query with user-defined functions runs only in the query thread, where no other request waits for them.
 */
function programsOf(
  { prepared, parameters }: QueryRequest,
  functions: StatementFunctions | undefined,
): Pick<ItemQuery, 'program' | 'statement' | 'mustTravel'> {
  const { text, computed } = prepared
  const options = { parameters, ...(functions !== undefined && { callUserDefined: callsElsewhere }) }
  return {
    program: moment => createProgram(prepared, { ...options, momentMs: moment * 1000 }),
    statement: () => ({ language: 'sql', text, parameters, computed, functions }),
    mustTravel: functions !== undefined,
  }
}

async function answerPage(
  request: NosqlRequest,
  { prepared, parameters }: QueryRequest,
  view: ContainerView,
  query: ItemQuery,
): Promise<NosqlResponse> {
  const { engine, keys } = request.service
  const { range } = query
  const scope = scopeOf(prepared, parameters, view, range)
  const token = headerOf(request, 'x-ms-continuation')
  using time = new WorkTime(request.caller)
  const page = await engine.queryPage(view.record, query, {
    position: token === undefined ? undefined : (decodeRangeContinuation(keys, scope, token) as PagePosition),
    rowsMax: pageSize(request),
    bytesMax: pageBytesMax,
    signal: time.signal,
  })
  let headers =
    sessionHeader(view, page.version, range.min) +
    header('x-ms-item-count', page.rows.length) +
    header('x-ms-content-path', view.rid)
  if (page.next !== undefined) {
    headers += header('x-ms-continuation', encodeRangeContinuation(keys, scope, range, page.next))
  }
  headers += metricsHeaders(request, view, page.statistics, page.indexUse)
  return { status: 200, body: documentList(view.rid, page.rows.map(textOf)), chargeRu: page.chargeRu, headers }
}

/** A token is valid for one query, its parameters, one container and one part of it. */
function scopeOf(
  { query: tree, text }: PreparedQuery,
  parameters: ReadonlyMap<string, SqlValue>,
  view: ContainerView,
  range: ScanRange,
): string {
  const query = hash('sha256', JSON.stringify([resumableText(tree, text), [...parameters]]), 'base64')
  return `query ${view.rid} ${tokenRange(view, range)} ${query}`
}

/**
 * The part of the container that a query addresses. Undefined if rows of all partitions must be merged
 * (sort, group, count, limit), which the service leaves to the client.
 */
function targetOf(request: NosqlRequest, query: QueryRequest, view: ContainerView): ScanRange | undefined {
  const { query: tree, text } = query.prepared
  const isWhole = text.endsWith(wholeQueryMark) && !isSplittable(tree)
  const isTargeted =
    headerOf(request, partitionKeyHeader) !== undefined ||
    (headerOf(request, 'x-ms-documentdb-partitionkeyrangeid') !== undefined && !isWhole)
  if (isTargeted) return rangeOf(request, view)
  const [named, ...others] = keysOfFilter(query, view) ?? []
  if (named?.length === view.keyPaths.length && others.length === 0) {
    return {
      ...effectivePartitionKeyPrefixRange(view.record.partitionKey, named),
      pk: canonicalPartitionKey(named),
    }
  }
  if (isWhole) return wholeRange
  if (!readsItems(tree)) return rangeOf(request, view)
  checkCrossPartition(request)
  return featuresOf(tree).size > 0 && isSplittable(tree) ? undefined : rangeOf(request, view)
}

/** A query over all partitions must say that it is one. */
export function checkCrossPartition(request: NosqlRequest): void {
  if (hasFlag(request, 'x-ms-documentdb-query-enablecrosspartition')) return
  throw new RequestError(
    'malformed',
    'Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to ' +
      'true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.',
  )
}

/** The partition keys that the filter allows, or prefixes of them. */
function keysOfFilter({ prepared, parameters }: QueryRequest, view: ContainerView) {
  return partitionKeyFilter(prepared.query, view.keyPaths, parameters, prepared.computed)
}

function planFor(query: QueryRequest, view: ContainerView): QueryPlan {
  const keys = keysOfFilter(query, view)
  const { parameters } = query
  if (keys === undefined) return makeQueryPlan(query.prepared.query, { parameters })
  const ranges = new Map<string, QueryRange>()
  for (const key of keys) {
    const { min, maxExclusive } = effectivePartitionKeyPrefixRange(view.record.partitionKey, key)
    const isPoint = key.length === view.keyPaths.length
    ranges.set(
      min,
      isPoint
        ? { min, max: min, isMinInclusive: true, isMaxInclusive: true }
        : { min, max: maxExclusive, isMinInclusive: true, isMaxInclusive: false },
    )
  }
  // Clients need the ranges in order and without overlaps.
  const queryRanges = [...ranges.values()].sort((a, b) => (a.min < b.min ? -1 : 1))
  const isSinglePartition = keys.length === 1 && keys[0]!.length === view.keyPaths.length
  return makeQueryPlan(query.prepared.query, { parameters, queryRanges, isSinglePartition })
}

/** Whether the query is just `SELECT * FROM c`, which reads a whole container. Bodies are sent as stored. */
function isWholeFeed({ query }: PreparedQuery): boolean {
  const { selection, sources, where, groupBy, orderBy, offset, limit, top, distinct } = query
  const [source] = sources
  const isPlain = [where, groupBy, orderBy, offset, limit, top].every(clause => clause === undefined) && !distinct
  const isContainer =
    sources.length === 1 &&
    source!.collection.kind === 'path' &&
    source!.collection.expression.kind === 'identifier' &&
    !source!.iterates
  return selection.kind === 'star' && isPlain && isContainer
}

/** A query of the explorer: all partitions are one result, so nothing is left to a client. */
export interface DirectQuery {
  readonly text: string
  /** As in a request: `[{"name": "@id", "value": 1}]`. */
  readonly parameters?: unknown
  readonly partitionKey?: readonly PartitionKeyComponent[] | undefined
}

interface Direct {
  readonly query: QueryRequest
  readonly view: ContainerView
  readonly range: ScanRange
}

function prepareDirectly(container: ContainerRecord, { text, parameters, partitionKey }: DirectQuery): Direct {
  const { computedProperties } = container.definition as ContainerDefinition
  const query = { prepared: queries.prepare(text, computedProperties), parameters: toParameters(parameters) }
  const view = viewOf(container)
  const [named, ...others] = partitionKey === undefined ? (keysOfFilter(query, view) ?? []) : [partitionKey]
  if (named === undefined || others.length > 0) return { query, view, range: wholeRange }
  const range = effectivePartitionKeyPrefixRange(container.partitionKey, named)
  const isWhole = named.length === view.keyPaths.length
  return { query, view, range: isWhole ? { ...range, pk: canonicalPartitionKey(named) } : range }
}

function itemQuery({ query, view, range }: Direct, functions: StatementFunctions | undefined): ItemQuery {
  const { indexingPolicy } = view.record.definition as ContainerDefinition
  return {
    range,
    demands: checkOrder(query, view.record),
    ...programsOf(query, functions),
    mayIndex: path => isPathIndexed(indexingPolicy, path),
  }
}

export async function queryDirectly(
  service: Service,
  container: ContainerRecord,
  query: DirectQuery,
  page: QueryPageRequest,
): Promise<QueryResult> {
  const direct = prepareDirectly(container, query)
  const functions = await findFunctions(service, direct.view, direct.query.prepared)
  return service.engine.queryPage(container, itemQuery(direct, functions), page)
}

/** The plan that SDKs are given, and what an index does for the query. */
export function planDirectly(engine: Engine, container: ContainerRecord, query: DirectQuery) {
  const direct = prepareDirectly(container, query)
  const asked = itemQuery(direct, undefined)
  const whole = wholePlanFor(direct.query)
  return {
    plan: whole ?? planFor(direct.query, direct.view),
    isCrossPartition: direct.range.pk === undefined,
    wish: wishedIndex(asked.demands)?.path,
    explained: engine.explainQuery(container, asked),
  }
}

/** Calls `use` with a test for items: whether `SELECT * FROM c <clause>` has them in its result. */
export async function withItemFilter<T>(
  service: Service,
  container: ContainerRecord,
  clause: string,
  use: (accepts: (item: SourceItem) => boolean) => Promise<T>,
): Promise<T> {
  const direct = prepareDirectly(container, { text: `SELECT VALUE 1 FROM c ${clause}` })
  const { query: tree } = direct.query.prepared
  if (tree.orderBy !== undefined || tree.groupBy !== undefined || tree.limit !== undefined || tree.sources.length > 1) {
    throw new RequestError('malformed', 'The filter is a WHERE clause only: choose the order in the list.')
  }
  const moment = await service.engine.moment()
  return withFunctions(service, direct.view, direct.query.prepared, callUserDefined => {
    const functions = callUserDefined === undefined ? {} : { callUserDefined }
    const program = createProgram(direct.query.prepared, { momentMs: moment * 1000, ...functions })
    const work = new ShortWork()
    return use(item => {
      let isAccepted = false
      const accept = () => {
        isAccepted = true
        return true
      }
      work.do('The filter', () => program.accept(item, accept))
      return isAccepted
    })
  })
}
