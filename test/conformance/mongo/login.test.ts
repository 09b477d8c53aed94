/** The login, and what a client may do without it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Binary, serialize } from 'bson'
import { failure, startMongo } from './support/fixture.ts'
import { opMsg, RawClient } from './support/raw-client.ts'

const { uri, db, connect } = await startMongo()

const key = encodeURIComponent(db.key)
const pinged = async (address: string, options = {}) =>
  (await connect(options, address).db('admin').command({ connectionStatus: 1 })).authInfo.authenticatedUsers

test('Both mechanisms and both users log in with the account key', async () => {
  for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-1'] as const) {
    for (const user of ['localhost', 'mayfly']) {
      const address = uri.replace('mongodb://localhost', `mongodb://${user}`)
      assert.deepEqual(await pinged(`${address}&authMechanism=${mechanism}`), [{ user, db: 'admin' }])
    }
  }
})

test('The printed URI works without a direct connection as well', async () => {
  const address = uri.replace('directConnection=true', 'replicaSet=globaldb')
  assert.deepEqual(await pinged(address), [{ user: 'localhost', db: 'admin' }])
})

test('A wrong key and an unknown user get the same answer', async () => {
  const wrongKey = uri.replace(key, encodeURIComponent(Buffer.alloc(32, 'x').toString('base64')))
  const unknownUser = uri.replace('mongodb://localhost', 'mongodb://somebody')
  for (const address of [wrongKey, unknownUser]) {
    for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-1']) {
      const { code, codeName, message } = await failure(pinged(`${address}&authMechanism=${mechanism}`))
      assert.deepEqual(
        { code, codeName, message },
        { code: 18, codeName: 'AuthenticationFailed', message: 'Authentication failed.' },
      )
    }
  }
})

test('Without a login a client may only greet, ping and log in', async () => {
  const client = await RawClient.open(uri)
  for (const command of [
    { hello: 1 },
    { isMaster: 1 },
    { ping: 1 },
    { buildInfo: 1 },
    { whatsmyuri: 1 },
    { connectionStatus: 1 },
  ]) {
    assert.equal((await client.command({ ...command, $db: 'admin' })).ok, 1, JSON.stringify(command))
  }
  for (const command of [
    { find: 'c' },
    { insert: 'c', documents: [{ _id: 1 }] },
    { listDatabases: 1 },
    { serverStatus: 1 },
    { getParameter: '*' },
    { endSessions: [] },
    { dropDatabase: 1 },
    { customAction: 'CreateDatabase' },
  ]) {
    const { ok, code, codeName, errmsg } = await client.command({ ...command, $db: 'admin' })
    assert.deepEqual({ ok, code, codeName }, { ok: 0, code: 13, codeName: 'Unauthorized' }, JSON.stringify(command))
    assert.equal(errmsg, `Command ${Object.keys(command)[0]} requires authentication`)
  }
  client.close()
})

test('Answers contain the cluster time only after a login', async () => {
  const stranger = await RawClient.open(uri)
  assert.equal((await stranger.command({ ping: 1, $db: 'admin' })).$clusterTime, undefined)
  stranger.close()
  const user = await RawClient.loggedIn(uri)
  const { $clusterTime, operationTime } = await user.command({ ping: 1, $db: 'admin' })
  assert.equal($clusterTime.clusterTime.toString(), operationTime.toString())
  user.close()
})

test('After a logout the client must log in again', async () => {
  const client = await RawClient.loggedIn(uri)
  assert.equal((await client.command({ listDatabases: 1, $db: 'admin' })).ok, 1)
  await client.command({ logout: 1, $db: 'admin' })
  assert.equal((await client.command({ listDatabases: 1, $db: 'admin' })).code, 13)
  client.close()
})

const payload = (text: string) => new Binary(Buffer.from(text))

test('A malformed login is refused with 18, and the connection stays open', async () => {
  const client = await RawClient.open(uri)
  const start = { saslStart: 1, mechanism: 'SCRAM-SHA-256', $db: 'admin' }
  for (const text of [
    '',
    'n,,',
    'p=tls-unique,,n=localhost,r=x',
    'n,,n=localhost',
    'n,,r=x',
    'n,,m=ext,n=localhost,r=x',
    'x'.repeat(5000),
  ]) {
    assert.equal((await client.command({ ...start, payload: payload(text) })).code, 18, text)
  }
  assert.equal((await client.command({ ...start, mechanism: 'PLAIN', payload: payload('') })).code, 18)
  assert.equal((await client.command({ ...start, mechanism: 'MONGODB-X509', payload: payload('') })).code, 18)
  for (const proof of ['', 'c=biws,r=x', 'c=biws,r=x,p=AAAA', 'p=', `c=biws,r=x,p=${'A'.repeat(44)}`]) {
    await client.command({ ...start, payload: payload('n,,n=localhost,r=abc') })
    const answer = await client.command({ saslContinue: 1, conversationId: 1, payload: payload(proof), $db: 'admin' })
    assert.equal(answer.code, 18, proof)
  }
  assert.equal(
    (await client.command({ saslContinue: 1, conversationId: 1, payload: payload(''), $db: 'admin' })).code,
    17,
  )
  assert.equal((await client.command({ ping: 1, $db: 'admin' })).ok, 1)
  client.close()
})

test('A finished login cannot be continued with another proof', async () => {
  const client = await RawClient.loggedIn(uri)
  const answer = await client.command({
    saslContinue: 1,
    conversationId: 1,
    payload: payload('c=biws,r=x,p=AAAA'),
    $db: 'admin',
  })
  assert.equal(answer.code, 17)
  client.close()
})

test('hello lists the login mechanisms of a user', async () => {
  const client = await RawClient.open(uri)
  client.send(opMsg(serialize({ hello: 1, saslSupportedMechs: 'admin.localhost', $db: 'admin' })))
  assert.deepEqual((await client.next())?.body.saslSupportedMechs, ['SCRAM-SHA-256', 'SCRAM-SHA-1'])
  client.close()
})
