/** What a program does with Mayfly through Mongoose. */

import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import mongoose from 'mongoose'
import { advanceClock, refusal, step } from '../node/report.ts'

const uri = process.env.MONGODB_URI!
const shop = mongoose.createConnection(uri, { dbName: 'shop', autoIndex: false })

const cartSchema = new mongoose.Schema(
  { _id: String, customer: String, total: Number, items: { type: [String], default: undefined } },
  { versionKey: false },
)
const Cart = shop.model('Cart', cartSchema)
const Member = shop.model('Member', new mongoose.Schema({ email: { type: String, unique: true } }))
const Customer = shop.model('Customer', new mongoose.Schema({ _id: String, city: String }))
// Mayfly keeps `_ts` itself: the schema needs only the index.
const sessionSchema = new mongoose.Schema({ _id: String, ttl: Number }, { versionKey: false })
sessionSchema.index({ _ts: 1 }, { expireAfterSeconds: 60 })
const Session = shop.model('Session', sessionSchema)

// Documents

await step('connect', async () => {
  await shop.asPromise()
  const { databases } = await shop.listDatabases()
  assert.ok(databases.some(({ name }) => name === 'admin'))
})

await step('insert', async () => {
  const cart = await Cart.create({ _id: 'cart0', customer: 'ann', total: 0 })
  assert.equal(cart.id, 'cart0')
  const many = Array.from({ length: 39 }, (_, n) => ({ _id: `cart${n + 1}`, customer: `c${n % 4}`, total: n + 1 }))
  assert.equal((await Cart.insertMany(many)).length, 39)
})

await step('find', async () => {
  assert.equal((await Cart.findById('cart7'))?.total, 7)
  const found = await Cart.find({ total: { $gte: 37 } }, { _id: 0, total: 1 })
    .sort({ total: -1 })
    .lean()
  assert.deepEqual(found, [{ total: 39 }, { total: 38 }, { total: 37 }])
})

await step('cursor', async () => {
  const seen: unknown[] = []
  for await (const cart of Cart.find().sort({ total: 1 }).cursor({ batchSize: 7 })) seen.push(cart.total)
  assert.deepEqual(seen, [...Array(40).keys()])
})

await step('collation', async () => {
  const found = await Cart.findOne({ customer: 'ANN' }).collation({ locale: 'en', strength: 2 })
  assert.equal(found?.id, 'cart0')
})

await step('update', async () => {
  const cart = await Cart.findById('cart1').orFail()
  cart.total = 101
  cart.items = ['book']
  await cart.save()
  const found = await Cart.findById('cart1').lean()
  assert.deepEqual(found, { _id: 'cart1', customer: 'c0', total: 101, items: ['book'] })
  assert.equal((await Cart.updateMany({ customer: 'c1' }, { $set: { items: [] } })).matchedCount, 10)
})

await step('upsert', async () => {
  const { upsertedId } = await Cart.updateOne({ _id: 'new' }, { customer: 'bob', total: 1 }, { upsert: true })
  assert.equal(String(upsertedId), 'new')
})

await step('replace', async () => {
  await Cart.replaceOne({ _id: 'new' }, { customer: 'bob', total: 2 })
  assert.deepEqual(await Cart.findById('new').lean(), { _id: 'new', customer: 'bob', total: 2 })
})

await step('find-and-modify', async () => {
  const after = await Cart.findByIdAndUpdate('new', { $inc: { total: 1 } }, { returnDocument: 'after' })
  assert.equal(after?.total, 3)
})

await step('delete', async () => {
  await (await Cart.findById('new').orFail()).deleteOne()
  assert.equal(await Cart.countDocuments(), 40)
})

await step('unique-index', async () => {
  await Member.createIndexes()
  await Member.create({ email: 'ann@example.com' })
  assert.equal(await refusal(Member.create({ email: 'ann@example.com' })), 11000)
})

await step('bulk', async () => {
  const result = await Cart.bulkWrite([
    { insertOne: { document: { _id: 'bulk', customer: 'bob', total: 1 } } },
    { updateOne: { filter: { _id: 'bulk' }, update: { $inc: { total: 1 } } } },
    { deleteOne: { filter: { _id: 'bulk' } } },
  ])
  assert.deepEqual([result.insertedCount, result.modifiedCount, result.deletedCount], [1, 1, 1])
})

// Pipelines

await step('aggregate', async () => {
  const groups = await Cart.aggregate()
    .match({ customer: { $ne: 'ann' } })
    .group({ _id: '$customer', carts: { $sum: 1 } })
    .sort({ _id: 1 })
  assert.deepEqual(groups[0], { _id: 'c0', carts: 10 })
})

