/** What pages of queries and of the feed of items carry, and how the official client goes on from them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, FeedOptions } from '@azure/cosmos'
import { assertServiceError } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer({ partitions: 2 })

async function fill(count: number): Promise<Container> {
  const container = await server.newContainer()
  for (let at = 0; at < count; at++) await container.items.create({ id: `i${at}`, pk: `p${at}`, n: at % 3 })
  return container
}

const range = (id: number) => ({ 'x-ms-documentdb-partitionkeyrangeid': String(id) })
const measured = { 'x-ms-documentdb-populatequerymetrics': 'True', 'x-ms-cosmos-populateindexmetrics': 'True' }

function sendText(container: Container, query: string, headers: Record<string, string>) {
  return server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json', ...headers },
    body: { query },
  })
}

test('SELECT * and the feed have the metrics that every query has', async () => {
  const container = await fill(6)
  const { resources } = await container.items.readAll().fetchAll()
  assert.equal(resources.length, 6)
  for (const query of ['SELECT * FROM c', 'SELECT c.id FROM c']) {
    const answer = await sendText(container, query, { ...range(0), ...measured })
    const count = answer.json.Documents.length
    const metrics = String(answer.headers['x-ms-documentdb-query-metrics'])
    assert.ok(count > 0)
    assert.match(metrics, new RegExp(`retrievedDocumentCount=${count};`), query)
    assert.match(metrics, new RegExp(`outputDocumentCount=${count};`), query)
    assert.match(metrics, /totalExecutionTimeInMs=\d+\.\d\d;.*outputDocumentSize=[1-9]/, query)
    const use = JSON.parse(Buffer.from(String(answer.headers['x-ms-cosmos-index-utilization']), 'base64').toString())
    assert.deepEqual(use.UtilizedSingleIndexes, [], query)
  }
  const feed = await server.send({ path: pathOf(container, 'docs'), headers: measured })
  assert.match(String(feed.headers['x-ms-documentdb-query-metrics']), /retrievedDocumentCount=6;/)
})

test('the index metrics of a query that names a partition key begin with its path', async () => {
  // INFERRED from tests of the Python SDK.
  const container = await fill(2)
  const keyed = { 'x-ms-documentdb-partitionkey': '["p1"]' }
  for (const query of ['SELECT * FROM c', 'SELECT c.id FROM c WHERE c.pk = "p1"']) {
    const first = await sendText(container, query, { ...keyed, 'x-ms-cosmos-populateindexmetrics': 'True' })
    const text = Buffer.from(String(first.headers['x-ms-cosmos-index-utilization']), 'base64').toString()
    const uses = { FilterExpression: '', IndexSpec: '/pk/?', FilterPreciseSet: true, IndexPreciseSet: true }
    assert.deepEqual(JSON.parse(text).UtilizedSingleIndexes, [{ ...uses, IndexImpactScore: 'High' }])
    const second = await sendText(container, query, { ...keyed, 'x-ms-cosmos-populateindexmetrics-V2': 'True' })
    const { UtilizedIndexes } = JSON.parse(decodeURIComponent(String(second.headers['x-ms-cosmos-index-utilization'])))
    assert.deepEqual(UtilizedIndexes.SingleIndexes, [{ IndexSpec: '/pk/?', IndexImpactScore: 'High' }])
  }
})

test('the last page of SELECT * and of the feed is never empty', async () => {
  const container = await fill(6)
  for (const size of [1, 2, 3, 6]) {
    let seen = 0
    let token: string | undefined
    do {
      const headers = { 'x-ms-max-item-count': String(size), ...(token && { 'x-ms-continuation': token }) }
      const page = await server.send({ path: pathOf(container, 'docs'), headers })
      assert.equal(page.json.Documents.length, size)
      seen += size
      token = page.headers['x-ms-continuation'] as string | undefined
    } while (token !== undefined)
    assert.equal(seen, 6)
  }
})

test('a query over all partitions must say that it is one, unless its filter names a partition key', async () => {
  const container = await fill(2)
  for (const query of ['SELECT * FROM c', 'SELECT c.id FROM c WHERE c.n = 1', 'SELECT * FROM c ORDER BY c.n']) {
    const message = assertServiceError(await sendText(container, query, {}), 400)
    assert.match(message, /^Cross partition query is required but disabled\. Please set x-ms-documentdb-query/)
  }
  const enabled = { 'x-ms-documentdb-query-enablecrosspartition': 'True' }
  assert.equal((await sendText(container, 'SELECT * FROM c', enabled)).json.Documents.length, 2)
  const keyed = { 'x-ms-documentdb-partitionkey': '["p1"]' }
  assert.equal((await sendText(container, 'SELECT * FROM c', keyed)).json.Documents.length, 1)
  assert.equal((await sendText(container, 'SELECT * FROM c WHERE c.pk = "p1"', {})).json.Documents.length, 1)
})

test('a query that needs all partitions together is refused with its plan, in the words of the service', async () => {
  const container = await fill(2)
  const enabled = { 'x-ms-documentdb-query-enablecrosspartition': 'True' }
  for (const query of ['SELECT * FROM c ORDER BY c.n', 'SELECT DISTINCT c.n FROM c', 'SELECT COUNT(1) FROM c']) {
    const answer = await sendText(container, query, enabled)
    // Go shows this text, and its tests compare it.
    assert.deepEqual([answer.status, answer.headers['x-ms-substatus'], answer.json.code], [400, '1004', 'BadRequest'])
    assert.match(
      answer.json.message,
      /The provided cross partition query can not be directly served by the gateway\. This is/,
    )
    assert.ok(JSON.parse(answer.json.additionalErrorInfo).queryInfo, query)
  }
})

/** All rows, with a new iterator for each page, as an application that hands the token to its user. */
async function resumed<Row>(container: Container, query: string, options: FeedOptions): Promise<Row[]> {
  const rows: Row[] = []
  let continuationToken: string | undefined
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 100, 'the client does not come to an end')
    const given = continuationToken === undefined ? {} : { continuationToken }
    const iterator = container.items.query<Row>(query, { enableQueryControl: true, ...options, ...given })
    const page = await iterator.fetchNext()
    rows.push(...((page.resources as Row[] | undefined) ?? []))
    continuationToken = page.continuationToken
    if (continuationToken === undefined) return rows
  }
}

