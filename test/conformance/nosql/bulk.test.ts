/** Bulk requests: many independent operations in one request, over all partitions. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { OperationInput } from '@azure/cosmos'
import { newClient, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

const manyPartitions = { throughput: 30_000 }

const create = (id: string, pk: unknown, more = {}): OperationInput =>
  ({ operationType: 'Create', partitionKey: pk, resourceBody: { id, pk, ...more } }) as OperationInput

test('The bulk executor of the SDK runs over several partitions and answers in the order of its input', async () => {
  const container = await server.newContainer(manyPartitions)
  const count = 500
  const made = await container.items.executeBulkOperations(
    Array.from({ length: count }, (_, n) => create(String(n), `p${n % 37}`, { n })),
  )
  assert.deepEqual([...new Set(made.map(({ response }) => response?.statusCode))], [201])
  assert.deepEqual(
    made.map(({ response }) => response?.resourceBody?.n),
    Array.from({ length: count }, (_, n) => n),
  )
  assert.equal((await readFeed(server, container, { pageSize: 100 })).length, count)
  const mixed = await container.items.bulk([
    { operationType: 'Read', id: '1', partitionKey: 'p1' },
    { operationType: 'Upsert', partitionKey: 'p2', resourceBody: { id: '2', pk: 'p2', v: 2 } },
    { operationType: 'Replace', id: '3', partitionKey: 'p3', resourceBody: { id: '3', pk: 'p3', v: 3 } },
    { operationType: 'Patch', id: '4', partitionKey: 'p4', resourceBody: [{ op: 'set', path: '/v', value: 4 }] },
    { operationType: 'Delete', id: '5', partitionKey: 'p5' },
    { operationType: 'Upsert', partitionKey: 'new', resourceBody: { id: 'new', pk: 'new' } },
  ] as OperationInput[])
  assert.deepEqual(
    mixed.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200, 204, 201],
  )
  assert.deepEqual(
    mixed.map(({ resourceBody }) => resourceBody?.v),
    [undefined, 2, 3, 4, undefined, undefined],
  )
})

test('An operation that fails does not affect the others', async () => {
  const container = await server.newContainer({ ...manyPartitions, defaultTtl: -1 })
  await container.items.create({ id: 'one', pk: 'a', ttl: 10 })
  await container.items.create({ id: 'dead', pk: 'a', ttl: 5 })
  await server.db.clock.advance('5s')
  const results = await container.items.bulk([
    create('one', 'a'),
    create('bad', 'a', { ttl: -10 }),
    { operationType: 'Delete', id: 'none', partitionKey: 'b' },
    { operationType: 'Replace', id: 'dead', partitionKey: 'a', resourceBody: { id: 'dead', pk: 'a' } },
    {
      operationType: 'Patch',
      id: 'one',
      partitionKey: 'a',
      ifMatch: '"x"',
      resourceBody: [{ op: 'set', path: '/v', value: 1 }],
    },
    create('mismatch', 'a', { pk: 'b' }),
    create('good', 'a'),
  ] as OperationInput[])
  assert.deepEqual(
    results.map(({ statusCode }) => statusCode),
    [409, 400, 404, 404, 412, 400, 201],
  )
  assert.match((results[1] as { message?: string }).message!, /^The input ttl '-10' is invalid/)
  assert.equal((results[5] as { subStatusCode?: number }).subStatusCode, 1001)
  assert.equal((await container.item('good', 'a').read()).statusCode, 200)
})

test('Operations on one item run in the order of the request', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a', n: 0 })
  const incr = {
    operationType: 'Patch',
    id: '1',
    partitionKey: 'a',
    resourceBody: [{ op: 'incr', path: '/n', value: 1 }],
  }
  const read = { operationType: 'Read', id: '1', partitionKey: 'a' }
  const remove = { operationType: 'Delete', id: '1', partitionKey: 'a' }
  const operations = [incr, read, incr, read, remove, read, create('1', 'a', { n: 9 }), read] as OperationInput[]
  const results = await container.items.bulk(operations)
  assert.deepEqual(
    results.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200, 204, 404, 201, 200],
  )
  assert.deepEqual(
    results.map(({ resourceBody }) => resourceBody?.n),
    [1, 1, 2, 2, undefined, undefined, 9, 9],
  )
})

test('A bulk request may stop at the first failure: later operations get 424, earlier ones stay', async () => {
  const container = await server.newContainer()
  const operations = [create('1', 'a'), create('2', 'a', { ttl: 0 }), create('3', 'a')]
  const results = await container.items.bulk(operations, { continueOnError: false })
  assert.deepEqual(
    results.map(({ statusCode }) => statusCode),
    [201, 400, 424],
  )
  assert.equal((await container.item('1', 'a').read()).statusCode, 200)
  assert.equal((await container.item('3', 'a').read()).statusCode, 404)
})

test('Partition keys of every kind reach their items', async () => {
  const container = await server.newContainer(manyPartitions)
  const keys = ['', 'x', 0, -1.5, true, false, null]
  const results = await container.items.bulk(keys.map((pk, n) => create(String(n), pk)))
  assert.deepEqual([...new Set(results.map(({ statusCode }) => statusCode))], [201])
  const reads = keys.map((partitionKey, n) => ({ operationType: 'Read', id: String(n), partitionKey }))
  const read = await container.items.bulk(reads as OperationInput[])
  assert.deepEqual(
    read.map(({ resourceBody }) => resourceBody?.pk),
    keys,
  )
  const none = await container.items.bulk([{ operationType: 'Create', resourceBody: { id: 'none' } }])
  assert.equal(none[0]?.statusCode, 201)
  const found = await container.items.bulk([{ operationType: 'Read', id: 'none', partitionKey: undefined }] as never)
  assert.equal(found[0]?.statusCode, 200)
})

test('Hierarchical partition keys reach their items', async () => {
  const partitionKey = { paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey, ...manyPartitions })
  const operations = Array.from({ length: 50 }, (_, n) => ({
    operationType: 'Create',
    partitionKey: [`a${n % 3}`, n % 5, n % 2 === 0],
    resourceBody: { id: String(n), a: `a${n % 3}`, b: n % 5, c: n % 2 === 0 },
  }))
  const results = await container.items.bulk(operations as OperationInput[])
  assert.deepEqual([...new Set(results.map(({ statusCode }) => statusCode))], [201])
})

test('Without content on write, answers have no bodies', async () => {
  const container = await server.newContainer()
  const options = { contentResponseOnWriteEnabled: false }
  const [made] = await container.items.bulk([create('1', 'a')], {}, options as never)
  assert.equal(made?.statusCode, 201)
  assert.equal(made?.resourceBody, undefined)
  assert.ok(made?.eTag)
})

test('Bulk requests of other clients: a key in the header, a stale range, operations without a key', async () => {
  const container = await server.newContainer()
  const send = (headers: Record<string, string>, body: unknown) =>
    server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'False', ...headers },
      body,
    })
  const body = [{ operationType: 'Create', resourceBody: { id: '1', pk: 'a' } }]
  const byHeader = await send(
    { 'x-ms-documentdb-partitionkey': '["a"]', 'x-ms-cosmos-batch-continue-on-error': 'True' },
    body,
  )
  assert.equal(byHeader.status, 200, byHeader.text)
  const again = await send({ 'x-ms-documentdb-partitionkey': '["a"]' }, body)
  assert.equal(again.status, 207)
  assert.equal(again.json[0].statusCode, 409)
  const gone = await send({ 'x-ms-documentdb-partitionkeyrangeid': '7' }, body)
  assert.equal(gone.status, 410)
  assert.equal(gone.headers['x-ms-substatus'], '1002')
  const without = await send({ 'x-ms-documentdb-partitionkeyrangeid': '0' }, body)
  assert.equal(without.json[0].statusCode, 400)
  const broken = await send({ 'x-ms-documentdb-partitionkeyrangeid': '0' }, [{ ...body[0], partitionKey: '["a"' }])
  assert.equal(broken.json[0].statusCode, 400)
})

test('A bulk request larger than the service takes is a 413', async () => {
  const container = await server.newContainer()
  const large = [create('1', 'a', { text: 'x'.repeat(2_400_000) })]
  await assert.rejects(container.items.bulk(large), {
    message: /Message: \{"Errors":\["Request size is too large"\]\}\r\n/,
  })
})

test('An operation beyond the throughput gets a 429 of its own', async () => {
  const limited = await startServer({ rateLimit: true })
  const container = await limited.newContainer({ throughput: 400 })
  const results = await newClient(limited.db)
    .database(container.database.id)
    .container('items')
    .items.bulk(Array.from({ length: 100 }, (_, n) => create(String(n), 'a')))
  const statuses = new Set(results.map(({ statusCode }) => statusCode))
  assert.deepEqual([...statuses].sort(), [201, 429])
  const refused = results.find(({ statusCode }) => statusCode === 429) as { retryAfterMilliseconds?: number }
  assert.ok(refused.retryAfterMilliseconds! > 0)
})
