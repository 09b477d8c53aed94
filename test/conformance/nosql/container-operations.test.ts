/**
 * Operations on a container as a whole: deleting a partition key, many items at once, conflicts, a change of
 * its indexes.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { assertServiceError, failureOf } from '../../support/service-error.ts'
import { signature } from '../../support/signed-request.ts'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

async function createAll(container: Container, items: readonly object[]): Promise<void> {
  for (let at = 0; at < items.length; at += 100) {
    const operations = items.slice(at, at + 100).map(resourceBody => ({ operationType: 'Create', resourceBody }))
    await container.items.bulk(operations as never)
  }
}

test('All items of a partition key are deleted, and no others', async () => {
  const container = await server.newContainer({ throughput: 20_000, defaultTtl: -1 })
  await createAll(
    container,
    Array.from({ length: 250 }, (_, n) => ({ id: String(n), pk: n < 230 ? 'a' : 'b', ttl: n < 5 ? 10 : -1 })),
  )
  await server.db.clock.advance('10s')
  const { statusCode, requestCharge } = await container.deleteAllItemsForPartitionKey('a')
  assert.equal(statusCode, 200)
  assert.equal(requestCharge, 225 * 5, 'the dead cost nothing')
  const left = await readFeed(server, container, { pageSize: 100 })
  assert.equal(left.length, 20)
  assert.ok(left.every(item => (item as { pk?: string }).pk === 'b'))
  assert.equal((await container.items.create({ id: '7', pk: 'a' })).statusCode, 201, 'ids are free again')
  assert.equal((await container.deleteAllItemsForPartitionKey('none')).statusCode, 200)
})

test('A hierarchical key is deleted as a whole', async () => {
  const partitionKey = { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey })
  for (const user of ['u1', 'u2']) await container.items.create({ id: user, tenant: 't', user })
  await container.deleteAllItemsForPartitionKey(['t', 'u1'])
  assert.deepEqual(idsOf(await readFeed(server, container)), ['u2'])
  assert.equal(await failureOf(container.deleteAllItemsForPartitionKey(['t'])), 400)
})

test('Deleting by partition key needs a key, and an unknown operation is 404', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  const send = (name: string, headers = {}) => {
    // Signed as the container itself.
    const date = new Date().toUTCString()
    return server.send({
      method: 'POST',
      path: pathOf(container, 'operations', name),
      headers: { ...headers, authorization: signatureOf(container, date) },
      date,
    })
  }
  assert.match(assertServiceError(await send('partitionkeydelete'), 400), /^PartitionKey value must be supplied/)
  assertServiceError(await send('nothing', { 'x-ms-documentdb-partitionkey': '["a"]' }), 404, 0)
  assert.equal((await readFeed(server, container)).length, 1)
})

function signatureOf(container: Container, date: string): string {
  return signature(server.db.key, 'POST', pathOf(container), date)
}

test('Many items are read by id and key with the queries of other SDKs', async () => {
  const container = await server.newContainer({ throughput: 20_000, defaultTtl: -1 })
  for (let n = 0; n < 20; n++)
    await container.items.create({ id: String(n), pk: `p${n % 7}`, ttl: n % 2 === 0 ? 10 : -1 })
  await server.db.clock.advance('10s')
  const ranges = (await server.send({ path: pathOf(container, 'pkranges') })).json.PartitionKeyRanges
  // .NET, Java and Python: one query for each range, with a pair for each item.
  const pairs = Array.from({ length: 1000 }, (_, n) => `( c.id = @id${n} AND c["pk"] = @pk${n} )`).join(' OR ')
  const parameters = Array.from({ length: 1000 }, (_, n) => [
    { name: `@id${n}`, value: String(n) },
    { name: `@pk${n}`, value: `p${n % 7}` },
  ]).flat()
  const found: { id: string }[] = []
  for (const { id } of ranges) {
    const answer = await server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: {
        'content-type': 'application/query+json',
        'x-ms-documentdb-isquery': 'True',
        'x-ms-documentdb-partitionkeyrangeid': id,
      },
      body: { query: `SELECT * FROM c WHERE ( ${pairs} )`, parameters },
    })
    assert.equal(answer.status, 200, answer.text)
    found.push(...answer.json.Documents)
  }
  const living = Array.from({ length: 10 }, (_, n) => String(2 * n + 1)).sort()
  assert.deepEqual(idsOf(found), living)
  // If the id is the partition key, they ask for a list of ids.
  const byId = await server.newContainer({ partitionKey: '/id' })
  for (let n = 0; n < 5; n++) await byId.items.create({ id: String(n) })
  const { resources } = await byId.items.query('SELECT * FROM c WHERE c.id IN ("1", "3", "9")').fetchAll()
  assert.deepEqual(idsOf(resources), ['1', '3'])
})

test('The feed of conflicts is empty, and a conflict is not found', async () => {
  const container = await server.newContainer()
  const { json } = await server.send({ path: pathOf(container, 'conflicts') })
  assert.deepEqual(json, { _rid: (await container.read()).resource?._rid, Conflicts: [], _count: 0 })
  assert.deepEqual((await container.conflicts.readAll().fetchAll()).resources, [])
  assert.deepEqual((await container.conflicts.query('SELECT * FROM c').fetchAll()).resources, [])
  assert.equal(await failureOf(container.conflict('x').delete()), 404)
  const query = {
    method: 'POST',
    path: pathOf(container, 'conflicts'),
    headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' },
    body: { query: 'SELECT * FROM c' },
  }
  // INFERRED from a test of the Python SDK.
  assert.match(assertServiceError(await server.send(query), 400), /Cross partition query is required but disabled/)
  const keyed = { ...query, headers: { ...query.headers, 'x-ms-documentdb-partitionkey': '["a"]' } }
  assert.equal((await server.send(keyed)).json._count, 0)
  assertServiceError(await server.send({ path: pathOf(container, 'conflicts', 'x') }), 404, 0)
  assert.equal(await failureOf(container.database.container('none').conflicts.readAll().fetchAll()), 404)
})

test('A changed indexing policy shows the progress of its indexes', async () => {
  const container = await server.newContainer()
  await createAll(
    container,
    Array.from({ length: 1200 }, (_, n) => ({ id: String(n), pk: 'a', n, m: n % 3 })),
  )
  const progress = async () => {
    const { headers } = await container.read({ populateQuotaInfo: true } as never)
    return Number(headers['x-ms-documentdb-collection-index-transformation-progress'])
  }
  assert.equal(await progress(), 100)
  const { resource } = await container.read()
  const compositeIndexes = [
    [
      { path: '/m', order: 'ascending' },
      { path: '/n', order: 'descending' },
    ],
  ]
  await container.replace({ ...resource, indexingPolicy: { ...resource?.indexingPolicy, compositeIndexes } } as never)
  const seen = [await progress()]
  while (seen.at(-1)! < 100) seen.push(await progress())
  assert.ok(seen[0]! < 100)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  const query = 'SELECT VALUE c.n FROM c WHERE c.pk = "a" ORDER BY c.m ASC, c.n DESC OFFSET 0 LIMIT 2'
  assert.deepEqual((await container.items.query(query, { partitionKey: 'a' }).fetchAll()).resources, [1197, 1194])
})
