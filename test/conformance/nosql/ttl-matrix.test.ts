/**
 * The table of life and death, row by row: what a container's default and an item's own ttl mean together.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()
const { clock } = server.db

type Setting = number | null | undefined

/** Seconds of life, or undefined for ever. */
const rows: readonly [defaultTtl: Setting, ttl: number | undefined, lifespan: number | undefined][] = [
  [undefined, undefined, undefined],
  [undefined, -1, undefined],
  [undefined, 2000, undefined],
  [null, undefined, undefined],
  [null, -1, undefined],
  [null, 2000, undefined],
  [-1, undefined, undefined],
  [-1, -1, undefined],
  [-1, 2000, 2000],
  [1000, undefined, 1000],
  [1000, -1, undefined],
  [1000, 2000, 2000],
  // An own ttl counts in both directions.
  [1000, 1, 1],
  [1, undefined, 1],
  [-1, 2_147_483_647, 2_147_483_647],
]

async function containerWith(defaultTtl: Setting): Promise<Container> {
  const database = await server.newDatabase()
  const answer = await server.send({
    method: 'POST',
    path: `/dbs/${database.id}/colls`,
    body: { id: 'items', partitionKey: { paths: ['/pk'] }, ...(defaultTtl === undefined ? {} : { defaultTtl }) },
  })
  assert.equal(answer.status, 201)
  return database.container('items')
}

/** Whether the item is visible, by every way to read. All ways must agree. */
async function isThere(container: Container): Promise<boolean> {
  const { statusCode, resource } = await container.item('one', 'a').read()
  const head = await server.send({
    method: 'HEAD',
    path: pathOf(container, 'docs', 'one'),
    headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
  })
  const paged = idsOf(await readFeed(server, container, { pageSize: 1 }))
  const ofPartition = idsOf(await readFeed(server, container, { headers: { 'x-ms-documentdb-partitionkey': '["a"]' } }))
  const { resources } = await container.items.readAll().fetchAll()
  const query = async (text: string) => (await container.items.query(text).fetchAll()).resources
  const isFound = statusCode === 200
  assert.equal(statusCode, isFound ? 200 : 404)
  assert.equal(resource?.id, isFound ? 'one' : undefined)
  assert.equal(head.status, statusCode)
  // A second item lives for ever, so that an empty feed is not mistaken for a correct one.
  assert.deepEqual(paged, isFound ? ['one', 'rest'] : ['rest'])
  assert.deepEqual(ofPartition, isFound ? ['one'] : [])
  assert.deepEqual(idsOf(resources as { id: string }[]), paged)
  assert.deepEqual((await query('SELECT VALUE c.id FROM c ORDER BY c.id')).sort(), paged)
  assert.deepEqual(await query("SELECT VALUE c.id FROM c WHERE c.pk = 'a'"), isFound ? ['one'] : [])
  assert.deepEqual(await query('SELECT VALUE COUNT(1) FROM c'), [isFound ? 2 : 1])
  return isFound
}

const shown = (value: Setting) => (value === undefined ? 'absent' : String(value))

for (const [defaultTtl, ttl, lifespan] of rows) {
  const fate = lifespan === undefined ? 'lives for ever' : `is dead ${lifespan} s after its last write`
  test(`With a default of ${shown(defaultTtl)} and a ttl of ${shown(ttl)} an item ${fate}`, async () => {
    const container = await containerWith(defaultTtl)
    await container.items.create({ id: 'rest', pk: 'b', ttl: -1 })
    const { resource } = await container.items.create({ id: 'one', pk: 'a', ...(ttl === undefined ? {} : { ttl }) })
    assert.equal(resource?._ts, clock.now())
    assert.equal(resource?.ttl, ttl)
    const born = clock.now()
    assert.equal(await isThere(container), true)
    if (lifespan === undefined) {
      for (const age of [1000, 2000, 2001, 20 * 365 * 86_400]) {
        await clock.set(born + age)
        assert.equal(await isThere(container), true, `alive at the age of ${age} s`)
      }
      return
    }
    await clock.set(born + lifespan - 1)
    assert.equal(await isThere(container), true, 'alive in the second before the deadline')
    await clock.set(born + lifespan)
    assert.equal(await isThere(container), false, 'dead at the deadline')
    await clock.set(born + lifespan + 1)
    assert.equal(await isThere(container), false, 'dead after the deadline')
  })
}

