/** What a program does with Mayfly through mongodb, the official driver for Node.js. */

import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type ChangeStream, type Document, GridFSBucket, MongoClient } from 'mongodb'
import { advanceClock, refusal, step } from './report.ts'

interface Cart {
  _id: string
  customer: string
  total: number
  ttl?: number
  items?: string[]
}

const uri = process.env.MONGODB_URI!
const client = new MongoClient(uri)
const shop = client.db('shop')
const carts = shop.collection<Cart>('carts')

// Documents

await step('connect', async () => {
  await client.connect()
  const { databases } = await client.db().admin().listDatabases()
  assert.ok(databases.some(({ name }) => name === 'admin'))
})

await step('insert', async () => {
  const { insertedId } = await carts.insertOne({ _id: 'cart0', customer: 'ann', total: 0 })
  assert.equal(insertedId, 'cart0')
  const many = Array.from({ length: 39 }, (_, n) => ({ _id: `cart${n + 1}`, customer: `c${n % 4}`, total: n + 1 }))
  assert.equal((await carts.insertMany(many)).insertedCount, 39)
})

await step('find', async () => {
  assert.equal((await carts.findOne({ _id: 'cart7' }))?.total, 7)
  const found = carts
    .find({ total: { $gte: 37 } })
    .sort({ total: -1 })
    .project({ _id: 0, total: 1 })
  assert.deepEqual(await found.toArray(), [{ total: 39 }, { total: 38 }, { total: 37 }])
})

await step('cursor', async () => {
  const seen: number[] = []
  for await (const { total } of carts.find().sort({ total: 1 }).batchSize(7)) seen.push(total)
  assert.deepEqual(seen, [...Array(40).keys()])
})

await step('collation', async () => {
  const found = await carts.findOne({ customer: 'ANN' }, { collation: { locale: 'en', strength: 2 } })
  assert.equal(found?._id, 'cart0')
})

await step('update', async () => {
  const change = { $inc: { total: 100 }, $push: { items: 'book' } }
  assert.equal((await carts.updateOne({ _id: 'cart1' }, change)).modifiedCount, 1)
  assert.deepEqual(await carts.findOne({ _id: 'cart1' }), { _id: 'cart1', customer: 'c0', total: 101, items: ['book'] })
  assert.equal((await carts.updateMany({ customer: 'c1' }, { $set: { items: [] } })).matchedCount, 10)
})

await step('upsert', async () => {
  const { upsertedId } = await carts.updateOne(
    { _id: 'new' },
    { $set: { customer: 'bob', total: 1 } },
    { upsert: true },
  )
  assert.equal(upsertedId, 'new')
})

await step('replace', async () => {
  await carts.replaceOne({ _id: 'new' }, { customer: 'bob', total: 2 })
  assert.deepEqual(await carts.findOne({ _id: 'new' }), { _id: 'new', customer: 'bob', total: 2 })
})

await step('find-and-modify', async () => {
  const after = await carts.findOneAndUpdate({ _id: 'new' }, { $inc: { total: 1 } }, { returnDocument: 'after' })
  assert.equal(after?.total, 3)
})

await step('delete', async () => {
  assert.equal((await carts.deleteOne({ _id: 'new' })).deletedCount, 1)
  assert.equal(await carts.countDocuments(), 40)
})

await step('unique-index', async () => {
  const members = shop.collection<{ email: string }>('members')
  await members.createIndex({ email: 1 }, { unique: true })
  await members.insertOne({ email: 'ann@example.com' })
  assert.equal(await refusal(members.insertOne({ email: 'ann@example.com' })), 11000)
})

await step('bulk', async () => {
  const result = await carts.bulkWrite([
    { insertOne: { document: { _id: 'bulk', customer: 'bob', total: 1 } } },
    { updateOne: { filter: { _id: 'bulk' }, update: { $inc: { total: 1 } } } },
    { deleteOne: { filter: { _id: 'bulk' } } },
  ])
  assert.deepEqual([result.insertedCount, result.modifiedCount, result.deletedCount], [1, 1, 1])
})

// Pipelines

await step('aggregate', async () => {
  const pipeline = [
    { $match: { customer: { $ne: 'ann' } } },
    { $group: { _id: '$customer', carts: { $sum: 1 } } },
    { $sort: { _id: 1 } },
  ]
  const groups = await carts.aggregate<{ _id: string; carts: number }>(pipeline).toArray()
  assert.deepEqual(groups[0], { _id: 'c0', carts: 10 })
})

await step('lookup', async () => {
  await shop.collection<{ _id: string; city: string }>('customers').insertOne({ _id: 'ann', city: 'Paris' })
  const join = { from: 'customers', localField: 'customer', foreignField: '_id', as: 'who' }
  const [found] = await carts.aggregate([{ $match: { customer: 'ann' } }, { $lookup: join }]).toArray()
  assert.equal(found?.who[0].city, 'Paris')
})

