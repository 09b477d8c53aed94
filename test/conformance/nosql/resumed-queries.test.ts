/**
 * Queries over two partitions that the official client (4.10) resumes with a new iterator for each page.
 *
 * One iterator returns every row. Its composite tokens lose some: the tests say what the client sends, and
 * that our answers are right for the text that it sends. docs/query.md tells users.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Container, CosmosClient, type CosmosClientOptions, type FeedResponse } from '@azure/cosmos'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer({ partitions: 2 })

/** The texts of all queries that the client has sent. */
const sent: string[] = []

interface SentRequest {
  readonly body?: unknown
}

const record = {
  on: 'request',
  plugin: (request: SentRequest, _node: unknown, next: (request: SentRequest) => Promise<unknown>) => {
    sent.push(String(request.body))
    return next(request)
  },
}
const options = { endpoint: server.db.endpoint, key: server.db.key, plugins: [record] }
const client = new CosmosClient(options as CosmosClientOptions)

const byTwo = [
  { path: '/n', order: 'ascending' as const },
  { path: '/m', order: 'ascending' as const },
]
const { database, id } = await server.newContainer({ indexingPolicy: { compositeIndexes: [byTwo] } })
const container: Container = client.database(database.id).container(id)
// No value is falsy: the client drops those of a DISTINCT (test/query/client-flaws.ts).
for (let at = 0; at < 40; at++) {
  await container.items.create({
    id: `i${at}`,
    pk: `p${at % 13}`,
    n: 1 + Math.floor(at / 4),
    m: 1 + (at % 4),
    k: at + 1,
  })
}

const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, at) => from + at)
const eachFourTimes = upTo(40).map(k => Math.ceil(k / 4))

const expected: Readonly<Record<string, readonly number[]>> = {
  'SELECT VALUE c.k FROM c ORDER BY c.k': upTo(40),
  'SELECT VALUE c.n FROM c ORDER BY c.n': eachFourTimes,
  'SELECT VALUE c.k FROM c ORDER BY c.n, c.m': upTo(40),
  'SELECT TOP 20 VALUE c.k FROM c ORDER BY c.k': upTo(20),
  'SELECT TOP 20 VALUE c.n FROM c ORDER BY c.n': eachFourTimes.slice(0, 20),
  'SELECT TOP 20 VALUE c.k FROM c ORDER BY c.n, c.m': upTo(20),
  'SELECT VALUE c.k FROM c ORDER BY c.k OFFSET 5 LIMIT 20': upTo(20, 6),
  'SELECT VALUE c.k FROM c ORDER BY c.n, c.m OFFSET 5 LIMIT 20': upTo(20, 6),
  'SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k': upTo(40),
  'SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n': upTo(10),
}

/** The pages that a new iterator for each of them returns, until the client says that no row follows. */
async function resumedPages(query: string, maxItemCount: number): Promise<FeedResponse<number>[]> {
  const pages: FeedResponse<number>[] = []
  for (;;) {
    assert.ok(pages.length < 60, 'the client does not come to an end')
    const continuationToken = pages.at(-1)?.continuationToken
    const options = { maxItemCount, enableQueryControl: true, ...(continuationToken && { continuationToken }) }
    const page = await container.items.query<number>(query, options).fetchNext()
    pages.push(page)
    if (!page.hasMoreResults || page.continuationToken === undefined) return pages
  }
}

const rowsOf = (pages: readonly FeedResponse<number>[]) => pages.flatMap(({ resources }) => resources ?? [])

test('one iterator returns every row of an ORDER BY with TOP, OFFSET or DISTINCT, at every page size', async () => {
  for (const [query, rows] of Object.entries(expected)) {
    for (const enableQueryControl of [true, false]) {
      for (const maxItemCount of [1, 3, 7, 50]) {
        const iterator = container.items.query<number>(query, { enableQueryControl, maxItemCount })
        const found: number[] = []
        for (let pages = 0; iterator.hasMoreResults(); pages++) {
          assert.ok(pages < 100, 'the client does not come to an end')
          // For an empty page the client returns undefined.
          const { resources = [] } = (await iterator.fetchNext()) as { resources?: number[] }
          found.push(...resources)
        }
        assert.deepEqual(found, rows, `${query}, ${maxItemCount} at a time, control ${enableQueryControl}`)
      }
    }
  }
})

