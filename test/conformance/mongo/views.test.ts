/** Views: created, read in every way, changed, refused where a collection is needed, dropped. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db, Document } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db: server, newDatabase } = await startMongo()

interface Item extends Document {
  readonly _id: number | string
}

/** Three fruits and two roots, with a view of the fruits and a view of what is cheap among them. */
async function withFruits(): Promise<Db> {
  const database = newDatabase()
  await database.collection<Item>('goods').insertMany([
    { _id: 1, kind: 'fruit', name: 'apple', price: 3, tags: ['red', 'round'], next: 2 },
    { _id: 2, kind: 'fruit', name: 'banana', price: 1, tags: ['yellow'], next: 3 },
    { _id: 3, kind: 'root', name: 'carrot', price: 2, tags: [], next: 5 },
    { _id: 4, kind: 'root', name: 'beet', price: 9, tags: ['red'], next: 1 },
    { _id: 5, kind: 'fruit', name: 'cherry', price: 7, tags: ['red'], next: 1 },
  ])
  await database.createCollection('fruits', { viewOn: 'goods', pipeline: [{ $match: { kind: 'fruit' } }] })
  await database.createCollection('cheap', {
    viewOn: 'fruits',
    pipeline: [
      { $match: { price: { $lt: 5 } } },
      { $project: { name: 1, price: 1, double: { $add: ['$price', '$price'] } } },
    ],
  })
  return database
}

test('A view is read like a collection: find, count, distinct, aggregate', async () => {
  const database = await withFruits()
  const fruits = database.collection<Item>('fruits')
  assert.deepEqual(idsOf(await fruits.find().toArray()), [1, 2, 5])
  assert.deepEqual(
    idsOf(
      await fruits
        .find({ price: { $gt: 2 } })
        .sort({ price: -1 })
        .toArray(),
    ),
    [5, 1],
  )
  assert.deepEqual(idsOf(await fruits.find().sort({ price: 1 }).skip(1).limit(1).toArray()), [1])
  assert.deepEqual(await fruits.find({ _id: 2 }).project({ name: 1 }).toArray(), [{ _id: 2, name: 'banana' }])
  assert.equal((await fruits.findOne({ name: 'cherry' }))?._id, 5)
  assert.equal(await fruits.findOne({ _id: 3 }), null)
  assert.deepEqual(idsOf(await fruits.find({ $expr: { $eq: ['$price', '$$p'] } }, { let: { p: 7 } }).toArray()), [5])
  assert.equal(await fruits.countDocuments(), 3)
  assert.equal(await fruits.countDocuments({ price: { $lt: 5 } }), 2)
  assert.equal(await fruits.estimatedDocumentCount(), 3)
  assert.equal((await database.command({ count: 'fruits', query: { price: { $gt: 0 } }, skip: 1, limit: 5 })).n, 2)
  assert.equal((await database.command({ count: 'fruits', query: { price: 100 } })).n, 0)
  for (const limit of [Infinity, -Infinity, Number.NaN, 3.5, -1e300, 0]) {
    assert.equal((await database.command({ count: 'fruits', limit })).n, 3)
  }
  assert.deepEqual(await fruits.distinct('tags'), ['red', 'round', 'yellow'])
  assert.deepEqual(await fruits.distinct('name', { price: { $lt: 5 } }), ['apple', 'banana'])
  const grouped = await fruits.aggregate([{ $group: { _id: null, sum: { $sum: '$price' } } }]).toArray()
  assert.deepEqual(grouped, [{ _id: null, sum: 11 }])
})

test('A view on a view joins their pipelines; computed fields can be queried', async () => {
  const cheap = (await withFruits()).collection<Item>('cheap')
  assert.deepEqual(await cheap.find({ double: 2 }).toArray(), [{ _id: 2, name: 'banana', price: 1, double: 2 }])
  assert.deepEqual(await cheap.distinct('double'), [2, 6])
  assert.equal(await cheap.countDocuments({ double: { $gt: 1 } }), 2)
})

test('A cursor on a view goes on with getMore and has the name of the view', async () => {
  const database = await withFruits()
  const { cursor } = await database.command({ find: 'fruits', batchSize: 2 })
  assert.equal(cursor.ns, `${database.databaseName}.fruits`)
  assert.deepEqual(idsOf(cursor.firstBatch), [1, 2])
  const more = await database.command({ getMore: cursor.id, collection: 'fruits' })
  assert.deepEqual(idsOf(more.cursor.nextBatch), [5])
  assert.deepEqual(idsOf(await database.collection('fruits').find({}, { batchSize: 1 }).toArray()), [1, 2, 5])
})

