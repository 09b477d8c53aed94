/**
 * Raised throughput splits partitions. Clients that know the old ranges go on, and no item is lost or
 * repeated. INFERRED: which requests may still name a range that was split. The service answers 410 to all of
 * them.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import {
  ChangeFeedMode,
  ChangeFeedPolicy,
  type ChangeFeedPullModelIterator,
  ChangeFeedRetentionTimeSpan,
  ChangeFeedStartFrom,
  type Container,
  type ContainerRequest,
} from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import { drain } from '../../support/drain-feed.ts'
import { assertServiceError } from '../../support/service-error.ts'
import { idsOf, newClient, pathOf, readFeed, startServer, testServer } from '../../support/start-server.ts'

const server = await startServer()

/** One partition, in whose table items are not ordered by hash; two, in whose table they are. */
const firsts = [
  { throughput: 400, ranges: 1 },
  { throughput: 12_000, ranges: 2 },
]

async function raise(container: Container, offerThroughput: number): Promise<void> {
  const { resource } = await container.readOffer()
  const content = { ...resource!.content!, offerThroughput }
  const { statusCode } = await server.client.offer(resource!.id!).replace({ ...resource!, content })
  assert.equal(statusCode, 200)
}

interface Range {
  id: string
  minInclusive: string
  maxExclusive: string
  parents: string[]
}

/** Raw: the client keeps the ranges that it knows. */
async function rangesOf(container: Container): Promise<Range[]> {
  return (await server.send({ path: pathOf(container, 'pkranges') })).json.PartitionKeyRanges
}

/** A container as a client sees it that has read the ranges and keeps them. */
async function seenBy(container: Container): Promise<Container> {
  const known = newClient(server.db).database(container.database.id).container(container.id)
  await known.items.query('SELECT * FROM c', { forceQueryPlan: true }).fetchAll()
  return known
}

async function filled(definition: Partial<ContainerRequest>, count: number): Promise<Container> {
  const container = await server.newContainer(definition)
  await fill(container, 0, count)
  return container
}

async function fill(container: Container, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) await container.items.create({ id: String(n), pk: `p${n % 17}`, n })
}

/** The client may say that nothing is new before it has asked the halves of a range that was split. */
async function drainTwice<Change>(iterator: ChangeFeedPullModelIterator<Change>) {
  const { changes } = await drain(iterator)
  const more = await drain(iterator)
  return { changes: [...changes, ...more.changes], continuation: more.continuation }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => String(n)).sort()

