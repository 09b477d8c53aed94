/** Client-side encryption: the keys and policies are kept here, the SDK encrypts and decrypts. */

import assert from 'node:assert/strict'
import test from 'node:test'
import {
  CosmosClient,
  type Database,
  EncryptionAlgorithm,
  EncryptionKeyResolverName,
  EncryptionType,
  KeyEncryptionAlgorithm,
} from '@azure/cosmos'
import { assertServiceError, failureOf } from '../../support/service-error.ts'
import { startServer } from '../../support/start-server.ts'

const server = await startServer()

/** "Wraps" keys by adding the number in the name of the key to each byte. */
const shifted = (key: Uint8Array, by: number) => Uint8Array.from(key, byte => byte + by)
const keyEncryptionKeyResolver = {
  encryptionKeyResolverName: EncryptionKeyResolverName.AzureKeyVault,
  wrapKey: async (id: string, _: string, key: Uint8Array) => shifted(key, Number(id)),
  unwrapKey: async (id: string, _: string, key: Uint8Array) => shifted(key, -Number(id)),
}

const metadata = (number: number) => ({
  type: EncryptionKeyResolverName.AzureKeyVault,
  name: `key ${number}`,
  value: String(number),
  algorithm: KeyEncryptionAlgorithm.RSA_OAEP,
})

async function encryptedDatabase(): Promise<Database> {
  const { endpoint, key } = server.db
  const client = new CosmosClient({ endpoint, key, clientEncryptionOptions: { keyEncryptionKeyResolver } as never })
  const { id } = await server.newDatabase()
  return client.database(id)
}

const algorithm = EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256

function policy(clientEncryptionKeyId: string) {
  const encryptionType = EncryptionType.DETERMINISTIC
  const path = { path: '/secret', clientEncryptionKeyId, encryptionType, encryptionAlgorithm: algorithm }
  return { includedPaths: [path], policyFormatVersion: 2 }
}

test('The SDK encrypts with keys that are created, read and wrapped again', async () => {
  const database = await encryptedDatabase()
  const made = await database.createClientEncryptionKey('dek', algorithm, metadata(1))
  assert.equal(made.statusCode, 201)
  const { container } = await database.containers.create({
    id: 'items',
    partitionKey: '/pk',
    clientEncryptionPolicy: policy('dek'),
  })
  await container.items.create({ id: '1', pk: 'a', secret: 'plain text' })
  assert.equal((await container.item('1', 'a').read()).resource.secret, 'plain text')
  const stored = (await server.client.database(database.id).container('items').item('1', 'a').read()).resource
  assert.notEqual(stored.secret, 'plain text')

  const rewrapped = await database.rewrapClientEncryptionKey('dek', metadata(2))
  assert.equal(rewrapped.statusCode, 200)
  const { resource } = await database.readClientEncryptionKey('dek')
  assert.deepEqual((resource as unknown as { keyWrapMetadata: object }).keyWrapMetadata, metadata(2))
  const again = await new CosmosClient({
    endpoint: server.db.endpoint,
    key: server.db.key,
    clientEncryptionOptions: { keyEncryptionKeyResolver } as never,
  })
    .database(database.id)
    .container('items')
    .item('1', 'a')
    .read()
  assert.equal(again.resource.secret, 'plain text', 'the data key is still the same')
})

