/** Time to live as Azure Cosmos DB for MongoDB documents it, to the second, on every way of reading. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Document, Double, Int32, Long } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db, newCollection, newDatabase } = await startMongo()

async function livingIds(collection: Collection<Document>): Promise<unknown[]> {
  return idsOf(await collection.find({}).sort({ _id: 1 }).toArray())
}

async function withLifespan(expireAfterSeconds: number): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds })
  return collection
}

test('Azure’s documented examples: valid, invalid and missing ttls under an index of 10 seconds', async () => {
  const collection = await withLifespan(10)
  await collection.insertMany([
    { _id: 1 as never, location: 'Paris', ttl: new Double(20) },
    { _id: 2 as never, location: 'Paris', ttl: new Int32(20) },
    { _id: 3 as never, location: 'Paris', ttl: Long.fromNumber(20) },
    { _id: 4 as never, location: 'Paris', ttl: new Double(20.5) },
    { _id: 5 as never, location: 'Paris', ttl: Long.fromString('2147483649') },
    { _id: 6 as never, location: 'Paris' },
  ])
  await db.clock.advance('9s')
  assert.deepEqual(await livingIds(collection), [1, 2, 3, 4, 5, 6])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [1, 2, 3])
  await db.clock.advance('9s')
  assert.deepEqual(await livingIds(collection), [1, 2, 3])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [])
})

test('An update restarts the life of a document; one that changes nothing, and a read, do not', async () => {
  const collection = await withLifespan(10)
  await collection.insertMany([
    { _id: 1 as never, a: 1 },
    { _id: 2 as never, a: 1 },
    { _id: 3 as never, a: 1 },
  ])
  await db.clock.advance('6s')
  await collection.updateOne({ _id: 1 as never }, { $inc: { a: 1 } })
  await collection.updateOne({ _id: 2 as never }, { $set: { a: 1 } })
  await collection.findOne({ _id: 3 as never })
  await db.clock.advance('4s')
  assert.deepEqual(await livingIds(collection), [1])
  await db.clock.advance('6s')
  assert.deepEqual(await livingIds(collection), [])
})

/** How long a document with this ttl lives under a default of 10. */
const ttlValues: readonly (readonly [ttl: unknown, lives: number])[] = [
  [new Int32(1), 1],
  [new Int32(2_147_483_647), Number.POSITIVE_INFINITY],
  [Long.fromNumber(3), 3],
  [new Double(4), 4],
  [new Int32(-1), Number.POSITIVE_INFINITY],
  [Long.fromNumber(-1), Number.POSITIVE_INFINITY],
  [new Double(-1), Number.POSITIVE_INFINITY],
  [new Int32(0), 10],
  [new Int32(-2), 10],
  [new Double(2_147_483_648), 10],
  [new Double(Number.NaN), 10],
  [new Double(Number.POSITIVE_INFINITY), 10],
  [new Double(0.5), 10],
  ['5', 10],
  [true, 10],
  [null, 10],
  [new Date(5000), 10],
  [[5], 10],
  [{ ttl: 5 }, 10],
]

test('Valid values of ttl take effect, and all others are only stored', async () => {
  const collection = await withLifespan(10)
  await collection.insertMany(ttlValues.map(([ttl], _id) => ({ _id: _id as never, ttl })))
  await collection.insertMany([
    { _id: 100 as never, TTL: 5 },
    { _id: 101 as never, Ttl: 5 },
    { _id: 102 as never, nested: { ttl: 5 } },
  ])
  const lives = new Map<unknown, number>([
    ...ttlValues.map(([, each], _id) => [_id, each] as const),
    [100, 10],
    [101, 10],
    [102, 10],
  ])
  for (let age = 0; age <= 11; age++) {
    const expected = [...lives].filter(([, seconds]) => age < seconds).map(([_id]) => _id)
    assert.deepEqual(await livingIds(collection), expected, `at ${age} s`)
    await db.clock.advance('1s')
  }
})

test('A document’s ttl takes effect only once the index exists, also for existing documents', async () => {
  const collection = newCollection()
  await collection.insertMany([{ _id: 1 as never, ttl: 5 }, { _id: 2 as never }])
  await db.clock.advance('20s')
  assert.deepEqual(await livingIds(collection), [1, 2])
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  assert.deepEqual(await livingIds(collection), [2])
})