test('with query control the client comes to the end of SELECT *', async () => {
  const container = await fill(12)
  for (const maxItemCount of [1, 2, 3, 4, 6]) {
    const iterator = container.items.query('SELECT * FROM c', { enableQueryControl: true, maxItemCount })
    const ids: string[] = []
    for (let pages = 0; iterator.hasMoreResults(); pages++) {
      assert.ok(pages < 40, 'the client does not come to an end')
      const { resources = [] } = await iterator.fetchNext()
      ids.push(...resources.map(({ id }: { id: string }) => id))
    }
    assert.equal(new Set(ids).size, 12)
    assert.equal(ids.length, 12)
    assert.equal((await resumed(container, 'SELECT * FROM c', { maxItemCount })).length, 12)
  }
})

test('the client resumes ORDER BY with its token and a filter in the text', async () => {
  const container = await fill(14)
  const queries = [
    'SELECT c.id, c.n FROM c ORDER BY c.n',
    'SELECT c.id, c.n FROM c ORDER BY c.n DESC',
    'SELECT c.id, c.n FROM c WHERE c.n < 2 AND STARTSWITH(c.id, "i") ORDER BY c.n',
  ]
  for (const query of queries) {
    const { resources: all } = await container.items.query<{ id: string; n: number }>(query).fetchAll()
    for (const maxItemCount of [1, 2, 3, 5]) {
      const rows = await resumed<{ id: string; n: number }>(container, query, { maxItemCount })
      assert.deepEqual(rows, all, `${query}, ${maxItemCount} at a time`)
    }
  }
})

test('a filter that names partition keys narrows the ranges of the plan, and no row is lost', async () => {
  const container = await fill(9)
  const ids = async (query: string) =>
    (await container.items.query<string>(query, { forceQueryPlan: true }).fetchAll()).resources.sort()
  const cases: readonly (readonly [filter: string, rows: readonly string[]])[] = [
    ['c.pk IN ("p1", "p3", "p7", "nobody")', ['i1', 'i3', 'i7']],
    ['c.pk = "p2" OR (c.pk = "p5" AND c.n = 2)', ['i2', 'i5']],
    ['ARRAY_CONTAINS(["p0", "p8"], c.pk)', ['i0', 'i8']],
    ['c.pk IN ("p1", "p3") AND c.n = 1', ['i1']],
    ['IS_NULL(c.pk)', []],
  ]
  for (const [filter, expected] of cases) {
    assert.deepEqual(await ids(`SELECT VALUE c.id FROM c WHERE ${filter}`), expected, filter)
    assert.deepEqual(await ids(`SELECT VALUE c.id FROM c WHERE ${filter} ORDER BY c.n`), expected, filter)
  }
  const plan = await sendText(container, 'SELECT * FROM c WHERE c.pk IN ("p1", "p3", "p1")', {
    'x-ms-cosmos-is-query-plan-request': 'True',
  })
  const ranges: { min: string; max: string; isMaxInclusive: boolean }[] = plan.json.queryRanges
  assert.equal(ranges.length, 2)
  assert.ok(ranges[0]!.min < ranges[1]!.min)
  for (const { min, max, isMaxInclusive } of ranges) assert.ok(min === max && isMaxInclusive)
})