test('$lookup, $unionWith and $graphLookup read views', async () => {
  const database = await withFruits()
  const orders = database.collection<Item>('orders')
  await orders.insertMany([
    { _id: 1, good: 2 },
    { _id: 2, good: 3 },
    { _id: 3, good: 1 },
  ])
  const joined = (from: string, more: Document = {}) =>
    orders
      .aggregate([
        { $lookup: { from, localField: 'good', foreignField: '_id', as: 'found', ...more } },
        { $sort: { _id: 1 } },
      ])
      .map(({ found }) => idsOf(found as Document[]))
      .toArray()
  assert.deepEqual(await joined('fruits'), [[2], [], [1]])
  assert.deepEqual(await joined('cheap'), [[2], [], [1]])
  assert.deepEqual(await joined('cheap', { pipeline: [{ $match: { double: 6 } }] }), [[], [], [1]])
  const byComputed = await orders
    .aggregate([
      { $lookup: { from: 'cheap', localField: 'good', foreignField: 'double', as: 'found' } },
      { $match: { _id: 1 } },
    ])
    .toArray()
  assert.deepEqual(byComputed[0]!.found, [{ _id: 2, name: 'banana', price: 1, double: 2 }])
  const union = await orders.aggregate([{ $unionWith: 'cheap' }, { $match: { double: { $exists: true } } }]).toArray()
  assert.deepEqual(idsOf(union), [1, 2])
  const coll = await orders
    .aggregate([{ $limit: 1 }, { $unionWith: { coll: 'fruits', pipeline: [{ $match: { price: 7 } }] } }])
    .toArray()
  assert.deepEqual(idsOf(coll), [1, 5])
  const graph = (from: string) =>
    orders
      .aggregate([
        { $match: { _id: 3 } },
        { $graphLookup: { from, startWith: '$good', connectFromField: 'next', connectToField: '_id', as: 'found' } },
      ])
      .map(({ found }) => idsOf(found as Document[]).sort())
      .toArray()
  assert.deepEqual(await graph('goods'), [[1, 2, 3, 5]])
  assert.deepEqual(await graph('fruits'), [[1, 2]], 'the way leads through a root')
  // A view whose own pipeline joins a view.
  await database.createCollection('bought', {
    viewOn: 'orders',
    pipeline: [
      { $lookup: { from: 'cheap', localField: 'good', foreignField: '_id', as: 'good' } },
      { $unwind: '$good' },
    ],
  })
  assert.deepEqual(await database.collection('bought').distinct('good.name'), ['apple', 'banana'])
  const facet = [{ $facet: { all: [{ $unionWith: 'bought' }, { $count: 'n' }] } }]
  assert.deepEqual((await orders.aggregate(facet).toArray())[0]!.all, [{ n: 5 }])
})

test('A view uses the indexes of its collection, as the joined pipeline would', async () => {
  const database = newDatabase()
  const goods = database.collection<Item>('goods')
  await goods.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: n, kind: n % 5, price: n })))
  await goods.createIndex({ kind: 1, price: 1 })
  await database.createCollection('second', { viewOn: 'goods', pipeline: [{ $match: { kind: 2 } }] })
  const second = database.collection<Item>('second')
  const find = await second
    .find({ price: { $lt: 20 } })
    .sort({ price: -1 })
    .explain('executionStats')
  assert.equal(find.queryPlanner.namespace, `${database.databaseName}.goods`)
  assert.equal(find.queryPlanner.winningPlan.inputStage.indexName, 'kind_1_price_1')
  assert.equal(find.executionStats.totalDocsExamined, 4)
  const aggregate = await second.aggregate([{ $match: { price: 7 } }]).explain('executionStats')
  assert.equal(aggregate.stages[0].$cursor.queryPlanner.winningPlan.inputStage.indexName, 'kind_1_price_1')
  assert.equal(aggregate.stages[0].$cursor.executionStats.totalDocsExamined, 1)
})

