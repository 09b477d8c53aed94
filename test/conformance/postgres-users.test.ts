/** Two gateways over one PostgreSQL: users are the same on both, and a change on one counts on the other. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { failure } from './mongo/support/fixture.ts'
import { RawClient } from './mongo/support/raw-client.ts'

const postgres = await startPostgres()
const store = await postgres.createDatabase()
const gateways = [await mayfly({ store, clock: 'manual' }), await mayfly({ store, clock: 'manual' })]
const clients: MongoClient[] = []

after(async () => {
  for (const client of clients) await client.close()
  for (const gateway of gateways) await gateway.close()
  await postgres[Symbol.asyncDispose]()
})

function connect(address: string): MongoClient {
  const client = new MongoClient(address, { serverSelectionTimeoutMS: 5000 })
  clients.push(client)
  return client
}

const [one, other] = gateways.map(({ mongoUri }) => connect(mongoUri!)) as [MongoClient, MongoClient]

test('A user made on one gateway logs in on the other; what it may do changes and ends on both at once', async () => {
  await one.db('shop').command({ createUser: 'ann', pwd: 'p', roles: ['read'] })
  const address = new URL(gateways[1]!.mongoUri!)
  address.username = 'ann'
  address.password = 'p'
  const carts = connect(`${address.toString()}&authSource=shop`).db('shop').collection('carts')
  assert.equal(await carts.countDocuments(), 0)
  assert.equal((await failure(carts.insertOne({}))).code, 13)
  await one.db('shop').command({ grantRolesToUser: 'ann', roles: ['readWrite'] })
  await carts.insertOne({})
  await one.db('shop').command({ revokeRolesFromUser: 'ann', roles: ['readWrite'] })
  assert.equal((await failure(carts.insertOne({}))).code, 13)
  await one.db('shop').command({ dropUser: 'ann' })
  assert.equal((await failure(carts.findOne())).message, 'Command find requires authentication')
  assert.deepEqual((await other.db('shop').command({ usersInfo: 1 })).users, [])
})

test('Two gateways that make the same user make one', async () => {
  const make = (client: MongoClient) => client.db('shop').command({ createUser: 'bob', pwd: 'p', roles: [] })
  const made = await Promise.allSettled([make(one), make(other)])
  assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const refused = made.find(({ status }) => status === 'rejected') as PromiseRejectedResult
  assert.equal(refused.reason.code, 51003)
})

test('Gateways show a stranger the same salt, whether the user exists or not, whatever their keys are', async () => {
  await one.db('shop').command({ createUser: 'cat', pwd: 'p', roles: [] })
  const key = Buffer.alloc(32, 'another key').toString('base64')
  const withAnotherKey = await mayfly({ store, clock: 'manual', key })
  gateways.push(withAnotherKey)
  for (const user of ['cat', 'nobody']) {
    const salts = []
    for (const { mongoUri } of gateways) {
      const raw = await RawClient.open(mongoUri!)
      const payload = Buffer.from(`n,,n=${user},r=abc`)
      const answer = await raw.command({ saslStart: 1, mechanism: 'SCRAM-SHA-256', payload, $db: 'shop' })
      salts.push(/,s=([^,]*),/.exec(Buffer.from(answer.payload.buffer).toString())?.[1])
      raw.close()
    }
    assert.ok(salts[0])
    assert.deepEqual(salts, [salts[0], salts[0], salts[0]], user)
  }
})
