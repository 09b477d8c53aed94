/** Wildcard indexes: fields that queries use become indexed, and no answer changes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, Decimal128, type Document } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const { newCollection } = await startMongo()

const values = [
  1,
  1.5,
  'a',
  'ab',
  null,
  true,
  [1, 'a'],
  [],
  [[1]],
  { b: 1 },
  [{ b: 1 }, { b: 2 }],
  new Date(5),
  undefined,
]
const documents = Array.from({ length: 2600 }, (_, _id) => ({
  _id: _id as never,
  a: values[_id % values.length],
  n: _id,
  deep: { x: _id % 50, y: { z: Decimal128.fromString(String(_id % 7)) } },
}))

async function filled(): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany(documents, { ignoreUndefined: true })
  return collection
}

async function planOf(collection: Collection<Document>, filter: Document): Promise<Document> {
  return (await collection.find(filter).explain('queryPlanner')).queryPlanner.winningPlan
}

/** Waiting is bounded by the number of attempts, not by time. */
async function indexed(collection: Collection<Document>, filter: Document): Promise<Document> {
  for (let look = 0; look < 5000; look++) {
    const plan = await planOf(collection, filter)
    if (plan.stage === 'FETCH') return plan.inputStage
  }
  assert.fail(`no index serves ${JSON.stringify(filter)}`)
}

test('A field that a wildcard index covers is indexed after the first query that needs it', async () => {
  const collection = await filled()
  await collection.createIndex({ '$**': 1 })
  const filter = { 'deep.y.z': 3 }
  assert.equal((await planOf(collection, filter)).stage, 'COLLSCAN')
  const before = await collection.find(filter).toArray()
  const { indexName, keyPattern } = await indexed(collection, filter)
  assert.deepEqual([indexName, keyPattern], ['$**_1', { $_path: 1, 'deep.y.z': 1 }])
  assert.deepEqual(await collection.find(filter).sort({ _id: 1 }).toArray(), before)
  assert.deepEqual(
    (await collection.indexes()).map(({ name }) => name),
    ['_id_', '$**_1'],
  )
})

test('Without a wildcard index one query builds no index', async () => {
  const collection = await filled()
  await collection.find({ n: 5 }).toArray()
  await collection.createIndex({ '$**': 1 })
  await collection.find({ 'deep.x': 5 }).toArray()
  await indexed(collection, { 'deep.x': 5 })
  assert.equal((await planOf(collection, { n: 5 })).stage, 'COLLSCAN')
})

test('Every answer is the same with and without a wildcard index', async () => {
  const plain = await filled()
  const wild = await filled()
  await wild.createIndex({ '$**': 1 })
  for (const path of ['a', 'a.b', 'n', 'deep.x', 'deep.y.z']) {
    await wild.find({ [path]: 1 }).toArray()
    await indexed(wild, { [path]: 1 })
  }
  const conditions: unknown[] = [
    ...[
      1,
      'a',
      null,
      [],
      [1, 'a'],
      { b: 1 },
      { $gt: 0 },
      { $lte: 2 },
      { $in: [1, null, /^a/] },
      { $ne: 1 },
      { $not: { $gt: 1 } },
    ],
    ...[
      { $exists: false },
      { $exists: true },
      { $size: 0 },
      { $type: 'array' },
      { $elemMatch: { $gte: 1 } },
      /^a/,
      { $gt: 1, $lt: 2 },
    ],
  ]
  const answer = async (collection: Collection<Document>, filter: Document, sort: Document) => ({
    found: (await collection.find(filter).sort(sort).limit(300).project({ _id: 1 }).toArray()).map(({ _id }) => _id),
    count: await collection.countDocuments(filter),
  })
  for (const path of ['a', 'a.b', 'n', 'deep.x', 'deep.y.z']) {
    for (const condition of conditions) {
      const filter = { [path]: condition }
      const sort = { [path]: 1, _id: 1 }
      assert.deepEqual(await answer(wild, filter, sort), await answer(plain, filter, sort), JSON.stringify(filter))
    }
  }
})

test('A wildcard projection is allowed only on a wildcard index of the whole document', async () => {
  const collection = newCollection()
  const wildcardProjection = { a: 1 }
  assert.equal((await failure(collection.createIndex({ n: 1 }, { wildcardProjection }))).code, 2)
  await collection.createIndex({ '$**': 1 }, { wildcardProjection })
  assert.deepEqual((await collection.indexes())[1]!.wildcardProjection, wildcardProjection)
})
