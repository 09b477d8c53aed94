/** A server whose machine shows a wrong time, over the Mongo protocol. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MongoClient } from 'mongodb'
import { eventually, serverWithTime } from '../../support/server-with-time.ts'

const begin = 1_900_000_000
const year = 365 * 86_400

test('what was written while the clock was ahead lives as long as it should: ttl counts anew, dates stay', async () => {
  await using world = await serverWithTime(begin)
  await using client = await MongoClient.connect(world.mongoUri)
  const byTtl = client.db('d').collection('ttl')
  const byDate = client.db('d').collection('dates')
  await byTtl.createIndex({ _ts: 1 }, { expireAfterSeconds: 1000 })
  await byDate.createIndex({ at: 1 }, { expireAfterSeconds: 0 })
  const end = new Date((begin + 11 * year) * 1000)
  const ids = async () => {
    const found = [...(await byTtl.find().toArray()), ...(await byDate.find().toArray())]
    return found.map(({ _id }) => String(_id)).sort()
  }
  await byTtl.insertOne({ _id: 'before' as never })
  world.time.step(10 * year)
  await byTtl.insertMany([{ _id: 'inherits' as never }, { _id: 'own' as never, ttl: 100 }])
  await byDate.insertOne({ _id: 'date' as never, at: end })
  assert.deepEqual(await ids(), ['date', 'inherits', 'own'])
  world.time.step(-10 * year)
  assert.deepEqual(await ids(), ['before', 'date', 'inherits', 'own'])
  const explained = async (collection: string, id: string) =>
    (await world.admin('GET', `/_mayfly/ttl/d/${collection}/explain?id=${id}`)).json
  await eventually(async () => (await explained('ttl', 'own')).ts === begin)
  await eventually(async () => (await explained('dates', 'date')).ts === begin)
  world.time.pass(100)
  assert.deepEqual(await ids(), ['before', 'date', 'inherits'])
  world.time.pass(900)
  assert.deepEqual(await ids(), ['date'])
  world.time.sleep(11 * year - 1001)
  assert.deepEqual(await ids(), ['date'])
  world.time.pass(1)
  assert.deepEqual(await ids(), [])
})

test('a unique index is refused if the clock could bring a duplicate back', async () => {
  await using world = await serverWithTime(begin)
  await using client = await MongoClient.connect(world.mongoUri)
  const documents = client.db('d').collection('c')
  await documents.createIndex({ _ts: 1 }, { expireAfterSeconds: 30 * 86_400 })
  await documents.insertOne({ _id: 'old' as never, k: 1 })
  world.time.step(year)
  await documents.insertOne({ _id: 'new' as never, k: 1 })
  assert.equal(await documents.countDocuments(), 1)
  await assert.rejects(documents.createIndex({ k: 1 }, { unique: true }), { code: 11000 })
  await world.admin('POST', '/_mayfly/clock', { trust: true })
  await documents.createIndex({ k: 1 }, { unique: true })
})
