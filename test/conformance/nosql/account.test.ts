/** The account document tells a client to stay at the address that it used. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { call } from '../../support/signed-request.ts'
import { newClient, startServer } from '../../support/start-server.ts'

const server = await startServer()
const { port } = new URL(server.db.endpoint)

for (const host of ['127.0.0.1', 'localhost']) {
  test(`A client that calls the server ${host} is told to stay there`, async () => {
    const endpoint = `http://${host}:${port}`
    const client = newClient({ endpoint, key: server.db.key })
    const { resource } = await client.getDatabaseAccount()
    const locations = [...resource!.writableLocations, ...resource!.readableLocations]
    assert.equal(locations.length, 2)
    for (const { databaseAccountEndpoint } of locations) assert.equal(databaseAccountEndpoint, `${endpoint}/`)
    assert.equal(await client.getWriteEndpoint(), `${endpoint}/`)
    const { database } = await client.databases.create({ id: `by ${host}` })
    assert.equal((await database.read()).statusCode, 200)
  })
}

test('The account is not called localhost, which would make the SDK read it before every request', async () => {
  const { json, status } = await server.send({ path: '/' })
  assert.equal(status, 200)
  assert.notEqual(json.id, 'localhost')
  assert.equal(json.userConsistencyPolicy.defaultConsistencyLevel, 'Session')
  assert.equal(json.enableMultipleWriteLocations, false)
  // INFERRED: the emulator's region. Clients look regions up by the service's names.
  assert.deepEqual([json.writableLocations[0].name, json.readableLocations[0].name], Array(2).fill('South Central US'))
  assert.equal(typeof JSON.parse(json.queryEngineConfiguration).maxSqlQueryInputLength, 'number')
})

test('A HEAD request for the account answers with its headers and no body', async () => {
  const answer = await server.send({ method: 'HEAD', path: '/' })
  assert.equal(answer.status, 200)
  assert.equal(answer.text, '')
  assert.ok(answer.headers['x-ms-activity-id'])
})

test('The SDK reads the account once and not before every request', async () => {
  const container = await server.newContainer()
  const counted = async () => Number((await call(server.db.endpoint, 'GET', '/status')).json.requests[200])
  const before = await counted()
  for (let at = 0; at < 5; at++) await container.item('none', 'a').read()
  assert.equal(await counted(), before)
})
