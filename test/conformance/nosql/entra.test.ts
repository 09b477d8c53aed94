/** Tokens of Entra ID: who may enter with which, what a role allows, and every way to forge one. */

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import test from 'node:test'
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos'
import { AccountKeys, wellKnownKey } from '../../../src/base/account-keys.ts'
import { machine } from '../../../src/base/clock.ts'
import { parseEntraSettings } from '../../../src/nosql/access/entra-settings.ts'
import { EntraTokens } from '../../../src/nosql/access/entra-tokens.ts'
import { runCli, serveCli } from '../../support/run-cli.ts'
import { call } from '../../support/signed-request.ts'
import { newClient, temporaryDirectory } from '../../support/start-server.ts'

const issuer = 'https://login.microsoftonline.com/4f0e1c1a/v2.0'
const audience = 'https://cosmos.azure.com'
const [writerId, readerId, strangerId] = ['Writer-0001', 'reader-0002', 'stranger-0003']

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwk = (key: KeyObject, kid: string) => ({ ...key.export({ format: 'jwk' }), kid, use: 'sig' })

const settings = {
  issuers: [issuer],
  audiences: [audience],
  keys: [jwk(rsa.publicKey, 'one'), jwk(curve.publicKey, 'two')],
  contributors: [writerId],
  readers: [readerId],
}

const nowSeconds = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function claimsOf(oid: string | undefined): Record<string, unknown> {
  const now = nowSeconds()
  return { iss: issuer, aud: audience, oid, iat: now, nbf: now, exp: now + 3600 }
}

function tokenOf(
  claims: object,
  {
    header = { alg: 'RS256', typ: 'JWT', kid: 'one' },
    key = rsa.privateKey,
  }: { header?: object; key?: KeyObject } = {},
): string {
  const text = `${encode(header)}.${encode(claims)}`
  const isCurve = key.asymmetricKeyType === 'ec'
  const signature = sign('sha256', Buffer.from(text), { key, ...(isCurve && { dsaEncoding: 'ieee-p1363' as const }) })
  return `${text}.${signature.toString('base64url')}`
}

/** The token that SDKs make for the emulator: its signature is the account key. */
function emulatorToken(key: string, claims: object = {}): string {
  const header = { typ: 'JWT', alg: 'RS256', x5t: 'CosmosEmulatorPrimaryMaster', kid: 'CosmosEmulatorPrimaryMaster' }
  const now = nowSeconds()
  const all = {
    aud: 'https://localhost.localhost',
    iss: 'https://sts.fake-issuer.net/7b19',
    exp: now + 7200,
    ...claims,
  }
  return `${encode(header)}.${encode(all)}.${Buffer.from(key).toString('base64url')}`
}

/** SDKs send these tokens over https only. */
function clientWith(endpoint: string, ca: string, token: string): CosmosClient {
  const getToken = async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 })
  return new CosmosClient({
    endpoint: endpoint.replace('http:', 'https:'),
    aadCredentials: { getToken },
    agent: new Agent({ ca }),
    connectionPolicy: { enableEndpointDiscovery: false },
  })
}

const ownKey = Buffer.from('a key of our own, long enough').toString('base64')

