/** Hostile works of the NoSQL API. */

import { DATABASE } from '../requests.ts'
import { INDEXED, type NamedItem, SMALL_ITEMS } from './hostile-data.ts'
import type { HostileWork, HttpWork } from './hostile-work.ts'

function query(text: string, pk?: string, parameters: readonly object[] = []): HttpWork {
  return {
    method: 'POST',
    path: '/docs',
    headers: {
      'x-ms-documentdb-isquery': 'True',
      'x-ms-documentdb-query-enablecrosspartition': 'True',
      ...(pk === undefined
        ? { 'x-ms-documentdb-partitionkeyrangeid': '0' }
        : { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }),
    },
    body: JSON.stringify({ query: text, parameters }),
  }
}

function sql(name: string, text: string, pk?: string): HostileWork {
  return { name, http: () => query(text, pk) }
}

/** Over one item of a container whose index fits. */
function indexed(name: string, select: string, conditions: string, pk: string): HostileWork {
  const asked = () => query(`SELECT VALUE ${select} WHERE c.k = 1 AND ${conditions}`, pk)
  return { name, http: () => ({ ...asked(), path: `/dbs/${DATABASE}/colls/${INDEXED}/docs` }) }
}

interface ProcedureMore {
  readonly connections?: number
  readonly pk?: string
}

function procedure(name: string, id: string, { connections, pk = 'many' }: ProcedureMore = {}): HostileWork {
  const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
  const http = (): HttpWork => ({ method: 'POST', path: `/sprocs/${id}`, headers, body: '[]' })
  return { name, http, ...(connections !== undefined && { connections }) }
}

function write(item: NamedItem, headers: Readonly<Record<string, string>> = {}): HttpWork {
  return {
    method: 'POST',
    path: '/docs',
    headers: {
      'x-ms-documentdb-partitionkey': JSON.stringify([item.pk]),
      'x-ms-documentdb-is-upsert': 'True',
      ...headers,
    },
    body: JSON.stringify(item),
  }
}

function batch(operations: readonly object[], pk: string, isAtomic: boolean): HttpWork {
  return {
    method: 'POST',
    path: '/docs',
    headers: {
      'x-ms-documentdb-partitionkey': JSON.stringify([pk]),
      'x-ms-cosmos-is-batch-request': 'True',
      'x-ms-cosmos-batch-atomic': isAtomic ? 'True' : 'False',
      'x-ms-cosmos-batch-continue-on-error': isAtomic ? 'False' : 'True',
      'x-ms-cosmos-batch-ordered': 'True',
    },
    body: JSON.stringify(operations),
  }
}

const times = (count: number) => Array.from({ length: count }, (_, n) => n)
const product = 'FROM c JOIN x IN c.list JOIN y IN c.list'
const never = 'x + y = -1'
const largeText = 'x'.repeat(20_000)
const setOfExpressions = times(8_000)
  .map(n => `c.k + ${n}`)
  .join(', ')

const patchOperations = {
  operations: [{ op: 'incr', path: '/counter', value: 1 }],
  condition: `from c where ${times(2000)
    .map(n => `CONTAINS(c.text, "${n}c")`)
    .join(' or ')} or true`,
}

