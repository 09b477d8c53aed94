/** What restarts the life of an item, what does not, and how its ttl can be changed. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, ItemDefinition } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const { clock } = server.db

/** A container with a default of 10 s and an item in it that is nine seconds old. */
async function nineSecondsOld(ttl?: number): Promise<Container> {
  const container = await server.newContainer({ defaultTtl: 10 })
  await container.items.create({ id: 'one', pk: 'a', ...(ttl === undefined ? {} : { ttl }) })
  await clock.advance('9s')
  return container
}

const isAlive = async (container: Container) => (await container.item('one', 'a').read()).statusCode === 200

/** Asserts that the item lives this long from now on and no second longer. */
async function assertLives(container: Container, seconds: number): Promise<void> {
  await clock.advance(`${seconds - 1}s`)
  assert.equal(await isAlive(container), true, `alive ${seconds - 1} s later`)
  await clock.advance('1s')
  assert.equal(await isAlive(container), false, `dead ${seconds} s later`)
}

const item = { id: 'one', pk: 'a' }

const writes: Readonly<Record<string, (container: Container) => Promise<unknown>>> = {
  'a replace': container => container.item('one', 'a').replace(item),
  'an upsert': container => container.items.upsert(item),
  'a replace with the same body': async container => {
    const { resource } = await container.item('one', 'a').read<ItemDefinition>()
    await container.item('one', 'a').replace(resource!)
  },
  'a replace with the right etag': async container => {
    const { etag } = await container.item('one', 'a').read()
    await container.item('one', 'a').replace(item, { accessCondition: { type: 'IfMatch', condition: etag } })
  },
  'a delete and a create': async container => {
    await container.item('one', 'a').delete()
    await container.items.create(item)
  },
}

for (const [name, write] of Object.entries(writes)) {
  test(`The life of an item starts again with ${name}`, async () => {
    const container = await nineSecondsOld()
    await write(container)
    const { resource } = await container.item('one', 'a').read()
    assert.equal(resource?._ts, clock.now())
    await assertLives(container, 10)
  })
}

const raw = (container: Container, method: string, body: unknown, headers: Record<string, string> = {}) =>
  server.send({
    method,
    path: method === 'PUT' ? pathOf(container, 'docs', 'one') : pathOf(container, 'docs'),
    headers: { 'x-ms-documentdb-partitionkey': '["a"]', ...headers },
    body,
  })

const status = async (answer: Promise<{ status: number }>) => (await answer).status

const nonWrites: Readonly<Record<string, [expected: number, attempt: (container: Container) => Promise<number>]>> = {
  'a read': [200, async container => (await container.item('one', 'a').read()).statusCode],
  'a read that finds it unchanged (304)': [
    304,
    async container => {
      const { etag } = await container.item('one', 'a').read()
      const headers = { 'if-none-match': etag, 'x-ms-documentdb-partitionkey': '["a"]' }
      return status(server.send({ path: pathOf(container, 'docs', 'one'), headers }))
    },
  ],
  'a feed': [200, async container => status(server.send({ path: pathOf(container, 'docs') }))],
  'an explanation': [
    200,
    async container =>
      status(server.admin('GET', `ttl/${container.database.id}/items/explain?id=one&partitionKey=["a"]`)),
  ],
  'a create of its id (409)': [409, container => failureOf(container.items.create(item))],
  'a replace with another etag (412)': [
    412,
    container => status(raw(container, 'PUT', item, { 'if-match': '"00000000-0000-0000-0000-000000000001"' })),
  ],
  'an upsert with another etag (412)': [
    412,
    container => {
      const headers = { 'x-ms-documentdb-is-upsert': 'true', 'if-match': '"not-an-etag-of-ours"' }
      return status(raw(container, 'POST', item, headers))
    },
  ],
  'a delete with another etag (412)': [
    412,
    container => {
      const headers = { 'x-ms-documentdb-partitionkey': '["a"]', 'if-match': '"x"' }
      return status(server.send({ method: 'DELETE', path: pathOf(container, 'docs', 'one'), headers }))
    },
  ],
  'a replace with a ttl of 0 (400)': [400, container => status(raw(container, 'PUT', { ...item, ttl: 0 }))],
  'an upsert with a malformed body (400)': [
    400,
    container => status(raw(container, 'POST', '{"id":"one","pk":', { 'x-ms-documentdb-is-upsert': 'true' })),
  ],
  'a replace with another partition key (400)': [
    400,
    container => status(raw(container, 'PUT', { ...item, pk: 'other' })),
  ],
  'a change of the container': [
    200,
    async container => (await container.replace((await container.read()).resource!)).statusCode,
  ],
}

for (const [name, [expected, attempt]] of Object.entries(nonWrites)) {
  test(`The life of an item is not touched by ${name}`, async () => {
    const container = await nineSecondsOld()
    const before = (await container.item('one', 'a').read()).resource
    assert.equal(await attempt(container), expected)
    assert.deepEqual((await container.item('one', 'a').read()).resource, before)
    await assertLives(container, 1)
  })
}

test('A write to one item does not change the lifespan of its neighbours', async () => {
  const container = await nineSecondsOld()
  await container.items.create({ id: 'two', pk: 'a' })
  await container.items.create({ id: 'one', pk: 'b' })
  await assertLives(container, 1)
})

test('A replace can give an item a ttl of its own, longer or shorter than the default', async () => {
  for (const ttl of [3, 50]) {
    const container = await nineSecondsOld()
    const { resource } = await container.item('one', 'a').replace({ ...item, ttl })
    assert.equal(resource?.ttl, ttl)
    await assertLives(container, ttl)
  }
})

test('A replace can change the ttl of an item', async () => {
  const container = await nineSecondsOld(20)
  await container.item('one', 'a').replace({ ...item, ttl: 7 })
  await assertLives(container, 7)
})

test('A replace without ttl makes an item inherit again', async () => {
  const container = await nineSecondsOld(500)
  const { resource } = await container.item('one', 'a').replace(item)
  assert.equal('ttl' in resource!, false)
  await assertLives(container, 10)
})

test('An upsert without ttl makes an item inherit again', async () => {
  const container = await nineSecondsOld(-1)
  await container.items.upsert(item)
  await assertLives(container, 10)
})

test('An item with a ttl of -1 never dies; without it the item is mortal again', async () => {
  const container = await nineSecondsOld()
  await container.item('one', 'a').replace({ ...item, ttl: -1 })
  await clock.advance('36500d')
  assert.equal(await isAlive(container), true)
  await container.item('one', 'a').replace(item)
  await assertLives(container, 10)
})

test('A ttl of null counts as absent and is returned as it was written', async () => {
  const container = await server.newContainer({ defaultTtl: 10 })
  const { status: created, json } = await raw(container, 'POST', { ...item, ttl: null })
  assert.equal(created, 201)
  assert.equal(json.ttl, null)
  await assertLives(container, 10)
})

test('Every write restarts the life of an item, however many there are', async () => {
  const container = await server.newContainer({ defaultTtl: 2 })
  for (let at = 0; at < 20; at++) {
    const { statusCode } = await container.items.upsert({ ...item, at })
    assert.equal(statusCode, at === 0 ? 201 : 200)
    await clock.advance('1s')
  }
  await assertLives(container, 1)
})