async function serve() {
  const file = join(temporaryDirectory(), 'entra.json')
  writeFileSync(file, JSON.stringify(settings))
  const server = await serveCli(['--memory', '--port', '0', '--json', '--key', ownKey, '--entra', file])
  const { database } = await newClient({ endpoint: server.endpoint, key: ownKey }).databases.create({ id: 'shop' })
  await database.containers.create({ id: 'carts', partitionKey: '/pk' })
  const { text: ca } = await call(server.endpoint, 'GET', '/_explorer/emulator.pem')
  const carts = (token: string) => clientWith(server.endpoint, ca, token).database('shop').container('carts')
  return { server, file, carts, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const status = (wanted: number, substatus?: number) => (error: { code?: unknown; substatus?: unknown }) => {
  assert.deepEqual([error.code, error.substatus ?? 0], [wanted, substatus ?? 0])
  return true
}

test('A contributor works with data through the SDK; databases, containers and scripts need the key', async () => {
  await using entra = await serve()
  for (const token of [
    tokenOf(claimsOf(writerId)),
    tokenOf(claimsOf(writerId.toLowerCase()), { header: { alg: 'ES256', kid: 'two' }, key: curve.privateKey }),
    tokenOf({ ...claimsOf(undefined), groups: [strangerId, writerId] }),
    emulatorToken(ownKey),
  ]) {
    const carts = entra.carts(token)
    await carts.items.create({ id: '1', pk: 'a' })
    await carts.item('1', 'a').patch([{ op: 'add', path: '/n', value: 1 }])
    assert.equal((await carts.items.query('SELECT * FROM c WHERE c.n = 1').fetchAll()).resources.length, 1)
    assert.equal((await carts.read()).resource!.id, 'carts')
    await carts.item('1', 'a').delete()
    const forbidden = [
      () => carts.database.client.databases.create({ id: 'x' }),
      () => carts.database.client.databases.readAll().fetchAll(),
      () => carts.database.containers.create({ id: 'x', partitionKey: '/pk' }),
      () => carts.database.containers.readAll().fetchAll(),
      () => carts.replace({ id: 'carts', partitionKey: { paths: ['/pk'] }, defaultTtl: 60 }),
      () => carts.delete(),
      () => carts.scripts.storedProcedures.create({ id: 's', body: 'function () {}' }),
      () => carts.scripts.storedProcedures.readAll().fetchAll(),
      () => carts.database.users.readAll().fetchAll(),
      () => carts.database.client.offers.readAll().fetchAll(),
    ]
    for (const call of forbidden) await assert.rejects(call, status(403, 5300), String(call))
  }
})

test('A reader reads and queries; writes are refused with the sub-status of the service', async () => {
  await using entra = await serve()
  await entra.carts(tokenOf(claimsOf(writerId))).items.create({ id: '1', pk: 'a' })
  const carts = entra.carts(tokenOf(claimsOf(readerId)))
  assert.equal((await carts.item('1', 'a').read()).statusCode, 200)
  assert.equal((await carts.items.query('SELECT * FROM c').fetchAll()).resources.length, 1)
  const feed = carts.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() })
  assert.equal((await feed.readNext()).result.length, 1)
  for (const write of [
    () => carts.items.create({ id: '2', pk: 'a' }),
    () => carts.items.upsert({ id: '1', pk: 'a' }),
    () => carts.item('1', 'a').replace({ id: '1', pk: 'a' }),
    () => carts.item('1', 'a').patch([{ op: 'add', path: '/n', value: 1 }]),
    () => carts.item('1', 'a').delete(),
    () => carts.scripts.storedProcedure('s').execute('a'),
  ]) {
    await assert.rejects(write(), status(403, 5301), String(write))
  }
  const batch = carts.items.batch([{ operationType: 'Create', resourceBody: { id: '3', pk: 'a' } }], 'a')
  await assert.rejects(batch, /principal \[reader-0002\] does not have required RBAC permissions/)
})

test('A token that is forged, expired or meant for others is refused', () => {
  const tokens = new EntraTokens(new AccountKeys([{ text: ownKey, isReadOnly: false }]), parsed(settings))
  const good = claimsOf(writerId)
  const [header, payload, signature] = tokenOf(good).split('.') as [string, string, string]
  const publicPem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
  const hmacHeader = encode({ alg: 'HS256', kid: 'one' })
  const hmac = createHmac('sha256', publicPem).update(`${hmacHeader}.${payload}`).digest('base64url')
  const jku = { alg: 'RS256', kid: 'other', jku: 'http://127.0.0.1:1/keys', jwk: jwk(otherRsa.publicKey, 'other') }
  const now = nowSeconds()
  const forged: readonly (readonly [name: string, token: string, reason: RegExp])[] = [
    ['no signature', `${header}.${payload}.`, /signature is wrong/],
    ['the signature of another token', `${header}.${encode({ ...good, oid: 'x' })}.${signature}`, /signature is wrong/],
    ['another key', tokenOf(good, { key: otherRsa.privateKey }), /signature is wrong/],
    ['algorithm none', `${encode({ alg: 'none', kid: 'one' })}.${payload}.`, /algorithm is not RS256/],
    ['the public key as a secret', `${hmacHeader}.${payload}.${hmac}`, /algorithm is not RS256/],
    ['a key that it brings itself', tokenOf(good, { header: jku, key: otherRsa.privateKey }), /not among those/],
    [
      'a key id that is a property of objects',
      tokenOf(good, { header: { alg: 'RS256', kid: '__proto__' } }),
      /not among/,
    ],
    ['no key id', tokenOf(good, { header: { alg: 'RS256' } }), /not among those/],
    ['expired', tokenOf({ ...good, exp: now - 301 }), /has expired/],
    ['no end', tokenOf({ ...good, exp: undefined }), /has expired/],
    ['not yet valid', tokenOf({ ...good, nbf: now + 400 }), /not valid yet/],
    ['another issuer', tokenOf({ ...good, iss: `${issuer}/` }), /issuer/],
    ['another audience', tokenOf({ ...good, aud: ['https://graph.microsoft.com'] }), /audience/],
    ['two parts', `${header}.${payload}`, /not a JSON Web Token/],
    ['four parts', `${header}.${payload}.${signature}.x`, /not a JSON Web Token/],
    ['a list as header', `${encode([])}.${payload}.${signature}`, /not a JSON Web Token/],
    ['the emulator key of another account', emulatorToken(wellKnownKey), /not a key of this server/],
    ['an expired emulator token', emulatorToken(ownKey, { exp: now - 301 }), /has expired/],
  ]
  for (const [name, token, reason] of forged) {
    assert.throws(() => tokens.check(token), { kind: 'unauthenticated', message: reason }, name)
  }
  assert.throws(() => tokens.check(tokenOf(claimsOf(strangerId))), { kind: 'forbidden', message: /has no role/ })
  assert.equal(tokens.check(tokenOf({ ...good, exp: now - 200 })).role, 'contributor', 'clocks may differ a little')
})

