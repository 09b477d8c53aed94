/** Unique keys: which writes get a 409, what counts as the same value, and when a value is free again. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { assertServiceError, failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

const withKeys = (...keys: string[][]) =>
  server.newContainer({ defaultTtl: -1, uniqueKeyPolicy: { uniqueKeys: keys.map(paths => ({ paths })) } })

test('A second item with the same value in the same partition is a 409 that says why, and is not stored', async () => {
  const container = await withKeys(['/email'])
  await container.items.create({ id: '1', pk: 'a', email: 'ann@x' })
  const answer = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
    body: { id: '2', pk: 'a', email: 'ann@x' },
  })
  assert.equal(assertServiceError(answer, 409), 'Unique index constraint violation.')
  assert.equal((await container.item('2', 'a').read()).statusCode, 404)
  assert.equal(
    (await container.items.create({ id: '2', pk: 'b', email: 'ann@x' })).statusCode,
    201,
    'elsewhere it is free',
  )
})

test('Replace and upsert obey unique keys, and may keep their own value', async () => {
  const container = await withKeys(['/email'])
  await container.items.create({ id: '1', pk: 'a', email: 'ann@x' })
  await container.items.create({ id: '2', pk: 'a', email: 'bob@x' })
  assert.equal(await failureOf(container.item('2', 'a').replace({ id: '2', pk: 'a', email: 'ann@x' })), 409)
  assert.equal(await failureOf(container.items.upsert({ id: '2', pk: 'a', email: 'ann@x' })), 409)
  assert.equal(await failureOf(container.items.upsert({ id: '3', pk: 'a', email: 'ann@x' })), 409)
  assert.equal((await container.item('2', 'a').read()).resource?.email, 'bob@x')
  assert.equal((await container.item('2', 'a').replace({ id: '2', pk: 'a', email: 'bob@x', v: 2 })).statusCode, 200)
  assert.equal((await container.item('2', 'a').replace({ id: '2', pk: 'a', email: 'eve@x' })).statusCode, 200)
  assert.equal(
    (await container.items.create({ id: '3', pk: 'a', email: 'bob@x' })).statusCode,
    201,
    'given up values are free',
  )
  await container.item('1', 'a').delete()
  assert.equal((await container.items.create({ id: '4', pk: 'a', email: 'ann@x' })).statusCode, 201)
})

test('A value is free again in the second of its holder’s death, purged or not', async () => {
  const container = await withKeys(['/email'])
  await container.items.create({ id: '1', pk: 'a', email: 'ann@x', ttl: 10 })
  await server.db.clock.advance('9s')
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a', email: 'ann@x', ttl: 10 })), 409)
  await server.db.clock.advance('1s')
  assert.equal((await container.items.create({ id: '2', pk: 'a', email: 'ann@x', ttl: 10 })).statusCode, 201)
  await server.db.purge()
  assert.equal(
    await failureOf(container.items.create({ id: '3', pk: 'a', email: 'ann@x' })),
    409,
    'it has a new holder',
  )
  await server.db.clock.advance('10s')
  await server.db.purge()
  assert.equal((await container.items.upsert({ id: '3', pk: 'a', email: 'ann@x' })).statusCode, 201)
})

test('The same item can be created again with its own value in the second of its death', async () => {
  const container = await withKeys(['/email'])
  await container.items.create({ id: '1', pk: 'a', email: 'ann@x', ttl: 10 })
  await server.db.clock.advance('10s')
  assert.equal((await container.items.create({ id: '1', pk: 'a', email: 'ann@x' })).statusCode, 201)
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a', email: 'ann@x' })), 409)
})

test('A missing value is null, and null is a value that one item may have', async () => {
  const container = await withKeys(['/email'])
  await container.items.create({ id: '1', pk: 'a' })
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a' })), 409)
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a', email: null })), 409)
  // A path does not lead through an array: the value counts as missing (azure-docs #9716).
  const nested = await withKeys(['/address/zip'])
  await nested.items.create({ id: '1', pk: 'a', address: [{ zip: 1 }] })
  assert.equal(await failureOf(nested.items.create({ id: '2', pk: 'a', address: [{ zip: 2 }] })), 409)
  assert.equal((await nested.items.create({ id: '2', pk: 'a', address: { zip: 2 } })).statusCode, 201)
})

const differing: readonly [string, unknown, unknown][] = [
  ['1 and "1"', 1, '1'],
  ['0 and false', 0, false],
  ['null and ""', null, ''],
  ['null and 0', null, 0],
  ['"a" and "A"', 'a', 'A'],
  ['numbers that differ in the last bit', 0.1, 0.1 + 2 ** -56],
  ['long texts that differ at their end', `${'x'.repeat(5000)}1`, `${'x'.repeat(5000)}2`],
  ['long texts of different length', 'x'.repeat(5000), 'x'.repeat(5001)],
]

for (const [name, one, other] of differing) {
  test(`Different values are different keys: ${name}`, async () => {
    const container = await withKeys(['/v'])
    await container.items.create({ id: '1', pk: 'a', v: one })
    assert.equal((await container.items.create({ id: '2', pk: 'a', v: other })).statusCode, 201)
    assert.equal(await failureOf(container.items.create({ id: '3', pk: 'a', v: one })), 409)
    assert.equal(await failureOf(container.items.create({ id: '3', pk: 'a', v: other })), 409)
  })
}

test('A key of several paths is taken only if all values are the same', async () => {
  const container = await withKeys(['/first', '/last', '/address/city'])
  const make = (id: string, first: string, last: string, city?: string) =>
    container.items.create({ id, pk: 'a', first, last, ...(city === undefined ? {} : { address: { city } }) })
  await make('1', 'Ann', 'Lee', 'Bern')
  assert.equal((await make('2', 'Ann', 'Lee', 'Basel')).statusCode, 201)
  assert.equal((await make('3', 'Ann', 'Ray', 'Bern')).statusCode, 201)
  assert.equal((await make('4', 'Ann', 'Lee')).statusCode, 201)
  assert.equal(await failureOf(make('5', 'Ann', 'Lee', 'Bern')), 409)
  assert.equal(await failureOf(make('5', 'Ann', 'Lee')), 409)
})

test('Each of several keys is checked by itself', async () => {
  const container = await withKeys(['/email'], ['/phone'])
  await container.items.create({ id: '1', pk: 'a', email: 'ann@x', phone: 1 })
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a', email: 'ann@x', phone: 2 })), 409)
  assert.equal(await failureOf(container.items.create({ id: '2', pk: 'a', email: 'bob@x', phone: 1 })), 409)
  assert.equal((await container.items.create({ id: '2', pk: 'a', email: 'bob@x', phone: 2 })).statusCode, 201)
  assert.equal(await failureOf(container.item('2', 'a').replace({ id: '2', pk: 'a', email: 'eve@x', phone: 1 })), 409)
  assert.equal((await container.item('2', 'a').read()).resource?.email, 'bob@x', 'neither key was moved')
})

test('Of many concurrent creates with the same value, one wins', async () => {
  const container = await withKeys(['/email'])
  const attempts = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) => container.items.create({ id: String(n), pk: 'a', email: 'ann@x' })),
  )
  assert.equal(attempts.filter(({ status }) => status === 'fulfilled').length, 1)
})
