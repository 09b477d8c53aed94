/** The admin API about time to live in a container: status, forecast, explanation and preview. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { startServer } from '../../support/start-server.ts'

const server = await startServer()
const { clock } = server.db
await server.admin('POST', 'purge', { pause: true })

const path = (container: Container, rest = '') => `ttl/${container.database.id}/items${rest}`
const get = async (container: Container, rest = '') => (await server.admin('GET', path(container, rest))).json

async function setDefault(container: Container, defaultTtl: number | null): Promise<void> {
  const { defaultTtl: _, ...rest } = (await container.read()).resource!
  await container.replace({ ...rest, defaultTtl } as never)
}

test('The status of a container has exactly the documented fields', async () => {
  const container = await server.newContainer({ defaultTtl: 100 })
  assert.deepEqual(await get(container), {
    defaultTtl: 100,
    living: 0,
    backlog: 0,
    oldestDeadline: null,
    lagSeconds: 0,
    purged: 0,
    paused: true,
  })
})

test('The status counts living and dead items, and says how long the oldest dead one has waited', async () => {
  const container = await server.newContainer({ defaultTtl: 100 })
  const born = clock.now()
  await container.items.create({ id: 'inherits', pk: 'a' })
  await container.items.create({ id: 'own', pk: 'a', ttl: 40 })
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  const status = async () => {
    const { living, backlog, oldestDeadline, lagSeconds, purged } = await get(container)
    return { living, backlog, oldestDeadline, lagSeconds, purged }
  }
  await clock.set(born + 39)
  assert.deepEqual(await status(), { living: 3, backlog: 0, oldestDeadline: null, lagSeconds: 0, purged: 0 })
  await clock.set(born + 45)
  assert.deepEqual(await status(), { living: 2, backlog: 1, oldestDeadline: born + 40, lagSeconds: 5, purged: 0 })
  await clock.set(born + 100)
  assert.deepEqual(await status(), { living: 1, backlog: 2, oldestDeadline: born + 40, lagSeconds: 60, purged: 0 })
  await server.admin('POST', 'purge', { db: container.database.id })
  assert.deepEqual(await status(), { living: 1, backlog: 0, oldestDeadline: null, lagSeconds: 0, purged: 2 })
})

test('The status shows a disabled default as null, and a default of never as -1', async () => {
  const container = await server.newContainer()
  assert.equal((await get(container)).defaultTtl, null)
  await setDefault(container, -1)
  assert.equal((await get(container)).defaultTtl, -1)
})

test('A forecast says how many die when, by their own ttl and by the default', async () => {
  const container = await server.newContainer({ defaultTtl: 90 })
  const now = clock.now()
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: 'a' })
  await container.items.create({ id: 'soon', pk: 'a', ttl: 30 })
  await container.items.create({ id: 'on the edge', pk: 'a', ttl: 60 })
  await container.items.create({ id: 'late', pk: 'a', ttl: 10_000 })
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  assert.deepEqual(await get(container, '/forecast?window=2m&buckets=2'), {
    // The item that dies at the edge of a bucket belongs to the bucket that ends there.
    buckets: [
      { start: now, end: now + 60, inherited: 0, own: 2 },
      { start: now + 60, end: now + 120, inherited: 3, own: 0 },
    ],
    later: 1,
    never: 1,
  })
})

test('A forecast covers a day in hours unless told otherwise, without gaps', async () => {
  const container = await server.newContainer({ defaultTtl: 5 })
  const now = clock.now()
  const { buckets } = await get(container, '/forecast')
  assert.equal(buckets.length, 24)
  for (const [at, { start, end }] of buckets.entries()) {
    assert.equal(start, now + at * 3600)
    assert.equal(end, now + (at + 1) * 3600)
  }
})

test('A forecast comes true', async () => {
  const container = await server.newContainer({ defaultTtl: 50 })
  for (let at = 0; at < 20; at++) {
    await container.items.create({ id: String(at), pk: 'a', ...(at % 3 === 0 ? { ttl: 10 + at * 5 } : {}) })
    await clock.advance('1s')
  }
  const { buckets, later, never } = await get(container, '/forecast?window=100s&buckets=10')
  let { living } = await get(container)
  for (const { end, inherited, own } of buckets) {
    await clock.set(end)
    living -= inherited + own
    assert.equal((await get(container)).living, living)
  }
  assert.equal(living, later + never)
})

test('A malformed request for a forecast is 400', async () => {
  const container = await server.newContainer()
  for (const query of [
    'window=1y',
    'window=',
    'window=-1h',
    'window=0s',
    'buckets=0',
    'buckets=-1',
    'buckets=1.5',
    'buckets=1001',
    'buckets=x',
    'window=10s&buckets=11',
  ]) {
    assert.equal((await server.admin('GET', path(container, `/forecast?${query}`))).status, 400, query)
  }
})

const explain = (container: Container, id: string, partitionKey = '["a"]') =>
  get(container, `/explain?${new URLSearchParams({ id, partitionKey })}`)

test('An explanation has exactly the documented fields, and a sentence', async () => {
  const container = await server.newContainer({ defaultTtl: 100 })
  const ts = clock.now()
  await container.items.create({ id: 'one', pk: 'a' })
  await clock.advance('30s')
  const { explanation, ...facts } = await explain(container, 'one')
  assert.deepEqual(facts, {
    state: 'alive',
    rule: 'inherited',
    ts,
    defaultTtl: 100,
    ttl: null,
    effectiveTtl: 100,
    expiresAt: ts + 100,
    secondsLeft: 70,
  })
  assert.match(explanation, /^[A-Z].*lives until 20\d\d-.*Z, in 1 m 10 s, .*default of 100 s.*\.$/)
})

test('An explanation names the rule that decides', async () => {
  const container = await server.newContainer({ defaultTtl: 100 })
  const ts = clock.now()
  await container.items.create({ id: 'inherits', pk: 'a' })
  await container.items.create({ id: 'owns', pk: 'a', ttl: 10 })
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  const rules = async () => {
    const found: Record<string, string> = {}
    for (const id of ['inherits', 'owns', 'never', 'unknown']) {
      const { state, rule } = await explain(container, id)
      found[id] = `${state} ${rule}`
    }
    return found
  }
  const unknown = 'unknown null'
  assert.deepEqual(await rules(), { inherits: 'alive inherited', owns: 'alive own', never: 'alive never', unknown })
  await clock.set(ts + 10)
  assert.deepEqual(await rules(), { inherits: 'alive inherited', owns: 'dead own', never: 'alive never', unknown })
  const { explanation, secondsLeft, expiresAt } = await explain(container, 'owns')
  assert.deepEqual([secondsLeft, expiresAt], [null, ts + 10])
  assert.match(explanation, /died at/)
  await setDefault(container, null)
  assert.deepEqual(await rules(), { inherits: 'alive off', owns: 'dead final', never: 'alive off', unknown })
  await setDefault(container, -1)
  assert.deepEqual(await rules(), { inherits: 'alive never', owns: 'dead own', never: 'alive never', unknown })
  await server.admin('POST', 'purge', { db: container.database.id })
  assert.deepEqual(await rules(), { inherits: 'alive never', owns: unknown, never: 'alive never', unknown })
})

test('An explanation finds items with every kind of partition key', async () => {
  const plain = await server.newContainer({ defaultTtl: 100 })
  await plain.items.create({ id: 'one', pk: 5 })
  await plain.items.create({ id: 'one' })
  await plain.items.create({ id: 'ö "?&', pk: 'ä' })
  assert.equal((await explain(plain, 'one', '[5]')).state, 'alive')
  assert.equal((await explain(plain, 'one', '["5"]')).state, 'unknown')
  assert.equal((await explain(plain, 'one', '[{}]')).state, 'alive')
  assert.equal((await explain(plain, 'ö "?&', '["ä"]')).state, 'alive')
  const partitionKey = { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 } as never
  const levels = await server.newContainer({ defaultTtl: 100, partitionKey })
  await levels.items.create({ id: 'one', a: 'x', b: 'y' })
  assert.equal((await explain(levels, 'one', '["x","y"]')).state, 'alive')
})

test('A malformed request for an explanation is 400', async () => {
  const container = await server.newContainer({ defaultTtl: 100 })
  for (const query of [
    '',
    'id=one',
    'partitionKey=["a"]',
    'id=one&partitionKey=a',
    'id=one&partitionKey={}',
    'id=one&partitionKey=[]',
    'id=one&partitionKey=["a","b"]',
    'id=one&partitionKey=[["a"]]',
  ]) {
    const { status, json } = await server.admin('GET', path(container, `/explain?${encodeURI(query)}`))
    assert.equal(status, 400, query)
    assert.deepEqual(Object.keys(json), ['code', 'message'])
  }
})

async function preview(container: Container, defaultTtl: unknown) {
  return server.admin('POST', path(container, '/preview'), { defaultTtl })
}

test('A preview says how many would die when, and changes nothing', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'old', pk: 'a' })
  await clock.advance('2d')
  await container.items.create({ id: 'young', pk: 'a' })
  await container.items.create({ id: 'own', pk: 'a', ttl: 7200 })
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  const definition = (await container.read()).resource
  const expected: readonly [defaultTtl: number | null, answer: object][] = [
    [null, { now: 0, within1h: 0, within24h: 0, later: 0, never: 4 }],
    [-1, { now: 0, within1h: 0, within24h: 1, later: 0, never: 3 }],
    [60, { now: 1, within1h: 1, within24h: 1, later: 0, never: 1 }],
    [3 * 86_400, { now: 0, within1h: 0, within24h: 2, later: 1, never: 1 }],
  ]
  for (const [defaultTtl, answer] of expected) {
    const { status, json } = await preview(container, defaultTtl)
    assert.equal(status, 200)
    assert.deepEqual(json, answer)
  }
  assert.deepEqual((await container.read()).resource, definition)
  assert.equal((await get(container)).living, 4)
})

test('A preview comes true when the change is made', async () => {
  const container = await server.newContainer({ defaultTtl: 5000 })
  for (let at = 0; at < 10; at++) {
    await container.items.create({ id: String(at), pk: 'a' })
    await clock.advance('10m')
  }
  const { json } = await preview(container, 3000)
  const before = (await get(container)).living
  await setDefault(container, 3000)
  assert.equal((await get(container)).living, before - json.now)
  await clock.advance('1h')
  assert.equal((await get(container)).living, before - json.now - json.within1h)
})

test('A preview of a default that is not allowed is 400', async () => {
  const container = await server.newContainer()
  for (const defaultTtl of [0, -2, 1.5, '10', true, 2_147_483_648, {}, []]) {
    const { status, json } = await preview(container, defaultTtl)
    assert.equal(status, 400)
    assert.match(json.message, /^The input ttl '.*' is invalid/)
  }
  const { status, json } = await preview(container, undefined)
  assert.deepEqual([status, json.message.slice(0, 22)], [400, 'Say {"defaultTtl":n}, '])
})

test('Every report about an unknown container is 404', async () => {
  const { database } = await server.newContainer()
  for (const name of [`${database.id}/none`, 'none/items', 'none/none']) {
    assert.equal((await server.admin('GET', `ttl/${name}`)).status, 404)
    assert.equal((await server.admin('GET', `ttl/${name}/forecast`)).status, 404)
    assert.equal((await server.admin('GET', `ttl/${name}/explain?id=1&partitionKey=["a"]`)).status, 404)
    assert.equal((await server.admin('POST', `ttl/${name}/preview`, { defaultTtl: 1 })).status, 404)
  }
})
