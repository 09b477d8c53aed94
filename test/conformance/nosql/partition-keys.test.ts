/**
 * Items with partition keys of every kind: values, paths, hierarchies, no key, and containers from before
 * partition keys existed.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type PartitionKey, PartitionKeyBuilder } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

test('The same id in two partitions is two items', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const first = await container.items.create({ id: 'one', pk: 'a', v: 1, ttl: 10 })
  const second = await container.items.create({ id: 'one', pk: 'b', v: 2 })
  assert.notEqual(first.resource?._rid, second.resource?._rid)
  assert.equal((await container.item('one', 'a').read()).resource?.v, 1)
  assert.equal((await container.item('one', 'b').read()).resource?.v, 2)
  assert.equal((await readFeed(server, container)).length, 2)
  await server.db.clock.advance('10s')
  assert.equal((await container.item('one', 'a').read()).statusCode, 404)
  assert.equal((await container.item('one', 'b').read()).statusCode, 200)
  await container.item('one', 'b').delete()
  assert.equal((await readFeed(server, container)).length, 0)
})

const values: Readonly<Record<string, PartitionKey | undefined>> = {
  'an empty string': '',
  'a string of many scripts': 'Ünïcødé 日本語 🪰 "quoted" \\ \n',
  'the string 1': '1',
  'the number 1': 1,
  'a fraction': -0.5,
  'the largest number': Number.MAX_VALUE,
  zero: 0,
  true: true,
  false: false,
  null: null as never,
  'no value': undefined,
}

for (const version of [1, 2] as const) {
  test(`Every kind of value is a partition of its own, with keys of version ${version}`, async () => {
    const container = await server.newContainer({
      partitionKey: { paths: ['/pk'], version } as never,
      throughput: 20_000,
    })
    for (const [name, pk] of Object.entries(values)) {
      const { statusCode } = await container.items.create({ id: 'same', ...(pk === undefined ? {} : { pk }), name })
      assert.equal(statusCode, 201, name)
    }
    for (const [name, pk] of Object.entries(values)) {
      const { resource } = await container.item('same', pk).read()
      assert.equal(resource?.name, name)
    }
    assert.equal((await readFeed(server, container, { pageSize: 3 })).length, Object.keys(values).length)
  })
}

test('The path of a partition key may be nested and quoted', async () => {
  const nested = await server.newContainer({ partitionKey: '/address/city' })
  await nested.items.create({ id: '1', address: { city: 'Bern' } })
  assert.equal((await nested.item('1', 'Bern').read()).statusCode, 200)
  assert.equal((await nested.item('1', 'Basel').read()).statusCode, 404)
  const quoted = await server.newContainer({ partitionKey: '/"post code"' })
  await quoted.items.create({ id: '1', 'post code': '3000' })
  assert.equal((await quoted.item('1', '3000').read()).statusCode, 200)
})

test('A hierarchical key addresses an item by all its levels', async () => {
  const partitionKey = { paths: ['/tenant', '/user', '/session'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey, throughput: 20_000, defaultTtl: 100 })
  const key = (...levels: string[]) =>
    levels.reduce((built, level) => built.addValue(level), new PartitionKeyBuilder()).build()
  for (const tenant of ['t1', 't2']) {
    for (const user of ['u1', 'u2']) {
      for (const session of ['s1', 's2']) await container.items.create({ id: 'same', tenant, user, session })
    }
  }
  const { resource } = await container.item('same', key('t2', 'u1', 's2')).read()
  assert.deepEqual([resource?.tenant, resource?.user, resource?.session], ['t2', 'u1', 's2'])
  assert.equal((await container.item('same', key('t2', 'u1', 's3')).read()).statusCode, 404)
  assert.equal((await readFeed(server, container)).length, 8)
  const replaced = { id: 'same', tenant: 't2', user: 'u1', session: 's2', v: 2 }
  assert.equal((await container.item('same', key('t2', 'u1', 's2')).replace(replaced)).statusCode, 200)
  assert.equal((await container.item('same', key('t2', 'u1', 's2')).delete()).statusCode, 204)
  assert.equal((await readFeed(server, container)).length, 7)
  await server.db.clock.advance('100s')
  assert.equal((await readFeed(server, container)).length, 0)
})

test('An item may lack some levels of a hierarchical key', async () => {
  const partitionKey = { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey })
  const { statusCode } = await container.items.create({ id: '1', tenant: 't' })
  assert.equal(statusCode, 201)
  const key = new PartitionKeyBuilder().addValue('t').addNoneValue().build()
  assert.equal((await container.item('1', key).read()).statusCode, 200)
})

test('A container that the SDK creates without a partition key keeps all its items in one partition', async () => {
  const database = await server.newDatabase()
  const { container, resource } = await database.containers.create({ id: 'plain' })
  assert.deepEqual(resource?.partitionKey?.paths, ['/_partitionKey'])
  await container.items.create({ id: '1' })
  assert.equal((await container.item('1', undefined).read()).statusCode, 200)
  assert.equal(await failureOf(container.items.create({ id: '1' })), 409)
})

/** Creates a container as old clients did: an old version of the protocol and no partition key. */
async function legacyContainer() {
  const database = await server.newDatabase()
  const made = await server.send({
    method: 'POST',
    path: `/dbs/${database.id}/colls`,
    headers: { 'x-ms-version': '2018-06-18' },
    body: { id: 'legacy', defaultTtl: 100 },
  })
  assert.equal(made.status, 201, made.text)
  return { container: database.container('legacy'), definition: made.json }
}

