/** The numbered differences of docs/mongo.md: each test shows what Mayfly does. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type {
  ChangeStream,
  ChangeStreamOptions,
  CollationOptions,
  Collection,
  Db,
  Document,
  FindOptions,
} from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db, client, connect, newCollection, newDatabase } = await startMongo()

const streams: ChangeStream[] = []
after(async () => {
  for (const stream of streams) await stream.close()
})

async function watch(target: Collection<Document> | Db, options: ChangeStreamOptions = {}) {
  const stream = target.watch([], { maxAwaitTimeMS: 50, ...options }) as ChangeStream<Document, Document>
  streams.push(stream as never)
  // The stream is open when its first batch, which is empty, has come.
  assert.equal(await stream.tryNext(), null)
  return stream
}

const refusalOf = async (work: Promise<unknown>) => (await failure(work)).code
const numbered = (...ids: readonly unknown[]) => ids.map(_id => ({ _id: _id as never }))

const names: string[] = []

function difference(name: string, check: () => Promise<void>): void {
  names.push(name)
  test(name, check)
}

difference('D1: Without a sort, documents come in the order of their _id', async () => {
  const collection = newCollection()
  await collection.insertMany(numbered('b', 3, 'a', 1, true, 2))
  assert.deepEqual(idsOf(await collection.find().toArray()), [1, 2, 3, 'a', 'b', true])
})

difference('D2: A regular expression has no look-around and no back-reference', async () => {
  const collection = newCollection()
  await collection.insertOne({ s: 'ab' })
  assert.equal(await collection.countDocuments({ s: /^a.$/ }), 1)
  for (const pattern of ['a(?=b)', 'a(?!c)', '(?<=a)b', '(a)\\1']) {
    assert.equal(await refusalOf(collection.find({ s: { $regex: pattern } }).toArray()), 51091, pattern)
  }
})

difference('D4: $toHashedIndexKey and everything that runs JavaScript are refused', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  for (const name of ['$toHashedIndexKey', '$function', '$accumulator']) {
    assert.equal(await refusalOf(collection.aggregate([{ $project: { v: { [name]: {} } } }]).toArray()), 238, name)
  }
  const stage = { $group: { _id: null, v: { $accumulator: {} } } }
  assert.equal(await refusalOf(collection.aggregate([stage]).toArray()), 15952)
  assert.equal(await refusalOf(collection.find({ $where: 'true' }).toArray()), 2)
  assert.equal(await refusalOf(collection.db.command({ mapReduce: 'items' })), 238)
})

difference('D5: A collation can do what Intl.Collator can do', async () => {
  const collection = newCollection()
  await collection.insertOne({ a: 'x' })
  const missing: readonly CollationOptions[] = [
    { locale: 'en', backwards: true },
    { locale: 'fr_CA', backwards: false },
    { locale: 'en', alternate: 'shifted', maxVariable: 'space' },
    { locale: 'en', alternate: 'shifted', strength: 4 },
    { locale: 'ja', strength: 5 },
  ]
  for (const collation of missing) {
    assert.equal(await refusalOf(collection.find({}, { collation }).toArray()), 238)
    assert.equal(await refusalOf(collection.updateMany({}, { $set: { a: 1 } }, { collation })), 238)
    assert.equal(await refusalOf(collection.createIndex({ a: 1 }, { collation })), 238)
    assert.equal(await refusalOf(collection.db.createCollection('c', { collation })), 238)
  }
  assert.equal(await refusalOf(collection.find({}, { collation: { locale: 'de@collation=search' } }).toArray()), 2)
  await collection.createIndex({ a: 1 }, { collation: { locale: 'en' } })
  assert.equal(((await collection.indexes())[1] as Document).collation.version, process.versions.icu)
})

difference('D6: Capped, clustered and time series collections are refused', async () => {
  const database = newDatabase()
  const options: readonly Document[] = [
    { capped: true, size: 1000 },
    { clusteredIndex: { key: { _id: 1 }, unique: true } },
    { timeseries: { timeField: 't' } },
  ]
  for (const each of options) assert.equal(await refusalOf(database.createCollection('c', each)), 238)
  assert.deepEqual(await database.listCollections().toArray(), [])
})

difference('D7: There is no text search, no text index and no 2d index', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  assert.equal(await refusalOf(collection.find({ $text: { $search: 'x' } }).toArray()), 27)
  assert.equal(await refusalOf(collection.createIndex({ a: 'text' })), 67)
  assert.equal(await refusalOf(collection.createIndex({ a: '2d' })), 67)
})

difference('D8: A collection has either a TTL index on _ts or TTL indexes on dates', async () => {
  const byTime = newCollection()
  await byTime.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  assert.equal(await refusalOf(byTime.createIndex({ at: 1 }, { expireAfterSeconds: 10 })), 67)
  const byDate = newCollection()
  await byDate.createIndex({ at: 1 }, { expireAfterSeconds: 10 })
  assert.equal(await refusalOf(byDate.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })), 67)
})

difference('D9: A document that dies while a transaction is open is gone for it at once', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 5 })
  await collection.insertOne({ _id: 1 as never })
  await client.withSession(async session => {
    session.startTransaction()
    assert.equal((await collection.find({}, { session }).toArray()).length, 1)
    await db.clock.advance('5s')
    assert.equal((await collection.find({}, { session }).toArray()).length, 0)
    await session.abortTransaction()
  })
})

difference('D10: The event of a death comes when the document is purged, and is marked', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 5 })
  const stream = await watch(collection)
  await collection.insertOne({ _id: 1 as never })
  await db.clock.advance('5s')
  assert.equal(await collection.findOne({ _id: 1 as never }), null)
  await db.purge()
  const events = [await stream.next(), await stream.next()]
  assert.deepEqual(
    events.map(({ operationType, mayflyExpired }) => [operationType, mayflyExpired]),
    [
      ['insert', undefined],
      ['delete', true],
    ],
  )
})

difference('D11: The options min, max, returnKey and showRecordId of find are refused', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  for (const option of [{ min: { _id: 1 } }, { max: { _id: 1 } }, { returnKey: true }, { showRecordId: true }]) {
    assert.equal(await refusalOf(collection.find({}, { hint: { _id: 1 }, ...option }).toArray()), 238)
  }
})

difference('D12: Users have built-in roles only, and no authentication restrictions', async () => {
  const database = newDatabase()
  assert.equal(await refusalOf(database.command({ createRole: 'r', privileges: [], roles: [] })), 238)
  const authenticationRestrictions = [{ clientSource: ['127.0.0.1'] }]
  const user = { createUser: 'u', pwd: 'p', roles: [], authenticationRestrictions }
  assert.equal(await refusalOf(database.command(user)), 238)
})

difference('D13: A stream cannot start before the first time that somebody watched', async () => {
  const collection = newCollection()
  const { operationTime } = await client.db('admin').command({ ping: 1 })
  await db.clock.advance('1s')
  await collection.insertOne({ _id: 1 as never })
  const stream = collection.watch([], { startAtOperationTime: operationTime })
  streams.push(stream as never)
  assert.equal(await refusalOf(stream.tryNext()), 286)
})

difference('D14: Images before and after a change need not be switched on', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never, a: 1 })
  const stream = await watch(collection, { fullDocument: 'required', fullDocumentBeforeChange: 'required' })
  await collection.updateOne({ _id: 1 as never }, { $set: { a: 2 } })
  const { fullDocument, fullDocumentBeforeChange } = await stream.next()
  assert.deepEqual([fullDocument.a, fullDocumentBeforeChange.a], [2, 1])
})

const planOf = async (collection: Collection<Document>, filter: Document) =>
  ((await collection.find(filter).explain('queryPlanner')) as Document).queryPlanner.winningPlan as Document

difference('D15: A wildcard index is built field by field, on demand; a 2dsphere index is never used', async () => {
  const collection = newCollection()
  await collection.insertOne({ a: 1, p: { type: 'Point', coordinates: [1, 1] } })
  await collection.createIndex({ '$**': 1 })
  await collection.createIndex({ p: '2dsphere' })
  const near = { p: { $geoWithin: { $centerSphere: [[1, 1], 0.1] } } }
  assert.equal((await planOf(collection, near)).stage, 'COLLSCAN')
  assert.equal(await collection.countDocuments(near), 1)
  assert.equal((await planOf(collection, { a: 1 })).stage, 'COLLSCAN')
  assert.equal(await collection.countDocuments({ a: 1 }), 1)
})

/** The cost of a find that returns one document. */
async function costOfOne({ namespace }: Collection<Document>, filter: Document, options: FindOptions = {}) {
  const [database, name] = namespace.split('.') as [string, string]
  const single = connect({ maxPoolSize: 1 }).db(database)
  assert.equal((await single.collection(name).find(filter, options).toArray()).length, 1)
  return (await single.command({ getLastRequestStatistics: 1 })).RequestCharge as number
}