export const nosqlWorks: readonly HostileWork[] = [
  sql('JOIN 999 x 999, a filter that never holds', `SELECT VALUE 1 ${product} WHERE ${never}`, 'list'),
  indexed('JOIN 999 x 999 x 999 beside an index', `1 ${product} JOIN z IN c.list`, 'x + y + z = -1', 'list'),
  indexed('RegexExtractAll beside an index', 'REGEXEXTRACTALL(c.text, "(a|b)*?c|a") FROM c', 'true', 'text'),
  sql('DISTINCT over 999 x 999', `SELECT DISTINCT VALUE x * 1000 + y ${product}`, 'list'),
  sql('GROUP BY over 999 x 999', `SELECT x, COUNT(1) AS n, SUM(y) AS s ${product} GROUP BY x`, 'list'),
  sql(
    'subqueries in subqueries',
    `SELECT VALUE ARRAY(SELECT VALUE (SELECT VALUE COUNT(1) ${inner()}) FROM x IN c.list) FROM c`,
    'list',
  ),
  sql('RegexExtractAll over 2 MB', 'SELECT VALUE REGEXEXTRACTALL(c.text, "(a|b)*?c|a") FROM c', 'text'),
  sql('RegexMatch over 2 MB', 'SELECT VALUE REGEXMATCH(c.text, "(a+b+)+(a|b)*d$") FROM c', 'text'),
  sql('SetUnion and SetIntersect of 200,000', `SELECT VALUE ARRAY_LENGTH(${nested(8)}) FROM c`, 'numbers'),
  sql(
    'ARRAY_CONTAINS_ALL in 200,000',
    `SELECT VALUE ARRAY_CONTAINS_ALL(c.numbers, ${times(200).map(n => 199_000 + n)}) FROM c`,
    'numbers',
  ),
  sql(
    'ARRAY_CONTAINS for each of 200,000',
    'SELECT VALUE COUNT(1) FROM c JOIN x IN c.numbers WHERE ARRAY_CONTAINS(c.numbers, x + 200000)',
    'numbers',
  ),
  sql('LIKE over 1 MB', `SELECT VALUE c.text LIKE '%${'a'.repeat(40)}b%' FROM c`, 'same'),
  sql('texts that grow', `SELECT VALUE LENGTH(${replaced(20)}) FROM c`, 'same'),
  sql(
    'a search for half of 1 MB',
    'SELECT VALUE CONTAINS(c.text, CONCAT(LEFT(c.text, 250000), "b", LEFT(c.text, 250000))) FROM c',
    'same',
  ),
  sql(
    'StringSplit, StringJoin and Reverse',
    `SELECT VALUE ARRAY_LENGTH(ARRAY_CONCAT(${times(40).map(() => 'STRINGSPLIT(REVERSE(c.text), "a")')})) FROM c`,
    'same',
  ),
  sql('ST_DISTANCE of large polygons', 'SELECT VALUE ST_DISTANCE(c.one, c.other) FROM c', 'polygon'),
  sql('ST_WITHIN of large polygons', 'SELECT VALUE ST_WITHIN(c.one, c.other) FROM c', 'polygon'),
  sql('IN with 8,000 expressions', `SELECT VALUE COUNT(1) FROM c WHERE c.n + 1000000 IN (${setOfExpressions})`),
  sql('ORDER BY without an index', 'SELECT * FROM c ORDER BY c.s'),
  sql(
    'GROUP BY and aggregates over all',
    'SELECT c.k, COUNT(1) AS n, SUM(c.n) AS s, MAX(c.s) AS m FROM c GROUP BY c.k',
  ),
  sql('DISTINCT over all', 'SELECT DISTINCT VALUE {"a": c.s, "b": c.n} FROM c'),
  sql(
    'a row of 16 MB',
    'SELECT VALUE ARRAY_CONCAT(c.numbers, c.numbers, c.numbers, c.numbers, c.numbers, c.numbers) FROM c',
    'numbers',
  ),
  { name: 'a query text of 500 KB', http: n => query(`SELECT VALUE ${n} + ${largeExpression(15)} FROM c`, 'list') },
  sql('a function without end in a query', 'SELECT VALUE udf.forever(c.n) FROM c'),
  sql('a slow function for each item', 'SELECT VALUE COUNT(1) FROM c WHERE udf.slow(c.n) = 1'),
  procedure('procedures that loop', 'loop', { connections: 20 }),
  procedure('procedures with chains of promises', 'promises'),
  procedure('procedures whose steps are long', 'builtins'),
  procedure('procedures that query for ever', 'queries'),
  procedure('procedures that write 2,000 items', 'writes'),
  procedure('procedures that join what they have written', 'joins', { pk: 'list' }),
  procedure('procedures that search in 2 MB', 'expressions', { pk: 'text' }),
  procedure('procedures that call a slow function for each item', 'functions'),
  {
    name: 'a trigger that loops',
    http: () => write({ id: 'triggered', pk: 'many' }, { 'x-ms-documentdb-pre-trigger-include': 'spin' }),
  },
  {
    name: 'batches of 100 items of 20 KB',
    isFlood: true,
    http: () => {
      const upserts = times(100).map(n => ({
        operationType: 'Upsert',
        resourceBody: { id: `b${n}`, pk: 'batch', text: largeText },
      }))
      return batch(upserts, 'batch', true)
    },
  },
  {
    name: 'batches of 100 patches of 1 MB',
    isFlood: true,
    http: () =>
      batch(
        times(100).map(() => ({
          operationType: 'Patch',
          id: 'same',
          resourceBody: { operations: patchOperations.operations },
        })),
        'same',
        true,
      ),
  },
  {
    name: 'bulk requests of 100 items of 20 KB',
    isFlood: true,
    http: () => {
      const creates = times(100).map(n => ({
        operationType: 'Upsert',
        resourceBody: { id: `u${n}`, pk: 'bulk', text: largeText },
      }))
      return batch(creates, 'bulk', false)
    },
  },
  {
    name: 'a patch with a large condition',
    isFlood: true,
    http: () => ({
      method: 'PATCH',
      path: '/docs/same',
      headers: { 'x-ms-documentdb-partitionkey': '["same"]', 'content-type': 'application/json_patch+json' },
      body: JSON.stringify(patchOperations),
    }),
  },
  {
    name: 'continuation tokens of 12 KB',
    isFlood: true,
    connections: 8,
    http: () => {
      const asked = query('SELECT * FROM c WHERE c.n > 5')
      return { ...asked, headers: { ...asked.headers, 'x-ms-continuation': 'x'.repeat(12_000) } }
    },
  },
  {
    name: 'the whole change feed, again and again',
    isFlood: true,
    http: () => ({
      method: 'GET',
      path: '/docs',
      headers: {
        'A-IM': 'Incremental feed',
        'x-ms-max-item-count': '1000',
        'x-ms-documentdb-partitionkeyrangeid': '0',
      },
    }),
  },
  {
    name: 'previews of a changed TTL',
    isFlood: true,
    http: n => ({
      method: 'POST',
      path: '/_mayfly/ttl/bench/works/preview',
      body: JSON.stringify({ defaultTtl: n + 1 }),
    }),
  },
  {
    name: 'items of 2 MB',
    isFlood: true,
    http: () => write({ id: 'large', pk: 'large', text: 'x'.repeat(2_000_000) }),
  },
  {
    name: 'reads of an item of 2 MB',
    isFlood: true,
    http: () => ({ method: 'GET', path: '/docs/text', headers: { 'x-ms-documentdb-partitionkey': '["text"]' } }),
  },
  {
    name: '10,000 pipelined reads',
    pipelined: 10_000,
    isFlood: true,
    http: () => ({
      method: 'GET',
      path: `/docs/small-${SMALL_ITEMS - 1}`,
      headers: { 'x-ms-documentdb-partitionkey': '["many"]' },
    }),
  },
]

function inner(): string {
  return 'FROM y IN c.list JOIN z IN c.list'
}

function nested(depth: number): string {
  return depth === 0 ? 'c.numbers' : `SetIntersect(SetUnion(${nested(depth - 1)}, c.numbers), c.numbers)`
}

function replaced(depth: number): string {
  return depth === 0 ? 'c.text' : `REPLACE(REPLACE(${replaced(depth - 1)}, "a", "bb"), "bb", "a")`
}

/** A tree of 2^depth terms. */
function largeExpression(depth: number): string {
  return depth === 0 ? '(c.list[0]+1)' : `(${largeExpression(depth - 1)}+${largeExpression(depth - 1)})`
}
