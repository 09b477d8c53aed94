/**
 * The features of a query beyond filter and projection, by their protocol names.
 *
 * A partition can filter alone. All features here need the rows of all partitions together. So if a query
 * needs one and names no partition, it is not answered directly: the client gets a plan and does that part
 * itself.
 */

import type { Query } from '../syntax/ast.ts'
import { selectedAggregates } from '../syntax/select-list.ts'

export type QueryFeature =
  | 'Aggregate'
  | 'CompositeAggregate'
  | 'CountIf'
  | 'Distinct'
  | 'GroupBy'
  | 'HybridSearch'
  | 'ListAndSetAggregate'
  | 'MultipleAggregates'
  | 'MultipleOrderBy'
  | 'NonValueAggregate'
  | 'OffsetAndLimit'
  | 'OrderBy'
  | 'Top'

/** Aggregates whose partial results cannot be merged alone, so that each partition also sends a count. */
const compositeAggregates: ReadonlySet<string> = new Set(['AVG', 'MIN', 'MAX'])
const listAggregates: ReadonlySet<string> = new Set(['MAKELIST', 'MAKESET'])

export function featuresOf(query: Query): ReadonlySet<QueryFeature> {
  const aggregates = selectedAggregates(query)
  const names = aggregates.map(aggregate => aggregate.name.toUpperCase())
  const isValue = query.selection.kind === 'value'
  const needs: readonly (readonly [QueryFeature, boolean])[] = [
    ['Aggregate', names.length > 0],
    ['CompositeAggregate', names.some(name => compositeAggregates.has(name))],
    ['CountIf', names.includes('COUNTIF')],
    ['Distinct', query.distinct],
    ['GroupBy', query.groupBy !== undefined],
    ['HybridSearch', query.orderBy?.isRank === true],
    ['ListAndSetAggregate', names.some(name => listAggregates.has(name))],
    ['MultipleAggregates', names.length > 1],
    ['MultipleOrderBy', (query.orderBy?.items.length ?? 0) > 1],
    ['NonValueAggregate', names.length > 0 && !isValue],
    ['OffsetAndLimit', query.offset !== undefined],
    ['OrderBy', query.orderBy !== undefined],
    ['Top', query.top !== undefined],
  ]
  return new Set(needs.filter(([, isNeeded]) => isNeeded).map(([feature]) => feature))
}

/** `SELECT 1` reads no items, nor does a query over such a query. */
export function readsItems({ sources }: Query): boolean {
  const [source] = sources
  if (source === undefined) return false
  return source.collection.kind !== 'query' || readsItems(source.collection.query)
}

/**
 * The end of the text that a client gets in the plan of a query that cannot be split. It sends the text to
 * one partition, and the answer is made from all of them.
 */
export const wholeQueryMark = '\n-- answered from all partitions'

/**
 * Whether partitions can answer their parts of the query. They cannot if `FROM (SELECT …)` itself needs one
 * of the features: the number of distinct values is not the sum of the partitions' numbers.
 */
export function isSplittable(query: Query): boolean {
  const collection = query.sources[0]?.collection
  if (collection?.kind !== 'query') return true
  return featuresOf(collection.query).size === 0 && isSplittable(collection.query)
}
