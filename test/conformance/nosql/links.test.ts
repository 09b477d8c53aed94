/** Resources addressed by their `_self`, which is made of resource ids, as SDKs of other languages do. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, Resource } from '@azure/cosmos'
import { assertServiceError } from '../../support/service-error.ts'
import type { RawAnswer, RawRequest } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

const withKey = (pk: string) => ({ 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) })

/** Signed as the Python SDK does it: only the last id, in lower case. */
function sendByRid(self: string, request: Partial<RawRequest> = {}): Promise<RawAnswer> {
  const ids = self.split('/').filter(Boolean)
  const last = ids[ids.length % 2 === 0 ? ids.length - 1 : ids.length - 2]!
  return server.send({ path: `/${self}`, signedLink: last.toLowerCase(), ...request })
}

async function newItem(container: Container, item: object): Promise<Resource> {
  return (await container.items.create(item)).resource!
}

test('An item is read, replaced, patched and deleted by its `_self`', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const made = await newItem(container, { id: 'one', pk: 'x', n: 1 })
  const headers = withKey('x')
  const read = await sendByRid(made._self, { headers })
  assert.equal(read.status, 200)
  assert.equal(read.json.id, 'one')
  const replaced = await sendByRid(made._self, { method: 'PUT', headers, body: { id: 'one', pk: 'x', n: 2 } })
  assert.equal(replaced.status, 200)
  assert.equal(replaced.json._self, made._self)
  // A replaced item is found as well.
  const operations = [{ op: 'incr', path: '/n', value: 5 }]
  const patched = await sendByRid(made._self, { method: 'PATCH', headers, body: { operations } })
  assert.equal(patched.json.n, 7)
  assert.equal((await sendByRid(made._self, { method: 'DELETE', headers })).status, 204)
  assert.equal((await sendByRid(made._self, { headers })).status, 404)
})

test('A `_self` is of one life of an item: not of a later item, not of a dead one, not of another key', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const first = await newItem(container, { id: 'one', pk: 'x' })
  await newItem(container, { id: 'one', pk: 'y' })
  assert.equal((await sendByRid(first._self, { headers: withKey('y') })).status, 404, 'of another partition key')
  await container.item('one', 'x').delete()
  const second = await newItem(container, { id: 'one', pk: 'x', ttl: 20 })
  assert.notEqual(second._rid, first._rid)
  const headers = withKey('x')
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await sendByRid(first._self, { method, headers })).status, 404, method)
  }
  assert.equal((await sendByRid(second._self, { headers })).status, 200)
  await server.db.clock.advance('20s')
  assert.equal((await sendByRid(second._self, { headers })).status, 404, 'it is dead')
})

test('Scripts, users and permissions are found by their `_self`, also after a new name', async () => {
  const container = await server.newContainer()
  const { database, scripts } = container
  const body = 'function () { getContext().getResponse().setBody(7) }'
  const sproc = (await scripts.storedProcedures.create({ id: 'p', body })).resource!
  const udf = (await scripts.userDefinedFunctions.create({ id: 'f', body })).resource!
  const trigger = (
    await scripts.triggers.create({ id: 't', body, triggerOperation: 'all' as never, triggerType: 'pre' as never })
  ).resource!
  const { resource: user, user: ann } = await database.users.create({ id: 'ann' })
  const permission = (
    await ann.permissions.create({ id: 'mine', permissionMode: 'all' as never, resource: container.url })
  ).resource!
  for (const each of [sproc, udf, trigger, user!, permission] as unknown as Resource[]) {
    const answer = await sendByRid(each._self)
    assert.equal(answer.status, 200, each._self)
    assert.equal(answer.json._rid, each._rid)
  }
  const done = await sendByRid((sproc as unknown as Resource)._self, {
    method: 'POST',
    headers: withKey('x'),
    body: [],
  })
  assert.equal(done.text, '7')
  await ann.replace({ id: 'bob' })
  assert.equal((await sendByRid(user!._self)).json.id, 'bob')
  assert.equal((await sendByRid(`${user!._self}permissions/`)).json.Permissions.length, 1)
  for (const { _self } of [permission, user!, udf] as unknown as Resource[]) {
    assert.equal((await sendByRid(_self, { method: 'DELETE' })).status, 204)
    assert.equal((await sendByRid(_self)).status, 404)
  }
})

test('Databases and containers are found by ids and names in any mixture', async () => {
  const container = await server.newContainer()
  await newItem(container, { id: 'one', pk: 'x' })
  const database = (await container.database.read()).resource!
  const { _rid, _self } = (await container.read()).resource!
  assert.equal((await sendByRid(database._self)).json.id, database.id)
  assert.equal((await sendByRid(_self)).json.id, 'items')
  assert.equal((await sendByRid(`${_self}docs/`)).json.Documents.length, 1)
  assert.equal((await sendByRid(`${database._self}colls/items/docs/one`, { headers: withKey('x') })).status, 200)
  // The SDK for JavaScript signs the path as it is.
  const byRid = server.client.database(database._rid).container(_rid)
  assert.equal((await byRid.item('one', 'x').read()).resource.id, 'one')
  assert.equal((await server.client.database(database.id).container(_rid).read()).resource?.id, 'items')
  assert.equal((await server.client.database(database._rid).container('items').read()).resource?.id, 'items')
})

test('An unknown id is 404, not a wrong signature, and a wrong signature is 401', async () => {
  const container = await server.newContainer()
  const made = await newItem(container, { id: 'one', pk: 'x' })
  await container.database.delete()
  assert.equal((await sendByRid(made._self, { headers: withKey('x') })).status, 404)
  const wrong = await sendByRid(made._self, { headers: withKey('x'), signedLink: 'other' })
  assert.equal(wrong.status, 401)
})

test('A container that is not the one that the client knows is refused with 400/1024', async () => {
  const container = await server.newContainer()
  const { database } = container
  const { _rid } = (await container.read()).resource!
  await newItem(container, { id: 'one', pk: 'x' })
  const headers = { ...withKey('x'), 'x-ms-cosmos-intended-collection-rid': _rid }
  const requests: RawRequest[] = [
    { path: pathOf(container, 'docs', 'one'), headers },
    { path: pathOf(container, 'docs'), headers },
    { method: 'PUT', path: pathOf(container, 'docs', 'one'), headers, body: { id: 'one', pk: 'x' } },
    {
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: { ...headers, 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' },
      body: { query: 'SELECT * FROM c' },
    },
    { path: pathOf(container, 'pkranges'), headers },
  ]
  for (const request of requests) assert.equal((await server.send(request)).status, 200)
  await container.delete()
  for (const request of requests) assertServiceError(await server.send(request), 404, 1003)
  await database.containers.create({ id: 'items', partitionKey: '/other' })
  for (const request of requests) assertServiceError(await server.send(request), 400, 1024)
})