test('a new iterator per page returns every row of an ORDER BY by one value, also with TOP and OFFSET', async () => {
  const queries = [
    ['SELECT VALUE c.k FROM c ORDER BY c.k', 1],
    ['SELECT VALUE c.n FROM c ORDER BY c.n', 1],
    ['SELECT TOP 20 VALUE c.k FROM c ORDER BY c.k', 1],
    ['SELECT TOP 20 VALUE c.n FROM c ORDER BY c.n', 1],
    ['SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k', 1],
    ['SELECT VALUE c.k FROM c ORDER BY c.k OFFSET 5 LIMIT 20', 7],
  ] as const
  for (const [query, sizeMin] of queries) {
    for (const maxItemCount of [1, 3, 7, 50].filter(size => size >= sizeMin)) {
      assert.deepEqual(rowsOf(await resumedPages(query, maxItemCount)), expected[query], `${query}, ${maxItemCount}`)
    }
  }
})

test('flaw of the client: to resume an ORDER BY by two values it compares each of them on its own', async () => {
  sent.length = 0
  const query = 'SELECT VALUE c.k FROM c ORDER BY c.n, c.m'
  const [first, second] = await resumedPages(query, 7)
  assert.deepEqual(first!.resources, upTo(7))
  // The last row had n = 2 and m = 3. The next one in order has n = 2 and m = 4, then n = 3 and m = 1.
  const resumed = sent.filter(text => text.includes('c.n >= 2'))
  assert.ok(resumed.length > 0)
  for (const text of resumed) assert.match(text, /WHERE \(\(\(c\.n >= 2 AND c\.m >= 3\)\) AND IS_DEFINED\(c\.k\)\)/)
  assert.ok(!second!.resources.includes(9), 'the client lost the row with n = 3 and m = 1')

  // The answer is right for the text that was sent, and for the text that should have been sent.
  const rows = (filter: string) => `SELECT VALUE c.k FROM c WHERE ${filter} ORDER BY c.n, c.m`
  const answer = async (filter: string) => (await container.items.query(rows(filter)).fetchAll()).resources
  assert.deepEqual(
    await answer('c.n >= 2 AND c.m >= 3'),
    upTo(40).filter(k => k > 4 && (k - 1) % 4 >= 2),
  )
  assert.deepEqual(await answer('c.n > 2 OR (c.n = 2 AND c.m >= 3)'), upTo(34, 7))
})

test('flaw of the client: it has no token for a page of which OFFSET skips every row', async () => {
  const pages = await resumedPages('SELECT VALUE c.k FROM c ORDER BY c.k OFFSET 5 LIMIT 20', 3)
  assert.equal(pages.length, 1)
  assert.deepEqual(pages[0]!.resources, [])
  assert.equal(pages[0]!.hasMoreResults, true)
  assert.equal(pages[0]!.continuationToken, undefined)
})

test('flaw of the client: after the last row of TOP its token goes on, with a limit of 0', async () => {
  const last = (await resumedPages('SELECT TOP 20 VALUE c.k FROM c ORDER BY c.k', 50)).at(-1)!
  assert.equal(last.hasMoreResults, false)
  assert.equal(JSON.parse(last.continuationToken!).limit, 0)
})

test('flaw of the client: with DISTINCT the values in its token are those of another row', async () => {
  const [first] = await resumedPages('SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n', 7)
  const distinct = first!.resources
  const token = JSON.parse(first!.continuationToken!)
  // It counts rows of the page in a list that still has the duplicates.
  assert.notEqual(token.orderByItems[0].item, distinct.at(-1))
  assert.equal(token.orderByItems[0].item, eachFourTimes[6])
})

test('a DISTINCT with ORDER BY returns a row for each item of a partition, which clients merge', async () => {
  // Java keeps the hash of the last row in its token, but loses it after a page that has only duplicates.
  const query = 'SELECT DISTINCT c._rid, [{"item": c.n}] AS orderByItems, c.n AS payload FROM c WHERE true ORDER BY c.n'
  const values: number[] = []
  for (const range of ['0', '1']) {
    let continuation: string | undefined
    do {
      const page = await server.send({
        method: 'POST',
        path: pathOf(container, 'docs'),
        headers: {
          'x-ms-documentdb-isquery': 'true',
          'content-type': 'application/query+json',
          'x-ms-documentdb-partitionkeyrangeid': range,
          'x-ms-max-item-count': '1',
          'x-ms-continuation': continuation,
        },
        body: { query },
      })
      assert.equal(page.json.Documents.length, 1)
      values.push(page.json.Documents[0].payload)
      continuation = page.headers['x-ms-continuation'] as string | undefined
    } while (continuation !== undefined)
  }
  assert.deepEqual(
    values.sort((one, other) => one - other),
    eachFourTimes,
  )
})
