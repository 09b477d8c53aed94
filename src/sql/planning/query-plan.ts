/**
 * The query plan: what a client must do with the answers of several partitions, and the query to send to
 * them.
 *
 * The rewritten texts are those of the service's own planner, character for character, because clients look
 * for its names in the rows (`orderByItems`, `groupByItems`, `payload`, `item`, `item2`).
 */

import { RequestError } from '../../base/error.ts'
import { aliasOf, namesOf } from '../syntax/alias.ts'
import type { Expression, FunctionCall, Identifier, ObjectLiteral, Query } from '../syntax/ast.ts'
import { resolveCount } from '../syntax/counts.ts'
import { printExpression, printQuery } from '../syntax/print.ts'
import { sameExpression } from '../syntax/same-expression.ts'
import { isAggregateCall, selectExpressions, selectedAggregates } from '../syntax/select-list.ts'
import type { SqlValue } from '../values/value.ts'
import { readsItems } from './features.ts'

export interface QueryRange {
  readonly min: string
  readonly max: string
  readonly isMinInclusive: boolean
  readonly isMaxInclusive: boolean
}

export interface QueryInfo {
  readonly distinctType: 'None' | 'Ordered' | 'Unordered'
  readonly top: number | null
  readonly offset: number | null
  readonly limit: number | null
  readonly orderBy: readonly ('Ascending' | 'Descending')[]
  readonly orderByExpressions: readonly string[]
  readonly groupByExpressions: readonly string[]
  readonly groupByAliases: readonly string[]
  readonly aggregates: readonly string[]
  readonly groupByAliasToAggregateType: Readonly<Record<string, string | null>>
  /** Empty if the original text can be sent as it is. */
  readonly rewrittenQuery: string
  readonly hasSelectValue: boolean
  readonly dCountInfo: null
  readonly hasNonStreamingOrderBy: boolean
}

export interface QueryPlan {
  readonly partitionedQueryExecutionInfoVersion: 2
  readonly queryInfo: QueryInfo
  readonly queryRanges: readonly QueryRange[]
}

export const wholeRange: QueryRange = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }

/** A query that reads no items must run on exactly one partition, no matter which. */
const anyPoint: QueryRange = { min: '', max: '', isMinInclusive: true, isMaxInclusive: true }

export interface PlanOptions {
  readonly parameters: ReadonlyMap<string, SqlValue>
  readonly queryRanges?: readonly QueryRange[]
  /** Whether the filter names one partition key value, so that one partition can apply the window itself. */
  readonly isSinglePartition?: boolean
}

/** The plan of a query that one partition answers completely: the client has nothing to do. */
export function makeWholePlan(query: Query, rewrittenQuery: string): QueryPlan {
  const plain: Query = { ...query, selection: { kind: 'star', span: query.span }, distinct: false, groupBy: undefined }
  const counts = { orderBy: undefined, top: undefined, offset: undefined, limit: undefined }
  const queryInfo = planInfo({ ...plain, ...counts }, { parameters: new Map() })
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: { ...queryInfo, rewrittenQuery, hasSelectValue: query.selection.kind === 'value' },
    queryRanges: [anyPoint],
  }
}

export function makeQueryPlan(query: Query, options: PlanOptions): QueryPlan {
  if (query.orderBy?.isRank) throw new RequestError('unsupported', 'ORDER BY RANK is not supported yet.')
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: planInfo(query, options),
    queryRanges: options.queryRanges ?? [readsItems(query) ? wholeRange : anyPoint],
  }
}

