/** The library as tests use it: a whole server in the process, closed at the end of the block. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import test from 'node:test'
import { CosmosClient } from '@azure/cosmos'
import { MongoClient } from 'mongodb'
import { type Mayfly, type MayflyOptions, mayfly } from '../../src/index.ts'
import { runCli } from '../support/run-cli.ts'
import { failureOf } from '../support/service-error.ts'
import { idsOf, newClient, readFeed, temporaryDirectory, testServer } from '../support/start-server.ts'

async function newCarts(db: Mayfly, defaultTtl = 60) {
  const { database } = await newClient(db).databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl })
  return container
}

async function useItWithTheSdk(db: Mayfly): Promise<void> {
  const carts = await newCarts(db)
  await carts.items.create({ id: 'one', pk: 'a' })
  assert.equal((await carts.item('one', 'a').read()).statusCode, 200)
  const before = db.clock.now()
  assert.equal(await db.clock.advance('59s'), before + 59)
  assert.equal((await carts.item('one', 'a').read()).statusCode, 200)
  assert.equal(await db.clock.set(before + 60), before + 60)
  assert.equal((await carts.item('one', 'a').read()).statusCode, 404)
  assert.equal((await db.ttl.status('shop', 'carts')).living, 0)
}

test('A server in a block works with the SDK and a manual clock', async () => {
  let endpoint: string
  {
    await using db = await mayfly({ clock: 'manual' })
    endpoint = db.endpoint
    await useItWithTheSdk(db)
  }
  await assert.rejects(fetch(`${endpoint}/alive`), 'it is gone at the end of the block')
})

const mocked = ['setTimeout', 'setInterval', 'setImmediate', 'Date'] as const

test('A test that mocks timers and Date before the start can use the server', async context => {
  context.mock.timers.enable({ apis: [...mocked], now: Date.now() })
  await using db = await mayfly({ clock: 'manual' })
  await useItWithTheSdk(db)
})

test('A test that mocks timers and Date after the start can use the server, and purge and reset it', async context => {
  await using db = await mayfly({ clock: 'manual' })
  context.mock.timers.enable({ apis: [...mocked], now: Date.now() })
  await useItWithTheSdk(db)
  await db.purge()
  assert.equal((await db.ttl.status('shop', 'carts')).backlog, 0)
  await db.reset()
})

test('Advancing mocked time does not move a manual clock', async context => {
  await using db = await mayfly({ clock: 'manual' })
  context.mock.timers.enable({ apis: [...mocked], now: Date.now() })
  const carts = await newCarts(db)
  await carts.items.create({ id: 'one', pk: 'a' })
  const before = db.clock.now()
  context.mock.timers.tick(10 * 60_000)
  assert.equal(db.clock.now(), before)
  assert.equal((await carts.item('one', 'a').read()).statusCode, 200)
})

test('The system clock keeps running under mocked timers', async context => {
  await using db = await mayfly()
  const real = Math.floor(Date.now() / 1000)
  context.mock.timers.enable({ apis: [...mocked], now: 0 })
  assert.ok(Math.abs(db.clock.now() - real) <= 2)
})

test('A client that signs with a mocked Date far from now is accepted', async context => {
  await using db = await mayfly({ clock: 'manual' })
  context.mock.timers.enable({ apis: ['Date'], now: 0 })
  assert.equal((await newClient(db).databases.create({ id: 'shop' })).statusCode, 201)
})

test('Two servers in one process do not see each other', async () => {
  await using first = await mayfly({ clock: 'manual' })
  await using second = await mayfly({ clock: 'manual' })
  assert.notEqual(first.endpoint, second.endpoint)
  const carts = await newCarts(first)
  await carts.items.create({ id: 'one', pk: 'a' })
  assert.equal(await failureOf(newClient(second).database('shop').read()), 404)
  const others = await newCarts(second)
  assert.equal((await others.item('one', 'a').read()).statusCode, 404)
  const before = second.clock.now()
  await first.clock.advance('1d')
  assert.equal(second.clock.now(), before)
  await first.reset()
  assert.equal((await others.read()).statusCode, 200)
})

test('A reset leaves nothing behind, and everything can be created again', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const server = testServer(db)
  const carts = await newCarts(db)
  await carts.items.create({ id: 'one', pk: 'a' })
  await server.newContainer()
  await db.reset()
  assert.deepEqual((await server.client.databases.readAll().fetchAll()).resources, [])
  assert.deepEqual((await server.client.offers.readAll().fetchAll()).resources, [])
  assert.deepEqual(await readFeed(server, await newCarts(db)), [])
  await db.reset()
  await db.reset()
})

test('A purge removes dead items and says how many', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const carts = await newCarts(db)
  for (const id of ['1', '2', '3']) await carts.items.create({ id, pk: 'a' })
  assert.deepEqual(await db.purge(), { removed: 0 })
  await db.clock.advance('1m')
  const { removed } = await db.purge()
  const { purged, backlog } = await db.ttl.status('shop', 'carts')
  assert.deepEqual([purged, backlog], [3, 0])
  assert.ok(removed <= 3)
})

test('The library explains documents of MongoDB, too', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const client = await MongoClient.connect(db.mongoUri)
  const carts = client.db('shop').collection<{ _id: string | number }>('carts')
  await carts.createIndex({ _ts: 1 }, { expireAfterSeconds: 60 })
  await carts.insertMany([{ _id: 'one' }, { _id: 2 }])
  await client.close()
  const { state, rule, secondsLeft } = await db.ttl.explain('shop', 'carts', { id: 'one' })
  assert.deepEqual([state, rule, secondsLeft], ['alive', 'inherited', 60])
  assert.equal((await db.ttl.explain('shop', 'carts', { id: '2' })).state, 'alive')
  assert.equal((await db.ttl.explain('shop', 'carts', { id: 'two' })).state, 'unknown')
})

test('The library explains, forecasts and previews', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const carts = await newCarts(db)
  await carts.items.create({ id: 'one', pk: 'a' })
  await carts.items.create({ id: 'none' })
  const explained = await db.ttl.explain('shop', 'carts', { id: 'one', partitionKey: 'a' })
  assert.deepEqual([explained.state, explained.rule, explained.secondsLeft], ['alive', 'inherited', 60])
  assert.equal((await db.ttl.explain('shop', 'carts', { id: 'one', partitionKey: ['a'] })).state, 'alive')
  assert.equal((await db.ttl.explain('shop', 'carts', { id: 'none', partitionKey: undefined })).state, 'alive')
  assert.equal((await db.ttl.explain('shop', 'carts', { id: 'two', partitionKey: 'a' })).state, 'unknown')
  const { buckets } = await db.ttl.forecast('shop', 'carts', { window: '2m', buckets: 2 })
  assert.deepEqual(
    buckets.map(({ inherited }) => inherited),
    [2, 0],
  )
  assert.equal((await db.ttl.preview('shop', 'carts', null)).never, 2)
  await assert.rejects(db.ttl.status('shop', 'none'), { kind: 'namespace_not_found' })
})

test('The SDK connects with the connection string', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const client = new CosmosClient(db.connectionString)
  assert.equal((await client.databases.create({ id: 'shop' })).statusCode, 201)
})

test('Data in a directory survives a restart, and so does the clock', async () => {
  const data = temporaryDirectory()
  let now: number
  {
    await using db = await mayfly({ clock: 'manual', data })
    const carts = await newCarts(db, 7 * 86_400)
    for (const id of ['1', '2']) await carts.items.create({ id, pk: 'a', text: 'ünïcødé' })
    now = await db.clock.advance('1d')
    assert.equal((await carts.item('1', 'a').read()).statusCode, 200)
  }
  {
    await using db = await mayfly({ clock: 'manual', data })
    const server = testServer(db)
    const carts = server.client.database('shop').container('carts')
    assert.ok(db.clock.now() >= now)
    assert.deepEqual(idsOf(await readFeed(server, carts)), ['1', '2'])
    assert.equal((await carts.item('1', 'a').read()).resource?.text, 'ünïcødé')
    assert.equal((await carts.read()).resource?.defaultTtl, 7 * 86_400)
    await db.clock.advance('6d')
    assert.deepEqual(await readFeed(server, carts), [])
  }
})

test('A data directory has one user at a time, and the second is told so', async () => {
  const data = temporaryDirectory()
  await using db = await mayfly({ data })
  await assert.rejects(mayfly({ data }), /in use by another Mayfly/)
  // The attempt has not cost the first one its lock, which other processes see.
  assert.match((await runCli(['check', '--data', data])).stderr, /in use by another Mayfly/)
  assert.ok(db.clock.now() > 0)
})

test('The system clock cannot be moved', async () => {
  await using db = await mayfly()
  await assert.rejects(db.clock.advance('1s'), /Only a manual clock can be moved/)
  await assert.rejects(db.clock.set(2 ** 40), /Only a manual clock can be moved/)
})

test('A manual clock refuses invalid moves and never goes back', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const before = db.clock.now()
  for (const duration of ['', '1y', '-1s', '1.5h', 's', -1, 0.5, Number.NaN]) {
    await assert.rejects(db.clock.advance(duration), { kind: 'malformed' })
  }
  for (const second of [before - 1, before + 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    await assert.rejects(db.clock.set(second), { kind: 'malformed' })
  }
  assert.equal(db.clock.now(), before)
})

test('Invalid options are refused with a sentence', async () => {
  await using db = await mayfly()
  const port = Number(new URL(db.endpoint).port)
  await assert.rejects(mayfly({ port }), /is taken by another program\. Choose another with mayfly\(\{ port \}\);/)
  await assert.rejects(mayfly({ partitions: 0 }), /from 1 to 100/)
  await assert.rejects(mayfly({ partitions: 1.5 }), /from 1 to 100/)
  await assert.rejects(mayfly({ port: 70_000 }), /from 0 to 65535/)
  await assert.rejects(mayfly({ key: 'short' }), /at least 16 bytes/)
  const wrong: Record<string, unknown> = {
    clock: 'fixed',
    data: 5,
    store: 'mysql://localhost',
    port: '8081',
    mongoPort: -1,
    mongoDocumentTtl: 'off',
    enableTestCommands: 1,
    key: null,
    rateLimit: 'on',
    strict: 'yes',
    feedDeaths: 'never',
    partitions: 101,
  }
  for (const [name, value] of Object.entries(wrong)) {
    await assert.rejects(mayfly({ [name]: value }), ({ message }: Error) => {
      assert.match(message, /^mayfly\(\{ (\w+) \}\) takes /)
      assert.ok(message.includes(`{ ${name} }`), message)
      assert.doesNotMatch(message, /--/)
      return true
    })
  }
})

test('A data directory that cannot be used is refused without naming a flag', async () => {
  const data = temporaryDirectory()
  await using _first = await mayfly({ data })
  const refusal = ({ message }: Error) => !message.includes('--')
  await assert.rejects(mayfly({ data }), refusal)
  const open = temporaryDirectory()
  chmodSync(open, 0o777)
  await assert.rejects(mayfly({ data: open }), refusal)
})

test('A server that was closed by hand can be closed again, as a block does', async () => {
  await using db = await mayfly({ clock: 'manual' })
  await db.close()
})

test('After close every method refuses, and says why', async () => {
  const db = await mayfly({ clock: 'manual' })
  await newCarts(db)
  const kept = await db.snapshot()
  const closing = db.close()
  const calls: Record<string, () => unknown> = {
    getUri: () => db.getUri(),
    now: () => db.clock.now(),
    advance: () => db.clock.advance('1s'),
    set: () => db.clock.set(2 ** 32),
    purge: () => db.purge(),
    reset: () => db.reset(),
    snapshot: () => db.snapshot(),
    restore: () => db.restore(kept),
    status: () => db.ttl.status('shop', 'carts'),
    explain: () => db.ttl.explain('shop', 'carts', { id: 'one', partitionKey: 'a' }),
    forecast: () => db.ttl.forecast('shop', 'carts'),
    preview: () => db.ttl.preview('shop', 'carts', 60),
  }
  const refuseAll = async () => {
    for (const [name, made] of Object.entries(calls)) {
      await assert.rejects(async () => made(), /^RequestError: The server was closed/, name)
    }
  }
  await refuseAll()
  await closing
  await refuseAll()
  const stoppers = ['close', 'stop']
  const methods = [db, db.clock, db.ttl]
    .flatMap(each => Object.entries(each))
    .filter(([, each]) => each instanceof Function)
  assert.deepEqual(
    methods
      .map(([name]) => name)
      .filter(name => !stoppers.includes(name))
      .sort(),
    Object.keys(calls).sort(),
  )
})

test('A server closes while clients keep their connections, and answers what is under way', async () => {
  const db = await mayfly({ clock: 'manual' })
  const carts = await newCarts(db)
  const writes = Array.from({ length: 50 }, (_, at) => carts.items.create({ id: String(at), pk: 'a' }))
  await writes[0]
  const [outcomes] = await Promise.all([Promise.allSettled(writes), db.close()])
  const answered = outcomes.filter(({ status }) => status === 'fulfilled').length
  assert.ok(answered >= 1)
})

test('A server that closes cuts a connection that was opened and never used', async () => {
  const db = await mayfly({ clock: 'manual' })
  const silent = connect(Number(new URL(db.endpoint).port), '127.0.0.1')
  silent.on('error', () => {})
  await once(silent, 'connect')
  assert.equal((await fetch(`${db.endpoint}/alive`)).status, 200)
  const cut = once(silent, 'close')
  await db.close()
  await cut
})

test('An option that does not exist is refused, with those that do', async () => {
  const misspelled = { clok: 'manual' } as unknown as MayflyOptions
  await assert.rejects(mayfly(misspelled), /^RequestError: mayfly\(\) has no option 'clok'\. It has clock, data, /)
  await assert.rejects(mayfly('manual' as unknown as MayflyOptions), /takes one object with options/)
})

test('The clock is advanced by a number of seconds too', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const before = db.clock.now()
  assert.equal(await db.clock.advance(60), before + 60)
  await assert.rejects(db.clock.advance(-1))
  await assert.rejects(db.clock.advance(1.5))
  assert.equal(db.clock.now(), before + 60)
})

test('The URI names a database on request, and a driver can use it', async () => {
  await using db = await mayfly()
  assert.equal(db.getUri(), db.mongoUri)
  await using client = new MongoClient(db.getUri('shop'))
  assert.equal(client.db().databaseName, 'shop')
  await client.db().collection<{ _id: number }>('carts').insertOne({ _id: 1 })
  assert.equal(await client.db('shop').collection('carts').countDocuments(), 1)
})

test('`import` and `require` of the package in its own checkout give the library', async () => {
  // The compiler finds the declarations of the package, or it refuses this line.
  const imported = await import('mayfly')
  const required = createRequire(import.meta.url)('mayfly')
  assert.equal(imported.mayfly, mayfly)
  assert.equal(required.mayfly, mayfly)
})
