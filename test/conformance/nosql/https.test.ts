/** https on the same port as http, with a certificate that clients can trust and that outlives a restart. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import test from 'node:test'
import { connect } from 'node:tls'
import { CosmosClient } from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import { certificateSource } from '../../../src/server/tls/certificate.ts'
import { makeLocalCertificate } from '../../../src/server/tls/x509.ts'
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

/** The certificates that the server shows: its own first. */
function shownCertificates(port: string): Promise<X509Certificate[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
      const leaf = socket.getPeerX509Certificate()!
      resolve(leaf.issuerCertificate === undefined ? [leaf] : [leaf, leaf.issuerCertificate])
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('The certificate to trust is an authority, and comes without a private key', async () => {
  const pem = await certificateOf(server.db.endpoint)
  assert.doesNotMatch(pem, /PRIVATE/)
  const certificate = new X509Certificate(pem)
  assert.equal(certificate.ca, true)
  const now = Date.now()
  assert.ok(certificate.validFromDate.getTime() < now && now < certificate.validToDate.getTime())
})

test('The server shows a leaf for its names, signed by the authority: rustls refuses an authority there', async () => {
  const authority = new X509Certificate(await certificateOf(server.db.endpoint))
  const [leaf, issuer] = await shownCertificates(port)
  assert.equal(leaf!.ca, false)
  assert.ok(leaf!.checkIssued(authority) && leaf!.verify(authority.publicKey))
  assert.equal(issuer!.fingerprint256, authority.fingerprint256)
  const now = Date.now()
  assert.ok(leaf!.validFromDate.getTime() < now && now < leaf!.validToDate.getTime())
  const validDays = (leaf!.validToDate.getTime() - leaf!.validFromDate.getTime()) / 86_400_000
  assert.ok(validDays <= 825, `${validDays} days are refused by Apple's systems`)
  assert.ok(leaf!.checkHost('localhost'))
  assert.ok(leaf!.checkHost('host.docker.internal'))
  assert.ok(leaf!.checkIP('127.0.0.1'))
  assert.ok(leaf!.checkIP('::1'))
})

test('A client that trusts the certificate can use https, by name and by address, on the http port', async () => {
  const ca = await certificateOf(server.db.endpoint)
  assert.equal(await aliveOverHttps({ host: '127.0.0.1', port, ca }), 200)
  assert.equal(await aliveOverHttps({ host: 'localhost', port, ca }), 200)
  assert.equal((await call(server.db.endpoint, 'GET', '/alive')).status, 200)
})

test('A client that does not trust the certificate, or expects another name, refuses', async () => {
  const ca = await certificateOf(server.db.endpoint)
  await assert.rejects(aliveOverHttps({ host: '127.0.0.1', port }), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })
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

/** Made by version 0.1.0 before it had authorities: one certificate for everything, with its key. */
const oldForm = `-----BEGIN CERTIFICATE-----
MIIBdDCCARmgAwIBAgIJRDuvGfvz4HXlMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMT
CWxvY2FsaG9zdDAeFw0yNjExMTUxNjAxMTFaFw0zNjExMTMxNjAxMTFaMBQxEjAQ
BgNVBAMTCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABA6tm8BJ
nq7mVMhMrd0wbqsYZvjTHM+O57130a93DPyCxrPNGMcvnE6F44a5SWaNVYXDYuQu
FpNS0IvSy5r8zNejVDBSMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgKE
MBMGA1UdJQQMMAoGCCsGAQUFBwMBMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAA
ATAKBggqhkjOPQQDAgNJADBGAiEAnPisQOi21+1jI1yvYDVTOxihbd+l0KBxRtpD
EY6XqFcCIQCiTUd537bZbaAcrZ/pMLV8vu6tyo/mE0eGlOyxEJ7Ohw==
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDqA0W1JXgIgRAErF
aSP3+VEvlXgk8+haJDRCWwPhD16hRANCAAQOrZvASZ6u5lTITK3dMG6rGGb40xzP
jue9d9Gvdwz8gsazzRjHL5xOheOGuUlmjVWFw2LkLhaTUtCL0sua/MzX
-----END PRIVATE KEY-----
`

test('A certificate of the old form is made anew, and one that Mayfly did not make is used as it is', async () => {
  const data = temporaryDirectory()
  const path = join(data, 'certificate.pem')
  writeFileSync(path, oldForm)
  assert.equal(new X509Certificate(oldForm).ca, true)
  let made: string
  {
    await using db = await mayfly({ data })
    const ca = await certificateOf(db.endpoint)
    assert.equal(await aliveOverHttps({ host: '127.0.0.1', port: new URL(db.endpoint).port, ca }), 200)
    assert.equal((await shownCertificates(new URL(db.endpoint).port))[0]!.ca, false)
    made = readFileSync(path, 'utf8')
    assert.notEqual(made, oldForm)
  }
  const dayMs = 86_400_000
  const ofOneDay = (authorityName: string) => {
    const one = { authorityName, names: ['localhost', '127.0.0.1'] }
    const times = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) }
    const { leaf, authority, key } = makeLocalCertificate({ ...one, ...times })
    return `${key}${leaf}${authority}`
  }
  const others = ofOneDay('Somebody')
  for (const [pem, isKept] of [
    [made, true],
    [others, true],
    [ofOneDay('Mayfly local authority'), false],
  ] as const) {
    writeFileSync(path, pem)
    await using db = await mayfly({ data })
    const ca = await certificateOf(db.endpoint)
    assert.equal(await aliveOverHttps({ host: '127.0.0.1', port: new URL(db.endpoint).port, ca }), 200)
    assert.equal(readFileSync(path, 'utf8') === pem, isKept)
  }
})

test('A bad certificate file fails TLS connections only, and TLS works once it is gone', async () => {
  const data = temporaryDirectory()
  const path = join(data, 'certificate.pem')
  writeFileSync(path, 'nonsense')
  await using db = await mayfly({ data })
  const { port } = new URL(db.endpoint)
  await assert.rejects(shownCertificates(port))
  assert.equal((await call(db.endpoint, 'GET', '/_explorer/emulator.pem')).status, 500)
  assert.equal((await call(db.endpoint, 'GET', '/alive')).status, 200)
  unlinkSync(path)
  assert.equal(await aliveOverHttps({ host: '127.0.0.1', port, ca: await certificateOf(db.endpoint) }), 200)
})

test('A TLS connection without a request does not hold up a stopping server', async () => {
  const db = await mayfly()
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(db.endpoint).port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const started = performance.now()
  await db[Symbol.asyncDispose]()
  assert.ok(performance.now() - started < 5000)
  socket.destroy()
})

test('The directory for the certificate is made if it is missing: with --store nothing else makes it', async () => {
  const directory = join(temporaryDirectory(), 'not', 'there')
  const { authority } = await certificateSource(directory)()
  assert.equal((await certificateSource(directory)()).authority, authority)
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(directory), ['certificate.pem'])
})
