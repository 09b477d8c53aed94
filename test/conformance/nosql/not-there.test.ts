/** What is not here says so, and settings that would have no effect are refused. */

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import test from 'node:test'
import { assertServiceError } from '../../support/service-error.ts'
import { signature } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

test('Direct mode is told to use the gateway, whatever the signature', async () => {
  const query = '?$resolveFor=dbs%2fd%2fcolls%2fc%2fdocs&$filter=protocol%20eq%20rntbd&$partitionKeyRangeIds=0'
  for (const path of [`//addresses/${query}`, `/addresses/${query}`, `/addresses${query}`]) {
    for (const authorization of ['type%3dmaster%26ver%3d1.0%26sig%3dother', undefined]) {
      assert.match(assertServiceError(await server.send({ path, headers: { authorization } }), 400), /Gateway/)
    }
  }
})

test('An Entra token is not called a wrong key', async () => {
  for (const token of ['type=aad&ver=1.0&sig=header.body.end', 'Bearer header.body.end']) {
    for (const authorization of [token, encodeURIComponent(token)]) {
      if (authorization.startsWith('Bearer%')) continue
      const text = assertServiceError(await server.send({ path: '/dbs', headers: { authorization } }), 401)
      assert.match(text, /Entra ID/)
      assert.doesNotMatch(text, /wrong key/)
    }
  }
})

test('The path of a feature that is missing names the feature', async () => {
  const container = await server.newContainer()
  const cases = [
    [pathOf(container, 'docs', '1', 'attachments'), /^Attachments are not available/],
    [pathOf(container, 'schemas'), /^The schemas of the analytical store are not available/],
    ['/snapshots', /^Snapshots are not available/],
    ['/roledefinitions', /Entra ID are not available/],
  ] as const
  for (const [path, text] of cases) assert.match(assertServiceError(await server.send({ path }), 400), text)
  assertServiceError(await server.send({ path: '/nonsense' }), 404, 0)
})

test('Indexes and views that would never be filled, and unknown properties, are refused', async () => {
  const database = await server.newDatabase()
  const path = `/dbs/${database.id}/colls`
  const definition = { id: 'view', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }
  const source = { sourceCollectionId: 'items', definition: 'SELECT c.id FROM c' }
  for (const [more, text] of [
    [{ materializedViewDefinition: source }, /^Materialized views are not available/],
    [{ globalSecondaryIndexDefinition: source }, /^Global secondary indexes are not available/],
    [{ defaultTTL: 5 }, /"defaultTTL" is unknown/],
  ] as const) {
    const body = { ...definition, ...more }
    assert.match(assertServiceError(await server.send({ method: 'POST', path, body }), 400), text)
  }
  assert.equal((await server.send({ method: 'POST', path, body: definition })).status, 201)
  const body = { ...definition, defaultTTL: 5 }
  assertServiceError(await server.send({ method: 'PUT', path: `${path}/view`, body }), 400)
})

test('A priority is high or low, and a throughput bucket is a number from 1 to 5', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: '1', pk: 'a' })
  const read = (headers: Record<string, string>) =>
    server.send({
      path: pathOf(container, 'docs', '1'),
      headers: { 'x-ms-documentdb-partitionkey': '["a"]', ...headers },
    })
  for (const level of ['High', 'Low']) assert.equal((await read({ 'x-ms-cosmos-priority-level': level })).status, 200)
  for (const bucket of ['1', '5']) assert.equal((await read({ 'x-ms-cosmos-throughput-bucket': bucket })).status, 200)
  // INFERRED texts.
  for (const level of ['Medium', '1', 'highest']) {
    assert.match(assertServiceError(await read({ 'x-ms-cosmos-priority-level': level }), 400), /'High' or 'Low'/)
  }
  for (const bucket of ['0', '6', '-1', '1.5', 'one']) {
    assert.match(assertServiceError(await read({ 'x-ms-cosmos-throughput-bucket': bucket }), 400), /from 1 to 5/)
  }
})

test('A request with two Authorization headers is refused', async () => {
  const date = new Date().toUTCString()
  const authorization = signature(server.db.key, 'GET', '/dbs', date)
  const status = (authorizations: string[]) =>
    new Promise(resolve => {
      const headers = [
        'x-ms-date',
        date,
        'host',
        'localhost',
        ...authorizations.flatMap(each => ['authorization', each]),
      ]
      httpRequest(`${server.db.endpoint}/dbs`, { headers }, res => resolve(res.resume().statusCode)).end()
    })
  assert.equal(await status([authorization]), 200)
  assert.equal(await status([authorization, 'other']), 400)
  assert.equal(await status(['other', authorization]), 400)
})