test('With -1 there is no default: only documents with a ttl die', async () => {
  const collection = await withLifespan(-1)
  await collection.insertMany([{ _id: 1 as never, ttl: 5 }, { _id: 2 as never }, { _id: 3 as never, ttl: -1 }])
  await db.clock.advance('5s')
  assert.deepEqual(await livingIds(collection), [2, 3])
  await db.clock.advance('90d')
  assert.deepEqual(await livingIds(collection), [2, 3])
})

test('Dropping the index ends expiry, and the dead stay dead', async () => {
  const collection = await withLifespan(10)
  await collection.insertMany([{ _id: 1 as never, ttl: 5 }, { _id: 2 as never }])
  await db.clock.advance('5s')
  await collection.dropIndex('_ts_1')
  await db.clock.advance('90d')
  assert.deepEqual(await livingIds(collection), [2])
  assert.deepEqual(
    (await collection.indexes()).map(({ name }) => name),
    ['_id_'],
  )
})

test('collMod and creating the index again change the lifespan of all documents in one step', async () => {
  const collection = await withLifespan(100)
  await collection.insertOne({ _id: 1 as never })
  await db.clock.advance('50s')
  const changed = await db_(collection).command({
    collMod: collection.collectionName,
    index: { keyPattern: { _ts: 1 }, expireAfterSeconds: 60 },
  })
  assert.equal(changed.expireAfterSeconds_old, 100)
  assert.equal(changed.expireAfterSeconds_new, 60)
  await db.clock.advance('9s')
  assert.deepEqual(await livingIds(collection), [1])
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 200 })
  await db.clock.advance('140s')
  assert.deepEqual(await livingIds(collection), [1])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [])
  const [, index] = await collection.indexes()
  assert.equal(index?.expireAfterSeconds, 200)
})

function db_(collection: Collection<Document>) {
  return collection.db
}

test('Creating the index answers as Cosmos does', async () => {
  const database = newDatabase()
  const answer = await database.command({
    createIndexes: 'c',
    indexes: [{ key: { _ts: 1 }, name: '_ts_1', expireAfterSeconds: 10 }],
  })
  const { _t, ok, createdCollectionAutomatically, numIndexesBefore, numIndexesAfter } = answer
  assert.deepEqual(
    { _t, ok, createdCollectionAutomatically, numIndexesBefore, numIndexesAfter },
    {
      _t: 'CreateIndexesResponse',
      ok: 1,
      createdCollectionAutomatically: true,
      numIndexesBefore: 1,
      numIndexesAfter: 2,
    },
  )
})

test('A document never shows _ts', async () => {
  const collection = await withLifespan(10)
  await collection.insertOne({ _id: 1 as never, a: 1 })
  assert.deepEqual(await collection.findOne({ _id: 1 as never }), { _id: 1, a: 1 })
  assert.deepEqual(await collection.find({}).toArray(), [{ _id: 1, a: 1 }])
})

test('No operation sees a dead document from the second of its death on, purged or not', async () => {
  for (const isPurged of [false, true]) {
    const collection = await withLifespan(-1)
    const database = collection.db
    await collection.createIndex({ u: 1 }, { unique: true })
    await collection.insertMany([
      { _id: 'dies' as never, u: 1, v: 'x', ttl: 5 },
      { _id: 'stays' as never, u: 2, v: 'y' },
    ])
    const cursor = collection.find({}).sort({ _id: -1 }).batchSize(1)
    assert.equal((await cursor.next())?._id, 'stays')
    await db.clock.advance('5s')
    if (isPurged) await db.purge()

    assert.equal(await collection.findOne({ _id: 'dies' as never }), null)
    assert.deepEqual(await livingIds(collection), ['stays'])
    assert.deepEqual(await collection.find({ u: 1 }).toArray(), [])
    assert.equal((await database.command({ count: 'items' })).n, 1)
    assert.equal((await database.command({ count: 'items', query: { v: 'x' } })).n, 0)
    assert.equal(await collection.estimatedDocumentCount(), 1)
    assert.deepEqual(await collection.distinct('v'), ['y'])
    assert.equal(await cursor.next(), null, 'getMore')
    assert.equal((await collection.updateOne({ _id: 'dies' as never }, { $set: { v: 1 } })).matchedCount, 0)
    assert.equal((await collection.updateMany({ u: 1 }, { $set: { v: 1 } })).matchedCount, 0)
    assert.equal((await collection.deleteOne({ _id: 'dies' as never })).deletedCount, 0)
    assert.equal(await collection.findOneAndUpdate({ _id: 'dies' as never }, { $set: { v: 1 } }), null)
    assert.equal((await database.command({ collStats: 'items' })).count, 1)
    assert.equal(Number((await database.stats()).objects), 1)
    // Its _id and its unique values are free.
    await collection.insertOne({ _id: 'dies' as never, u: 1 })
    assert.deepEqual(await livingIds(collection), ['dies', 'stays'])
  }
})

