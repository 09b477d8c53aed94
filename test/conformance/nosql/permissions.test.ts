/** Users, permissions, and what a resource token allows. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type Container, CosmosClient, type PermissionDefinition } from '@azure/cosmos'
import { assertServiceError, failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

async function permit(container: Container, permission: Partial<PermissionDefinition>, options = {}): Promise<string> {
  const { user } = await container.database.users.upsert({ id: 'ann' })
  const definition = { id: 'p', permissionMode: 'all', resource: container.url, ...permission }
  const { resource } = await user.permissions.upsert(definition as PermissionDefinition, options)
  return (resource as unknown as { _token: string })._token
}

/** The container as seen by a client that has only the token. */
function through(container: Container, token: string): Container {
  const resourceTokens = { [container.id]: token }
  const options = { endpoint: server.db.endpoint, resourceTokens, connectionPolicy: { enableEndpointDiscovery: false } }
  return new CosmosClient(options).database(container.database.id).container(container.id)
}

test('Users and permissions can be created, read, listed, replaced, deleted and renamed', async () => {
  const container = await server.newContainer()
  const { database } = container
  const { resource: made, user } = await database.users.create({ id: 'ann' })
  assert.deepEqual(Object.keys(made!), ['id', '_rid', '_self', '_etag', '_permissions', '_ts'])
  assert.equal(Buffer.from(made!._rid.replaceAll('-', '/'), 'base64').length, 8)
  assert.equal(await failureOf(database.users.create({ id: 'ann' })), 409)
  const definition = { id: 'p', permissionMode: 'Read', resource: container.url } as unknown as PermissionDefinition
  const { resource: permission } = await user.permissions.create(definition)
  assert.deepEqual(Object.keys(permission!), [
    'id',
    'permissionMode',
    'resource',
    '_rid',
    '_self',
    '_etag',
    '_ts',
    '_token',
  ])
  const renamed = await user.replace({ id: 'bob' })
  assert.equal(renamed.resource?._rid, made?._rid)
  assert.equal(await failureOf(user.read()), 404)
  const bob = database.user('bob')
  assert.deepEqual(
    (await bob.permissions.readAll().fetchAll()).resources.map(({ id }) => id),
    ['p'],
  )
  await bob.delete()
  assert.equal(await failureOf(bob.permissions.readAll().fetchAll()), 404)
  await database.users.create({ id: 'bob' })
  assert.deepEqual((await bob.permissions.readAll().fetchAll()).resources, [], 'another user has other permissions')
})

test('A token for all operations gives access to its container and nothing else', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const other = (await container.database.containers.create({ id: 'other', partitionKey: '/pk' })).container
  const token = await permit(container, {})
  const mine = through(container, token)
  assert.equal((await mine.items.create({ id: '1', pk: 'a', ttl: 10 })).statusCode, 201)
  assert.equal((await mine.item('1', 'a').read()).resource?.id, '1')
  assert.equal((await mine.items.query('SELECT * FROM c').fetchAll()).resources.length, 1)
  assert.equal((await mine.item('1', 'a').patch([{ op: 'set', path: '/v', value: 1 }])).statusCode, 200)
  await server.db.clock.advance('10s')
  assert.equal((await mine.item('1', 'a').read()).statusCode, 404)
  const authorization = encodeURIComponent(token)
  const elsewhere = [
    { method: 'POST', path: pathOf(other, 'docs'), body: { id: '1', pk: 'a' } },
    { path: pathOf(other, 'docs') },
    { path: `/dbs/${container.database.id}` },
    { path: '/dbs' },
    { method: 'POST', path: `/dbs/${container.database.id}/users`, body: { id: 'eve' } },
  ]
  for (const request of elsewhere) {
    assertServiceError(await server.send({ ...request, headers: { authorization } }), 403)
  }
})