for (const { throughput, ranges } of firsts) {
  test(`The halves of a range know their ancestors (${ranges} at first)`, async () => {
    const container = await server.newContainer({ throughput })
    const before = await server.send({ path: pathOf(container, 'pkranges') })
    assert.equal(before.json.PartitionKeyRanges.length, ranges)
    await raise(container, 50_000)
    const path = pathOf(container, 'pkranges')
    const again = await server.send({ path, headers: { 'if-none-match': before.headers.etag } })
    assert.equal(again.status, 200, 'the etag has changed')
    const after = await rangesOf(container)
    assert.equal(after.length, 5)
    assert.equal(after[0]!.minInclusive, '')
    assert.equal(after.at(-1)!.maxExclusive, 'FF')
    for (const [at, { minInclusive }] of after.entries()) {
      if (at > 0) assert.equal(minInclusive, after[at - 1]!.maxExclusive)
    }
    const old = (before.json.PartitionKeyRanges as Range[]).map(({ id }) => id)
    assert.deepEqual([...new Set(after.map(({ parents, id }) => parents[0] ?? id))].sort(), old)
    await raise(container, 400)
    assert.deepEqual(await rangesOf(container), after, 'lower throughput merges nothing')
    await raise(container, 60_000)
    assert.equal((await rangesOf(container)).length, 6)
  })

  test(`A range that was split answers 410 with sub-status 1002 to feeds and bulk (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 3)
    await raise(container, 40_000)
    const headers = { 'x-ms-documentdb-partitionkeyrangeid': '0' }
    const path = pathOf(container, 'docs')
    const create = { operationType: 'Create', partitionKey: '["a"]', resourceBody: { id: 'new', pk: 'a' } }
    const bulk = { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'false' }
    for (const request of [
      { path, headers: { ...headers, 'a-im': 'Incremental Feed' } },
      { path, method: 'POST', headers: { ...headers, ...bulk }, body: [create] },
    ]) {
      const answer = await server.send(request as never)
      assertServiceError(answer, 410, 1002)
    }
  })

  test(`Pages of the halves go on behind the page of the range, over a raw feed (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 120)
    const seen: string[] = []
    const page = async (id: string, continuation: string | undefined) => {
      const headers = {
        'x-ms-documentdb-partitionkeyrangeid': id,
        'x-ms-max-item-count': '7',
        'x-ms-continuation': continuation,
      }
      const { status, headers: told, json } = await server.send({ path: pathOf(container, 'docs'), headers })
      assert.equal(status, 200)
      seen.push(...json.Documents.map(({ id }: { id: string }) => id))
      return told['x-ms-continuation'] as string | undefined
    }
    const tokens = new Map<string, string | undefined>()
    for (const { id } of await rangesOf(container)) tokens.set(id, await page(id, undefined))
    await raise(container, 70_000)
    for (const { id, parents } of await rangesOf(container)) {
      let token = tokens.get(parents[0] ?? id)
      do {
        token = await page(id, token)
      } while (token !== undefined)
    }
    assert.equal(seen.length, 120)
    assert.deepEqual(seen.toSorted(), upTo(120))
    assert.deepEqual(idsOf(await readFeed(server, container, { pageSize: 11 })), upTo(120))
  })

  for (const query of [
    'SELECT * FROM c',
    'SELECT c.id FROM c WHERE c.n >= 0',
    'SELECT * FROM c ORDER BY c.n',
    'SELECT * FROM c ORDER BY c.n DESC',
    'SELECT DISTINCT c.id FROM c',
  ]) {
    test(`The client reads ${query} across a split (${ranges} at first)`, async () => {
      const container = await filled({ throughput }, 150)
      const known = await seenBy(container)
      const iterator = known.items.query<{ id: string }>(query, { maxItemCount: 10, forceQueryPlan: true })
      const found: { id: string }[] = []
      for (let page = 0; page < 3; page++) found.push(...(await iterator.fetchNext()).resources)
      await raise(container, 50_000)
      while (iterator.hasMoreResults()) found.push(...((await iterator.fetchNext()).resources ?? []))
      assert.equal(found.length, 150)
      assert.deepEqual(idsOf(found), upTo(150))
      const numbers = found.map(({ id }) => Number(id))
      if (query.endsWith('c.n'))
        assert.deepEqual(
          numbers,
          numbers.toSorted((a, b) => a - b),
        )
      if (query.endsWith('DESC'))
        assert.deepEqual(
          numbers,
          numbers.toSorted((a, b) => b - a),
        )
    })
  }

  test(`The client groups and counts after a split (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 60)
    const known = await seenBy(container)
    await raise(container, 50_000)
    const ask = async (query: string) => (await known.items.query(query).fetchAll()).resources
    assert.deepEqual(await ask('SELECT VALUE COUNT(1) FROM c'), [60])
    assert.equal((await ask('SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk')).length, 17)
    assert.deepEqual(await ask("SELECT VALUE c.id FROM c WHERE c.pk = 'p3' AND c.n < 17"), ['3'])
  })

  test(`The client reads latest versions across splits (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 60)
    const known = await seenBy(container)
    const iterator = known.items.getChangeFeedIterator<{ id: string }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: 5,
    })
    const seen: string[] = []
    const read = async () => seen.push(...((await iterator.readNext()).result ?? []).map(({ id }) => id))
    for (let page = 0; page < 3; page++) await read()
    await raise(container, 30_000)
    for (let page = 0; page < 3; page++) await read()
    await raise(container, 60_000)
    await fill(container, 60, 90)
    const { changes, continuation } = await drainTwice(iterator)
    seen.push(...changes.map(({ id }) => id))
    assert.equal(seen.length, 90)
    assert.deepEqual(seen.toSorted(), upTo(90))
    await raise(container, 80_000)
    await container.items.upsert({ id: '5', pk: 'p5', n: -1 })
    const start = ChangeFeedStartFrom.Continuation(continuation)
    const more = await drainTwice(known.items.getChangeFeedIterator<{ id: string }>({ changeFeedStartFrom: start }))
    assert.deepEqual(idsOf(more.changes), ['5'])
  })

  test(`The client reads all versions and deletes across a split (${ranges} at first)`, async () => {
    const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10))
    const container = await filled({ throughput, changeFeedPolicy }, 5)
    const known = await seenBy(container)
    const iterator = known.items.getChangeFeedIterator<{ metadata: { operationType: string } }>({
      changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
      changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    })
    await drain(iterator)
    await fill(container, 5, 40)
    await raise(container, 50_000)
    for (let n = 0; n < 20; n++) await container.item(String(n), `p${n % 17}`).delete()
    const kinds = (await drainTwice(iterator)).changes.map(({ metadata }) => metadata.operationType)
    assert.equal(kinds.filter(kind => kind === 'create').length, 35)
    assert.equal(kinds.filter(kind => kind === 'delete').length, 20)
    assert.equal(kinds.length, 55)
  })

  test(`The client writes in bulk across a split (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 1)
    const operations = (from: number) =>
      Array.from({ length: 100 }, (_, n) => ({
        operationType: 'Create' as const,
        partitionKey: `p${n % 17}`,
        resourceBody: { id: String(from + n), pk: `p${n % 17}` },
      }))
    const known = await seenBy(container)
    const first = await known.items.bulk(operations(1) as never)
    await raise(container, 50_000)
    const second = await known.items.bulk(operations(101) as never)
    const third = await known.items.executeBulkOperations(operations(201) as never)
    for (const { statusCode } of [...first, ...second]) assert.equal(statusCode, 201)
    for (const { response } of third) assert.equal(response?.statusCode, 201)
    assert.deepEqual(idsOf(await readFeed(server, container, { pageSize: 50 })), upTo(301))
  })

  test(`A session goes on across a split (${ranges} at first)`, async () => {
    const container = await filled({ throughput }, 5)
    const known = await seenBy(container)
    await known.item('1', 'p1').read()
    await raise(container, 50_000)
    const { resource, headers } = await known.items.upsert({ id: '1', pk: 'p1', n: 7 })
    const ids = (await rangesOf(container)).map(({ id }) => id)
    assert.ok(ids.includes(String(headers['x-ms-session-token']).split(':')[0]!))
    assert.deepEqual((await known.item('1', 'p1').read()).resource, resource)
  })
}

/** What the clients for .NET, Java and Go send: a half of a range by its id and by its bounds. */
test('A feed range that was split is read by its bounds within the halves', async () => {
  const container = await filled({ throughput: 400 }, 80)
  await raise(container, 20_000)
  const [left, right] = (await rangesOf(container)) as [Range, Range]
  const seen: string[] = []
  for (const { id, minInclusive, maxExclusive } of [left, right]) {
    const middle = id === left.id ? '0A' : '30'
    for (const [min, max] of [
      [minInclusive, middle],
      [middle, maxExclusive],
    ] as const) {
      const headers = {
        'a-im': 'Incremental Feed',
        'x-ms-documentdb-partitionkeyrangeid': id,
        'x-ms-start-epk': min,
        'x-ms-end-epk': max,
        'x-ms-read-key-type': 'EffectivePartitionKeyRange',
        'if-none-match': '"0"',
      }
      const { json } = await server.send({ path: pathOf(container, 'docs'), headers })
      seen.push(...(json?.Documents ?? []).map(({ id }: { id: string }) => id))
    }
  }
  assert.equal(seen.length, 80)
  assert.deepEqual(seen.toSorted(), upTo(80))
})

test('Raised throughput of a database splits the containers that share it', async () => {
  const { database } = await server.client.databases.create({ id: 'splits', throughput: 1000 })
  const { container: sharing } = await database.containers.create({ id: 'sharing', partitionKey: '/pk' })
  const { container: own } = await database.containers.create({ id: 'own', partitionKey: '/pk', throughput: 400 })
  const { resource } = await database.readOffer()
  const content = { ...resource!.content!, offerThroughput: 25_000 }
  await server.client.offer(resource!.id!).replace({ ...resource!, content })
  assert.equal((await rangesOf(sharing)).length, 3)
  assert.equal((await rangesOf(own)).length, 1)
})

test('With a fixed number of partitions nothing is split', async () => {
  await using db = await mayfly({ clock: 'manual', partitions: 2 })
  const two = testServer(db)
  const container = await two.newContainer({ throughput: 400 })
  const { resource } = await container.readOffer()
  const content = { ...resource!.content!, offerThroughput: 90_000 }
  await two.client.offer(resource!.id!).replace({ ...resource!, content })
  assert.equal((await two.send({ path: pathOf(container, 'pkranges') })).json._count, 2)
})
