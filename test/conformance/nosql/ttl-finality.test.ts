/** Death is final: no later setting, purge or restart revives an item that has died. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { type Mayfly, mayfly } from '../../../src/index.ts'
import { idsOf, readFeed, startServer, temporaryDirectory, testServer } from '../../support/start-server.ts'

const server = await startServer()
await server.admin('POST', 'purge', { pause: true })
const { clock } = server.db

async function setDefault(container: Container, defaultTtl: number | null): Promise<void> {
  const { defaultTtl: _, ...rest } = (await container.read()).resource!
  await container.replace({ ...rest, defaultTtl } as never)
}

async function living(container: Container): Promise<string[]> {
  const ids = idsOf(await readFeed(server, container))
  for (const id of ['inherits', 'owns', 'never']) {
    const { statusCode } = await container.item(id, 'a').read()
    assert.equal(statusCode, ids.includes(id) ? 200 : 404, `the feed and the read of ${id} agree`)
  }
  return ids
}

/** One item that inherits the default, one with its own ttl of 10, one that never dies. */
async function threeItems(defaultTtl: number | undefined): Promise<Container> {
  const container = await server.newContainer(defaultTtl === undefined ? {} : { defaultTtl })
  await container.items.create({ id: 'inherits', pk: 'a' })
  await container.items.create({ id: 'owns', pk: 'a', ttl: 10 })
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
  return container
}

const changes: Readonly<Record<string, readonly (number | null)[]>> = {
  'a longer default': [1000],
  'a shorter default': [1],
  'a default of -1': [-1],
  'no default': [null],
  'no default and then the old one': [null, 10],
  'no default and then a longer one': [null, 1000],
  'a shorter default and then a longer one': [5, 100_000],
  'a longer, no and a longer default again': [500, null, 2_147_483_647],
  '-1, none and -1': [-1, null, -1],
}

for (const [name, defaults] of Object.entries(changes)) {
  test(`Items that have died are not revived by ${name}`, async () => {
    const container = await threeItems(10)
    await clock.advance('10s')
    assert.deepEqual(await living(container), ['never'])
    for (const defaultTtl of defaults) {
      await setDefault(container, defaultTtl)
      assert.deepEqual(await living(container), ['never'])
      await clock.advance('1s')
      assert.deepEqual(await living(container), ['never'])
    }
    await server.db.purge()
    assert.deepEqual(await living(container), ['never'])
  })
}

test('A longer default before the deadline lets an item live longer', async () => {
  const container = await threeItems(10)
  await clock.advance('9s')
  await setDefault(container, 100)
  await clock.advance('1s')
  assert.deepEqual(await living(container), ['inherits', 'never'])
  await clock.advance('89s')
  assert.deepEqual(await living(container), ['inherits', 'never'])
  await clock.advance('1s')
  assert.deepEqual(await living(container), ['never'])
})

test('Disabling time to live before the deadline keeps an item alive', async () => {
  const container = await threeItems(10)
  await clock.advance('9s')
  await setDefault(container, null)
  await clock.advance('36500d')
  assert.deepEqual(await living(container), ['inherits', 'never', 'owns'])
})

test('A shorter default kills at once, and restoring the old one revives nothing', async () => {
  const container = await threeItems(1000)
  await clock.advance('9s')
  await setDefault(container, 9)
  assert.deepEqual(await living(container), ['never', 'owns'])
  await setDefault(container, 1000)
  assert.deepEqual(await living(container), ['never', 'owns'])
})

test('An item written after the change follows the new default; those that died before stay dead', async () => {
  const container = await threeItems(10)
  await clock.advance('10s')
  await setDefault(container, 100)
  await container.items.create({ id: 'late', pk: 'a' })
  assert.equal((await container.items.create({ id: 'inherits', pk: 'a' })).statusCode, 201)
  assert.deepEqual(idsOf(await readFeed(server, container)), ['inherits', 'late', 'never'])
  await clock.advance('99s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['inherits', 'late', 'never'])
  await clock.advance('1s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['never'])
})

test('The explanation of an item that died under an earlier setting says so', async () => {
  const container = await threeItems(10)
  await clock.advance('10s')
  await setDefault(container, null)
  const found = await server.db.ttl.explain(container.database.id, 'items', { id: 'inherits', partitionKey: 'a' })
  assert.equal(found.state, 'dead')
  assert.equal(found.rule, 'final')
})

/** Runs the same steps on a server with a data directory, with a restart between any two steps. */
async function reopened<T>(data: string, work: (db: Mayfly) => Promise<T>): Promise<T> {
  await using db = await mayfly({ clock: 'manual', data })
  return await work(db)
}

test('Restarts on a data directory revive nothing, lose nothing living and never turn the clock back', async () => {
  const data = temporaryDirectory()
  const open = <T>(work: (container: Container, db: Mayfly) => Promise<T>) =>
    reopened(data, db => work(testServer(db).client.database('shop').container('carts'), db))
  const ids = (container: Container) =>
    container.items
      .readAll<{ id: string }>()
      .fetchAll()
      .then(({ resources }) => idsOf(resources))

  const born = await reopened(data, async db => {
    const { database } = await testServer(db).client.databases.create({ id: 'shop' })
    const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 10 })
    for (const id of ['1', '2']) await container.items.create({ id, pk: 'a' })
    await container.items.create({ id: 'own', pk: 'a', ttl: 20 })
    await container.items.create({ id: 'never', pk: 'a', ttl: -1 })
    return db.clock.now()
  })
  await open(async (container, db) => {
    assert.ok(db.clock.now() >= born)
    assert.deepEqual(await ids(container), ['1', '2', 'never', 'own'])
    await db.clock.set(born + 10)
    assert.deepEqual(await ids(container), ['never', 'own'])
  })
  await open(async (container, db) => {
    assert.ok(db.clock.now() >= born + 10, 'the clock goes on where it stood')
    assert.deepEqual(await ids(container), ['never', 'own'])
    await setDefault(container, 100_000)
    assert.deepEqual(await ids(container), ['never', 'own'])
  })
  await open(async (container, db) => {
    assert.deepEqual(await ids(container), ['never', 'own'])
    await setDefault(container, null)
    await db.clock.set(born + 30)
    assert.deepEqual(await ids(container), ['never', 'own'])
  })
  await open(async container => {
    await setDefault(container, -1)
    assert.deepEqual(await ids(container), ['never'])
    await setDefault(container, null)
  })
  await open(async container => {
    assert.deepEqual(await ids(container), ['never'])
    const { statusCode } = await container.items.create({ id: 'own', pk: 'a', ttl: 5 })
    assert.equal(statusCode, 201)
  })
  await open(async container => assert.deepEqual(await ids(container), ['never', 'own']))
})