test('A read token cannot write', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  const token = await permit(container, { permissionMode: 'read' as never })
  const mine = through(container, token)
  assert.equal((await mine.item('1', 'a').read()).statusCode, 200)
  assert.equal((await mine.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0], 1)
  for (const attempt of [
    () => mine.items.create({ id: '2', pk: 'a' }),
    () => mine.items.upsert({ id: '1', pk: 'a' }),
    () => mine.item('1', 'a').delete(),
    () => mine.item('1', 'a').patch([{ op: 'set', path: '/v', value: 1 }]),
    () => mine.delete(),
    () => mine.scripts.storedProcedures.create({ id: 'p', body: 'x' }),
  ]) {
    assert.equal(await failureOf(attempt()), 403)
  }
  // A write that claims to be a query is answered as a query or refused.
  await container.scripts.storedProcedures.create({ id: 'p', body: 'function () {}' })
  const key = { 'x-ms-documentdb-partitionkey': '["a"]' }
  for (const claim of [
    { 'x-ms-documentdb-isquery': 'true' },
    { 'x-ms-cosmos-is-query-plan-request': 'true' },
    { 'content-type': 'application/query+json' },
  ]) {
    for (const [rest, method] of [
      ['sprocs/p', 'POST'],
      ['operations/partitionkeydelete', 'POST'],
      ['docs/1', 'DELETE'],
      ['docs/1', 'PATCH'],
      ['triggers', 'POST'],
      ['sprocs', 'POST'],
      ['docs', 'POST'],
    ] as const) {
      const headers = {
        authorization: encodeURIComponent(token),
        'x-ms-cosmos-is-batch-request': 'true',
        ...key,
        ...claim,
      }
      const { status } = await server.send({
        method,
        path: pathOf(container, ...rest.split('/')),
        headers,
        body: { id: '2', pk: 'a' },
      })
      assert.ok(status === 403 || (status === 400 && !rest.includes('/')), `${method} ${rest}: ${status}`)
    }
  }
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 1)
})

test('A token for one partition key gives access to that key only, whatever the request', async () => {
  const container = await server.newContainer()
  for (const pk of ['a', 'b']) await container.items.create({ id: '1', pk })
  const token = await permit(container, { resourcePartitionKey: ['a'] as never })
  const mine = through(container, token)
  assert.equal((await mine.item('1', 'a').read()).statusCode, 200)
  assert.equal(await failureOf(mine.item('1', 'b').read()), 403)
  assert.equal(await failureOf(mine.items.create({ id: '2', pk: 'b' })), 403)
  assert.equal((await mine.items.query('SELECT * FROM c', { partitionKey: 'a' }).fetchAll()).resources.length, 1)
  assert.equal(await failureOf(mine.items.query('SELECT * FROM c').fetchAll()), 403)
  const send = (headers: Record<string, string>, body?: unknown) =>
    server.send({
      method: body === undefined ? 'GET' : 'POST',
      path: pathOf(container, 'docs'),
      headers: { authorization: encodeURIComponent(token), ...headers },
      body,
    })
  const bulk = {
    'x-ms-cosmos-is-batch-request': 'true',
    'x-ms-cosmos-batch-atomic': 'false',
    'x-ms-documentdb-partitionkey': '["a"]',
  }
  const smuggled = [{ operationType: 'Delete', id: '1', partitionKey: '["b"]' }]
  assert.equal((await send(bulk, smuggled)).status, 400)
  assert.equal((await send({ ...bulk, 'x-ms-cosmos-batch-atomic': 'true' }, smuggled)).status, 400)
  assertServiceError(await send({}), 403)
  assertServiceError(await send({ 'a-im': 'Incremental Feed' }), 403)
  assert.equal((await send({ 'x-ms-documentdb-partitionkey': '["a"]' })).json.Documents.length, 1)
  assert.equal((await container.item('1', 'b').read()).statusCode, 200)
  assert.equal(await failureOf(mine.delete()), 403)
  const script = { method: 'POST', path: pathOf(container, 'triggers'), body: { id: 't' } }
  const headers = { authorization: encodeURIComponent(token), 'x-ms-documentdb-partitionkey': '["a"]' }
  assertServiceError(await server.send({ ...script, headers }), 403)
})

test('An altered or malformed token is refused', async () => {
  const container = await server.newContainer()
  const get = (authorization: string) => server.send({ path: pathOf(container, 'docs'), headers: { authorization } })
  const token = await permit(container, {}, { resourceTokenExpirySeconds: 10 })
  assert.equal((await get(encodeURIComponent(token))).status, 200)
  assert.equal((await get(token)).status, 200)
  const [signature, payload] = token.split(';') as [string, string]
  const grant = JSON.parse(Buffer.from(payload, 'base64').toString())
  const forged = Buffer.from(JSON.stringify({ ...grant, path: [] })).toString('base64')
  for (const bad of [
    `${signature};${forged};`,
    `${signature};`,
    'type=resource&ver=1&sig=',
    `${token.slice(0, -4)};`,
    'type=resource',
  ]) {
    assertServiceError(await get(encodeURIComponent(bad)), 401)
  }
  assert.ok(grant.expires * 1000 - Date.now() <= 10_000)
})

