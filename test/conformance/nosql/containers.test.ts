/**
 * Containers through the SDK: created, read, replaced, listed and deleted, with every setting of the default
 * TTL.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, ContainerDefinition } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

const ninetyDays = 90 * 86_400

async function newOrders(defaultTtl?: number): Promise<Container> {
  const database = await server.newDatabase()
  const { statusCode, container } = await database.containers.create({
    id: 'orders',
    partitionKey: '/customerId',
    throughput: 20_000,
    ...(defaultTtl === undefined ? {} : { defaultTtl }),
  })
  assert.equal(statusCode, 201)
  return container
}

async function definitionOf(container: Container): Promise<ContainerDefinition & { _etag: string; _ts: number }> {
  return (await container.read()).resource!
}

async function replaceTtl(container: Container, defaultTtl: number | null | undefined): Promise<ContainerDefinition> {
  const { defaultTtl: _, ...rest } = await definitionOf(container)
  const definition = (defaultTtl === undefined ? rest : { ...rest, defaultTtl }) as ContainerDefinition
  const { statusCode, resource } = await container.replace(definition)
  assert.equal(statusCode, 200)
  return resource!
}

for (const [name, defaultTtl] of [
  ['-1', -1],
  ['90 days', ninetyDays],
] as const) {
  test(`A container with a default TTL of ${name} keeps it when created, read and listed`, async () => {
    const container = await newOrders(defaultTtl)
    const resource = await definitionOf(container)
    assert.equal(resource.id, 'orders')
    assert.equal(resource.defaultTtl, defaultTtl)
    assert.deepEqual(resource.partitionKey?.paths, ['/customerId'])
    const { resources } = await container.database.containers.readAll().fetchAll()
    assert.deepEqual(
      resources.map(each => [each.id, each.defaultTtl]),
      [['orders', defaultTtl]],
    )
  })
}

test('A container created without a default TTL does not have the property', async () => {
  const container = await newOrders()
  assert.equal('defaultTtl' in (await definitionOf(container)), false)
})

test('A container created with a null default TTL has no default', async () => {
  const database = await server.newDatabase()
  const answer = await server.send({
    method: 'POST',
    path: `/dbs/${database.id}/colls`,
    body: { id: 'orders', partitionKey: { paths: ['/customerId'] }, defaultTtl: null },
  })
  assert.equal(answer.status, 201)
  assert.equal('defaultTtl' in answer.json, false)
})

test('A default TTL can be replaced, disabled by leaving it out, and enabled again', async () => {
  const container = await newOrders(-1)
  assert.equal((await replaceTtl(container, ninetyDays)).defaultTtl, ninetyDays)
  assert.equal((await definitionOf(container)).defaultTtl, ninetyDays)
  assert.equal('defaultTtl' in (await replaceTtl(container, undefined)), false)
  assert.equal('defaultTtl' in (await definitionOf(container)), false)
  assert.equal((await replaceTtl(container, -1)).defaultTtl, -1)
  assert.equal((await definitionOf(container)).defaultTtl, -1)
})

test('A default TTL can be disabled with null and enabled again', async () => {
  const container = await newOrders(ninetyDays)
  assert.equal('defaultTtl' in (await replaceTtl(container, null)), false)
  assert.equal('defaultTtl' in (await definitionOf(container)), false)
  assert.equal((await replaceTtl(container, ninetyDays)).defaultTtl, ninetyDays)
})

test('The largest default TTL is 2147483647 seconds', async () => {
  const container = await newOrders(2_147_483_647)
  assert.equal((await definitionOf(container)).defaultTtl, 2_147_483_647)
})

test('A replace gives the container a new etag and time, and keeps its resource id', async () => {
  const container = await newOrders(-1)
  const before = (await container.read()).resource!
  await server.db.clock.advance('7s')
  const after = (await replaceTtl(container, ninetyDays)) as typeof before
  assert.notEqual(after._etag, before._etag)
  assert.equal(after._ts, before._ts + 7)
  assert.equal(after._rid, before._rid)
  assert.equal(after._self, before._self)
})

test('A replace with the etag of an older definition is refused and changes nothing', async () => {
  const container = await newOrders(-1)
  const first = await definitionOf(container)
  await replaceTtl(container, 50)
  const { status } = await server.send({
    method: 'PUT',
    path: pathOf(container),
    headers: { 'if-match': first._etag },
    body: { ...first, defaultTtl: 60 },
  })
  assert.equal(status, 412)
  assert.equal((await definitionOf(container)).defaultTtl, 50)
})

test('Creating a container with a taken name is a conflict, and createIfNotExists finds the existing one', async () => {
  const container = await newOrders(77)
  const { database } = container
  const definition = { id: 'orders', partitionKey: '/customerId' }
  assert.equal(await failureOf(database.containers.create(definition)), 409)
  const found = await database.containers.createIfNotExists({ ...definition, defaultTtl: 5 })
  assert.equal(found.statusCode, 200)
  assert.equal(found.resource?.defaultTtl, 77)
  const made = await database.containers.createIfNotExists({ ...definition, id: 'others', defaultTtl: 5 })
  assert.equal(made.statusCode, 201)
  assert.equal(made.resource?.defaultTtl, 5)
})

test('A deleted container is gone, and its name can be used again for an empty one', async () => {
  const container = await newOrders(-1)
  const { _rid } = (await container.read()).resource!
  await container.items.create({ id: '1', customerId: 'a' })
  assert.equal((await container.delete()).statusCode, 204)
  assert.equal(await failureOf(container.read()), 404)
  assert.equal(await failureOf(container.delete()), 404)
  const { database } = container
  const again = await database.containers.create({ id: 'orders', partitionKey: '/customerId' })
  assert.notEqual(again.resource?._rid, _rid)
  assert.equal((await again.container.item('1', 'a').read()).statusCode, 404)
})

test('Containers are listed in pages, each once, in the order of their creation', async () => {
  const database = await server.newDatabase()
  const ids = ['one', 'two', 'three', 'four', 'five']
  for (const id of ids) await database.containers.create({ id, partitionKey: '/pk' })
  const iterator = database.containers.readAll({ maxItemCount: 2 })
  const pages: string[][] = []
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext()
    if (resources !== undefined) pages.push(resources.map(({ id }) => id))
  }
  assert.deepEqual(pages, [['one', 'two'], ['three', 'four'], ['five']])
})

test('A continuation of one list is refused by another', async () => {
  const [database, other] = [await server.newDatabase(), await server.newDatabase()]
  for (const id of ['one', 'two']) {
    await database.containers.create({ id, partitionKey: '/pk' })
    await other.containers.create({ id, partitionKey: '/pk' })
  }
  const page = await server.send({ path: `/dbs/${database.id}/colls`, headers: { 'x-ms-max-item-count': '1' } })
  const token = page.headers['x-ms-continuation'] as string
  assert.ok(token.length > 0)
  const stolen = await server.send({ path: `/dbs/${other.id}/colls`, headers: { 'x-ms-continuation': token } })
  assert.equal(stolen.status, 400)
  assert.match(stolen.json.message, /Invalid Continuation Token/)
})

test('A deleted database takes its containers with it', async () => {
  const container = await newOrders(-1)
  const { database } = container
  assert.equal((await database.delete()).statusCode, 204)
  assert.equal(await failureOf(database.read()), 404)
  await server.client.databases.create({ id: database.id })
  assert.equal(await failureOf(container.read()), 404)
})

test('Databases are listed, found by createIfNotExists, and a taken name is a conflict', async () => {
  const database = await server.newDatabase()
  const { resources } = await server.client.databases.readAll().fetchAll()
  assert.ok(resources.some(({ id }) => id === database.id))
  assert.equal((await server.client.databases.createIfNotExists({ id: database.id })).statusCode, 200)
  assert.equal(await failureOf(server.client.databases.create({ id: database.id })), 409)
})

test('A replace cannot change the id or the partition key of a container', async () => {
  const container = await newOrders(-1)
  const current = await definitionOf(container)
  const attempts = [
    { ...current, id: 'others' },
    { ...current, partitionKey: { ...current.partitionKey!, paths: ['/other'] } },
  ]
  for (const body of attempts) {
    assert.equal((await server.send({ method: 'PUT', path: pathOf(container), body })).status, 400)
  }
  assert.deepEqual(await definitionOf(container), current)
})