test('Keys are listed and queried, have a `_self`, and end with their database', async () => {
  const database = await server.newDatabase()
  const path = `/dbs/${database.id}/clientencryptionkeys`
  const body = {
    id: 'k',
    encryptionAlgorithm: algorithm,
    keyWrapMetadata: metadata(1),
    wrappedDataEncryptionKey: 'AQID',
  }
  const made = await server.send({ method: 'POST', path, body })
  assert.equal(made.status, 201)
  const { _rid, _self, _etag, _ts, ...rest } = made.json
  assert.deepEqual(rest, body)
  const list = await server.send({ path })
  assert.deepEqual(list.json.ClientEncryptionKeys, [made.json])
  const headers = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' }
  const query = { query: 'SELECT * FROM c WHERE c.id = "k"' }
  const found = await server.send({ method: 'POST', path, headers, body: query })
  assert.deepEqual(found.json.ClientEncryptionKeys, [made.json])
  assert.deepEqual((await server.send({ path: `/${_self}`, signedLink: _rid.toLowerCase() })).json, made.json)

  assertServiceError(await server.send({ method: 'POST', path, body }), 409)
  assertServiceError(await server.send({ path: `${path}/none` }), 404, 0)
  assertServiceError(await server.send({ method: 'DELETE', path: `${path}/k` }), 405)
  const stale = { 'if-match': '"00000000-0000-0000-0000-000000000000"' }
  assertServiceError(await server.send({ method: 'PUT', path: `${path}/k`, headers: stale, body }), 412)
  for (const change of [
    { id: '' },
    { encryptionAlgorithm: 'AES' },
    { wrappedDataEncryptionKey: 'not base64!' },
    { wrappedDataEncryptionKey: undefined },
    { keyWrapMetadata: undefined },
    { keyWrapMetadata: { type: 't', name: 1, value: 'v' } },
  ]) {
    assertServiceError(await server.send({ method: 'POST', path, body: { ...body, ...change } }), 400)
    assertServiceError(await server.send({ method: 'PUT', path: `${path}/k`, body: { ...body, ...change } }), 400)
  }
  await database.delete()
  assertServiceError(await server.send({ path: `${path}/k` }), 404, 1003)
  await server.client.databases.create({ id: database.id })
  assert.deepEqual((await server.send({ path })).json.ClientEncryptionKeys, [])
})

test('A policy that names an unknown key is refused', async () => {
  const database = await server.newDatabase()
  const definition = { id: 'items', partitionKey: { paths: ['/pk'] }, clientEncryptionPolicy: policy('none') }
  const path = `/dbs/${database.id}/colls`
  const text = assertServiceError(await server.send({ method: 'POST', path, body: definition }), 400)
  assert.equal(text, "ClientEncryptionKey with id '[none]' does not exist.")
  assert.equal(await failureOf(database.container('items').read()), 404)
})

test('A client of a container that was created again with another policy is told so (400/1024)', async () => {
  const database = await encryptedDatabase()
  await database.createClientEncryptionKey('dek', algorithm, metadata(1))
  const definition = { id: 'items', partitionKey: '/pk', clientEncryptionPolicy: policy('dek') }
  const { container } = await database.containers.create(definition)
  await container.items.create({ id: '1', pk: 'a', secret: 's' })
  await container.delete()
  await server.client.database(database.id).containers.create({ id: 'items', partitionKey: '/pk' })
  // The SDK forgets what it knew and asks its user to try again.
  await assert.rejects(container.items.create({ id: '1', pk: 'a', secret: 's' }))
})

test('A client whose key was revoked is told to wrap it again: its version is still the latest', async () => {
  const { endpoint, key } = server.db
  let isRevoked = false
  const unwrapKey = async (id: string, _: string, bytes: Uint8Array) => {
    if (isRevoked) throw Object.assign(new Error('revoked'), { statusCode: 403 })
    return shifted(bytes, -Number(id))
  }
  const resolver = { ...keyEncryptionKeyResolver, unwrapKey }
  // The client forgets keys at once.
  const options = { keyEncryptionKeyResolver: resolver, encryptionKeyTimeToLiveInSeconds: 0 }
  const client = new CosmosClient({ endpoint, key, clientEncryptionOptions: options as never })
  const database = client.database((await server.newDatabase()).id)
  await database.createClientEncryptionKey('dek', algorithm, metadata(1))
  const definition = { id: 'items', partitionKey: '/pk', clientEncryptionPolicy: policy('dek') }
  const { container } = await database.containers.create(definition)
  await container.items.create({ id: '1', pk: 'a', secret: 's' })
  isRevoked = true
  await assert.rejects(container.items.create({ id: '2', pk: 'a', secret: 's' }), /needs to be rewrapped/)
})