test('A container from before partition keys has a system key, and the SDK works with it', async () => {
  const { container, definition } = await legacyContainer()
  assert.deepEqual(definition.partitionKey, { paths: ['/_partitionKey'], kind: 'Hash', systemKey: true })
  assert.equal((await container.items.create({ id: '1', v: 1 })).statusCode, 201)
  assert.equal((await container.item('1').read()).resource?.v, 1)
  assert.equal((await container.item('1').replace({ id: '1', v: 2 })).resource?.v, 2)
  assert.equal((await container.items.upsert({ id: '2' })).statusCode, 201)
  assert.deepEqual(idsOf(await readFeed(server, container)), ['1', '2'])
  assert.equal((await container.item('2').delete()).statusCode, 204)
  await server.db.clock.advance('100s')
  assert.equal((await container.item('1').read()).statusCode, 404)
})

test('A container from before partition keys serves clients that send no partition key', async () => {
  const { container } = await legacyContainer()
  const headers = { 'x-ms-version': '2018-06-18' }
  const path = pathOf(container, 'docs')
  assert.equal((await server.send({ method: 'POST', path, headers, body: { id: '1' } })).status, 201)
  assert.equal((await server.send({ path: `${path}/1`, headers })).json.id, '1')
  assert.equal((await server.send({ method: 'PUT', path: `${path}/1`, headers, body: { id: '1', v: 2 } })).status, 200)
  assert.equal((await container.item('1').read()).resource?.v, 2, 'it is the item that newer clients see')
  assert.equal((await server.send({ method: 'DELETE', path: `${path}/1`, headers })).status, 204)
})

test('A container from before partition keys accepts patches, batches, bulk requests and its deletion', async () => {
  const { container } = await legacyContainer()
  await container.items.create({ id: '1', v: 1, ttl: 10 })
  assert.equal((await container.item('1').patch([{ op: 'incr', path: '/v', value: 1 }])).resource?.v, 2)
  const batch = await container.items.batch([
    { operationType: 'Create', resourceBody: { id: '2' } },
    { operationType: 'Read', id: '1' },
  ])
  assert.equal(batch.code, 200)
  const bulk = await container.items.bulk([{ operationType: 'Upsert', resourceBody: { id: '3' } }])
  assert.equal(bulk[0]?.statusCode, 201)
  await server.db.clock.advance('10s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['2', '3'])
  const unique = { operationType: 'Replace', id: '1', resourceBody: { id: '1' } } as const
  assert.equal((await container.items.batch([unique])).result?.[0]?.statusCode, 404)
})

test('The current version of the protocol refuses a container without a partition key', async () => {
  const database = await server.newDatabase()
  const { status } = await server.send({ method: 'POST', path: `/dbs/${database.id}/colls`, body: { id: 'x' } })
  assert.equal(status, 400)
})
