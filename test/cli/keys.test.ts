/** Several account keys, read-only keys, and keys that change while the server runs. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { runCli, serveCli } from '../support/run-cli.ts'
import { call, send } from '../support/signed-request.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

const key = (name: string) => Buffer.from(`${name} key, long enough for all`).toString('base64')
const [first, second, third, reader] = ['first', 'second', 'third', 'reader'].map(key) as [
  string,
  string,
  string,
  string,
]

async function serveWithKeys(lines: readonly string[]) {
  const file = join(temporaryDirectory(), 'keys')
  const write = (next: readonly string[]) => writeFileSync(file, `${next.join('\n')}\n`)
  write(lines)
  const server = await serveCli(['--memory', '--port', '0', '--json', '--key-file', file])
  const status = async (
    signer: string,
    request: { method?: string; path: string; body?: unknown; headers?: Record<string, string> },
  ) => (await send({ endpoint: server.endpoint, key: signer }, request)).status
  const admin = (bearer: string, method: string, path: string, body?: unknown) =>
    call(server.endpoint, method, path, { headers: { authorization: `Bearer ${bearer}` }, body })
  return { server, file, write, status, admin, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('Every key of the file opens the account, and no other does', async () => {
  await using keys = await serveWithKeys(['# primary, then secondary', first, '', `  ${second}\r`])
  for (const each of [first, second]) {
    assert.equal(await keys.status(each, { path: '/dbs' }), 200)
    assert.equal((await keys.admin(each, 'GET', '/status')).status, 200)
  }
  assert.equal(await keys.status(third, { path: '/dbs' }), 401)
  assert.equal((await keys.admin(third, 'GET', '/status')).status, 401)
})

test('A read-only key reads and queries; it can neither write, run scripts nor see tokens', async () => {
  await using keys = await serveWithKeys([first, `${reader} read-only`])
  const client = newClient({ endpoint: keys.server.endpoint, key: first })
  const { database } = await client.databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/id' })
  await container.items.create({ id: '1' })
  const { user } = await database.users.create({ id: 'u' })
  await user.permissions.create({ id: 'p', permissionMode: 'All' as never, resource: 'dbs/shop/colls/carts' })

  const reading = newClient({ endpoint: keys.server.endpoint, key: reader }).database('shop').container('carts')
  assert.equal((await reading.item('1', '1').read()).statusCode, 200)
  assert.equal((await reading.items.query('SELECT * FROM c ORDER BY c.id').fetchAll()).resources.length, 1)
  assert.equal((await reading.items.readAll().fetchAll()).resources.length, 1)
  for (const write of [
    () => reading.items.create({ id: '2' }),
    () => reading.items.upsert({ id: '1' }),
    () => reading.item('1', '1').replace({ id: '1' }),
    () => reading.item('1', '1').patch([{ op: 'add', path: '/x', value: 1 }]),
    () => reading.item('1', '1').delete(),
    () => reading.items.batch([{ operationType: 'Create', resourceBody: { id: '3' } }], '3'),
    () => reading.scripts.storedProcedures.create({ id: 's', body: 'function () {}' }),
    () => reading.scripts.storedProcedure('s').execute('1'),
    () => reading.delete(),
    () => reading.database.users.create({ id: 'v' }),
    () => reading.database.user('u').permission('p').read(),
    () => reading.database.user('u').permissions.readAll().fetchAll(),
  ]) {
    await assert.rejects(write, { message: /Insufficient permissions/ }, String(write))
  }
  assert.equal((await keys.admin(reader, 'GET', '/metrics')).status, 200)
  assert.equal((await keys.admin(reader, 'POST', '/_mayfly/purge', {})).status, 403)
  assert.equal((await keys.admin(reader, 'POST', '/_mayfly/keys/reload')).status, 403)
})

test('After SIGHUP the new keys count and the old one is dead, also on an open connection', async () => {
  await using keys = await serveWithKeys([first])
  const client = newClient({ endpoint: keys.server.endpoint, key: first })
  await client.databases.create({ id: 'shop' })
  keys.write([second])
  keys.server.signal('SIGHUP')
  while ((await keys.status(second, { path: '/dbs' })) !== 200);
  await assert.rejects(client.database('shop').read(), { code: 401 })
  assert.equal(await keys.status(second, { path: '/dbs/shop' }), 200)
})

test('A call reads the key file again; with two keys a feed continues over the rotation', async () => {
  await using keys = await serveWithKeys([first])
  const account = (signer: string) => newClient({ endpoint: keys.server.endpoint, key: signer })
  for (const id of ['a', 'b']) await account(first).databases.create({ id })
  const page = { path: '/dbs', headers: { 'x-ms-max-item-count': '1' } }
  const { headers } = await send({ endpoint: keys.server.endpoint, key: first }, page)
  const next = { path: '/dbs', headers: { 'x-ms-continuation': String(headers['x-ms-continuation']) } }

  keys.write([second, first, `${reader} read-only`])
  const reloaded = await keys.admin(first, 'POST', '/_mayfly/keys/reload')
  assert.deepEqual(reloaded.json, { keys: 3, readOnly: 1 })
  assert.equal(await keys.status(second, next), 200)
  assert.equal(await keys.status(first, next), 200)

  keys.write([second])
  assert.equal((await keys.admin(second, 'POST', '/_mayfly/keys/reload')).status, 200)
  assert.equal(await keys.status(first, { path: '/dbs' }), 401)
  assert.equal((await keys.admin(first, 'POST', '/_mayfly/keys/reload')).status, 401)
})

test('Mongo clients log in with every key; a read-only key only reads; a removed key is dead at once', async () => {
  await using keys = await serveWithKeys([first, second, `${reader} read-only`])
  const connect = (signer: string, mechanism: string) => {
    const uri = (keys.server.ready.mongoUri as string).replace('@', `:${encodeURIComponent(signer)}@`)
    return new MongoClient(`${uri}&authMechanism=${mechanism}`)
  }
  for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-1']) {
    for (const signer of [first, second]) {
      await using client = connect(signer, mechanism)
      await client.db('shop').collection('carts').insertOne({ signer })
    }
    await using stranger = connect(third, mechanism)
    await assert.rejects(stranger.db('shop').collection('carts').findOne(), { code: 18 })
  }
  await using client = connect(first, 'SCRAM-SHA-256')
  await using reading = connect(reader, 'SCRAM-SHA-256')
  const carts = reading.db('shop').collection('carts')
  assert.equal(await carts.countDocuments(), 4)
  assert.equal((await carts.find().toArray()).length, 4)
  assert.ok((await reading.db('admin').command({ serverStatus: 1 })).ok)
  const { authInfo } = await reading.db('admin').command({ connectionStatus: 1 })
  assert.deepEqual(authInfo.authenticatedUsers, [{ user: 'localhost', db: 'admin' }])
  assert.equal(authInfo.authenticatedUserRoles[0].role, 'readAnyDatabase')
  for (const write of [
    () => carts.insertOne({}),
    () => carts.deleteMany({}),
    () => carts.aggregate([{ $out: 'other' }]).toArray(),
    () => carts.createIndex({ a: 1 }),
    () => reading.db('shop').dropDatabase(),
    () => reading.db('shop').command({ createUser: 'u', pwd: 'p', roles: [] }),
  ]) {
    await assert.rejects(write, { code: 13 }, String(write))
  }
  assert.equal(await client.db('shop').collection('carts').countDocuments(), 4)
  keys.write([second])
  assert.equal((await keys.admin(second, 'POST', '/_mayfly/keys/reload')).status, 200)
  await assert.rejects(client.db('shop').collection('carts').countDocuments(), { code: 13 })
  await assert.rejects(carts.countDocuments(), { code: 13 })
})

test('A key file that cannot be used changes nothing', async () => {
  await using keys = await serveWithKeys([first])
  for (const [lines, message] of [
    [[], /There is no key/],
    [['# nothing'], /There is no key/],
    [[first, 'short'], /Line 2 .* must be base64/],
    [[`${first} readonly`], /Line 1 .* only the word read-only/],
    [[`${first} read-only`], /first key .* must not be read-only/],
  ] as const) {
    keys.write(lines)
    const { status, json } = await keys.admin(first, 'POST', '/_mayfly/keys/reload')
    assert.equal(status, 400)
    assert.match(json.message, message)
    assert.ok(!json.message.includes(first))
    assert.equal(await keys.status(first, { path: '/dbs' }), 200)
    const refused = await runCli(['--memory', '--port', '0', '--key-file', keys.file])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, message)
  }
})

test('Without a key file there is nothing to read again', async () => {
  await using server = await serveCli(['--memory', '--port', '0', '--json', '--key', first])
  const headers = { authorization: `Bearer ${first}` }
  const { status, json } = await call(server.endpoint, 'POST', '/_mayfly/keys/reload', { headers })
  assert.equal(status, 409)
  assert.match(json.message, /--key-file/)
})

test('No output has a key of the user', async () => {
  await using keys = await serveWithKeys([first, second])
  const { mongoUri } = keys.server.ready as { mongoUri: string }
  assert.match(mongoUri, /^mongodb:\/\/localhost@127\.0\.0\.1:/)
  keys.server.signal('SIGHUP')
  await keys.status(first, { path: '/dbs' })
  const { stdout, stderr } = await keys.server.stop('SIGTERM')
  for (const each of [first, second]) {
    for (const form of [each, encodeURIComponent(each)]) assert.ok(!stdout.includes(form) && !stderr.includes(form))
  }
})

test('SIGUSR1 opens no debugger', { skip: process.platform === 'win32' && 'Windows has no such signal' }, async () => {
  await using server = await serveCli(['--memory', '--port', '0', '--json'])
  server.signal('SIGUSR1')
  assert.equal((await call(server.endpoint, 'GET', '/ready')).status, 200)
  const { code, stderr } = await server.stop('SIGTERM')
  assert.equal(code, 0)
  assert.doesNotMatch(stderr, /Debugger/)
})
