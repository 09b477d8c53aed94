/** Write concerns: which are met, which are reported, and which are refused. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const { client, connect, newCollection, newDatabase } = await startMongo()

test('A concern that one member can meet is met silently', async () => {
  for (const w of [0, 1, 'majority'] as const) {
    const collection = connect({ writeConcern: { w, journal: w !== 0 } })
      .db(newDatabase().databaseName)
      .collection('c')
    await collection.insertOne({ a: 1 })
    await collection.createIndex({ a: 1 })
    assert.equal((await collection.updateOne({ a: 1 }, { $set: { a: 2 } })).acknowledged, w !== 0)
  }
})

test('A concern that cannot be met is reported, and the write is done', async () => {
  const collection = newCollection()
  await collection.createIndex({ n: 1 })
  const writes: readonly Document[] = [
    { insert: 'items', documents: [{ _id: 1 }] },
    { update: 'items', updates: [{ q: {}, u: { $set: { a: 1 } } }] },
    { findAndModify: 'items', query: { _id: 1 }, update: { $set: { b: 1 } } },
    { createIndexes: 'items', indexes: [{ key: { a: 1 }, name: 'a_1' }] },
    { dropIndexes: 'items', index: 'n_1' },
    { aggregate: 'items', pipeline: [{ $out: 'other' }], cursor: {} },
    { delete: 'items', deletes: [{ q: { _id: 1 }, limit: 1 }] },
    { create: 'made' },
    { drop: 'other' },
  ]
  const concerns = [
    [2, 100, 'UnsatisfiableWriteConcern', 'Not enough data-bearing nodes'],
    [
      'nowhere',
      79,
      'UnknownReplWriteConcern',
      "No write concern mode named 'nowhere' found in replica set configuration",
    ],
  ] as const
  for (const [at, write] of writes.entries()) {
    const [w, code, name, text] = concerns[at % 2]!
    const error = (await collection.db.command({ ...write, writeConcern: { w } }).catch(problem => problem)) as Document
    const { ok, writeConcernError } = error.result
    const { code: shown, codeName, errmsg, errInfo } = writeConcernError
    assert.deepEqual([ok, shown, codeName, errmsg], [1, code, name, text], Object.keys(write)[0])
    assert.equal(errInfo.writeConcern.w, w)
  }
  assert.deepEqual(await collection.find().toArray(), [])
  const names = (await collection.indexes()).map(({ name }) => name)
  assert.deepEqual(names, ['_id_', 'a_1'])
  assert.deepEqual((await collection.db.listCollections().toArray()).map(({ name }) => name).sort(), ['items', 'made'])
})

test('Write errors and the unmet concern come together', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never })
  const command = { insert: 'items', documents: [{ _id: 1 }], writeConcern: { w: 3 } }
  const { result } = await collection.db.command(command).catch(problem => problem)
  assert.deepEqual([result.writeErrors[0].code, result.writeConcernError.code], [11000, 100])
  const again = { create: 'items', capped: false, validator: { a: 1 }, writeConcern: { w: 3 } }
  const refused = await collection.db.command(again).catch(problem => problem)
  assert.equal(refused.errorResponse.code, 48)
  assert.equal(refused.errorResponse.writeConcernError.code, 100)
})

test('A malformed concern is refused before anything is written', async () => {
  const { db: database } = newCollection()
  for (const [writeConcern, code] of [
    [{ w: 51 }, 9],
    [{ w: -1 }, 9],
    [{ w: true }, 9],
    [{ w: {} }, 9],
    [{ j: true, fsync: true }, 9],
    [{ nonsense: 1 }, 40415],
    [5, 14],
  ] as const) {
    const command = { insert: 'items', documents: [{}], writeConcern }
    assert.equal((await failure(database.command(command))).code, code, JSON.stringify(writeConcern))
  }
  assert.equal(await database.collection('items').countDocuments(), 0)
})

test('What writes nothing has no write concern, nor has a part of a transaction', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  const writeConcern = { w: 1 }
  for (const command of [
    { find: 'items', writeConcern },
    { count: 'items', writeConcern },
    { aggregate: 'items', pipeline: [], cursor: {}, writeConcern },
  ]) {
    assert.equal((await failure(collection.db.command(command))).code, 72)
  }
  await client.withSession(async session => {
    session.startTransaction({ writeConcern: { w: 'majority' } })
    const command = { insert: 'items', documents: [{}], writeConcern }
    assert.equal((await failure(collection.db.command(command, { session }))).code, 72)
    await session.abortTransaction()
    session.startTransaction({ writeConcern: { w: 2 } })
    await collection.insertOne({ b: 1 }, { session })
    assert.equal((await failure(session.commitTransaction())).code, 100)
  })
  assert.equal(await collection.countDocuments({ b: 1 }), 1)
})

test('A pipeline that is explained has no write concern, and one that writes does not read linearizably', async () => {
  const collection = newCollection()
  await collection.insertOne({ a: 1 })
  const explained = { aggregate: 'items', pipeline: [{ $out: 'copy' }], cursor: {}, writeConcern: { w: 1 } }
  for (const command of [{ explain: explained }, { ...explained, explain: true }]) {
    const { code, message } = await failure(collection.db.command(command))
    assert.deepEqual([code, message], [9, "Aggregation explain does not support the'writeConcern' option"])
  }
  for (const stage of [{ $out: 'copy' }, { $merge: 'copy' }]) {
    const written = collection.aggregate([stage], { readConcern: { level: 'linearizable' } }).toArray()
    const { code, message } = await failure(written)
    assert.equal(code, 72)
    assert.match(message, /\$(out|merge) cannot be used with a 'linearizable' read concern level$/)
    await collection.aggregate([stage], { readConcern: { level: 'majority' } }).toArray()
  }
})
