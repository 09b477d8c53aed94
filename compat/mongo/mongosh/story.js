// What a script does with Mayfly through mongosh, MongoDB's shell. In the shell, calls need no await.
//
//   mongosh --nodb --file story.js

const http = require('node:http')

function step(name, run) {
  try {
    run()
    print(JSON.stringify({ step: name, ok: true }))
  } catch (error) {
    print(JSON.stringify({ step: name, ok: false, why: `${error.code ?? ''} ${error.message}`.trim() }))
  }
}

function equal(actual, expected) {
  const [a, b] = [EJSON.stringify(actual), EJSON.stringify(expected)]
  if (a !== b) throw new Error(`${a} instead of ${b}`)
}

// The code that the server refuses a call with.
function refusal(call) {
  try {
    call()
  } catch (error) {
    return error.code
  }
}

// Moves the clock of Mayfly, which stands still otherwise.
async function advanceClock(duration) {
  const headers = { 'content-type': 'application/json' }
  const status = await new Promise((resolve, reject) => {
    const request = http.request(`${process.env.MAYFLY_ENDPOINT}/_mayfly/clock`, { method: 'POST', headers })
    request.on('response', answer => answer.resume().on('end', () => resolve(answer.statusCode)))
    request.on('error', reject).end(JSON.stringify({ advance: duration }))
  })
  equal(status, 200)
}

const uri = process.env.MONGODB_URI
const shop = new Mongo(uri).getDB('shop')

// Documents

step('connect', () => {
  const { databases } = shop.adminCommand({ listDatabases: 1 })
  equal(
    databases.some(({ name }) => name === 'admin'),
    true,
  )
})

step('insert', () => {
  equal(shop.carts.insertOne({ _id: 'cart0', customer: 'ann', total: 0 }).insertedId, 'cart0')
  const many = Array.from({ length: 39 }, (_, n) => ({ _id: `cart${n + 1}`, customer: `c${n % 4}`, total: n + 1 }))
  equal(Object.keys(shop.carts.insertMany(many).insertedIds).length, 39)
})

step('find', () => {
  equal(shop.carts.findOne({ _id: 'cart7' }).total, 7)
  const found = shop.carts.find({ total: { $gte: 37 } }, { _id: 0, total: 1 }).sort({ total: -1 })
  equal(found.toArray(), [{ total: 39 }, { total: 38 }, { total: 37 }])
})

step('cursor', () => {
  const seen = []
  const cursor = shop.carts.find().sort({ total: 1 }).batchSize(7)
  while (cursor.hasNext()) seen.push(cursor.next().total)
  equal(
    seen,
    Array.from({ length: 40 }, (_, n) => n),
  )
})

step('collation', () => {
  const found = shop.carts.find({ customer: 'ANN' }).collation({ locale: 'en', strength: 2 })
  equal(found.toArray()[0]._id, 'cart0')
})

step('update', () => {
  equal(shop.carts.updateOne({ _id: 'cart1' }, { $inc: { total: 100 }, $push: { items: 'book' } }).modifiedCount, 1)
  equal(shop.carts.findOne({ _id: 'cart1' }), { _id: 'cart1', customer: 'c0', total: 101, items: ['book'] })
  equal(shop.carts.updateMany({ customer: 'c1' }, { $set: { items: [] } }).matchedCount, 10)
})

step('upsert', () => {
  const made = shop.carts.updateOne({ _id: 'new' }, { $set: { customer: 'bob', total: 1 } }, { upsert: true })
  equal([made.insertedId, made.upsertedCount], ['new', 1])
})

step('replace', () => {
  shop.carts.replaceOne({ _id: 'new' }, { customer: 'bob', total: 2 })
  equal(shop.carts.findOne({ _id: 'new' }), { _id: 'new', customer: 'bob', total: 2 })
})

step('find-and-modify', () => {
  const after = shop.carts.findOneAndUpdate({ _id: 'new' }, { $inc: { total: 1 } }, { returnDocument: 'after' })
  equal(after.total, 3)
})

step('delete', () => {
  equal(shop.carts.deleteOne({ _id: 'new' }).deletedCount, 1)
  equal(shop.carts.countDocuments(), 40)
})

step('unique-index', () => {
  shop.members.createIndex({ email: 1 }, { unique: true })
  shop.members.insertOne({ email: 'ann@example.com' })
  equal(
    refusal(() => shop.members.insertOne({ email: 'ann@example.com' })),
    11000,
  )
})

step('bulk', () => {
  const result = shop.carts.bulkWrite([
    { insertOne: { document: { _id: 'bulk', customer: 'bob', total: 1 } } },
    { updateOne: { filter: { _id: 'bulk' }, update: { $inc: { total: 1 } } } },
    { deleteOne: { filter: { _id: 'bulk' } } },
  ])
  equal([result.insertedCount, result.modifiedCount, result.deletedCount], [1, 1, 1])
})

