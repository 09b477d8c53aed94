/**
 * What a query needs beyond filtering and projecting, by the names the protocol gives these features.
 *
 * A partition can filter by itself. Everything here needs the rows of all partitions in one place, so a query
 * that needs any of it and names no partition is not answered directly: the client gets a plan and does that
 * part itself.
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

/** Aggregates that are not their own partial result, and therefore travel as two. */
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

/** `SELECT 1` reads no items, nor does a query over one that reads none. */
export function readsItems({ sources }: Query): boolean {
  const [source] = sources
  if (source === undefined) return false
  return source.collection.kind !== 'query' || readsItems(source.collection.query)
}

/**
 * Whether partitions can answer their parts of the query at all. They cannot when `FROM (SELECT …)` needs one
 * of the features itself: the number of distinct values is not the sum of the partitions' numbers.
 */
export function isSplittable(query: Query): boolean {
  const collection = query.sources[0]?.collection
  if (collection?.kind !== 'query') return true
  return featuresOf(collection.query).size === 0 && isSplittable(collection.query)
}
