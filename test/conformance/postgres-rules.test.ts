/** Two gateways over one PostgreSQL: validators and views that change on one count on the other at once. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { failure } from './mongo/support/fixture.ts'

const postgres = await startPostgres()
const store = await postgres.createDatabase()
const gateways = [await mayfly({ store, clock: 'manual' }), await mayfly({ store, clock: 'manual' })]
const clients = gateways.map(({ mongoUri }) => new MongoClient(mongoUri!, { serverSelectionTimeoutMS: 5000 }))
const [one, other] = clients.map(client => client.db('shop')) as [
  ReturnType<MongoClient['db']>,
  ReturnType<MongoClient['db']>,
]

after(async () => {
  for (const client of clients) await client.close()
  for (const gateway of gateways) await gateway.close()
  await postgres[Symbol.asyncDispose]()
})

test('Every gateway refuses what the present validator refuses', async () => {
  await one.createCollection('items')
  const items = other.collection('items')
  for (let round = 0; round < 5; round++) {
    await items.insertOne({})
    await one.command({ collMod: 'items', validator: { a: { $exists: true } } })
    assert.equal((await failure(items.insertOne({}))).code, 121)
    assert.equal((await failure(items.insertMany([{ a: 1 }, {}]))).code, 121)
    assert.equal((await failure(items.updateOne({ a: 1 }, { $unset: { a: 1 } }))).code, 121)
    await one.command({ collMod: 'items', validator: {} })
  }
  assert.equal(await one.collection('items').countDocuments(), 10)
})

test('Every gateway reads the present view', async () => {
  await one.collection('goods').insertMany([{ n: 1 }, { n: 2 }])
  const view = other.collection('some')
  for (const n of [1, 2]) {
    const pipeline = [{ $match: { n } }]
    if (n === 1) await one.createCollection('some', { viewOn: 'goods', pipeline })
    else await one.command({ collMod: 'some', viewOn: 'goods', pipeline })
    assert.deepEqual(await view.distinct('n'), [n])
  }
  assert.equal((await failure(view.insertOne({}))).code, 166)
  await one.command({ drop: 'some' })
  await view.insertOne({ n: 3 })
  assert.deepEqual(await one.collection('some').distinct('n'), [3])
})