function planInfo(query: Query, { parameters, isSinglePartition = false }: PlanOptions): QueryInfo {
  const aggregates = selectedAggregates(query)
  const isGrouped = aggregates.length > 0 || query.groupBy !== undefined
  if (isComposed(query)) {
    throw new RequestError('malformed', 'Compositions of aggregates and other expressions are not allowed.')
  }
  const isAboutItems = readsItems(query)
  const cutsItself = !isAboutItems || (isSinglePartition && !isGrouped && !query.distinct)
  const counts = {
    top: isAboutItems ? (resolveCount(query.top, 'TOP', parameters) ?? null) : null,
    offset: cutsItself ? null : (resolveCount(query.offset, 'OFFSET', parameters) ?? null),
    limit: cutsItself ? null : (resolveCount(query.limit, 'LIMIT', parameters) ?? null),
  }
  const orderItems = isGrouped ? [] : (query.orderBy?.items ?? [])
  const isValue = query.selection.kind === 'value'
  const aliases = isGrouped ? aggregateTypesByAlias(query) : []
  return {
    distinctType: distinctTypeOf(query),
    ...counts,
    orderBy: orderItems.map(item => (item.direction === 'DESC' ? 'Descending' : 'Ascending')),
    orderByExpressions: orderItems.map(item => printExpression(item.expression)),
    groupByExpressions: (query.groupBy ?? []).map(key => printExpression(key)),
    groupByAliases: aliases.map(([alias]) => alias),
    aggregates: isValue ? aggregates.map(typeOfAggregate) : [],
    groupByAliasToAggregateType: Object.fromEntries(aliases),
    rewrittenQuery: rewrite(query, isGrouped, counts),
    hasSelectValue: isValue,
    dCountInfo: null,
    hasNonStreamingOrderBy: false,
  }
}

const aggregateTypes: Readonly<Record<string, string>> = {
  AVG: 'Average',
  COUNT: 'Count',
  COUNTIF: 'CountIf',
  MAKELIST: 'MakeList',
  MAKESET: 'MakeSet',
  MAX: 'Max',
  MIN: 'Min',
  SUM: 'Sum',
}

function typeOfAggregate(aggregate: FunctionCall): string {
  return aggregateTypes[aggregate.name.toUpperCase()] as string
}

function aggregateTypesByAlias({ selection }: Query): (readonly [string, string | null])[] {
  if (selection.kind !== 'list') return []
  const names = namesOf(selection.items)
  return selection.items.map(({ expression }, index) => {
    return [names[index] as string, isAggregateCall(expression) ? typeOfAggregate(expression) : null] as const
  })
}

/** A client can merge partial sums, but not results of expressions over them. */
export function isComposed(query: Query): boolean {
  return selectedAggregates(query).length > selectExpressions(query).filter(isAggregateCall).length
}

/** Ordered means that equal values are adjacent, so a client need only compare neighbours. */
function distinctTypeOf({ distinct, selection, orderBy }: Query): QueryInfo['distinctType'] {
  if (!distinct) return 'None'
  const [first, ...others] = orderBy?.items ?? []
  const isOrdered =
    first !== undefined &&
    others.length === 0 &&
    selection.kind === 'value' &&
    sameExpression(selection.expression, first.expression)
  return isOrdered ? 'Ordered' : 'Unordered'
}

type Counts = Pick<QueryInfo, 'top' | 'offset' | 'limit'>

function rewrite(query: Query, isGrouped: boolean, counts: Counts): string {
  const rewritten = isGrouped ? rewriteGroups(query) : query.orderBy !== undefined ? rewriteOrder(query) : query
  // Only the client knows how many rows remain after groups are merged and duplicates removed.
  const isCutLater = isGrouped || query.distinct
  const cut = isCutLater ? withoutCounts(rewritten) : withWindow(rewritten, counts)
  return cut === query ? '' : printQuery(cut)
}

function withoutCounts(query: Query): Query {
  const hasCounts = query.top !== undefined || query.offset !== undefined
  return hasCounts ? { ...query, top: undefined, offset: undefined, limit: undefined } : query
}

/** All rows before the end of the window may come from one partition, so each must send that many. */
function withWindow(query: Query, { offset, limit }: Counts): Query {
  if (offset === null || limit === null) return query
  const { span } = query
  return {
    ...query,
    offset: { kind: 'count', value: 0, isInteger: true, span },
    limit: { kind: 'count', value: offset + limit, isInteger: true, span },
  }
}

