/** The official SDK against a server whose data is in PostgreSQL, and two servers that share one database. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Container, CosmosClient } from '@azure/cosmos'
import { type Mayfly, mayfly } from '../../src/index.ts'
import { forgetfulProxy } from '../support/forgetful-proxy.ts'
import { startPostgres, type TestServer } from '../support/postgres.ts'
import { call } from '../support/signed-request.ts'
import { pathOf, testServer } from '../support/start-server.ts'

let postgres: TestServer

before(async () => {
  postgres = await startPostgres()
})

after(async () => {
  await postgres[Symbol.asyncDispose]()
})

async function cartsOf(db: Mayfly): Promise<Container> {
  const client = new CosmosClient({ endpoint: db.endpoint, key: db.key })
  const { database } = await client.databases.createIfNotExists({ id: 'shop' })
  const definition = { id: 'carts', partitionKey: { paths: ['/pk'] }, defaultTtl: 60 }
  return (await database.containers.createIfNotExists(definition)).container
}

async function countOf(container: Container): Promise<number> {
  return (await container.items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0]!
}

test('items live, are queried and die on time in PostgreSQL', async () => {
  const store = await postgres.createDatabase()
  await using db = await mayfly({ clock: 'manual', store, partitions: 3 })
  const carts = await cartsOf(db)
  for (let n = 0; n < 30; n++)
    await carts.items.create({ id: `c${n}`, pk: `p${n % 7}`, n, ...(n < 10 ? { ttl: 20 } : {}) })
  const { resources } = await carts.items
    .query<number>('SELECT VALUE c.n FROM c ORDER BY c.n DESC', { maxItemCount: 7 })
    .fetchAll()
  assert.deepEqual(
    resources,
    Array.from({ length: 30 }, (_, index) => 29 - index),
  )
  await db.clock.advance('19s')
  assert.equal(await countOf(carts), 30)
  await db.clock.advance('1s')
  assert.equal(await countOf(carts), 20)
  assert.equal((await carts.item('c0', 'p0').read()).statusCode, 404)
  assert.equal((await carts.items.create({ id: 'c0', pk: 'p0' })).statusCode, 201)
  await db.clock.advance('40s')
  assert.equal((await carts.items.readAll().fetchAll()).resources.length, 1)
  // The purger may have started by itself.
  const { removed } = await db.purge()
  assert.ok(removed <= 29)
  assert.deepEqual(await postgres.query(store, 'SELECT count(*)::int AS n FROM mayfly.items'), [{ n: 1 }])
  assert.equal(await countOf(carts), 1)
})

test('two servers on one database agree at once, and their data survives both', async () => {
  const store = await postgres.createDatabase()
  {
    await using first = await mayfly({ clock: 'manual', store })
    await using second = await mayfly({ clock: 'manual', store })
    const here = await cartsOf(first)
    const there = await cartsOf(second)
    await here.items.create({ id: 'a', pk: 'p' })
    assert.equal((await there.item('a', 'p').read()).statusCode, 200)
    await first.clock.advance('10s')
    await there.replace({ id: 'carts', partitionKey: { paths: ['/pk'] }, defaultTtl: 10 })
    assert.equal((await here.item('a', 'p').read()).statusCode, 404, 'dead by the default that the other one set')
    await here.replace({ id: 'carts', partitionKey: { paths: ['/pk'] }, defaultTtl: 1000 })
    assert.equal((await there.item('a', 'p').read()).statusCode, 404, 'and not revived')
    await there.items.create({ id: 'b', pk: 'p' })
  }
  await using again = await mayfly({ clock: 'manual', store })
  assert.equal((await (await cartsOf(again)).item('b', 'p').read()).statusCode, 200)
})

test('while PostgreSQL is away requests answer 503, and they are served when it is back', async () => {
  await using proxy = await forgetfulProxy(await postgres.createDatabase())
  await using db = await mayfly({ clock: 'manual', store: proxy.url })
  const server = testServer(db)
  const container = await server.newContainer()
  const headers = { 'x-ms-documentdb-partitionkey': '["p"]' }
  const body = { id: 'a', pk: 'p' }
  await container.items.create(body)
  proxy.refuse(true)
  for (const request of [
    { path: pathOf(container, 'docs', 'a'), headers },
    { method: 'PUT', path: pathOf(container, 'docs', 'a'), headers, body },
    { path: pathOf(container, 'docs') },
    { path: pathOf(container) },
    { method: 'POST', path: '/dbs', body: { id: 'other' } },
  ]) {
    const answer = await server.send(request)
    assert.equal(answer.status, 503, answer.text)
    assert.ok(Number(answer.headers['x-ms-retry-after-ms']) > 0)
    assert.match(answer.json.message, /PostgreSQL/)
  }
  assert.equal((await server.admin('GET', 'clock')).status, 503)
  assert.equal((await call(db.endpoint, 'GET', '/ready')).status, 503)
  assert.equal((await call(db.endpoint, 'GET', '/alive')).status, 200)
  proxy.refuse(false)
  assert.equal((await call(db.endpoint, 'GET', '/ready')).status, 200)
  assert.equal((await server.send({ path: pathOf(container, 'docs', 'a'), headers })).status, 200)
  assert.equal((await container.items.upsert(body)).statusCode, 200)
})

test('servers that share a database share the throughput of its containers', async () => {
  const store = await postgres.createDatabase()
  await using first = await mayfly({ store, rateLimit: true })
  await using second = await mayfly({ store, rateLimit: true })
  const servers = [testServer(first), testServer(second)]
  const container = await servers[0]!.newContainer()
  const headers = { 'x-ms-documentdb-partitionkey': '["p"]' }
  // Each server has read the catalog, so the other one knows about it.
  for (const server of servers) await server.send({ path: pathOf(container) })
  await new Promise(resolve => setTimeout(resolve, 100))
  const text = 'x'.repeat(100 * 1024)
  const endMs = performance.now() + 2000
  let spentRu = 0
  let refused = 0
  const spend = async (server: (typeof servers)[number], name: string) => {
    for (let n = 0; performance.now() < endMs; n++) {
      const body = { id: `${name}${n}`, pk: 'p', text }
      const answer = await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })
      if (answer.status === 201) spentRu += Number(answer.headers['x-ms-request-charge'])
      else refused++
      if (answer.status !== 201) await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  await Promise.all(servers.map((server, n) => spend(server, 'ab'[n]!)))
  // Two seconds of load touch three seconds of each budget; no server may overdraw any of them.
  assert.ok(refused > 0 && spentRu > 400, `${spentRu} RU, ${refused} refused`)
  assert.ok(spentRu <= 3 * 400, `${spentRu} RU of at most 400 in each second`)
})