test('a continuation of items is JSON with its range', async () => {
  // INFERRED: the gateway of the service answers like this, and clients look into it.
  const container = await fill(4)
  const { continuationToken } = await container.items.query('SELECT c.id FROM c', { maxItemCount: 1 }).fetchNext()
  const feed = await server.send({ path: pathOf(container, 'docs'), headers: { 'x-ms-max-item-count': '1' } })
  for (const token of [continuationToken, String(feed.headers['x-ms-continuation'])]) {
    const { token: inner, range: within } = JSON.parse(token!)
    assert.equal(typeof inner, 'string')
    assert.deepEqual(within, { min: '', max: 'FF' })
  }
})

test('what the clients cannot merge is answered by one request', async () => {
  const container = await fill(9)
  const cases: readonly (readonly [query: string, rows: readonly unknown[]])[] = [
    ['SELECT VALUE {c: COUNT(1)}', [{ c: 1 }]],
    ['SELECT VALUE {c: COUNT(1)} FROM (SELECT DISTINCT VALUE c.n FROM c)', [{ c: 3 }]],
    ['SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)', [3]],
    ['SELECT VALUE SUM(x.k) FROM (SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n) AS x', [9]],
    ['SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c WHERE c.pk IN ("p1", "p4", "p2"))', [2]],
  ]
  for (const [query, expected] of cases) {
    for (const options of [{}, { forceQueryPlan: true }, { enableQueryControl: true }]) {
      const { resources } = await container.items.query(query, options).fetchAll()
      assert.deepEqual(resources, expected, `${query} ${JSON.stringify(options)}`)
    }
  }
})

test('an aggregate with ORDER BY needs no composite index', async () => {
  const container = await fill(3)
  const query = 'SELECT VALUE AVG(c.n) FROM c ORDER BY c.n, c.m'
  assert.deepEqual((await container.items.query(query).fetchAll()).resources, [1])
  await assert.rejects(container.items.query('SELECT * FROM c ORDER BY c.n, c.m').fetchAll(), /composite index/)
})

test('full text languages may be numbers', async () => {
  const path = '/abstract'
  const fullTextPolicy = { defaultLanguage: '1033', fullTextPaths: [{ path, language: '1033' }] }
  const container = await server.newContainer({ fullTextPolicy } as never)
  const { resource } = await container.read()
  assert.deepEqual((resource as unknown as { fullTextPolicy: unknown }).fullTextPolicy, fullTextPolicy)
})

test('rows that fit on one page come in the order of creation, and groups in the order of their keys', async () => {
  const container = await server.newContainer()
  const ids = ['z', 'b', 'y', 'a', 'm']
  for (const id of ids) await container.items.create({ id, pk: 'p', n: id === 'b' ? 2 : 1 })
  await container.items.upsert({ id: 'y', pk: 'p', n: 1, again: true })
  const within = { partitionKey: 'p' }
  const rows = async (query: string, options: FeedOptions = within) =>
    (await container.items.query(query, options).fetchAll()).resources
  assert.deepEqual(await rows('SELECT VALUE c.id FROM c'), ids)
  assert.deepEqual(await rows('SELECT VALUE c.id FROM c', {}), ids)
  assert.deepEqual(await rows('SELECT VALUE c.id FROM c WHERE c.n = 1'), ['z', 'y', 'a', 'm'])
  assert.deepEqual(await rows('SELECT VALUE c.id FROM c WHERE c.id IN ("a", "b", "z")'), ['z', 'b', 'a'])
  const items = (await rows('SELECT * FROM c')) as { id: string }[]
  assert.deepEqual(
    items.map(({ id }) => id),
    ids,
  )
  const groups = await rows('SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n')
  assert.deepEqual(groups, [
    { n: 1, k: 4 },
    { n: 2, k: 1 },
  ])
  // In several pages they come in key order. All of them come.
  const paged: string[] = []
  const iterator = container.items.query<string>('SELECT VALUE c.id FROM c', { ...within, maxItemCount: 2 })
  while (iterator.hasMoreResults()) paged.push(...((await iterator.fetchNext()).resources ?? []))
  assert.deepEqual(paged, ids.toSorted())
})