/** expireAfterSeconds on _ts and on a date: the code of the refusal, or nothing. */
const refusals: readonly (readonly [value: unknown, onTs: number | undefined, onDate: number | undefined])[] = [
  [10, undefined, undefined],
  [new Double(10), undefined, undefined],
  [new Double(10.7), 67, 67],
  [2_147_483_647, undefined, undefined],
  [-1, undefined, 67],
  [0, 67, undefined],
  [-2, 67, 67],
  [Number.NaN, 67, 67],
  ['1', 14, 14],
  [true, 14, 14],
  [2_147_483_648, 67, 67],
  [Long.fromString('9223372036854775807'), 67, 67],
]

test('expireAfterSeconds is checked as in Cosmos on _ts, and as in MongoDB on other fields', async () => {
  for (const [value, onTs, onDate] of refusals) {
    for (const [field, code] of [
      ['_ts', onTs],
      ['at', onDate],
    ] as const) {
      const index = { key: { [field]: 1 }, name: 'ttl', expireAfterSeconds: value }
      const created = newDatabase().command({ createIndexes: 'c', indexes: [index] })
      if (code === undefined) assert.equal((await created).ok, 1, `${value} on ${field}`)
      else assert.equal((await failure(created)).code, code, `${value} on ${field}`)
    }
  }
})

test('A TTL index has one field, and it is not _id', async () => {
  const create = (key: Document) =>
    failure(newDatabase().command({ createIndexes: 'c', indexes: [{ key, name: 'ttl', expireAfterSeconds: 10 }] }))
  assert.equal((await create({ a: 1, b: 1 })).code, 67)
  assert.equal((await create({ _ts: 1, b: 1 })).code, 67)
  assert.equal((await create({ _id: 1 })).code, 197)
  assert.equal((await create({ a: 'hashed' })).code, 67)
  assert.equal((await create({ '$**': 1 })).code, 67)
})

test('collMod refuses the same values as creating the index', async () => {
  const collection = await withLifespan(10)
  await collection.createIndex({ a: 1, b: 1 }, { name: 'compound' })
  const modify = (index: Document) => failure(collection.db.command({ collMod: 'items', index }))
  assert.equal((await modify({ name: '_ts_1', expireAfterSeconds: '100' })).code, 14)
  assert.equal((await modify({ name: '_ts_1', expireAfterSeconds: 0 })).code, 72)
  assert.equal((await modify({ name: '_ts_1', expireAfterSeconds: -2 })).code, 72)
  assert.equal((await modify({ name: 'compound', expireAfterSeconds: 5 })).code, 72)
  assert.equal((await modify({ name: '_id_', expireAfterSeconds: 5 })).code, 72)
  assert.equal((await modify({ name: 'none', expireAfterSeconds: 5 })).code, 27)
  assert.equal((await modify({ expireAfterSeconds: 5 })).code, 72)
  assert.equal(
    (await failure(collection.db.command({ collMod: 'other', index: { name: 'x', hidden: true } }))).code,
    26,
  )
})

test('serverStatus counts purged documents', async () => {
  const collection = await withLifespan(1)
  await collection.insertMany([{}, {}, {}])
  const before = (await collection.db.admin().serverStatus()).metrics.ttl.deletedDocuments
  await db.clock.advance('1s')
  await db.purge()
  const after = (await collection.db.admin().serverStatus()).metrics.ttl.deletedDocuments
  assert.ok(after >= before + 3)
})
