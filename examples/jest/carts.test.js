// Run with: npx jest
const { MongoClient } = require('mongodb')
const { mayfly } = require('mayfly')

let db, client, carts
beforeAll(async () => {
  db = await mayfly({ clock: 'manual' })
  client = new MongoClient(db.getUri('shop'))
})
afterAll(async () => {
  await client.close()
  await db.stop()
})
beforeEach(async () => {
  await db.reset()
  carts = client.db().collection('carts')
  await carts.createIndex({ _ts: 1 }, { expireAfterSeconds: 3600 })
})

test('a cart is gone after an hour', async () => {
  await carts.insertOne({ _id: 'c1', customer: 'ann' })
  await db.clock.advance('1h')
  expect(await carts.findOne({ _id: 'c1' })).toBeNull()
})