test('A token that was accepted before is refused when it has expired, or when its role was taken away', async t => {
  let ms = Date.now()
  t.mock.method(machine, 'epochMs', () => ms)
  const tokens = new EntraTokens(new AccountKeys([{ text: ownKey, isReadOnly: false }]), parsed(settings))
  const short = tokenOf(claimsOf(readerId))
  assert.equal(tokens.check(short).role, 'reader')
  ms += (3600 + 290) * 1000
  assert.equal(tokens.check(short).role, 'reader')
  ms += 20_000
  assert.throws(() => tokens.check(short), /has expired/)
  const token = tokenOf({ ...claimsOf(readerId), exp: nowSeconds() + 7200 })
  assert.equal(tokens.check(token).role, 'reader')
  tokens.replace(parsed({ ...settings, readers: [] }))
  assert.throws(() => tokens.check(token), /has no role/)
})

const parsed = (value: unknown) => parseEntraSettings(JSON.stringify(value), 'entra.json')

test('Settings that would let nobody or the wrong one in are refused, with the file and the reason', async () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const cases: readonly (readonly [value: unknown, reason: RegExp])[] = [
    [[], /not one JSON object/],
    [{ ...settings, keys: [] }, /"keys" must not be empty/],
    [{ ...settings, issuers: undefined }, /"issuers" must not be empty/],
    [{ ...settings, audiences: audience }, /"audiences" must be a list/],
    [{ ...settings, readers: [1] }, /"readers" must contain texts/],
    [{ ...settings, admins: [] }, /no setting "admins"/],
    [{ ...settings, keys: [jwk(small.publicKey, 'small')] }, /key 0 must be a public JSON Web Key/],
    [{ ...settings, keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'secret' }] }, /key 0 must be/],
    [{ ...settings, keys: [{ ...jwk(rsa.publicKey, 'x'), kid: undefined }] }, /key 0 must be/],
    [{ ...settings, keys: [null] }, /key 0 must be/],
  ]
  for (const [value, reason] of cases) assert.throws(() => parsed(value), { kind: 'malformed', message: reason })
  const { code, stderr } = await runCli(['--memory', '--port', '0', '--entra', join(temporaryDirectory(), 'none')])
  assert.equal(code, 1)
  assert.match(stderr, /cannot be read \(--entra\)/)
})

test('Without --entra only the token of the emulator is accepted, with the Host that the key would need', async () => {
  await using server = await serveCli(['--memory', '--port', '0', '--json'])
  const get = (token: string, headers = {}) =>
    call(server.endpoint, 'GET', '/', { headers: { authorization: `type=aad&ver=1.0&sig=${token}`, ...headers } })
  assert.equal((await get(emulatorToken(wellKnownKey))).status, 200)
  assert.match((await get(tokenOf(claimsOf(writerId)))).text, /accepts none; its operator can allow them with --entra/)
  const rebound = await call(server.endpoint, 'GET', '/', {
    headers: { authorization: `type=aad&ver=1.0&sig=${emulatorToken(wellKnownKey)}`, host: 'evil.example' },
  })
  assert.equal(rebound.status, 403)
})
