/** The ways in which the official client can run a query: fetching, planning, page size, parallelism. */

import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos'
import type { SqlValue } from '../../src/sql/values/value.ts'

export interface Mode {
  readonly name: string
  readonly options: FeedOptions
  readonly fetch: (container: Container, query: SqlQuerySpec, options: FeedOptions) => Promise<SqlValue[]>
}

const fetchAll: Mode['fetch'] = async (container, query, options) =>
  (await container.items.query<SqlValue>(query, options).fetchAll()).resources

const fetchNext: Mode['fetch'] = async (container, query, options) => {
  const rows: SqlValue[] = []
  const iterator = container.items.query<SqlValue>(query, options)
  while (iterator.hasMoreResults()) {
    // For an empty page the client returns undefined.
    const { resources = [] } = (await iterator.fetchNext()) as { resources?: SqlValue[] }
    rows.push(...resources)
  }
  return rows
}

const iterate: Mode['fetch'] = async (container, query, options) => {
  const rows: SqlValue[] = []
  for await (const { resources = [] } of container.items.query<SqlValue>(query, options).getAsyncIterator()) {
    rows.push(...(resources as SqlValue[]))
  }
  return rows
}

export const modes: readonly Mode[] = [
  { name: 'fetchAll', options: {}, fetch: fetchAll },
  { name: 'fetchNext, one at a time', options: { maxItemCount: 1 }, fetch: fetchNext },
  { name: 'the async iterator, two at a time', options: { maxItemCount: 2 }, fetch: iterate },
  { name: 'forceQueryPlan', options: { forceQueryPlan: true }, fetch: fetchAll },
  { name: 'forceQueryPlan, one at a time', options: { forceQueryPlan: true, maxItemCount: 1 }, fetch: fetchNext },
  { name: 'enableQueryControl', options: { enableQueryControl: true, maxItemCount: 2 }, fetch: fetchNext },
  {
    name: 'maxDegreeOfParallelism',
    options: { maxDegreeOfParallelism: 10, forceQueryPlan: true, bufferItems: true },
    fetch: fetchAll,
  },
]