test('A view never shows a document past its deadline', async () => {
  const database = newDatabase()
  const goods = database.collection<Item>('goods')
  await goods.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await database.createCollection('all', { viewOn: 'goods', pipeline: [{ $project: { n: 1 } }] })
  await goods.insertMany([
    { _id: 1, n: 1 },
    { _id: 2, n: 2, ttl: -1 },
  ])
  const all = database.collection<Item>('all')
  assert.deepEqual(idsOf(await all.find().toArray()), [1, 2])
  await server.clock.advance('10s')
  assert.deepEqual(idsOf(await all.find().toArray()), [2])
  assert.equal(await all.countDocuments(), 1)
  assert.deepEqual(await all.distinct('n'), [2])
})

test('listCollections shows views and system.views, and system.views can be read', async () => {
  const database = await withFruits()
  const { databaseName } = database
  const shown = await database.listCollections().toArray()
  assert.deepEqual(shown.map(({ name, type }) => [name, type]).sort(), [
    ['cheap', 'view'],
    ['fruits', 'view'],
    ['goods', 'collection'],
    ['system.views', 'collection'],
  ])
  const fruits = { viewOn: 'goods', pipeline: [{ $match: { kind: 'fruit' } }] }
  assert.deepEqual(await database.listCollections({ name: 'fruits' }).toArray(), [
    { name: 'fruits', type: 'view', options: fruits, info: { readOnly: true } },
  ])
  assert.deepEqual(await database.listCollections({ type: 'view' }, { nameOnly: true }).toArray(), [
    { name: 'cheap', type: 'view' },
    { name: 'fruits', type: 'view' },
  ])
  const stored = database.collection<Item>('system.views')
  assert.deepEqual(await stored.findOne({ _id: `${databaseName}.fruits` }), {
    _id: `${databaseName}.fruits`,
    ...fruits,
  })
  assert.equal(await stored.countDocuments(), 2)
  assert.equal((await database.command({ dbStats: 1 })).views, 2)
  assert.equal((await failure(stored.insertOne({ _id: 1 }))).code, 73)
})

test('Nobody creates or writes a system collection', async () => {
  const database = await withFruits()
  const { databaseName } = database
  const index = { key: { a: 1 }, name: 'a_1' }
  for (const name of ['system.views', 'system.other']) {
    assert.equal((await failure(database.command({ createIndexes: name, indexes: [index] }))).code, 73)
    assert.equal((await failure(database.command({ customAction: 'CreateCollection', collection: name }))).code, 73)
    assert.equal((await failure(database.collection(name).insertOne({}))).code, 73)
  }
  const views = database.collection<Item>('system.views')
  assert.equal((await failure(views.deleteMany({}))).code, 73)
  assert.equal((await failure(views.updateOne({}, { $set: { viewOn: 'x' } }))).code, 73)
  assert.equal((await failure(views.findOneAndDelete({}))).code, 73)
  const admin = database.client.db('admin')
  const shard = { shardCollection: `${databaseName}.system.views`, key: { a: 'hashed' } }
  assert.equal((await failure(admin.command(shard))).code, 73)
  const rename = { renameCollection: `${databaseName}.system.views`, to: `${databaseName}.x` }
  assert.equal((await failure(admin.command(rename))).code, 20)
  assert.equal(await views.countDocuments(), 2)
})

