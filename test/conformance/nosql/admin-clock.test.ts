/** The admin API for the clock and the purger, and the pages about the server itself. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { mayfly } from '../../../src/index.ts'
import { parsePrometheus } from '../../support/prometheus.ts'
import { call } from '../../support/signed-request.ts'
import { startServer, testServer } from '../../support/start-server.ts'
import { storeName } from '../../support/test-store.ts'

const server = await startServer()
const { clock } = server.db
await server.admin('POST', 'purge', { pause: true })

test('The clock shows its time and its mode', async () => {
  const { status, json, headers } = await server.admin('GET', 'clock')
  assert.equal(status, 200)
  assert.deepEqual(json, { now: clock.now(), mode: 'manual' })
  assert.equal(headers['cache-control'], 'no-store')
})

test('The clock advances by seconds, minutes, hours and days and answers with its new state', async () => {
  for (const [advance, seconds] of [
    ['1s', 1],
    ['60s', 60],
    ['5m', 300],
    ['24h', 86_400],
    ['90d', 7_776_000],
    ['0s', 0],
  ] as const) {
    const before = clock.now()
    const { status, json } = await server.admin('POST', 'clock', { advance })
    assert.equal(status, 200)
    assert.deepEqual(json, { now: before + seconds, mode: 'manual' })
    assert.equal(clock.now(), before + seconds)
  }
})

test('The clock can be set to a later second, and to the present one', async () => {
  const set = clock.now() + 12_345
  for (const _ of [1, 2]) {
    assert.deepEqual((await server.admin('POST', 'clock', { set })).json, { now: set, mode: 'manual' })
  }
})

test('The clock never goes back', async () => {
  const before = clock.now()
  for (const set of [before - 1, 0, -1]) {
    const { status, json } = await server.admin('POST', 'clock', { set })
    assert.equal(status, 400)
    assert.match(json.message, /never goes back/)
  }
  assert.equal(clock.now(), before)
})

test('A malformed request to move the clock is refused and the clock stays', async () => {
  const before = clock.now()
  const moves: unknown[] = [
    {},
    { advance: '1s', set: before + 1 },
    { advance: '1y' },
    { advance: '-1s' },
    { advance: '1.5s' },
    { advance: ' 1s' },
    { advance: '' },
    { advance: 1.5 },
    { advance: null },
    { advance: '999999999999d' },
    { set: before + 0.5 },
    { set: String(before + 1) },
    { set: null },
    { set: 1e300 },
    [],
    'not json',
    '5',
    'null',
  ]
  for (const move of moves) {
    const { status, json } = await server.admin('POST', 'clock', move)
    assert.equal(status, 400, JSON.stringify(move))
    assert.deepEqual(Object.keys(json), ['code', 'message'])
    assert.equal(json.code, 'malformed')
  }
  assert.equal((await server.admin('POST', 'clock')).status, 400)
  assert.equal(clock.now(), before)
})

test('The system clock is shown and cannot be moved', async () => {
  await using db = await mayfly()
  const real = testServer(db)
  const { json } = await real.admin('GET', 'clock')
  assert.equal(json.mode, 'system')
  assert.ok(Math.abs(json.now - Date.now() / 1000) < 5)
  for (const move of [{ advance: '1s' }, { set: json.now + 100 }, {}]) {
    const { status, json: refused } = await real.admin('POST', 'clock', move)
    assert.equal(status, 409)
    assert.match(refused.message, /--clock manual/)
  }
})

test('A purge covers one container, one database or everything, and says how many dead items are left', async () => {
  const [first, second] = [await server.newContainer({ defaultTtl: 10 }), await server.newContainer({ defaultTtl: 10 })]
  const { container: third } = await first.database.containers.create({
    id: 'third',
    partitionKey: '/pk',
    defaultTtl: 10,
  })
  for (const container of [first, second, third]) {
    for (const id of ['1', '2']) await container.items.create({ id, pk: 'a' })
    await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  }
  await clock.advance('10s')
  const purge = async (scope?: object) => (await server.admin('POST', 'purge', scope)).json
  assert.deepEqual(await purge({ db: first.database.id, container: 'third' }), { removed: 2, remaining: 0 })
  assert.deepEqual(await purge({ db: first.database.id }), { removed: 2, remaining: 0 })
  assert.deepEqual(await purge({}), { removed: 2, remaining: 0 })
  assert.deepEqual(await purge(), { removed: 0, remaining: 0 })
  assert.equal((await server.db.ttl.status(first.database.id, 'items')).purged, 2)
})

test('A purge of an unknown container is 404 and a malformed purge is 400', async () => {
  const { database } = await server.newContainer()
  for (const [scope, expected] of [
    [{ db: 'none' }, 404],
    [{ db: database.id, container: 'none' }, 404],
    [{ container: 'items' }, 400],
    [{ db: 5 }, 400],
    [{ db: database.id, container: 5 }, 400],
    [{ pause: 'yes' }, 400],
    [{ pause: null }, 400],
    [[], 400],
  ] as const) {
    assert.equal((await server.admin('POST', 'purge', scope)).status, expected, JSON.stringify(scope))
  }
})

test('The purger can be paused and resumed, and says so', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const other = testServer(db)
  const container = await other.newContainer({ defaultTtl: 10 })
  const status = async () => (await other.admin('GET', `ttl/${container.database.id}/items`)).json
  assert.equal((await status()).paused, false)
  assert.deepEqual((await other.admin('POST', 'purge', { pause: true })).json, { paused: true })
  assert.equal((await status()).paused, true)
  assert.deepEqual((await other.admin('POST', 'purge', { pause: false })).json, { paused: false })
  assert.equal((await status()).paused, false)
})

test('An unknown admin call is 404', async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['GET', 'nothing'],
    ['DELETE', 'clock'],
    ['PUT', 'clock'],
    ['GET', 'purge'],
    ['GET', 'ttl'],
    ['GET', 'ttl/a'],
    ['POST', 'ttl/a/b'],
    ['GET', 'ttl/a/b/unknown'],
    ['GET', '__proto__'],
    ['GET', 'ttl/a/b/constructor'],
    ['GET', 'clock/x'],
  ] as const) {
    assert.equal((await server.admin(method, path)).status, 404, `${method} ${path}`)
  }
  assert.equal((await server.admin('GET', '%zz')).status, 400)
  assert.equal((await call(server.db.endpoint, 'GET', '/_explorer/assets/nothing.js')).status, 404)
})

test('The server tells anybody that it is alive and ready', async () => {
  for (const page of ['alive', 'ready']) {
    const { status, json } = await call(server.db.endpoint, 'GET', `/${page}`)
    assert.equal(status, 200)
    assert.deepEqual(json, { [page]: true })
  }
})

test('The status shows version, clock, store, requests and every container', async () => {
  const container = await server.newContainer({ defaultTtl: 10 })
  await container.items.create({ id: 'one', pk: 'a' })
  const { status, json } = await call(server.db.endpoint, 'GET', '/status')
  assert.equal(status, 200)
  assert.match(json.version, /^\d+\.\d+\.\d+/)
  assert.ok(json.uptimeSeconds >= 0)
  assert.deepEqual(json.clock, { now: clock.now(), mode: 'manual' })
  assert.equal(json.store, storeName)
  assert.equal(json.rateLimit, false)
  assert.deepEqual(json.purger, { paused: true })
  assert.ok(json.requests[201] >= 3)
  assert.ok(json.requestUnits >= 5)
  const found = json.databases.find(({ id }: { id: string }) => id === container.database.id)
  assert.equal(found.containers.length, 1)
  const { json: ttl } = await server.admin('GET', `ttl/${container.database.id}/items`)
  assert.partialDeepStrictEqual(found.containers[0], { id: 'items', ...ttl })
})

test('The metrics are valid, count what happened and name every container', async () => {
  const odd = 'shop "quoted"\nand, broken}'
  const { database } = await server.client.databases.create({ id: odd })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 10 })
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: 'a', ...(id === '3' ? { ttl: 5 } : {}) })
  await clock.advance('7s')
  const { status, headers, text } = await call(server.db.endpoint, 'GET', '/metrics')
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  const families = parsePrometheus(text)
  const of = (name: string) => families.get(name) ?? assert.fail(`there is no ${name}`)
  const ofCarts = (name: string) => of(name).samples.find(({ labels }) => labels.database === odd)
  assert.deepEqual(ofCarts('mayfly_items_living')?.labels, { database: odd, container: 'carts' })
  assert.equal(ofCarts('mayfly_items_living')?.value, 2)
  assert.equal(ofCarts('mayfly_items_backlog')?.value, 1)
  assert.equal(ofCarts('mayfly_purge_lag_seconds')?.value, 2)
  assert.equal(ofCarts('mayfly_items_purged_total')?.value, 0)
  assert.equal(of('mayfly_purge_paused').samples[0]?.value, 1)
  assert.ok(of('mayfly_request_units_total').samples[0]!.value >= 15)
  const created = (found: typeof families) =>
    found.get('mayfly_requests_total')?.samples.find(({ labels }) => labels.status === '201')?.value
  await container.items.create({ id: '4', pk: 'a' })
  await server.db.purge()
  const later = parsePrometheus((await call(server.db.endpoint, 'GET', '/metrics')).text)
  assert.equal(created(later), created(families)! + 1)
  const purged = later.get('mayfly_items_purged_total')?.samples.find(({ labels }) => labels.database === odd)
  assert.equal(purged?.value, 1)
})

test('The latency of each operation is a histogram, whatever names clients send', async () => {
  const before = parsePrometheus((await call(server.db.endpoint, 'GET', '/metrics')).text)
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  for (let reads = 0; reads < 3; reads++) await container.item('1', 'a').read()
  await container.items.query('SELECT * FROM c').fetchAll()
  await server.send({ path: '/dbs/x/nonsense' })
  await server.send({ method: 'BREW', path: '/dbs' })
  const { text } = await call(server.db.endpoint, 'GET', '/metrics')
  const after = parsePrometheus(text)
  const counted = (families: typeof after, operation: string) => {
    const lines = families.get('mayfly_request_duration_seconds')!.samples
    // Of each series the last two samples are the sum and the count.
    return lines.filter(({ labels }) => labels.operation === operation && labels.le === '+Inf')[0]?.value ?? 0
  }
  for (const [operation, times] of [
    ['read docs', 3],
    ['create docs', 1],
    ['create colls', 1],
  ] as const) {
    assert.equal(counted(after, operation) - counted(before, operation), times, operation)
  }
  const names = new Set(after.get('mayfly_request_duration_seconds')!.samples.map(({ labels }) => labels.operation))
  assert.ok(names.has('query docs'))
  assert.doesNotMatch([...names].join(), /nonsense|BREW/)
  const buckets = after
    .get('mayfly_request_duration_seconds')!
    .samples.filter(({ labels }) => labels.operation === 'read docs' && labels.le !== undefined)
    .map(({ value }) => value)
  assert.deepEqual(
    buckets,
    buckets.toSorted((left, right) => left - right),
    'buckets are cumulative',
  )
  for (const name of ['mayfly_build_info', 'mayfly_store_up', 'process_resident_memory_bytes']) {
    assert.ok(after.get(name)!.samples[0]!.value > 0, name)
  }
})

test('A reset deletes every database and leaves the clock', async () => {
  const before = server.db.clock.now()
  await server.newContainer()
  const { status, text } = await server.admin('POST', 'reset')
  assert.deepEqual([status, text], [204, ''])
  assert.deepEqual((await server.client.databases.readAll().fetchAll()).resources, [])
  assert.equal(server.db.clock.now(), before)
  assert.equal((await server.admin('GET', 'reset')).status, 404)
})
