/** Patches through the SDK: their results, their conditions, and how they affect an item's lifespan. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, PatchOperation, PatchRequestBody } from '@azure/cosmos'
import { Witness } from '../../support/refusal.ts'
import { failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const keyHeader = { 'x-ms-documentdb-partitionkey': '["a"]' }

async function containerWith(item: object, definition = {}): Promise<Container> {
  const container = await server.newContainer({ defaultTtl: -1, ...definition })
  await container.items.create({ id: 'one', pk: 'a', ...item })
  return container
}

const patch = (container: Container, body: PatchRequestBody, options = {}) =>
  container.item('one', 'a').patch(body, options)

test('Every kind of patch answers with the whole item, as a read finds it, and a new etag', async () => {
  const container = await containerWith({ n: 1, tags: ['x'], address: { city: 'Bern' }, old: true, from: 'here' })
  const before = (await container.item('one', 'a').read()).resource
  await server.db.clock.advance('5s')
  const operations = [
    { op: 'add', path: '/color', value: 'red' },
    { op: 'add', path: '/tags/-', value: 'y' },
    { op: 'set', path: '/address/zip', value: 3000 },
    { op: 'replace', path: '/address/city', value: 'Basel' },
    { op: 'remove', path: '/old' },
    { op: 'incr', path: '/n', value: 2 },
    { op: 'move', from: '/from', path: '/to' },
  ] as PatchOperation[]
  const { statusCode, resource, etag, requestCharge } = await patch(container, operations)
  assert.equal(statusCode, 200)
  assert.ok(requestCharge >= 5)
  const { _etag, _ts, ...rest } = resource!
  assert.equal(_etag, etag)
  assert.notEqual(_etag, before?._etag)
  assert.equal(_ts, before!._ts + 5, 'a patch is a write')
  assert.deepEqual(rest, {
    id: 'one',
    pk: 'a',
    n: 3,
    tags: ['x', 'y'],
    address: { city: 'Basel', zip: 3000 },
    color: 'red',
    to: 'here',
    _rid: before?._rid,
    _self: before?._self,
    _attachments: 'attachments/',
  })
  assert.deepEqual((await container.item('one', 'a').read()).resource, resource)
})

test('Values that a patch does not touch keep their text', async () => {
  const container = await server.newContainer()
  const path = pathOf(container, 'docs')
  const body = '{"id":"one","pk":"a","9":1.00,"1":12345678901234567890,"a" : { "b": 1e2 }}'
  await server.send({ method: 'POST', path, headers: keyHeader, body })
  const answer = await server.send({
    method: 'PATCH',
    path: `${path}/one`,
    headers: keyHeader,
    body: '{"operations":[{"op":"set","path":"/c","value":[1.0, 2e0]}]}',
  })
  assert.equal(answer.status, 200, answer.text)
  const start = '{"id":"one","pk":"a","9":1.00,"1":12345678901234567890,"a" : { "b": 1e2 },"c":[1.0, 2e0],"_rid":"'
  assert.ok(answer.text.startsWith(start), answer.text)
})

test('A patch that prefers a minimal answer gets no body', async () => {
  const container = await containerWith({})
  const answer = await server.send({
    method: 'PATCH',
    path: pathOf(container, 'docs', 'one'),
    headers: { ...keyHeader, prefer: 'return=minimal' },
    body: [{ op: 'set', path: '/v', value: 1 }],
  })
  assert.equal(answer.status, 200)
  assert.equal(answer.text, '')
  assert.equal(answer.headers.etag, (await container.item('one', 'a').read()).etag)
})

test('A condition is evaluated on the current item', async () => {
  const container = await containerWith({ n: 3, tags: ['x'] })
  const operations: PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }]
  const tryWith = (condition: string) => patch(container, { operations, condition })
  for (const condition of [
    'from c where c.n = 3',
    'FROM root WHERE root.n = 4 AND IS_DEFINED(root.tags)',
    'from c where NOT IS_DEFINED(c.newImproved)',
    'from c where ARRAY_CONTAINS(c.tags, "x") and c._ts > 0',
  ]) {
    assert.equal((await tryWith(condition)).statusCode, 200, condition)
  }
  assert.equal(await failureOf(tryWith('from c where c.n = 3')), 412)
  assert.equal(await failureOf(tryWith('from c where c.missing')), 412)
  for (const condition of [
    'c.n = 7',
    'where c.n = 7',
    'from c',
    'from c where',
    '',
    'from c where c.n = @n',
    'from c where c.n = 7 order by c.n',
    ', 1 from c where true',
    'from c where udf.f(c)',
  ]) {
    assert.equal(await failureOf(tryWith(condition)), 400, condition)
  }
  assert.equal((await container.item('one', 'a').read()).resource?.n, 7)
})

test('A patch with an etag succeeds as long as the item has that etag', async () => {
  const container = await containerWith({ n: 0 })
  const { etag } = await container.item('one', 'a').read()
  const operations: PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }]
  const ifMatch = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } })
  assert.equal((await patch(container, operations, ifMatch(etag))).statusCode, 200)
  assert.equal(await failureOf(patch(container, operations, ifMatch(etag))), 412)
  assert.equal((await patch(container, operations, ifMatch('*'))).statusCode, 200)
  assert.equal((await container.item('one', 'a').read()).resource?.n, 2)
})

test('Concurrent increments all take effect', async () => {
  const container = await containerWith({ n: 0 })
  await Promise.all(Array.from({ length: 30 }, () => patch(container, [{ op: 'incr', path: '/n', value: 1 }])))
  assert.equal((await container.item('one', 'a').read()).resource?.n, 30)
})

test('A patch restarts the life of an item, and may change its ttl', async () => {
  const container = await containerWith({ ttl: 10 }, { defaultTtl: 100 })
  const state = async () => (await container.item('one', 'a').read()).statusCode
  await server.db.clock.advance('9s')
  await patch(container, [{ op: 'set', path: '/v', value: 1 }])
  await server.db.clock.advance('9s')
  assert.equal(await state(), 200, 'it began anew')
  await patch(container, [{ op: 'set', path: '/ttl', value: 20 }])
  await server.db.clock.advance('19s')
  assert.equal(await state(), 200)
  await patch(container, [{ op: 'incr', path: '/ttl', value: 10 }])
  await server.db.clock.advance('29s')
  assert.equal(await state(), 200)
  await patch(container, [{ op: 'remove', path: '/ttl' }])
  await server.db.clock.advance('99s')
  assert.equal(await state(), 200, 'without a ttl it inherits')
  await patch(container, [{ op: 'add', path: '/ttl', value: -1 }])
  await server.db.clock.advance('1000s')
  assert.equal(await state(), 200)
  await patch(container, [{ op: 'replace', path: '/ttl', value: 1 }])
  await server.db.clock.advance('1s')
  assert.equal(await state(), 404)
})

test('A dead item cannot be patched: 404, whatever its etag or the condition', async () => {
  const container = await containerWith({ n: 1, ttl: 10 })
  const { etag } = await container.item('one', 'a').read()
  await server.db.clock.advance('10s')
  const operations: PatchOperation[] = [{ op: 'set', path: '/ttl', value: 100 }]
  const ifMatch = { accessCondition: { type: 'IfMatch', condition: etag } }
  assert.equal(await failureOf(patch(container, operations)), 404)
  assert.equal(await failureOf(patch(container, operations, ifMatch)), 404)
  assert.equal(await failureOf(patch(container, { operations, condition: 'from c where c.n = 1' })), 404)
  await server.db.purge()
  assert.equal(await failureOf(patch(container, operations)), 404)
})

test('A patch obeys unique keys, and may take those of dead items', async () => {
  const container = await containerWith(
    { email: 'ann@x' },
    { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } },
  )
  await container.items.create({ id: 'two', pk: 'a', email: 'bob@x', ttl: 10 })
  const take: PatchOperation[] = [{ op: 'set', path: '/email', value: 'bob@x' }]
  assert.equal(await failureOf(patch(container, take)), 409)
  await server.db.clock.advance('10s')
  assert.equal((await patch(container, take)).resource?.email, 'bob@x')
})

test('A patch cannot change the partition key', async () => {
  const container = await server.newContainer({ partitionKey: '/address/city' })
  await container.items.create({ id: 'one', address: { city: 'Bern' } })
  const item = container.item('one', 'Bern')
  for (const operation of [
    { op: 'set', path: '/address/city', value: 'Basel' },
    { op: 'remove', path: '/address/city' },
    { op: 'set', path: '/address', value: {} },
    { op: 'set', path: '/address', value: 7 },
    { op: 'move', from: '/address', path: '/moved' },
  ] as PatchOperation[]) {
    assert.equal(await failureOf(item.patch([operation])), 400, JSON.stringify(operation))
  }
  assert.equal((await item.patch([{ op: 'set', path: '/address/zip', value: 3000 }])).statusCode, 200)
})

const badTtl = [0, -2, 1.5, '10', true, 2147483648, {}, []]
for (const ttl of badTtl) {
  test(`A patch that would leave the ttl ${JSON.stringify(ttl)} is refused with the service’s text`, async () => {
    const witness = await Witness.make(server)
    const path = pathOf(witness.container, 'docs', 'one')
    const body = [
      { op: 'set', path: '/value', value: 2 },
      { op: 'set', path: '/ttl', value: ttl },
    ]
    const text =
      `The input ttl '${JSON.stringify(ttl)}' is invalid. Ensure to provide a nonzero positive integer less than ` +
      `or equal to '2147483647', or '-1' which means never expire.`
    await witness.assertRefused({ method: 'PATCH', path, headers: keyHeader, body }, { status: 400, text })
  })
}

test('Bad patches change nothing', async () => {
  const witness = await Witness.make(server)
  const path = pathOf(witness.container, 'docs', 'one')
  const request = (body: unknown, headers: Record<string, string | undefined> = keyHeader) => ({
    method: 'PATCH',
    path,
    headers,
    body,
  })
  const first = { op: 'set', path: '/value', value: 2 }
  const cases: readonly [unknown, number, RegExp][] = [
    ['', 400, /^The request payload is invalid/],
    ['{', 400, /^The request payload is invalid/],
    [Buffer.from([0x22, 0xff, 0x22]), 400, /^The request payload is invalid/],
    ['{}', 400, /^Invalid patch request: check syntax/],
    [[first, { op: 'incr', path: '/pk', value: 1 }], 400, /^For Operation\(2\): Node\('pk'\) is not a number/],
    [[first, { op: 'incr', path: '/ttl', value: 0 }], 400, /^The input ttl '0' is invalid/],
    [[first, { op: 'set', path: '/_ts', value: 0 }], 400, /^Invalid patch request: Cannot patch system property _ts\./],
    [[first, { op: 'set', path: '/big', value: 'x'.repeat(2 * 1024 * 1024) }], 413, /^Request size is too large/],
  ]
  for (const [body, status, text] of cases) await witness.assertRefused(request(body), { status, text })
  await witness.assertRefused(request([first], {}), { status: 400, text: /^PartitionKey value must be supplied/ })
  await witness.assertRefused(
    { ...request([first]), path: `${path}x` },
    { status: 404, substatus: 0, text: /does not exist/ },
  )
})

test('A patch that would make an item too large is refused', async () => {
  const container = await containerWith({ text: 'x'.repeat(1024 * 1024) })
  assert.equal(await failureOf(patch(container, [{ op: 'set', path: '/more', value: 'y'.repeat(1024 * 1024) }])), 413)
  assert.equal((await container.item('one', 'a').read()).resource?.more, undefined)
})

test('A condition that takes long is judged elsewhere for the item as it is, and refused in a batch', async () => {
  const list = Array.from({ length: 900 }, (_, n) => n)
  const container = await containerWith({ list, n: 1 })
  const sumIs = (sum: number) =>
    `from c where EXISTS(SELECT VALUE 1 FROM x IN c.list JOIN y IN c.list WHERE x + y = ${sum}) and c.n < 3`
  const operations: PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }]
  const headers = { ...keyHeader, 'content-type': 'application/json_patch+json' }
  const path = pathOf(container, 'docs', 'one')
  const patched = async (condition: string) =>
    (await server.send({ method: 'PATCH', path, headers, body: { operations, condition } })).status
  assert.equal(await patched(sumIs(-1)), 412)
  // Of three at once one comes too late: each is judged by what the one before has made.
  const three = await Promise.all([patched(sumIs(1798)), patched(sumIs(1798)), patched(sumIs(1798))])
  assert.deepEqual(three.sort(), [200, 200, 412])
  assert.equal((await container.item('one', 'a').read()).resource.n, 3)
  const together = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: { ...keyHeader, 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True' },
    body: [
      { operationType: 'Create', resourceBody: { id: 'two', pk: 'a' } },
      { operationType: 'Patch', id: 'one', resourceBody: { operations, condition: sumIs(-1) } },
    ],
  })
  assert.equal(together.status, 408, together.text)
  assert.match(together.text, /condition of the patch takes more than 20 milliseconds/)
  assert.equal((await container.item('two', 'a').read()).statusCode, 404)
})

test('A query over definitions that takes long is answered 408', async () => {
  await server.newDatabase()
  const list = `(SELECT VALUE [${Array.from({ length: 2000 }, (_, n) => n)}])`
  const body = { query: `SELECT VALUE 1 FROM c JOIN y IN ${list} JOIN z IN ${list} WHERE y = -z - 1` }
  const headers = { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' }
  const answer = await server.send({ method: 'POST', path: '/dbs', headers, body })
  assert.equal(answer.status, 408, answer.text)
})
