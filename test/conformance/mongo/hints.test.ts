/** Hints decide what is read: which documents are found, and in which order. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Collection, Document } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { newCollection, connect, client } = await startMongo()

const plan = async (collection: Collection<Document>, filter: Document, hint: Document | string, sort?: Document) => {
  const explained = (await collection
    .find(filter, { hint, ...(sort && { sort }) } as never)
    .explain('queryPlanner')) as Document
  return explained.queryPlanner.winningPlan as Document
}

async function filled(): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany([
    { _id: 1 as never, a: 3, b: 1 },
    { _id: 2 as never, a: 1, b: 2 },
    { _id: 3 as never, a: 2 },
    { _id: 4 as never, b: 4 },
  ])
  await collection.createIndex({ a: 1 })
  await collection.createIndex({ a: -1 })
  await collection.createIndex({ b: 1 }, { sparse: true })
  await collection.createIndex({ a: 1, b: -1 }, { partialFilterExpression: { a: { $gt: 1 } }, name: 'partial' })
  return collection
}

test('Documents come in the order of the keys of the index, in all batches', async () => {
  const collection = await filled()
  const found = async (hint: Document | string, filter: Document = {}) =>
    idsOf(await collection.find(filter, { hint, batchSize: 1 } as never).toArray())
  assert.deepEqual(await found({ a: 1 }), [4, 2, 3, 1])
  assert.deepEqual(await found({ a: -1 }), [1, 3, 2, 4])
  assert.deepEqual(await found('a_1', { _id: { $lt: 4 } }), [2, 3, 1])
  assert.deepEqual(await found('a_-1', { a: { $gte: 2 } }), [1, 3])
  assert.deepEqual(await found('_id_'), [1, 2, 3, 4])
  assert.deepEqual(await found({ $natural: 1 }), [1, 2, 3, 4])
  assert.deepEqual(await found({ $natural: -1 }), [4, 3, 2, 1])
  assert.deepEqual(await found({ $natural: -1 }, { a: { $gt: 1 } }), [3, 1])
})

test('An index without entries for some documents hides them', async () => {
  const collection = await filled()
  assert.deepEqual(idsOf(await collection.find({}, { hint: 'b_1' }).toArray()), [1, 2, 4])
  assert.deepEqual(idsOf(await collection.find({}, { hint: 'b_1', sort: { _id: -1 } }).toArray()), [4, 2, 1])
  assert.deepEqual(idsOf(await collection.find({ _id: 3 as never }, { hint: 'b_1' }).toArray()), [])
  assert.deepEqual(idsOf(await collection.find({}, { hint: 'partial' }).toArray()), [3, 1])
  assert.equal(await collection.countDocuments({}, { hint: 'b_1' }), 3)
  assert.equal((await collection.db.command({ count: 'items', hint: 'b_1' })).n, 3)
  assert.equal((await collection.db.command({ count: 'items', hint: 'a_1' })).n, 4)
  assert.deepEqual(await collection.distinct('_id', {}, { hint: 'b_1' } as never), [1, 2, 4])
})

test('Pipelines and writes obey hints', async () => {
  const collection = await filled()
  const passed = async (hint: Document | string, ...stages: Document[]) =>
    idsOf(await collection.aggregate(stages, { hint: hint as Document, batchSize: 1 }).toArray())
  assert.deepEqual(await passed('a_-1'), [1, 3, 2, 4])
  assert.deepEqual(await passed('a_-1', { $set: { x: 1 } }, { $match: { x: 1 } }), [1, 3, 2, 4])
  assert.deepEqual(await passed('b_1', { $match: {} }), [1, 2, 4])
  assert.deepEqual(await passed({ $natural: -1 }, { $match: { a: { $gt: 1 } } }, { $project: { a: 1 } }), [3, 1])
  const groups = await collection
    .aggregate([{ $group: { _id: null, ids: { $push: '$_id' } } }], { hint: { $natural: -1 } })
    .toArray()
  assert.deepEqual(groups[0]!.ids, [4, 3, 2, 1])
  assert.equal((await collection.updateMany({}, { $set: { m: 1 } }, { hint: 'b_1' })).matchedCount, 3)
  await collection.updateOne({}, { $set: { first: 1 } }, { hint: 'a_-1' })
  assert.deepEqual(idsOf(await collection.find({ first: 1 }).toArray()), [1])
  assert.equal((await collection.findOneAndUpdate({}, { $set: { f: 1 } }, { hint: { $natural: -1 } }))!._id, 4)
  assert.equal((await collection.findOneAndDelete({}, { hint: { a: 1 }, sort: { _id: 1 } }))!._id, 1)
  assert.equal((await collection.deleteMany({}, { hint: 'b_1' })).deletedCount, 2)
  assert.deepEqual(idsOf(await collection.find().toArray()), [3])
})

test('explain shows the hinted index, also when another would serve better', async () => {
  const collection = await filled()
  assert.equal((await plan(collection, { a: 1 }, 'b_1')).inputStage.indexName, 'b_1')
  assert.equal((await plan(collection, { a: 1 }, { a: -1 })).inputStage.indexName, 'a_-1')
  assert.equal((await plan(collection, { a: 1 }, { $natural: 1 })).stage, 'COLLSCAN')
  assert.equal((await plan(collection, { _id: { $gt: 1 } }, { $natural: 1 })).stage, 'COLLSCAN')
  assert.equal((await plan(collection, {}, { $natural: -1 })).direction, 'backward')
  assert.equal((await plan(collection, { a: 1 }, '_id_')).inputStage.indexName, '_id_')
  const sorted = await plan(collection, {}, 'b_1', { a: 1 })
  assert.deepEqual([sorted.stage, sorted.inputStage.inputStage.indexName], ['SORT', 'b_1'])
  assert.equal((await plan(collection, {}, 'a_1', { a: -1 })).inputStage.direction, 'backward')
})

test('A hint must name an index that is not hidden', async () => {
  const collection = await filled()
  await collection.createIndex({ h: 1 }, { hidden: true })
  for (const hint of ['nonsense', { nonsense: 1 }, 'h_1'] as const) {
    const { code } = await failure(collection.find({}, { hint }).toArray())
    assert.equal(code, 2)
    assert.equal((await failure(collection.aggregate([], { hint: hint as never }).toArray())).code, 2)
  }
  assert.equal((await failure(collection.find({}, { hint: { $natural: 5 } }).toArray())).code, 2)
  assert.equal((await failure(collection.db.command({ find: 'items', hint: 5 }))).code, 9)
})

test('Hints decide in large and in sharded collections', async () => {
  const large = newCollection()
  await large.createIndex({ n: -1 })
  await large.insertMany(Array.from({ length: 4000 }, (_, _id) => ({ _id: _id as never, n: (_id * 7) % 4000 })))
  const found = await connect().db(large.dbName).collection(large.collectionName).find({}, { hint: 'n_-1' }).toArray()
  assert.deepEqual(
    found.map(({ n }) => n),
    Array.from({ length: 4000 }, (_, at) => 3999 - at),
  )
  const backwards = await large.find({}, { hint: { $natural: -1 }, batchSize: 300 }).toArray()
  assert.deepEqual(
    idsOf(backwards),
    Array.from({ length: 4000 }, (_, at) => 3999 - at),
  )
  const sharded = newCollection()
  await client.db('admin').command({ shardCollection: sharded.namespace, key: { k: 'hashed' } })
  await sharded.createIndex({ n: 1 })
  await sharded.insertMany(Array.from({ length: 50 }, (_, _id) => ({ _id: _id as never, k: _id, n: 50 - _id })))
  assert.deepEqual(
    (await sharded.find({}, { hint: 'n_1', batchSize: 7 }).toArray()).map(({ n }) => n),
    Array.from({ length: 50 }, (_, at) => at + 1),
  )
})
