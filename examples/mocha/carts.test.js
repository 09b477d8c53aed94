// Run with: npx mocha carts.test.js
import assert from 'node:assert/strict'
import { mayfly } from 'mayfly'
import { MongoClient } from 'mongodb'

describe('carts', () => {
  let db, client, carts
  before(async () => {
    db = await mayfly({ clock: 'manual' })
    client = new MongoClient(db.mongoUri)
  })
  after(async () => {
    await client.close()
    await db.close()
  })
  beforeEach(async () => {
    await db.reset()
    carts = client.db('shop').collection('carts')
    await carts.createIndex({ _ts: 1 }, { expireAfterSeconds: 3600 })
  })

  it('are gone after an hour', async () => {
    await carts.insertOne({ _id: 'c1', customer: 'ann' })
    await db.clock.advance('1h')
    assert.equal(await carts.findOne({ _id: 'c1' }), null)
  })
})
