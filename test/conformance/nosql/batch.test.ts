/** Transactional batches: all operations or none, over living and dead items. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, OperationInput } from '@azure/cosmos'
import { fc } from '../../support/property.ts'
import { Witness } from '../../support/refusal.ts'
import { signature } from '../../support/signed-request.ts'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

const create = (id: string, more = {}): OperationInput => ({
  operationType: 'Create',
  resourceBody: { id, pk: 'a', ...more },
})
const upsert = (id: string, more = {}): OperationInput => ({
  operationType: 'Upsert',
  resourceBody: { id, pk: 'a', ...more },
})
const replace = (id: string, more = {}): OperationInput => ({
  operationType: 'Replace',
  id,
  resourceBody: { id, pk: 'a', ...more },
})
const read = (id: string): OperationInput => ({ operationType: 'Read', id })
const remove = (id: string): OperationInput => ({ operationType: 'Delete', id })
const patch = (id: string, path: string, value: unknown): OperationInput =>
  ({ operationType: 'Patch', id, resourceBody: [{ op: 'set', path, value }] }) as OperationInput

// biome-ignore lint/suspicious/noExplicitAny: results of every shape.
async function run(container: Container, operations: OperationInput[], options = {}): Promise<any> {
  return container.items.batch(operations, 'a', options)
}

// biome-ignore lint/suspicious/noExplicitAny: results of every shape.
const statuses = ({ result }: { result: any[] }) => result.map(({ statusCode }) => statusCode)

const batchHeaders = {
  'x-ms-documentdb-partitionkey': '["a"]',
  'x-ms-cosmos-is-batch-request': 'True',
  'x-ms-cosmos-batch-atomic': 'True',
}

test('A batch with every kind of operation answers each of them in order', async () => {
  const container = await server.newContainer()
  for (const id of ['r', 'x', 'd', 'p']) await container.items.create({ id, pk: 'a', v: 1 })
  const operations = [
    create('c', { v: 2 }),
    upsert('u'),
    upsert('x', { v: 3 }),
    replace('r', { v: 4 }),
    read('r'),
    patch('p', '/v', 5),
    remove('d'),
    read('c'),
  ]
  const answer = await run(container, operations)
  assert.equal(answer.code, 200)
  assert.deepEqual(statuses(answer), [201, 201, 200, 200, 200, 200, 204, 200])
  for (const [at, id] of ['c', 'u', 'x', 'r', 'r', 'p', undefined, 'c'].entries()) {
    const { eTag, resourceBody, requestCharge } = answer.result[at]
    assert.ok(requestCharge >= 1)
    assert.equal(resourceBody?.id, id)
    assert.equal(resourceBody?._etag, eTag)
    if (id !== undefined) assert.deepEqual((await container.item(id, 'a').read()).resource, resourceBody)
  }
  assert.deepEqual(answer.result[4].resourceBody.v, 4, 'a read sees what was written before it')
  const sum = answer.result.reduce(
    (total: number, { requestCharge }: { requestCharge: number }) => total + requestCharge,
    0,
  )
  assert.equal(Number(answer.headers['x-ms-request-charge']), Math.round(sum * 100) / 100)
  assert.equal(answer.headers['x-ms-item-count'], '8')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['c', 'p', 'r', 'u', 'x'])
})

test('The items of a batch keep the text that the client sent', async () => {
  const container = await server.newContainer()
  const body = '[{"operationType":"Create","resourceBody":{ "id":"1","pk":"a","9":1.0,"1":12345678901234567890 } }]'
  const made = await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers: batchHeaders, body })
  assert.equal(made.status, 200, made.text)
  const found = await server.send({ path: pathOf(container, 'docs', '1'), headers: batchHeaders })
  assert.ok(found.text.startsWith('{ "id":"1","pk":"a","9":1.0,"1":12345678901234567890,"_rid":"'), found.text)
})

const failures: readonly [string, OperationInput, number][] = [
  ['a create of what is there', create('one'), 409],
  ['a replace of what is not there', replace('none'), 404],
  ['a delete of what is not there', remove('none'), 404],
  ['a read of what is not there', read('none'), 404],
  ['a patch of what is not there', patch('none', '/v', 1), 404],
  ['a patch that cannot be done', patch('one', '/a/b', 1), 400],
  ['a ttl of 0', create('new', { ttl: 0 }), 400],
  ['a patched ttl of 0', patch('one', '/ttl', 0), 400],
  ['another partition key', create('new', { pk: 'b' }), 400],
  ['no id', create('new', { id: 7 }), 400],
  ['a stale etag', { ...replace('one'), ifMatch: '"x"' } as OperationInput, 412],
  ['a stale etag on delete', { ...remove('one'), ifMatch: '"x"' } as OperationInput, 412],
  ['a stale etag on patch', { ...patch('one', '/v', 1), ifMatch: '"x"' } as OperationInput, 412],
  ['a stale etag on upsert', { ...upsert('one'), ifMatch: '"x"' } as OperationInput, 412],
  [
    'a condition that does not hold',
    {
      operationType: 'Patch',
      id: 'one',
      resourceBody: { operations: [{ op: 'set', path: '/v', value: 1 }], condition: 'from c where c.v = 7' },
    },
    412,
  ],
  ['a taken unique key', create('new', { email: 'taken' }), 409],
]

for (const [name, failing, status] of failures) {
  test(`A batch with ${name} is rolled back: ${status} for that operation and 424 for all others`, async () => {
    const container = await server.newContainer({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } })
    await container.items.create({ id: 'one', pk: 'a', v: 1, email: 'taken' })
    const before = await readFeed(server, container)
    const answer = await run(container, [
      create('first', { email: 1 }),
      patch('one', '/v', 2),
      failing,
      create('last', { email: 2 }),
    ])
    assert.equal(answer.code, 207)
    assert.deepEqual(statuses(answer), [424, 424, status, 424])
    assert.deepEqual(Object.keys(answer.result[0]), ['statusCode', 'requestCharge'])
    assert.ok(answer.result[2].message.length > 0)
    assert.equal(answer.result[2].resourceBody, undefined)
    assert.deepEqual(await readFeed(server, container), before)
  })
}

test('Of two failures the first one is reported', async () => {
  const container = await server.newContainer()
  assert.deepEqual(statuses(await run(container, [read('none'), create('x', { ttl: 0 })])), [404, 424])
  assert.deepEqual(statuses(await run(container, [create('x', { ttl: 0 }), read('none')])), [400, 424])
  assert.deepEqual(statuses(await run(container, [create('x'), create('x')])), [424, 409], 'operations see each other')
})

test('A wrong partition key has its own sub-status', async () => {
  const container = await server.newContainer()
  const answer = await run(container, [create('1', { pk: 'b' })])
  assert.equal(answer.result[0].subStatusCode, 1001)
  assert.equal(answer.headers['x-ms-substatus'], '1001')
})

test('A batch that touches a dead item answers 404 and 424s, and nothing is applied', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  await container.items.create({ id: 'dead', pk: 'a', ttl: 10 })
  await container.items.create({ id: 'alive', pk: 'a', v: 1 })
  await server.db.clock.advance('10s')
  for (const operation of [replace('dead'), patch('dead', '/ttl', 100), remove('dead'), read('dead')]) {
    const answer = await run(container, [patch('alive', '/v', 2), operation, create('new')])
    assert.deepEqual(statuses(answer), [424, 404, 424], operation.operationType)
  }
  assert.deepEqual(idsOf(await readFeed(server, container)), ['alive'])
  assert.equal((await container.item('alive', 'a').read()).resource?.v, 1)
  const answer = await run(container, [create('dead', { ttl: 10 }), read('dead'), upsert('dead', { ttl: 20 })])
  assert.deepEqual(statuses(answer), [201, 200, 200], 'its id is free')
  await server.db.clock.advance('19s')
  assert.equal((await container.item('dead', 'a').read()).statusCode, 200)
  await server.db.clock.advance('1s')
  assert.equal((await container.item('dead', 'a').read()).statusCode, 404)
})

test('All items of a batch are written at one moment', async () => {
  const container = await server.newContainer({ defaultTtl: 10 })
  await run(container, [create('1'), create('2', { ttl: 5 }), create('3', { ttl: -1 })])
  await server.db.clock.advance('5s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['1', '3'])
  await server.db.clock.advance('5s')
  assert.deepEqual(idsOf(await readFeed(server, container)), ['3'])
})

test('A read with the current etag in If-None-Match answers 304, and the batch succeeds', async () => {
  const container = await server.newContainer()
  const { etag } = await container.items.create({ id: '1', pk: 'a' })
  const answer = await run(container, [create('2'), { ...read('1'), ifNoneMatch: etag } as OperationInput])
  assert.equal(answer.code, 207)
  assert.deepEqual(statuses(answer), [201, 304])
  assert.equal(answer.result[1].resourceBody, undefined)
  assert.equal((await container.item('2', 'a').read()).statusCode, 200, 'nothing was undone')
})

test('With a minimal answer only reads return bodies', async () => {
  const container = await server.newContainer()
  const operations = [create('1'), { ...create('2'), minimalReturnPreference: true }, patch('1', '/v', 1), read('1')]
  const send = (headers: object) =>
    server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: { ...batchHeaders, ...headers },
      body: operations,
    })
  const seen = async (headers: object) =>
    (await send(headers)).json.map(({ resourceBody }: { resourceBody?: object }) => resourceBody !== undefined)
  assert.deepEqual(await seen({}), [true, false, true, true])
  await container.item('1', 'a').delete()
  await container.item('2', 'a').delete()
  assert.deepEqual(await seen({ prefer: 'return=minimal' }), [false, false, false, true])
})

test('All items of a batch have the same hierarchical partition key, on every level', async () => {
  const partitionKey = { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey, throughput: 20_000 })
  const item = { tenant: 't', user: 'u' }
  const operations: OperationInput[] = [
    { operationType: 'Create', resourceBody: { id: '1', ...item } },
    { operationType: 'Create', resourceBody: { id: '2', ...item } },
  ]
  assert.equal((await container.items.batch(operations, ['t', 'u'] as never)).code, 200)
  const elsewhere = await container.items.batch(operations, ['t', 'v'] as never)
  assert.deepEqual(
    elsewhere.result?.map(({ statusCode }) => statusCode),
    [400, 424],
  )
})

test('A batch may have a hundred operations', async () => {
  const container = await server.newContainer()
  const answer = await run(
    container,
    Array.from({ length: 100 }, (_, n) => create(String(n))),
  )
  assert.equal(answer.code, 200)
  assert.equal((await readFeed(server, container, { pageSize: 100 })).length, 100)
})

test('Bad batches are refused as a whole and change nothing', async () => {
  const witness = await Witness.make(server)
  const path = pathOf(witness.container, 'docs')
  const request = (body: unknown, headers: Record<string, string | undefined> = {}) => ({
    method: 'POST',
    path,
    headers: { ...batchHeaders, ...headers },
    body,
  })
  const good = create('new')
  const cases: readonly [unknown, number, string | RegExp][] = [
    [[], 400, 'Batch request has no operations.'],
    [
      Array.from({ length: 101 }, (_, n) => create(String(n))),
      400,
      'Batch request has more operations than what is supported.',
    ],
    [{}, 400, 'One of the specified inputs is invalid'],
    ['[', 400, /^The request payload is invalid/],
    ['', 400, /^The request payload is invalid/],
    [[good, 1], 400, 'One of the specified inputs is invalid'],
    [[good, {}], 400, 'One of the specified inputs is invalid'],
    [[good, { operationType: 'Query' }], 400, 'One of the specified inputs is invalid'],
    [[good, { operationType: 0 }], 400, 'One of the specified inputs is invalid'],
    [[good, { operationType: 'Read', id: 7 }], 400, 'One of the specified inputs is invalid'],
    [
      [good, { ...good, partitionKey: '["b"]' }],
      400,
      'One or more operations within the batch request have a different partition key value than the request.',
    ],
    [[good, { ...good, partitionKey: '[' }], 400, /partition key/],
    [[create('big', { text: 'x'.repeat(2_202_000) })], 413, 'Request size is too large'],
  ]
  for (const [body, status, text] of cases) await witness.assertRefused(request(body), { status, text })
  const noKey = { 'x-ms-documentdb-partitionkey': undefined }
  await witness.assertRefused(request([good], noKey), { status: 400, text: /^PartitionKey value must be supplied/ })
})

test('A malformed operation answers 400, and its batch is rolled back', async () => {
  const container = await server.newContainer()
  const lacking = [
    { operationType: 'Create' },
    { operationType: 'Read' },
    { operationType: 'Delete' },
    { operationType: 'Patch', id: '1' },
    { operationType: 'Patch', resourceBody: [] },
    { operationType: 'Create', resourceBody: 7 },
    { operationType: 'Replace', id: '', resourceBody: { id: '1', pk: 'a' } },
  ]
  for (const operation of lacking) {
    const { status, json } = await server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: batchHeaders,
      body: [create('1'), operation],
    })
    assert.equal(status, 207, JSON.stringify(operation))
    assert.deepEqual(statuses({ result: json }), [424, 400], JSON.stringify(operation))
  }
})

test('A batch that reads too much is rolled back', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'big', pk: 'a', text: 'x'.repeat(1_000_000) })
  const answer = await run(container, [create('new'), ...Array.from({ length: 6 }, () => read('big'))])
  assert.equal(answer.code, 207)
  assert.ok(statuses(answer).includes(413))
  assert.equal((await container.item('new', 'a').read()).statusCode, 404)
})

test('A batch whose patches write too much is rolled back', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'big', pk: 'a', text: 'x'.repeat(1_000_000) })
  const patches = (count: number) => Array.from({ length: count }, (_, n) => patch('big', '/n', n))
  const refused = await run(container, [create('new'), ...patches(3)])
  assert.equal(refused.code, 207)
  assert.deepEqual(statuses(refused), [...Array(3).fill(424), 413])
  assert.equal((await container.item('new', 'a').read()).statusCode, 404)
  assert.equal((await container.item('big', 'a').read()).resource.n, undefined)
  assert.equal((await run(container, patches(2))).code, 200)
})

test('A failed batch leaves no trace, and a successful batch has the effect of its operations', async () => {
  const ids = fc.constantFrom('1', '2', '3', '4')
  const operation = fc.oneof(
    fc.tuple(ids, fc.integer({ min: 0, max: 3 })).map(([id, email]) => create(id, { email })),
    fc.tuple(ids, fc.integer({ min: 0, max: 3 })).map(([id, email]) => upsert(id, { email })),
    fc.tuple(ids, fc.integer({ min: 0, max: 3 })).map(([id, email]) => replace(id, { email })),
    fc.tuple(ids, fc.integer({ min: -1, max: 9 })).map(([id, ttl]) => patch(id, '/ttl', ttl)),
    ids.map(remove),
    ids.map(read),
  )
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ['/email'] }] }
  const batched = await server.newContainer({ uniqueKeyPolicy, defaultTtl: -1 })
  const single = await server.newContainer({ uniqueKeyPolicy, defaultTtl: -1 })
  const content = async (container: Container) =>
    JSON.stringify(
      (await readFeed(server, container)).map(({ id, ...rest }) => [
        id,
        (rest as { email: number }).email,
        (rest as { ttl?: number }).ttl,
      ]),
    )
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 6 }), fc.nat(3), async (operations, seconds) => {
      await server.db.clock.advance(`${seconds}s`)
      const before = await content(batched)
      assert.equal(await content(single), before)
      const answer = await run(batched, operations)
      if (answer.code === 207) {
        assert.equal(await content(batched), before)
        assert.equal(statuses(answer).filter(status => status !== 424).length, 1)
        return
      }
      for (const [at, each] of operations.entries()) {
        const { result } = await run(single, [each])
        assert.equal(result[0].statusCode, answer.result[at].statusCode)
      }
      assert.equal(await content(single), await content(batched))
    }),
    { numRuns: 60, seed: 7 },
  )
})

test('A batch in the binary form of the .NET SDK is answered in that form', async () => {
  const container = await server.newContainer()
  // Create, read and upsert of the item `created`, as the SDK sent them.
  const body = Buffer.from(
    'gfDY/38BCgAAAIHx2P9/MgAAAIy0GfCBcFThf0MAAAAAAgAAACN7ImlkIjoiY3JlYXRlZCIsInBrIjoicCIsInZhbHVlIjoxfYHx2P9/FgA' +
      'AAI7kXlCBcFThfxMCAAAAAgAAAAdjcmVhdGVkgfHY/38yAAAAJIqEvIFwVOF/QxQAAAACAAAAI3siaWQiOiJjcmVhdGVkIiwicGsiOiJwIi' +
      'widmFsdWUiOjJ9',
    'base64',
  )
  const headers = { ...batchHeaders, 'x-ms-documentdb-partitionkey': '["p"]' }
  const path = pathOf(container, 'docs')
  const date = new Date().toUTCString()
  const authorization = signature(server.db.key, 'POST', path, date)
  const send = (more = {}) =>
    fetch(`${server.db.endpoint}${path}`, {
      method: 'POST',
      headers: { 'x-ms-version': '2020-07-15', ...headers, ...more, 'x-ms-date': date, authorization },
      body,
    })
  const answer = await send()
  assert.equal(answer.status, 200)
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(Number(answer.headers.get('content-length')), bytes.length)
  assert.equal(bytes[0], 0x81)
  assert.equal(bytes.toString('hex').split('817154e17f').length - 1, 3, 'three results')
  assert.equal((await container.item('created', 'p').read()).resource?.value, 2)
  const elsewhere = await send({ 'x-ms-documentdb-partitionkey': '["q"]' })
  assert.equal(elsewhere.status, 207)
  assert.equal(elsewhere.headers.get('x-ms-substatus'), '1001')
})

test('The items of a batch follow each other in the change feed, each with its own number', async () => {
  // In the service they share one number, and a page holds all of them (azure-cosmos-dotnet-v3#2644).
  const container = await server.newContainer()
  await run(container, [create('1'), create('2'), create('3')])
  const feed = { 'a-im': 'Incremental Feed', 'x-ms-max-item-count': '2' }
  const first = await server.send({ path: pathOf(container, 'docs'), headers: feed })
  const rest = await server.send({
    path: pathOf(container, 'docs'),
    headers: { ...feed, 'if-none-match': String(first.headers.etag) },
  })
  const items: { id: string; _lsn: number }[] = [...first.json.Documents, ...rest.json.Documents]
  assert.deepEqual(
    items.map(({ id }) => id),
    ['1', '2', '3'],
  )
  assert.equal(new Set(items.map(({ _lsn }) => _lsn)).size, 3)
  assert.ok(items.every(({ _lsn }, at) => at === 0 || _lsn > items[at - 1]!._lsn))
})