test('Time to live is off by default', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'one', pk: 'a', ttl: 1 })
  await container.items.create({ id: 'rest', pk: 'b' })
  await clock.advance('36500d')
  assert.equal(await isThere(container), true)
})

async function setDefault(container: Container, defaultTtl: number | undefined): Promise<void> {
  const { defaultTtl: _, ...rest } = (await container.read()).resource!
  await container.replace(defaultTtl === undefined ? rest : { ...rest, defaultTtl })
}

test('An item’s ttl has no effect until the container has a default, then it counts from the write', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'rest', pk: 'b' })
  await container.items.create({ id: 'one', pk: 'a', ttl: 100 })
  await clock.advance('60s')
  await setDefault(container, -1)
  assert.equal(await isThere(container), true)
  await clock.advance('39s')
  assert.equal(await isThere(container), true)
  await clock.advance('1s')
  assert.equal(await isThere(container), false)
})

test('Enabling time to live takes effect at once for items that are already too old', async () => {
  for (const [defaultTtl, ttl] of [
    [-1, 100],
    [1000, 100],
    [100, undefined],
  ] as const) {
    const container = await server.newContainer()
    await container.items.create({ id: 'rest', pk: 'b', ttl: -1 })
    await container.items.create({ id: 'one', pk: 'a', ...(ttl === undefined ? {} : { ttl }) })
    await clock.advance('500s')
    assert.equal(await isThere(container), true)
    await setDefault(container, defaultTtl)
    assert.equal(await isThere(container), false)
  }
})

test('An item whose ttl runs out while time to live is disabled is dead once it is enabled again', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  await container.items.create({ id: 'rest', pk: 'b' })
  await container.items.create({ id: 'one', pk: 'a', ttl: 100 })
  await clock.advance('50s')
  await setDefault(container, undefined)
  await clock.advance('100s')
  assert.equal(await isThere(container), true)
  await setDefault(container, -1)
  assert.equal(await isThere(container), false)
})

test('A change of the default takes effect at once for every item that inherits it and for no other', async () => {
  const container = await server.newContainer({ defaultTtl: 1000 })
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: id })
  await container.items.create({ id: 'own', pk: 'own', ttl: 500 })
  await container.items.create({ id: 'never', pk: 'never', ttl: -1 })
  await clock.advance('100s')
  await setDefault(container, 101)
  assert.deepEqual(idsOf(await readFeed(server, container)), ['1', '2', '3', 'never', 'own'])
  await clock.advance('1s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['never', 'own'])
  await clock.advance('399s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['never'])
})

test('An item that dies between two pages of a feed is not on the second, and no living one is skipped', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const ids = Array.from({ length: 20 }, (_, at) => String(at))
  for (const id of ids) await container.items.create({ id, pk: id, ...(Number(id) % 2 === 0 ? { ttl: 10 } : {}) })
  const path = pathOf(container, 'docs')
  const first = await server.send({ path, headers: { 'x-ms-max-item-count': '5' } })
  const token = first.headers['x-ms-continuation'] as string
  await clock.advance('10s')
  const rest = await server.send({ path, headers: { 'x-ms-max-item-count': '100', 'x-ms-continuation': token } })
  const seen: string[] = first.json.Documents.map(({ id }: { id: string }) => id)
  const later: string[] = rest.json.Documents.map(({ id }: { id: string }) => id)
  const odd = ids.filter(id => Number(id) % 2 === 1)
  assert.deepEqual(later.toSorted(), odd.filter(id => !seen.includes(id)).toSorted())
})
