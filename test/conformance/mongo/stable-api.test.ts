/** The Stable API: a client that asks for a version gets that version, or an error. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const { client, connect, newCollection } = await startMongo()

test('A strict client of version 1 does what version 1 has', async () => {
  const { dbName } = newCollection()
  const strict = connect({ serverApi: { version: '1', strict: true, deprecationErrors: true } })
  const collection = strict.db(dbName).collection<Document>('items')
  await collection.insertMany(Array.from({ length: 300 }, (_, _id) => ({ _id: _id as never, n: _id % 3 })))
  await collection.createIndex({ n: 1 })
  assert.equal((await collection.find({}, { batchSize: 50 }).toArray()).length, 300)
  assert.equal((await collection.aggregate([{ $group: { _id: '$n' } }], { batchSize: 1 }).toArray()).length, 3)
  assert.equal(await collection.countDocuments({ n: 1 }), 100)
  assert.equal(await collection.estimatedDocumentCount(), 300)
  await collection.findOneAndUpdate({ n: 0 }, { $set: { n: 5 } })
  await strict.withSession(session => session.withTransaction(() => collection.insertOne({ n: 9 }, { session })))
  assert.ok((await strict.db().admin().listDatabases()).databases.some(({ name }) => name === dbName))
})

test('A strict client is refused what version 1 does not have', async () => {
  const { dbName } = newCollection()
  const strict = connect({ serverApi: { version: '1', strict: true } }).db(dbName)
  await strict.collection('items').insertOne({})
  for (const command of [
    { distinct: 'items', key: 'a' },
    { serverStatus: 1 },
    { collStats: 'items' },
    { find: 'items', tailable: true },
    { find: 'items', noCursorTimeout: true },
    { find: 'items', min: { _id: 1 } },
    { aggregate: 'items', pipeline: [{ $indexStats: {} }], cursor: {} },
    { aggregate: 'items', pipeline: [{ $collStats: { storageStats: {} } }], cursor: {} },
    {
      aggregate: 'items',
      pipeline: [{ $unionWith: { coll: 'items', pipeline: [{ $indexStats: {} }] } }],
      cursor: {},
    },
  ]) {
    const { code, codeName } = await failure(strict.command(command))
    assert.deepEqual([code, codeName], [323, 'APIStrictError'], JSON.stringify(command))
  }
  const count = [{ $collStats: { count: {} } }]
  assert.equal((await strict.command({ aggregate: 'items', pipeline: count, cursor: {} })).ok, 1)
  assert.equal((await client.db(dbName).command({ distinct: 'items', key: 'a', apiVersion: '1' })).ok, 1)
})

test('Other versions, and strictness without a version, are refused', async () => {
  const ping = (options: Document) => failure(client.db('admin').command({ ping: 1, ...options }))
  const { code, codeName, message } = await ping({ apiVersion: '2' })
  assert.deepEqual([code, codeName, message], [322, 'APIVersionError', 'API version must be "1"'])
  assert.equal((await ping({ apiVersion: 1 })).code, 14)
  assert.equal((await ping({ apiStrict: true })).code, 4886600)
  assert.equal((await ping({ apiDeprecationErrors: false })).code, 4886600)
})

test('A getMore must have the API parameters of the command that opened the cursor', async () => {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: 3 }, (_, n) => ({ n })))
  const opened = await collection.db.command({ find: 'items', batchSize: 1, apiVersion: '1' }, { promoteLongs: false })
  const more = { getMore: opened.cursor.id, collection: 'items', batchSize: 1 }
  const { code, codeName } = await failure(collection.db.command(more))
  assert.deepEqual([code, codeName], [331, 'APIMismatchError'])
  assert.equal((await collection.db.command({ ...more, apiVersion: '1' })).ok, 1)
})

test('The commands of a transaction must have the API parameters of its first one', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never })
  await client.withSession(async session => {
    session.startTransaction()
    const { db: database } = collection
    await database.command({ insert: 'items', documents: [{ _id: 2 }], apiVersion: '1' }, { session })
    const { code } = await failure(database.command({ insert: 'items', documents: [{ _id: 3 }] }, { session }))
    assert.equal(code, 331)
    await database.command({ insert: 'items', documents: [{ _id: 4 }], apiVersion: '1' }, { session })
    assert.equal((await failure(session.commitTransaction())).code, 331)
  })
})