difference('D17: Sorting a sharded collection by _id reads all shards', async () => {
  const collection = newCollection()
  await client.db('admin').command({ shardCollection: collection.namespace, key: { even: 'hashed' } })
  await collection.insertMany(Array.from({ length: 2000 }, (_, _id) => ({ _id: _id as never, even: _id % 2 === 0 })))
  const cost = (filter: Document) => costOfOne(collection, filter, { sort: { _id: -1 }, limit: 1 })
  assert.ok((await cost({})) > 2 * (await cost({ even: true })))
})

difference('D18: The shard key of a document cannot be changed', async () => {
  const collection = newCollection()
  await client.db('admin').command({ shardCollection: collection.namespace, key: { tenant: 'hashed' } })
  await collection.insertOne({ _id: 1 as never, tenant: 'a' })
  assert.equal(await refusalOf(collection.updateOne({ tenant: 'a' }, { $set: { tenant: 'b' } })), 66)
})

difference('D19: A collection cannot be renamed into another database', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  const to = `${newDatabase().databaseName}.items`
  assert.equal(await refusalOf(client.db('admin').command({ renameCollection: collection.namespace, to })), 238)
})

difference('D20: Only equality on the whole shard key avoids reading the other shards', async () => {
  const collection = newCollection()
  await client.db('admin').command({ shardCollection: collection.namespace, key: { tenant: 'hashed' } })
  const documents = Array.from({ length: 2000 }, (_, tenant) => ({ tenant, other: tenant }))
  await collection.insertMany(documents)
  const scan = await costOfOne(collection, { other: 5 })
  const few = { tenant: { $in: [5, -1] } }
  assert.ok((await costOfOne(collection, { tenant: 5 })) < scan / 2)
  assert.ok((await costOfOne(collection, few)) >= scan)
  await collection.createIndex({ tenant: 1 })
  assert.ok((await costOfOne(collection, few)) < scan / 2)
})

test('docs/mongo.md lists the same differences as these tests, in the same words', () => {
  const page = readFileSync(new URL('../../../docs/mongo.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| (D\d+) \| (.*?) \|/gm)
  assert.deepEqual(
    [...rows].map(([, number, words]) => `${number}: ${words!.replaceAll('`', '')}`),
    names,
  )
  // Numbers are stable: those of differences that are gone stay free.
  const numbers = names.map(name => Number(name.slice(1, name.indexOf(':'))))
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})
