/** What Mayfly does not have is refused, and the refusal names it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const { newCollection, newDatabase } = await startMongo()

async function refused(work: Promise<unknown>, code: number, words: RegExp): Promise<void> {
  const refusal = await failure(work)
  assert.equal(refusal.code, code, refusal.message)
  assert.match(refusal.message, words)
}

test('Capped, time series and clustered collections are refused by name', async () => {
  const database = newDatabase()
  await refused(database.createCollection('c', { capped: true, size: 1000 }), 238, /capped/i)
  await refused(database.createCollection('c', { timeseries: { timeField: 't' } }), 238, /timeseries/)
  const clusteredIndex = { key: { _id: 1 }, unique: true }
  await refused(database.createCollection('c', { clusteredIndex }), 238, /clusteredIndex/)
  await database.createCollection('c')
  await refused(database.command({ convertToCapped: 'c', size: 1000 }), 238, /Capped collections/)
  await refused(database.command({ cloneCollectionAsCapped: 'c', toCollection: 'd', size: 1 }), 238, /Capped/)
  assert.deepEqual(
    (await database.listCollections().toArray()).map(({ name }) => name),
    ['c'],
  )
})

test('A tailable cursor is refused', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  await refused(collection.find({}, { tailable: true }).toArray(), 2, /tailable cursor requested on non capped/)
})

test('What runs JavaScript is refused by name', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  await refused(collection.find({ $where: 'true' }).toArray(), 2, /\$where/)
  await refused(collection.db.command({ mapReduce: 'items', map: '', reduce: '', out: 'o' }), 238, /mapReduce/)
  for (const name of ['$function', '$accumulator']) {
    await refused(collection.aggregate([{ $project: { v: { [name]: {} } } }]).toArray(), 238, new RegExp(`\\${name}`))
  }
})

test('2d and text indexes are refused by name', async () => {
  const collection = newCollection()
  await refused(collection.createIndex({ p: '2d' }), 67, /'2d'/)
  await refused(collection.createIndex({ p: 'text' }), 67, /'text'/)
})

test('The profiler is off and cannot be switched on', async () => {
  const database = newDatabase()
  assert.equal(await database.profilingLevel(), 'off')
  assert.equal((await database.command({ profile: 0 })).was, 0)
  await refused(database.command({ profile: 2 }), 238, /profiler/)
})

test('Atlas Search is refused as by a server outside of Atlas', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  const stages: readonly Document[] = [
    { $search: { text: { query: 'x', path: 'a' } } },
    { $searchMeta: { count: {} } },
    { $vectorSearch: { index: 'i', path: 'p', queryVector: [1], numCandidates: 1, limit: 1 } },
  ]
  for (const stage of stages)
    await refused(collection.aggregate([stage]).toArray(), 31082, /\$search and \$vectorSearch/)
  await refused(collection.createSearchIndex({ definition: { mappings: { dynamic: true } } }), 31082, /Atlas Search/)
  await refused(collection.dropSearchIndex('i'), 31082, /Atlas Search/)
  await refused(collection.listSearchIndexes().toArray(), 31082, /Atlas/)
})