test("What needs a collection is refused on a view, with MongoDB's words", async () => {
  const database = await withFruits()
  const { databaseName } = database
  const isView = `Namespace ${databaseName}.fruits is a view, not a collection`
  const refused: readonly (readonly [command: Document, message: string, code?: number])[] = [
    [{ insert: 'fruits', documents: [{}] }, isView],
    [{ update: 'fruits', updates: [{ q: {}, u: { $set: { a: 1 } } }] }, isView],
    [{ update: 'fruits', updates: [{ q: {}, u: { $set: { a: 1 } }, upsert: true }] }, isView],
    [{ delete: 'fruits', deletes: [{ q: {}, limit: 0 }] }, isView],
    [{ findAndModify: 'fruits', query: {}, update: { $set: { a: 1 } } }, isView],
    [{ findAndModify: 'fruits', query: {}, remove: true }, isView],
    [{ createIndexes: 'fruits', indexes: [{ key: { a: 1 }, name: 'a_1' }] }, 'Cannot create indexes on a view'],
    [{ dropIndexes: 'fruits', index: '*' }, `Cannot drop indexes on view ${databaseName}.fruits`],
    [{ listIndexes: 'fruits' }, isView],
    [{ collStats: 'fruits' }, isView],
    [{ validate: 'fruits' }, 'Cannot validate a view'],
    [{ aggregate: 'goods', pipeline: [{ $out: 'fruits' }], cursor: {} }, isView],
    [{ aggregate: 'goods', pipeline: [{ $merge: 'fruits' }], cursor: {} }, isView],
    [{ aggregate: 'fruits', pipeline: [{ $collStats: { count: {} } }], cursor: {} }, isView],
    [{ aggregate: 'fruits', pipeline: [{ $changeStream: {} }], cursor: {} }, isView],
    [{ aggregate: 'fruits', pipeline: [{ $indexStats: {} }], cursor: {} }, isView],
    [{ collMod: 'fruits', index: { name: 'x', hidden: true } }, 'option not supported on a view: index', 72],
    [{ collMod: 'fruits', validator: {} }, 'option not supported on a view: validator', 72],
    [{ collMod: 'goods', viewOn: 'x' }, 'option only supported on a view: viewOn', 72],
    [{ collMod: 'goods', pipeline: [] }, 'option only supported on a view: pipeline', 72],
    [{ find: 'fruits', returnKey: true }, 'Option returnKey not supported in aggregation.', 168],
    [{ find: 'fruits', singleBatch: true }, 'Option singleBatch not supported in aggregation.', 168],
    [{ find: 'fruits', tailable: true }, 'Tailable cursors are not supported in aggregation.', 168],
  ]
  for (const [command, message, code = 166] of refused) {
    const answer = await failure(
      database.command(command).then(result => {
        const [error] = result.writeErrors ?? []
        if (error !== undefined) throw Object.assign(new Error(error.errmsg), { code: error.code })
      }),
    )
    assert.ok(answer.message.includes(message), `${JSON.stringify(command)}: ${answer.message}`)
    assert.equal(answer.code, code, JSON.stringify(command))
  }
  const admin = database.client.db('admin')
  const rename = (from: string, to: string) =>
    failure(admin.command({ renameCollection: `${databaseName}.${from}`, to: `${databaseName}.${to}` }))
  assert.deepEqual(
    [await rename('fruits', 'other'), await rename('goods', 'fruits')].map(({ code, message }) => [code, message]),
    [
      [166, `cannot rename view: ${databaseName}.fruits`],
      [48, `a view already exists with that name: ${databaseName}.fruits`],
    ],
  )
  assert.equal(await database.collection('goods').countDocuments(), 5)
})

test('Invalid views are refused', async () => {
  const database = await withFruits()
  const refused: readonly (readonly [options: Document, code: number, message: string])[] = [
    [{ viewOn: '' }, 2, "'viewOn' cannot be empty"],
    [{ viewOn: 5 }, 14, 'viewOn'],
    [{ pipeline: [] }, 72, "'pipeline' requires 'viewOn' to also be specified"],
    [{ viewOn: 'a$b' }, 73, "invalid name for 'viewOn': a$b"],
    [{ viewOn: 'goods', pipeline: [{ $nonsense: 1 }] }, 40324, "Unrecognized pipeline stage name: '$nonsense'"],
    [{ viewOn: 'goods', pipeline: [{ $match: { $bad: 1 } }] }, 2, 'unknown top level operator: $bad'],
    [{ viewOn: 'goods', pipeline: [{ $match: {} }, { $out: 'x' }] }, 167, 'The aggregation stage $out in location 1'],
    [{ viewOn: 'goods', pipeline: [{ $merge: 'x' }] }, 167, 'because it writes to disk'],
    [{ viewOn: 'goods', pipeline: [{ $changeStream: {} }] }, 167, '$changeStream cannot be used in a view'],
    [{ viewOn: 'goods', pipeline: [{ $documents: [] }] }, 73, "'$documents' cannot be used in a view definition"],
    [{ viewOn: 'goods', pipeline: [{ $lookup: { from: 'x', pipeline: [{ $out: 'y' }], as: 'z' } }] }, 51047, '$out'],
    [{ viewOn: 'goods', capped: true, size: 5 }, 72, 'option not supported on a view: capped'],
    [{ viewOn: 'goods', validator: { a: 1 } }, 72, 'option not supported on a view: validator'],
  ]
  for (const [options, code, message] of refused) {
    const answer = await failure(database.command({ create: 'v', ...options }))
    assert.equal(answer.code, code, JSON.stringify(options))
    assert.ok(answer.message.includes(message), answer.message)
  }
  assert.equal((await failure(database.command({ create: 'system.views', viewOn: 'goods' }))).code, 73)
  for (const name of ['goods', 'fruits']) {
    assert.equal((await failure(database.command({ create: name, viewOn: 'x' }))).code, 48)
    assert.equal((await failure(database.command({ create: name }))).code, 48)
  }
  // The same view again is no error.
  await database.command({ create: 'fruits', viewOn: 'goods', pipeline: [{ $match: { kind: 'fruit' } }] })
})