// Pipelines

step('aggregate', () => {
  const groups = shop.carts.aggregate([
    { $match: { customer: { $ne: 'ann' } } },
    { $group: { _id: '$customer', carts: { $sum: 1 } } },
    { $sort: { _id: 1 } },
  ])
  equal(groups.toArray()[0], { _id: 'c0', carts: 10 })
})

step('lookup', () => {
  shop.customers.insertOne({ _id: 'ann', city: 'Paris' })
  const join = { from: 'customers', localField: 'customer', foreignField: '_id', as: 'who' }
  equal(shop.carts.aggregate([{ $match: { customer: 'ann' } }, { $lookup: join }]).toArray()[0].who[0].city, 'Paris')
})

// Expiry by the manual clock

step('ttl-index', () => {
  shop.sessions.createIndex({ _ts: 1 }, { expireAfterSeconds: 60 })
  equal(shop.sessions.getIndexes().find(({ name }) => name === '_ts_1').expireAfterSeconds, 60)
})

step('expiry-find', () => {
  shop.sessions.insertMany([{ _id: 'default' }, { _id: 'longer', ttl: 90 }])
  advanceClock('59s')
  equal(shop.sessions.findOne({ _id: 'default' }), { _id: 'default' })
  advanceClock('1s')
  equal(shop.sessions.findOne({ _id: 'default' }), null)
  equal(shop.sessions.findOne({ _id: 'longer' }), { _id: 'longer', ttl: 90 })
})

step('expiry-count', () => {
  equal(shop.sessions.countDocuments(), 1)
  equal(shop.sessions.aggregate([{ $group: { _id: '$_id' } }]).toArray(), [{ _id: 'longer' }])
})

// Sessions and transactions

step('session', () => {
  const session = shop.getMongo().startSession({ causalConsistency: true })
  const carts = session.getDatabase('shop').carts
  carts.insertOne({ _id: 'causal', customer: 'ann', total: 1 })
  equal(carts.findOne({ _id: 'causal' }).total, 1)
  session.endSession()
})

step('transaction', () => {
  const session = shop.getMongo().startSession()
  const carts = session.getDatabase('shop').carts
  session.withTransaction(() => {
    carts.insertOne({ _id: 'paid', customer: 'bob', total: 5 })
    carts.deleteOne({ _id: 'causal' })
  })
  session.endSession()
  equal(shop.carts.findOne({ _id: 'paid' }).total, 5)
  equal(shop.carts.findOne({ _id: 'causal' }), null)
})

step('transaction-abort', () => {
  const session = shop.getMongo().startSession()
  session.startTransaction()
  session.getDatabase('shop').carts.deleteOne({ _id: 'paid' })
  session.abortTransaction()
  session.endSession()
  equal(shop.carts.findOne({ _id: 'paid' }).total, 5)
})

// Change streams

function nextEvent(stream) {
  for (;;) {
    const event = stream.tryNext()
    if (event !== null) return event
  }
}

step('change-stream', () => {
  const stream = shop.carts.watch()
  equal(stream.tryNext(), null)
  shop.carts.insertOne({ _id: 'watched', customer: 'bob', total: 1 })
  const event = nextEvent(stream)
  equal([event.operationType, event.documentKey._id], ['insert', 'watched'])
  stream.close()
  shop.carts.updateOne({ _id: 'watched' }, { $set: { total: 2 } })
  const resumed = shop.carts.watch([], { resumeAfter: event._id })
  equal(nextEvent(resumed).operationType, 'update')
  resumed.close()
})

step('change-stream-expiry', () => {
  const stream = shop.sessions.watch()
  equal(stream.tryNext(), null)
  advanceClock('30s')
  // An event comes when the document is purged: that of an earlier death may come first.
  let event = nextEvent(stream)
  while (event.documentKey._id !== 'longer') event = nextEvent(stream)
  equal(event.operationType, 'delete')
  stream.close()
})

// Users, files, TLS

step('users', () => {
  shop.createUser({ user: 'reader', pwd: 'secret', roles: ['read'] })
  const address = new URL(uri)
  address.username = 'reader'
  address.password = 'secret'
  const seen = new Mongo(`${address}&authSource=shop`).getDB('shop')
  equal(seen.carts.findOne({ _id: 'paid' }).total, 5)
  equal(
    refusal(() => seen.carts.deleteOne({ _id: 'paid' })),
    13,
  )
})

print(JSON.stringify({ step: 'gridfs', absent: 'the shell has no calls for files' }))

step('tls', () => {
  const file = encodeURIComponent(process.env.MAYFLY_CERTIFICATE)
  const secure = new Mongo(`${uri}&tls=true&tlsCAFile=${file}`).getDB('shop')
  equal(secure.carts.findOne({ _id: 'paid' }).total, 5)
})

step('drop', () => {
  shop.dropDatabase()
  equal(shop.carts.countDocuments(), 0)
})
