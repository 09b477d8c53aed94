/** The account document tells a client to stay at the address that it used. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
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

/** What Chrome and Firefox send when somebody opens an address. */
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

test('A browser that opens the address of the server gets to the explorer, in each way to connect', async () => {
  const { endpoint } = server.db
  const opened = await call(endpoint, 'GET', '/', { headers: { accept: browser } })
  assert.equal(opened.status, 302)
  assert.equal(opened.headers.location, '/_explorer/')
  const page = await fetch(endpoint, { headers: { accept: browser } })
  assert.equal(page.url, `${endpoint}/_explorer/`)
  assert.match(page.headers.get('content-type')!, /^text\/html/)
  const session = connect(endpoint)
  const stream = session.request({ ':path': '/', accept: browser })
  const [head] = await once(stream, 'response')
  assert.deepEqual([head[':status'], head.location], [302, '/_explorer/'])
  session.close()
  // Such a request is not one for the fast lane.
  const odd = await call(endpoint, 'GET', '/', { headers: { accept: browser, expect: '100-continue' } })
  assert.equal(odd.status, 302)
})

test('Nobody but a browser that opens the address is sent to the explorer', async () => {
  const { endpoint } = server.db
  for (const accept of ['application/json', '*/*', 'application/json, text/html', undefined]) {
    const headers = accept === undefined ? {} : { accept }
    assert.equal((await call(endpoint, 'GET', '/', { headers })).status, 401, accept)
    assert.equal((await server.send({ path: '/', headers })).status, 200, accept)
  }
  assert.equal((await server.send({ path: '/', headers: { accept: browser } })).status, 200, 'it is signed')
  for (const [method, path] of [
    ['HEAD', '/'],
    ['POST', '/'],
    ['GET', '/dbs'],
    ['GET', '/?x'],
  ] as const) {
    assert.equal(
      (await call(endpoint, method, path, { headers: { accept: browser } })).status,
      401,
      `${method} ${path}`,
    )
  }
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
