/** https on the same port as http, with a certificate that clients can trust and that outlives a restart. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import test from 'node:test'
import { CosmosClient } from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import { call } from '../../support/signed-request.ts'
import { startServer, temporaryDirectory } from '../../support/start-server.ts'

const server = await startServer()
const { port } = new URL(server.db.endpoint)

async function certificateOf(endpoint: string): Promise<string> {
  const { status, headers, text } = await call(endpoint, 'GET', '/_explorer/emulator.pem')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/x-pem-file')
  return text
}

function aliveOverHttps(options: { host: string; port: string; ca?: string; servername?: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ ...options, path: '/alive', agent: false }, res => {
      res.resume()
      resolve(res.statusCode!)
    }).on('error', reject)
  })
}

test('The certificate is one that can be trusted as an authority, and holds no private key', async () => {
  const pem = await certificateOf(server.db.endpoint)
  assert.doesNotMatch(pem, /PRIVATE/)
  const certificate = new X509Certificate(pem)
  assert.equal(certificate.ca, true)
  const now = Date.now()
  assert.ok(certificate.validFromDate.getTime() < now && now < certificate.validToDate.getTime())
  assert.ok(certificate.checkHost('localhost'))
  assert.ok(certificate.checkHost('host.docker.internal'))
  assert.ok(certificate.checkIP('127.0.0.1'))
  assert.ok(certificate.checkIP('::1'))
})

test('A client that trusts the certificate can use https, by name and by address, on the http port', async () => {
  const ca = await certificateOf(server.db.endpoint)
  assert.equal(await aliveOverHttps({ host: '127.0.0.1', port, ca }), 200)
  assert.equal(await aliveOverHttps({ host: 'localhost', port, ca }), 200)
  assert.equal((await call(server.db.endpoint, 'GET', '/alive')).status, 200)
})

test('A client that does not trust the certificate, or expects another name, refuses', async () => {
  const ca = await certificateOf(server.db.endpoint)
  await assert.rejects(aliveOverHttps({ host: '127.0.0.1', port }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  await assert.rejects(aliveOverHttps({ host: '127.0.0.1', servername: 'example.com', port, ca }), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('The SDK works over https, and the account document leads it back to https', async () => {
  const ca = await certificateOf(server.db.endpoint)
  const endpoint = `https://localhost:${port}`
  const agent = new Agent({ ca, keepAlive: true })
  const client = new CosmosClient({ endpoint, key: server.db.key, agent })
  const { resource } = await client.getDatabaseAccount()
  assert.equal(resource!.writableLocations[0]?.databaseAccountEndpoint, `${endpoint}/`)
  const { database } = await client.databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 10 })
  await container.items.create({ id: 'one', pk: 'a' })
  assert.equal((await container.item('one', 'a').read()).statusCode, 200)
  assert.equal((await server.client.database('shop').container('carts').item('one', 'a').read()).statusCode, 200)
  await server.db.clock.advance('10s')
  assert.equal((await container.item('one', 'a').read()).statusCode, 404)
  agent.destroy()
})

test('The certificate is kept with the data and survives a restart, readable by its owner only', async () => {
  const data = temporaryDirectory()
  const certificates: string[] = []
  for (let start = 0; start < 2; start++) {
    await using db = await mayfly({ data })
    const ca = await certificateOf(db.endpoint)
    assert.equal(await aliveOverHttps({ host: '127.0.0.1', port: new URL(db.endpoint).port, ca }), 200)
    certificates.push(ca)
  }
  assert.equal(certificates[0], certificates[1])
  const files = readdirSync(data).filter(name => name.endsWith('.pem'))
  assert.equal(files.length, 1)
  assert.equal(statSync(join(data, files[0]!)).mode & 0o777, 0o600)
})

test('Two servers without a data directory do not share a certificate', async () => {
  await using db = await mayfly()
  assert.notEqual(await certificateOf(db.endpoint), await certificateOf(server.db.endpoint))
})
