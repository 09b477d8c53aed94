/** Pipelines through the driver: their sources, their targets, and how results are fetched. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Document, Long } from 'mongodb'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db, client, newCollection, newDatabase } = await startMongo()

async function filled(count = 20): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: count }, (_, _id) => ({ _id: _id as never, n: _id, kind: _id % 3 })))
  return collection
}

test('countDocuments counts', async () => {
  const collection = await filled()
  assert.equal(await collection.countDocuments({}), 20)
  assert.equal(await collection.countDocuments({ kind: 0 }), 7)
  assert.equal(await collection.countDocuments({ kind: 0 }, { skip: 2, limit: 3 }), 3)
  assert.equal(await collection.countDocuments({ kind: 9 }), 0)
  assert.equal(await newCollection().countDocuments({}), 0)
})

test('A pipeline groups, sorts and projects', async () => {
  const collection = await filled()
  const result = await collection
    .aggregate([
      { $match: { n: { $gte: 2 } } },
      { $group: { _id: '$kind', total: { $sum: '$n' }, count: { $sum: 1 } } },
      { $sort: { _id: 1 } },
      { $project: { total: 1, mean: { $divide: ['$total', '$count'] } } },
    ])
    .toArray()
  assert.deepEqual(result, [
    { _id: 0, total: 63, mean: 10.5 },
    { _id: 1, total: 69, mean: 11.5 },
    { _id: 2, total: 57, mean: 9.5 },
  ])
})

test('Results come in batches of any size', async () => {
  const collection = await filled(300)
  for (const batchSize of [1, 7, 100, 300, 1000]) {
    const found = await collection.aggregate([{ $project: { n: 1 } }], { batchSize }).toArray()
    assert.deepEqual(idsOf(found), [...Array(300).keys()], String(batchSize))
  }
  const { cursor } = await collection.db.command({ aggregate: 'items', pipeline: [], cursor: { batchSize: 0 } })
  assert.deepEqual(cursor.firstBatch, [])
  const more = await collection.db.command({ getMore: Long.fromValue(cursor.id), collection: 'items' })
  assert.equal(more.cursor.nextBatch.length, 300)
})

test('$lookup, $unionWith and $facet read other collections, without dead documents', async () => {
  const database = newDatabase()
  const [orders, items] = [database.collection('orders'), database.collection('items')]
  await orders.insertMany([
    { _id: 1 as never, item: 'a' },
    { _id: 2 as never, item: 'b' },
  ])
  await items.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  await items.insertMany([
    { _id: 'a' as never, price: 1 },
    { _id: 'b' as never, price: 2, ttl: 5 },
  ])
  const joined = () =>
    orders
      .aggregate([
        { $lookup: { from: 'items', localField: 'item', foreignField: '_id', as: 'items' } },
        { $sort: { _id: 1 } },
      ])
      .toArray()
  const united = () => orders.aggregate([{ $unionWith: 'items' }, { $count: 'n' }]).toArray()
  assert.deepEqual(
    (await joined()).map(order => order.items.length),
    [1, 1],
  )
  assert.deepEqual(await united(), [{ n: 4 }])
  await db.clock.advance('5s')
  assert.deepEqual(
    (await joined()).map(order => order.items.length),
    [1, 0],
  )
  assert.deepEqual(await united(), [{ n: 3 }])
  const [facets] = await items.aggregate([{ $facet: { all: [{ $count: 'n' }] } }]).toArray()
  assert.deepEqual(facets, { all: [{ n: 1 }] })
})

test('A document that dies between two batches is not in the second', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  await collection.insertMany(
    Array.from({ length: 10 }, (_, _id) => ({ _id: _id as never, ...(_id >= 5 && { ttl: 3 }) })),
  )
  const cursor = collection.aggregate([{ $addFields: { seen: true } }], { batchSize: 2 })
  assert.deepEqual([(await cursor.next())?._id, (await cursor.next())?._id], [0, 1])
  await db.clock.advance('3s')
  assert.deepEqual(idsOf(await cursor.toArray()), [2, 3, 4])
})

test('$out replaces a collection with its result and keeps the indexes', async () => {
  const collection = await filled()
  const target = collection.db.collection('target')
  await target.insertOne({ _id: 'old' as never })
  await target.createIndex({ n: 1 })
  assert.deepEqual(await collection.aggregate([{ $match: { n: { $lt: 3 } } }, { $out: 'target' }]).toArray(), [])
  assert.deepEqual(idsOf(await target.find().toArray()), [0, 1, 2])
  assert.deepEqual(
    (await target.indexes()).map(({ name }) => name),
    ['_id_', 'n_1'],
  )
  const bad = collection.aggregate([{ $project: { _id: { $literal: 1 } } }, { $out: 'target' }]).toArray()
  assert.equal((await failure(bad)).code, 11000)
  assert.deepEqual(idsOf(await target.find().toArray()), [0, 1, 2])
  assert.deepEqual(
    (await collection.db.listCollections().toArray()).map(({ name }) => name),
    ['items', 'target'],
  )
})

test('$merge merges by _id and by other fields', async () => {
  const collection = await filled(4)
  const target = collection.db.collection('target')
  await target.insertMany([{ _id: 1 as never, kept: true, n: 'old' }, { _id: 9 as never }])
  await collection.aggregate([{ $merge: { into: 'target' } }]).toArray()
  assert.deepEqual(await target.findOne({ _id: 1 as never }), { _id: 1, kept: true, n: 1, kind: 1 })
  assert.deepEqual(idsOf(await target.find().toArray()), [0, 1, 2, 3, 9])
  const run = (merge: Document, match: Document = {}) =>
    collection.aggregate([{ $match: match }, { $merge: { into: 'target', ...merge } }]).toArray()
  assert.equal((await failure(run({ whenMatched: 'fail' }))).code, 11000)
  assert.equal((await failure(run({ on: 'n' }))).code, 51183)
  await target.createIndex({ n: 1 }, { unique: true, sparse: true })
  await run({ on: 'n', whenMatched: 'merge', whenNotMatched: 'discard' }, { n: 2 })
  await target.deleteOne({ _id: 3 as never })
  assert.equal((await failure(run({ whenNotMatched: 'fail' }))).code, 13113)
})

test('An update can be a pipeline', async () => {
  const collection = await filled(3)
  await collection.updateMany({}, [{ $set: { twice: { $multiply: ['$n', 2] } } }, { $unset: 'kind' }])
  assert.deepEqual(await collection.find().toArray(), [
    { _id: 0, n: 0, twice: 0 },
    { _id: 1, n: 1, twice: 2 },
    { _id: 2, n: 2, twice: 4 },
  ])
  const after = await collection.findOneAndUpdate({ _id: 1 as never }, [{ $set: { n: { $add: ['$n', '$$more'] } } }], {
    returnDocument: 'after',
    let: { more: 10 },
  })
  assert.equal(after!.n, 11)
})

test('The filter of a command can use the variables of its let', async () => {
  const collection = await filled(5)
  assert.deepEqual(
    idsOf(await collection.find({ $expr: { $eq: ['$n', '$$wanted'] } }, { let: { wanted: 3 } }).toArray()),
    [3],
  )
  const found = await collection
    .aggregate([{ $match: { $expr: { $gt: ['$n', '$$low'] } } }], { let: { low: 3 } })
    .toArray()
  assert.deepEqual(idsOf(found), [4])
  assert.equal((await collection.deleteMany({ $expr: { $eq: ['$n', '$_id'] } })).deletedCount, 5)
})

test('Statistics are available as pipeline stages', async () => {
  const collection = await filled(5)
  const [stats] = await collection.aggregate([{ $collStats: { count: {} } }]).toArray()
  assert.equal(stats!.count, 5)
  const indexes = await collection.aggregate([{ $indexStats: {} }]).toArray()
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['_id_'],
  )
  const running = await client
    .db('admin')
    .aggregate([{ $currentOp: {} }])
    .toArray()
  assert.ok(running.some(({ command }) => 'aggregate' in command))
  assert.deepEqual(
    await client
      .db('any')
      .aggregate([{ $documents: [{ a: 1 }, { a: 2 }] }])
      .toArray(),
    [{ a: 1 }, { a: 2 }],
  )
})

test('An invalid pipeline is refused', async () => {
  const collection = await filled(1)
  const run = (pipeline: Document[]) => failure(collection.aggregate(pipeline).toArray())
  assert.equal((await run([{ $nonsense: 1 }])).code, 40324)
  assert.equal((await run([{ $match: 1, $limit: 1 }])).code, 40323)
  assert.equal((await run([{ $project: { a: { $nonsense: 1 } } }])).code, 31325)
  assert.equal((await run([{ $group: {} }])).code, 15955)
  assert.equal((await failure(collection.db.command({ aggregate: 'items', pipeline: [] }))).code, 9)
  assert.equal((await failure(collection.db.command({ aggregate: 'items', pipeline: [5], cursor: {} }))).code, 14)
})

test('explain names the index that is used, and does not count dead documents', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  await collection.createIndex({ a: 1 })
  await collection.insertMany([
    { _id: 1 as never, a: 1, ttl: 5 },
    { _id: 2 as never, a: 1 },
  ])
  const explain = async (filter: Document) => (await collection.find(filter).explain('executionStats')) as Document
  const indexed = await explain({ a: 1 })
  assert.equal(indexed.queryPlanner.winningPlan.inputStage.indexName, 'a_1')
  assert.equal(indexed.executionStats.nReturned, 2)
  await db.clock.advance('5s')
  assert.equal((await explain({ a: 1 })).executionStats.nReturned, 1)
  assert.equal((await explain({ b: 1 })).queryPlanner.winningPlan.stage, 'COLLSCAN')
  assert.equal((await explain({ _id: 1 })).queryPlanner.winningPlan.stage, 'IDHACK')
  const pipeline = (await collection.aggregate([{ $match: { a: 1 } }, { $count: 'n' }]).explain()) as Document
  assert.deepEqual(pipeline.stages.slice(1), [{ $count: 'n' }])
  assert.equal(pipeline.stages[0].$cursor.queryPlanner.winningPlan.stage, 'FETCH')
  assert.equal((await failure(collection.db.command({ explain: { ping: 1 } }))).code, 59)
})

test('Indexes give the same results as scans', async () => {
  const plain = newCollection()
  const indexed = newCollection()
  const values = [1, 2, 3.5, 'a', 'b', null, [1, 2], [3], [], { x: 1 }, true, new Date(5), undefined]
  const documents = values.flatMap((a, i) =>
    values.map((b, j) => ({ _id: i * 100 + j, a, b: Array.isArray(a) && Array.isArray(b) ? 0 : b })),
  )
  for (const collection of [plain, indexed]) await collection.insertMany(documents as never, { ignoreUndefined: true })
  await indexed.createIndex({ a: 1 })
  await indexed.createIndex({ b: -1 })
  await indexed.createIndex({ a: 1, b: 1 })
  const filters: Document[] = [
    { a: 1 },
    { a: null },
    { a: { $gt: 1 } },
    { a: { $gt: 0, $lt: 3 } },
    { a: { $in: [1, 'a', null] } },
    { a: 1, b: { $gte: 'a' } },
    { a: { $elemMatch: { $gt: 1 } } },
    { $or: [{ a: 1 }, { a: 'b' }] },
    { a: { $exists: false } },
    { b: [] },
    { a: { x: 1 } },
    { a: { $ne: 1 } },
  ]
  for (const filter of filters) {
    for (const sort of [{ _id: 1 }, { a: 1, _id: 1 }, { b: -1, _id: 1 }] as const) {
      const [one, other] = await Promise.all([plain, indexed].map(each => each.find(filter).sort(sort).toArray()))
      assert.deepEqual(idsOf(other!), idsOf(one!), `${JSON.stringify(filter)} ${JSON.stringify(sort)}`)
    }
    assert.equal(await indexed.countDocuments(filter), await plain.countDocuments(filter), JSON.stringify(filter))
  }
})

test('$geoNear uses the field of a geospatial index unless a key is given', async () => {
  const collection = newCollection()
  const point = (x: number) => ({ type: 'Point', coordinates: [x, 0] })
  await collection.insertMany([2, 0, 1].map(x => ({ _id: x as never, here: point(x), there: point(2 - x) })))
  const near = async (key?: string) =>
    (
      await collection
        .aggregate([{ $geoNear: { near: point(0), distanceField: 'd', spherical: true, ...(key && { key }) } }])
        .toArray()
    ).map(({ _id }) => _id)
  assert.equal((await failure(near())).code, 27)
  await collection.createIndex({ here: '2dsphere', _id: 1 })
  assert.deepEqual(await near(), [0, 1, 2])
  assert.deepEqual(await near('there'), [2, 1, 0])
  await collection.createIndex({ there: '2dsphere' })
  assert.equal((await failure(near())).code, 27)
})

test('A variable of let is computed once for a command, by chance or not', async () => {
  const collection = await filled(300)
  const variables = { let: { r: { $rand: {} }, two: { $add: [1, 1] } } }
  const found = await collection
    .aggregate([{ $project: { r: '$$r', two: '$$two' } }], { ...variables, batchSize: 10 })
    .toArray()
  assert.equal(new Set(found.map(({ r }) => r)).size, 1)
  assert.ok(found[0]!.r >= 0 && found[0]!.r < 1)
  assert.equal(found[0]!.two, 2)
  const shown = await collection
    .find({ $expr: { $lt: ['$$r', 2] } }, { ...variables, projection: { r: '$$r' }, batchSize: 10 })
    .toArray()
  assert.equal(new Set(shown.map(({ r }) => r)).size, 1)
  assert.equal(shown.length, 300)
  await collection.updateMany({}, [{ $set: { r: '$$r' } }], variables)
  assert.equal((await collection.distinct('r')).length, 1)
  for (const problem of ['$n', { $add: ['$n', { $rand: {} }] }]) {
    const { code } = await failure(collection.aggregate([], { let: { x: problem } }).toArray())
    assert.equal(code, 4890500)
  }
})

test('A duplicate that $merge or $out meets is named with its key', async () => {
  const collection = newCollection()
  await collection.insertMany([
    { _id: 1 as never, a: 5 },
    { _id: 2 as never, a: 5 },
  ])
  const target = collection.db.collection<Document>('target')
  await target.insertOne({ _id: 1 as never, a: 5 })
  await target.createIndex({ a: 1 }, { unique: true })
  const conflict = async (...stages: Document[]) => {
    const error = await collection
      .aggregate(stages)
      .toArray()
      .then(() => assert.fail('it did not fail'))
      .catch(error => error)
    return [error.code, error.errorResponse.keyPattern, error.errorResponse.keyValue]
  }
  const one = { $match: { _id: 1 } }
  const whenMatched = 'fail'
  assert.deepEqual(await conflict(one, { $merge: { into: 'target', whenMatched } }), [11000, { _id: 1 }, { _id: 1 }])
  assert.deepEqual(await conflict(one, { $merge: { into: 'target', on: 'a', whenMatched } }), [
    11000,
    { a: 1 },
    { a: 5 },
  ])
  const other = { $match: { _id: 2 } }
  assert.deepEqual(await conflict(other, { $merge: { into: 'target' } }), [11000, { a: 1 }, { a: 5 }])
  assert.deepEqual(await conflict({ $set: { _id: 7 } }, { $out: 'other' }), [11000, { _id: 1 }, { _id: 7 }])
})

test('Window stages run over collections of any size, and their results come page by page', async () => {
  const collection = newCollection()
  const count = 3000
  await collection.insertMany(Array.from({ length: count }, (_, _id) => ({ _id: _id as never, n: 1, p: _id % 2 })))
  const output = { total: { $sum: '$n', window: { documents: ['unbounded', 'current'] } }, rank: { $rank: {} } }
  const stage = { $setWindowFields: { partitionBy: '$p', sortBy: { _id: -1 }, output } }
  const found = await collection.aggregate([stage, { $sort: { _id: 1 } }], { batchSize: 100 }).toArray()
  assert.equal(found.length, count)
  assert.deepEqual(found[0], { _id: 0, n: 1, p: 0, total: count / 2, rank: count / 2 })
  const dense = await collection
    .aggregate([
      { $match: { _id: { $in: [0, 2999] } } },
      { $densify: { field: '_id', range: { step: 1, bounds: 'full' } } },
    ])
    .toArray()
  assert.deepEqual(
    idsOf(dense),
    Array.from({ length: count }, (_, n) => n),
  )
  const [filled] = await collection
    .aggregate([
      { $set: { m: { $cond: [{ $in: ['$_id', [0, 2]] }, '$_id', null] } } },
      { $fill: { sortBy: { _id: 1 }, output: { m: { method: 'linear' } } } },
      { $match: { _id: 1 } },
    ])
    .toArray()
  assert.equal(filled!.m, 1)
})

test('Results that are too large to be held elsewhere come document by document', async () => {
  const { newCollection: onDisk } = await startMongo({ data: temporaryDirectory() })
  const collection = onDisk()
  const text = 'x'.repeat(200)
  await collection.insertMany(Array.from({ length: 2500 }, (_, _id) => ({ _id: _id as never, text })))
  const window = { documents: ['unbounded', 'current'] }
  const output = { all: { $push: '$text', window }, n: { $count: {}, window } }
  const cursor = collection.aggregate([{ $setWindowFields: { sortBy: { _id: 1 }, output } }], { batchSize: 10 })
  for (let n = 1; n <= 40; n++) {
    const document = await cursor.next()
    assert.deepEqual([document!.n, document!.all.length], [n, n])
  }
  await cursor.close()
})