test('Views that contain themselves are refused, by viewOn and by $lookup', async () => {
  const database = newDatabase()
  const name = (view: string) => `${database.databaseName}.${view}`
  const create = (view: string, viewOn: string, pipeline: Document[] = []) =>
    database.command({ create: view, viewOn, pipeline })
  const self = await failure(create('a', 'a'))
  assert.deepEqual([self.code, self.codeName], [5, 'GraphContainsCycle'])
  await create('a', 'b')
  await create('b', 'c')
  const cycle = await failure(create('c', 'a'))
  assert.equal(cycle.code, 5)
  assert.equal(cycle.message, `View cycle detected: ${['c', 'c', 'b', 'a', 'c'].map(name).join(' => ')}`)
  const lookup = [{ $lookup: { from: 'a', pipeline: [], as: 'x' } }]
  assert.equal((await failure(create('c', 'other', lookup))).code, 5)
  assert.equal((await failure(create('c', 'other', [{ $facet: { x: [{ $unionWith: 'b' }] } }]))).code, 5)
  await create('c', 'other')
  assert.equal((await failure(database.command({ collMod: 'c', viewOn: 'a', pipeline: [] }))).code, 5)
  assert.deepEqual(await database.collection('a').find().toArray(), [])
})

test('Views may be twenty deep', async () => {
  const database = newDatabase()
  const create = (level: number) =>
    database.command({ create: `v${level}`, viewOn: `v${level - 1}`, pipeline: [{ $set: { [`l${level}`]: 1 } }] })
  await database.collection<Item>('v0').insertOne({ _id: 1 })
  for (let level = 1; level <= 20; level++) await create(level)
  assert.equal(Object.keys((await database.collection('v20').findOne())!).length, 21)
  const tooDeep = await failure(create(21))
  assert.deepEqual([tooDeep.code, tooDeep.message], [165, 'View depth limit exceeded; maximum depth is 20'])
})

test('A view is changed by collMod, dropped, and may be on something that does not exist', async () => {
  const database = await withFruits()
  const fruits = database.collection<Item>('fruits')
  await database.command({ collMod: 'fruits', viewOn: 'goods', pipeline: [{ $match: { kind: 'root' } }] })
  assert.deepEqual(idsOf(await fruits.find().toArray()), [3, 4])
  await database.command({ collMod: 'fruits', viewOn: 'nothing' })
  assert.deepEqual(await fruits.find().toArray(), [])
  assert.equal(await fruits.countDocuments(), 0)
  assert.deepEqual(await fruits.distinct('a'), [])
  assert.equal((await failure(database.command({ collMod: 'fruits', pipeline: [{ $out: 'x' }] }))).code, 167)
  const { ns, nIndexesWas } = await database.command({ drop: 'fruits' })
  assert.deepEqual([ns, nIndexesWas], [`${database.databaseName}.fruits`, undefined])
  assert.deepEqual(await database.collection('cheap').find().toArray(), [], 'it was on the dropped one')
  await database.createCollection('fruits')
  await fruits.insertOne({ _id: 7, price: 1, name: 'date' })
  assert.equal((await database.collection('cheap').findOne())?.name, 'date')
  assert.equal(await database.collection('goods').countDocuments(), 5)
  assert.equal((await database.command({ drop: 'system.views' })).ok, 1)
  assert.deepEqual(await database.listCollections({ type: 'view' }).toArray(), [])
  await database.command({ create: 'again', viewOn: 'goods' })
  await database.dropDatabase()
  assert.deepEqual(await database.listCollections().toArray(), [])
})
