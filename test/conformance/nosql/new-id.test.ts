/** Replaces that give an item another id, within its partition key. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { BulkOperationType, type Container } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { idsOf, pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

async function idsIn(container: Container): Promise<string[]> {
  return idsOf((await container.items.readAll<{ id: string }>().fetchAll()).resources)
}

test('A replace may change the id, and the item lives on under the new one only', async () => {
  const container = await server.newContainer({
    defaultTtl: -1,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
  })
  await container.items.create({ id: 'old', pk: 'x', email: 'e', n: 1 })
  const { resource, statusCode } = await container
    .item('old', 'x')
    .replace({ id: 'new', pk: 'x', email: 'e', n: 2, ttl: 20 })
  assert.equal(statusCode, 200)
  assert.deepEqual([resource?.id, resource?.n], ['new', 2])
  assert.equal((await container.item('old', 'x').read()).statusCode, 404)
  assert.equal((await container.item('new', 'x').read()).resource.n, 2)
  await server.db.clock.advance('20s')
  assert.deepEqual(await idsIn(container), [])
})

test('It needs the old item, its etag, and a new id that is free', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const { resource: one } = await container.items.create({ id: 'one', pk: 'x' })
  await container.items.create({ id: 'two', pk: 'x' })
  await container.items.create({ id: 'dead', pk: 'x', ttl: 5 })
  const rename = (from: string, to: string, etag?: string) =>
    container
      .item(from, 'x')
      .replace({ id: to, pk: 'x' }, etag === undefined ? {} : { accessCondition: { type: 'IfMatch', condition: etag } })
  assert.equal(await failureOf(rename('none', 'three')), 404)
  assert.equal(await failureOf(rename('one', 'two')), 409)
  assert.equal(await failureOf(rename('two', 'three', one!._etag)), 412)
  assert.deepEqual(await idsIn(container), ['dead', 'one', 'two'])
  await server.db.clock.advance('5s')
  assert.equal(await failureOf(rename('dead', 'three')), 404)
  assert.equal((await rename('one', 'dead', one!._etag)).statusCode, 200, 'the id of a dead item is free')
  assert.equal(await failureOf(container.item('two', 'x').replace({ id: 'four', pk: 'y' })), 400)
  assert.deepEqual(await idsIn(container), ['dead', 'two'])
})

test('So it is in batches and bulk requests', async () => {
  const container = await server.newContainer()
  for (const id of ['a', 'b', 'c']) await container.items.create({ id, pk: 'x' })
  const { result, code } = await container.items.batch(
    [
      { operationType: BulkOperationType.Replace, id: 'a', resourceBody: { id: 'A', pk: 'x' } },
      { operationType: BulkOperationType.Read, id: 'A' },
      { operationType: BulkOperationType.Create, resourceBody: { id: 'a', pk: 'x' } },
    ],
    'x',
  )
  assert.equal(code, 200)
  assert.deepEqual(
    result!.map(({ statusCode }) => statusCode),
    [200, 200, 201],
  )
  const refused = await container.items.batch(
    [
      { operationType: BulkOperationType.Replace, id: 'b', resourceBody: { id: 'B', pk: 'x' } },
      { operationType: BulkOperationType.Replace, id: 'c', resourceBody: { id: 'A', pk: 'x' } },
      { operationType: BulkOperationType.Read, id: 'A' },
    ],
    'x',
  )
  assert.deepEqual(
    refused.result!.map(({ statusCode }) => statusCode),
    [424, 409, 424],
  )
  const bulk = await container.items.executeBulkOperations([
    { operationType: 'Replace', partitionKey: 'x', id: 'b', resourceBody: { id: 'B', pk: 'x' } },
    { operationType: 'Replace', partitionKey: 'x', id: 'B', resourceBody: { id: 'BB', pk: 'x' } },
  ])
  assert.deepEqual(
    bulk.map(({ response }) => response?.statusCode),
    [200, 200],
  )
  assert.deepEqual(await idsIn(container), ['A', 'BB', 'a', 'c'])
})

test('So it is in scripts and with triggers', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'one', pk: 'x', n: 1 })
  const body = `function () {
    const link = getContext().getCollection().getAltLink()
    const done = (error, item) => { if (error) throw error; getContext().getResponse().setBody(item.id) }
    getContext().getCollection().replaceDocument(link + '/docs/one', { id: 'two', pk: 'x' }, done)
  }`
  await container.scripts.storedProcedures.create({ id: 'p', body })
  assert.equal((await container.scripts.storedProcedure('p').execute('x')).resource, 'two')
  await container.scripts.triggers.create({
    id: 't',
    body: 'function () {}',
    triggerOperation: 'all' as never,
    triggerType: 'pre' as never,
  })
  const headers = { 'x-ms-documentdb-partitionkey': '["x"]', 'x-ms-documentdb-pre-trigger-include': 't' }
  const path = pathOf(container, 'docs', 'two')
  const replaced = await server.send({ method: 'PUT', path, headers, body: { id: 'three', pk: 'x' } })
  assert.equal(replaced.status, 200)
  assert.deepEqual(await idsIn(container), ['three'])
})

test('The item has a new _rid, unlike in the service (INFERRED)', async () => {
  const container = await server.newContainer()
  const { resource: old } = await container.items.create({ id: 'old', pk: 'x' })
  const { resource: renamed } = await container.item('old', 'x').replace({ id: 'new', pk: 'x' })
  assert.notEqual(renamed!._rid, old!._rid)
  const headers = { 'x-ms-documentdb-partitionkey': '["x"]' }
  const byRid = (rid: string) => server.send({ path: pathOf(container, 'docs', rid), headers })
  assert.equal((await byRid(old!._rid)).status, 404)
  assert.equal((await byRid(renamed!._rid)).json.id, 'new')
})