const nowhere = { start: 0, end: 0 }

function identifier(name: string): Identifier {
  return { kind: 'identifier', name, span: nowhere }
}

function object(properties: readonly (readonly [string, Expression])[]): ObjectLiteral {
  return { kind: 'object', properties: properties.map(([name, value]) => ({ name, value })), span: nowhere }
}

function array(items: readonly Expression[]): Expression {
  return { kind: 'array', items, span: nowhere }
}

function call(name: string, argument: Expression): FunctionCall {
  return { kind: 'call', name, isUserDefined: false, arguments: [argument], span: nowhere }
}

function itemsOf(expressions: readonly Expression[]): Expression {
  return array(expressions.map(expression => object([['item', expression]])))
}

function rowOf(columns: readonly (readonly [Expression, string | undefined])[]): Query['selection'] {
  const items = columns.map(([expression, alias]) => ({ expression, alias, span: nowhere }))
  return { kind: 'list', items, span: nowhere }
}

/** The client replaces this text with `true`, or with the condition that resumes a query. */
const resumeFilter = identifier('({documentdb-formattableorderbyquery-filter})')

function rewriteOrder(query: Query): Query {
  const { selection, sources, where } = query
  const root = identifier((sources[0] && aliasOf(sources[0])) ?? 'root')
  const conditions =
    where === undefined ? [] : where.kind === 'logical' && where.operator === 'AND' ? where.operands : [where]
  const isDefined = selection.kind === 'value' ? [call('IS_DEFINED', selection.expression)] : []
  const operands = [...conditions, resumeFilter, ...isDefined]
  const keys = (query.orderBy?.items ?? []).map(item => item.expression)
  return {
    ...query,
    distinct: false,
    selection: rowOf([
      [{ kind: 'member', object: root, name: '_rid', span: nowhere }, undefined],
      [itemsOf(keys), 'orderByItems'],
      [payloadOf(query, root, expression => expression), 'payload'],
    ]),
    where: operands.length === 1 ? resumeFilter : { kind: 'logical', operator: 'AND', operands, span: nowhere },
  }
}

function payloadOf({ selection }: Query, root: Expression, map: (expression: Expression) => Expression): Expression {
  if (selection.kind === 'star') return root
  if (selection.kind === 'value') return map(selection.expression)
  const names = namesOf(selection.items)
  return object(selection.items.map((item, index) => [names[index] as string, map(item.expression)] as const))
}

function rewriteGroups(query: Query): Query {
  const { selection, groupBy } = query
  const isValue = selection.kind === 'value'
  const payload = payloadOf(query, identifier('root'), expression => {
    if (!isAggregateCall(expression)) return expression
    return isValue ? array([partialsOf(expression)]) : partialsOf(expression)
  })
  if (groupBy !== undefined) {
    const columns = rowOf([
      [itemsOf(groupBy), 'groupByItems'],
      [payload, 'payload'],
    ])
    return { ...query, selection: columns }
  }
  if (isValue) return { ...query, selection: { kind: 'value', expression: payload, span: nowhere } }
  return { ...query, selection: rowOf([[payload, 'payload']]) }
}

/** What each partition sends for one aggregate, so that the client can merge the parts. */
function partialsOf(aggregate: FunctionCall): ObjectLiteral {
  const [argument] = aggregate.arguments as readonly [Expression]
  const name = aggregate.name.toUpperCase()
  const counted = (partial: string, from: string): ObjectLiteral =>
    object([
      [partial, call(from, argument)],
      ['count', call('COUNT', argument)],
    ])
  if (name === 'AVG') return object([['item', counted('sum', 'SUM')]])
  if (name !== 'MIN' && name !== 'MAX') return object([['item', aggregate]])
  return object([
    ['item', aggregate],
    ['item2', counted(name.toLowerCase(), name)],
  ])
}
