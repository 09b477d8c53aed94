/**
 * Known flaws of the official client (4.10): correct answers that it changes, and queries that it cannot run
 * over several partitions. Each is pinned by a test, so that a new version of the client is noticed.
 */

import type { SqlValue } from '../../src/sql/values/value.ts'

export interface Flaw {
  readonly why: string
  /** Applies to cases with this query and with items. */
  readonly query: string
  readonly partitions?: 1 | 5
  /** What the client returns instead. */
  readonly rows?: readonly SqlValue[]
  readonly error?: RegExp
}

const falsy = 'the client drops the falsy values of a DISTINCT'
const mixed = 'the client does not merge mixed types'
const partial = 'the client leaves out partitions whose own result is undefined'
const composed = 'the client cannot merge expressions over aggregates'

const orders = [
  'SELECT VALUE c.key FROM c ORDER BY c.a',
  'SELECT VALUE c.key FROM c ORDER BY c.a ASC',
  'SELECT VALUE c.key FROM c ORDER BY c.a DESC',
  'SELECT VALUE c.key FROM c WHERE c.key < 6 ORDER BY c.a DESC, c.b ASC',
  'SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k OFFSET 1 LIMIT 1',
]
const compositions = [
  'SELECT VALUE [{"item": SUM(c.n)}] FROM c',
  'SELECT VALUE {"item": {"sum": SUM(c.n), "count": COUNT(c.n)}} FROM c WHERE c.k = "a"',
  'SELECT VALUE MAX(c.n) - MIN(c.n) FROM c WHERE IS_NUMBER(c.n)',
  'SELECT VALUE {key: c.k, all: MAKELIST(c.n)} FROM c GROUP BY c.k',
  'SELECT [{"item": c.k}] AS groupByItems, {"n": {"item": COUNT(1)}} AS payload FROM c GROUP BY c.k',
]
const groups = 'SELECT c.k, SUM(c.n) AS s, AVG(c.n) AS m FROM c GROUP BY c.k'
const rightGroups = [
  { k: 'a', s: 4, m: 2 },
  { s: 4, m: 4 },
  { k: null, s: 5, m: 5 },
]
const notMerged = /mixed types|unrecognizable type object/
const notComposed = /Compositions of aggregates and other expressions/

const flaws: readonly Flaw[] = [
  { why: falsy, query: 'SELECT DISTINCT VALUE c.k FROM c', rows: ['a', 'b'] },
  { why: falsy, query: orders[4]!, partitions: 1, rows: ['b'] },
  ...orders.map((query): Flaw => ({ why: mixed, query, partitions: 5, error: notMerged })),
  { why: partial, query: 'SELECT SUM(c.n) AS s FROM c', partitions: 5, rows: [{ s: 15 }] },
  { why: 'the client says null', query: 'SELECT SUM(c.n) AS s FROM c', partitions: 1, rows: [{ s: null }] },
  { why: partial, query: 'SELECT VALUE AVG(c.n) FROM c', partitions: 5, rows: [3] },
  { why: partial, query: 'SELECT VALUE MIN(c.v) FROM c', partitions: 5, rows: [null] },
  { why: partial, query: 'SELECT VALUE MAX(c.v) FROM c', partitions: 5, rows: ['b'] },
  { why: partial, query: groups, partitions: 5, rows: [...rightGroups, { k: 'b', s: 2, m: 2 }] },
  {
    why: 'the client says null',
    query: groups,
    partitions: 1,
    rows: [...rightGroups, { k: 'b', s: null, m: undefined }],
  },
  ...compositions.map((query): Flaw => ({ why: composed, query, error: notComposed })),
]

export function flawOf(query: string, partitions: 1 | 5): Flaw | undefined {
  return flaws.find(flaw => flaw.query === query && (flaw.partitions === undefined || flaw.partitions === partitions))
}

export const flawedQueries: ReadonlySet<string> = new Set(flaws.map(({ query }) => query))