// Expiry by the manual clock

const sessions = shop.collection<{ _id: string; ttl?: number }>('sessions')

await step('ttl-index', async () => {
  await sessions.createIndex({ _ts: 1 }, { expireAfterSeconds: 60 })
  const index = (await sessions.indexes()).find(({ name }) => name === '_ts_1')
  assert.equal(index?.expireAfterSeconds, 60)
})

await step('expiry-find', async () => {
  await sessions.insertMany([{ _id: 'default' }, { _id: 'longer', ttl: 90 }])
  await advanceClock('59s')
  assert.ok(await sessions.findOne({ _id: 'default' }))
  await advanceClock('1s')
  assert.equal(await sessions.findOne({ _id: 'default' }), null)
  assert.ok(await sessions.findOne({ _id: 'longer' }))
})

await step('expiry-count', async () => {
  assert.equal(await sessions.countDocuments(), 1)
  assert.deepEqual(await sessions.aggregate([{ $group: { _id: '$_id' } }]).toArray(), [{ _id: 'longer' }])
})

// Sessions and transactions

await step('session', async () => {
  await client.withSession({ causalConsistency: true }, async session => {
    await carts.insertOne({ _id: 'causal', customer: 'ann', total: 1 }, { session })
    assert.ok(await carts.findOne({ _id: 'causal' }, { session }))
  })
})

await step('transaction', async () => {
  await client.withSession(session =>
    session.withTransaction(async () => {
      await carts.insertOne({ _id: 'paid', customer: 'bob', total: 5 }, { session })
      await carts.deleteOne({ _id: 'causal' }, { session })
    }),
  )
  assert.ok(await carts.findOne({ _id: 'paid' }))
  assert.equal(await carts.findOne({ _id: 'causal' }), null)
})

await step('transaction-abort', async () => {
  await client.withSession(async session => {
    session.startTransaction()
    await carts.deleteOne({ _id: 'paid' }, { session })
    await session.abortTransaction()
  })
  assert.ok(await carts.findOne({ _id: 'paid' }))
})

// Change streams

/** A stream is open when its first batch has come. */
async function opened<Schema extends Document>(stream: ChangeStream<Schema>): Promise<ChangeStream<Schema>> {
  assert.equal(await stream.tryNext(), null)
  return stream
}

await step('change-stream', async () => {
  const stream = await opened(carts.watch())
  await carts.insertOne({ _id: 'watched', customer: 'bob', total: 1 })
  const event = await stream.next()
  assert.ok(event.operationType === 'insert' && event.documentKey._id === 'watched')
  await stream.close()
  await carts.updateOne({ _id: 'watched' }, { $set: { total: 2 } })
  const resumed = carts.watch([], { resumeAfter: event._id })
  assert.equal((await resumed.next()).operationType, 'update')
  await resumed.close()
})

await step('change-stream-expiry', async () => {
  const stream = await opened(sessions.watch())
  await advanceClock('30s')
  // An event comes when the document is purged: that of an earlier death may come first.
  for await (const event of stream) {
    assert.ok(event.operationType === 'delete')
    if (event.documentKey._id === 'longer') break
  }
  await stream.close()
})

// Users, files, TLS

await step('users', async () => {
  await shop.command({ createUser: 'reader', pwd: 'secret', roles: ['read'] })
  const options = { auth: { username: 'reader', password: 'secret' }, authSource: 'shop' }
  const reader = new MongoClient(uri, options)
  const seen = reader.db('shop').collection<Cart>('carts')
  assert.ok(await seen.findOne({ _id: 'paid' }))
  assert.equal(await refusal(seen.deleteOne({ _id: 'paid' })), 13)
  await reader.close()
})

await step('gridfs', async () => {
  const bucket = new GridFSBucket(shop, { chunkSizeBytes: 1000 })
  const upload = bucket.openUploadStream('letter.txt')
  const written = new Promise((resolve, reject) => upload.on('finish', resolve).on('error', reject))
  upload.end('x'.repeat(2500))
  await written
  assert.equal((await text(bucket.openDownloadStreamByName('letter.txt'))).length, 2500)
})

await step('tls', async () => {
  const secure = new MongoClient(uri, { tls: true, tlsCAFile: process.env.MAYFLY_CERTIFICATE! })
  assert.ok(await secure.db('shop').collection<Cart>('carts').findOne({ _id: 'paid' }))
  await secure.close()
})

await step('drop', async () => {
  await shop.dropDatabase()
  assert.equal(await carts.countDocuments(), 0)
})

await client.close()