test('Bad permissions are refused', async () => {
  const container = await server.newContainer()
  const { user } = await container.database.users.create({ id: 'ann' })
  const path = `/dbs/${container.database.id}/users/ann/permissions`
  const good = { id: 'p', permissionMode: 'Read', resource: container.url }
  const post = (body: unknown, headers = {}) => server.send({ method: 'POST', path, body, headers })
  for (const change of [
    { permissionMode: 'Write' },
    { permissionMode: 1 },
    { resource: undefined },
    { resource: '' },
    { resource: '/' },
    { resource: 'dbs/x' },
    { resource: 7 },
    { resourcePartitionKey: 'a' },
    { resourcePartitionKey: [[]] },
    { id: '' },
    { id: 'a/b' },
  ]) {
    assertServiceError(await post({ ...good, ...change }), 400)
  }
  for (const seconds of ['0', '9', '86401', 'x', '1.5']) {
    assertServiceError(await post({ ...good, id: seconds }, { 'x-ms-documentdb-expiry-seconds': seconds }), 400)
  }
  const left = (await user.permissions.readAll().fetchAll()).resources
  assert.deepEqual(
    left.filter(({ id }) => !/^[\d.x]+$/.test(id)),
    [],
  )
  assertServiceError(await server.send({ path: `/dbs/${container.database.id}/users/none/permissions` }), 404, 0)
})

test('A token for an item gives access to it, and lets the client read the container first', async () => {
  const container = await server.newContainer()
  const { resource: one } = await container.items.create({ id: '1', pk: 'a' })
  await container.items.create({ id: '2', pk: 'a' })
  for (const resource of [`${container.url}/docs/1`, one!._self]) {
    const token = await permit(container, { resource, resourcePartitionKey: ['a'] as never })
    const mine = through(container, token)
    assert.equal((await mine.read()).resource?.id, 'items')
    assert.equal((await mine.readPartitionKeyRanges().fetchAll()).resources.length, 1)
    assert.equal((await mine.item('1', 'a').read()).resource.id, '1')
    assert.equal((await mine.item('1', 'a').replace({ id: '1', pk: 'a', n: 1 })).statusCode, 200)
    assert.equal(await failureOf(mine.item('2', 'a').read()), 403)
    assert.equal(await failureOf(mine.items.create({ id: '3', pk: 'a' })), 403)
    assert.equal(await failureOf(mine.items.query('SELECT * FROM c', { partitionKey: 'a' }).fetchAll()), 403)
    assert.equal(await failureOf(mine.delete()), 403)
  }
})

test('A token for an item cannot give the item another id', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  const token = await permit(container, { resource: `${container.url}/docs/1` })
  assert.equal(await failureOf(through(container, token).item('1', 'a').replace({ id: '2', pk: 'a' })), 403)
})

test('A token ends with its permission', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  const token = await permit(container, {})
  const mine = through(container, token)
  const user = container.database.user('ann')
  await user.permission('p').replace({ id: 'q', permissionMode: 'all' as never, resource: container.url })
  assert.equal((await mine.item('1', 'a').read()).statusCode, 200, 'another name is the same permission')
  await user.permission('q').delete()
  // INFERRED status.
  assert.equal(await failureOf(mine.item('1', 'a').read()), 403)
  const again = await permit(container, { id: 'q' })
  assert.equal(await failureOf(mine.item('1', 'a').read()), 403, 'another permission of the same name')
  assert.equal((await through(container, again).item('1', 'a').read()).statusCode, 200)
  await user.delete()
  assert.equal(await failureOf(through(container, again).item('1', 'a').read()), 403)
})

test('A token ends with its container, even if another one gets the name', async () => {
  const container = await server.newContainer()
  const mine = through(container, await permit(container, {}))
  await container.delete()
  assert.equal(await failureOf(mine.read()), 404)
  await container.database.containers.create({ id: 'items', partitionKey: '/pk' })
  // INFERRED status.
  assert.equal(await failureOf(mine.read()), 403)
  const { resource } = await container.database.user('ann').permission('p').read()
  assert.equal((await through(container, (resource as unknown as { _token: string })._token).read()).statusCode, 200)
})