await step('lookup', async () => {
  await Customer.create({ _id: 'ann', city: 'Paris' })
  const join = { from: 'customers', localField: 'customer', foreignField: '_id', as: 'who' }
  const [found] = await Cart.aggregate().match({ customer: 'ann' }).lookup(join)
  assert.equal(found.who[0].city, 'Paris')
})

// Expiry by the manual clock

await step('ttl-index', async () => {
  await Session.createIndexes()
  const index = (await Session.collection.indexes()).find(({ name }) => name === '_ts_1')
  assert.equal(index?.expireAfterSeconds, 60)
})

await step('expiry-find', async () => {
  await Session.insertMany([{ _id: 'default' }, { _id: 'longer', ttl: 90 }])
  await advanceClock('59s')
  assert.ok(await Session.findById('default'))
  await advanceClock('1s')
  assert.equal(await Session.findById('default'), null)
  assert.ok(await Session.findById('longer'))
})

await step('expiry-count', async () => {
  assert.equal(await Session.countDocuments(), 1)
  assert.deepEqual(await Session.aggregate().group({ _id: '$_id' }), [{ _id: 'longer' }])
})

// Sessions and transactions

await step('session', async () => {
  const session = await shop.startSession({ causalConsistency: true })
  await Cart.create([{ _id: 'causal', customer: 'ann', total: 1 }], { session })
  assert.ok(await Cart.findById('causal').session(session))
  await session.endSession()
})

await step('transaction', async () => {
  await shop.transaction(async session => {
    await Cart.create([{ _id: 'paid', customer: 'bob', total: 5 }], { session })
    await Cart.deleteOne({ _id: 'causal' }, { session })
  })
  assert.ok(await Cart.findById('paid'))
  assert.equal(await Cart.findById('causal'), null)
})

await step('transaction-abort', async () => {
  const session = await shop.startSession()
  session.startTransaction()
  await Cart.deleteOne({ _id: 'paid' }, { session })
  await session.abortTransaction()
  await session.endSession()
  assert.ok(await Cart.findById('paid'))
})

// Change streams

await step('change-stream', async () => {
  const stream = Cart.collection.watch()
  assert.equal(await stream.tryNext(), null)
  await Cart.create({ _id: 'watched', customer: 'bob', total: 1 })
  const event = await stream.next()
  assert.equal(event.operationType, 'insert')
  await stream.close()
  await Cart.updateOne({ _id: 'watched' }, { total: 2 })
  const resumed = Cart.collection.watch([], { resumeAfter: event._id })
  assert.equal((await resumed.next()).operationType, 'update')
  await resumed.close()
})

await step('change-stream-expiry', async () => {
  const stream = Session.collection.watch()
  assert.equal(await stream.tryNext(), null)
  await advanceClock('30s')
  // An event comes when the document is purged: that of an earlier death may come first.
  for await (const event of stream) {
    assert.ok(event.operationType === 'delete')
    if (String(event.documentKey._id) === 'longer') break
  }
  await stream.close()
})

// Users, files, TLS

await step('users', async () => {
  await shop.db!.command({ createUser: 'reader', pwd: 'secret', roles: ['read'] })
  const options = { dbName: 'shop', user: 'reader', pass: 'secret', authSource: 'shop', autoCreate: false }
  const reader = await mongoose.createConnection(uri, options).asPromise()
  const Seen = reader.model('Cart', cartSchema, 'carts', { overwriteModels: true })
  assert.ok(await Seen.findById('paid'))
  assert.equal(await refusal(Seen.deleteOne({ _id: 'paid' })), 13)
  await reader.close()
})

await step('gridfs', async () => {
  const bucket = new mongoose.mongo.GridFSBucket(shop.db!, { chunkSizeBytes: 1000 })
  const upload = bucket.openUploadStream('letter.txt')
  const written = new Promise((resolve, reject) => upload.on('finish', resolve).on('error', reject))
  upload.end('x'.repeat(2500))
  await written
  assert.equal((await text(bucket.openDownloadStreamByName('letter.txt'))).length, 2500)
})

await step('tls', async () => {
  const options = { dbName: 'shop', tls: true, tlsCAFile: process.env.MAYFLY_CERTIFICATE! }
  const secure = await mongoose.createConnection(uri, options).asPromise()
  assert.ok(await secure.model('Cart', cartSchema).findById('paid'))
  await secure.close()
})

await step('drop', async () => {
  await shop.dropDatabase()
  assert.equal(await Cart.countDocuments(), 0)
})

await shop.close()
