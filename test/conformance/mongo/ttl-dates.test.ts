/** TTL indexes on dates, as MongoDB has them, but exact. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Document, Timestamp } from 'mongodb'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db, newCollection } = await startMongo()

async function livingIds(collection: Collection<Document>): Promise<unknown[]> {
  return idsOf(await collection.find({}).sort({ _id: 1 }).toArray())
}

const inSeconds = (seconds: number) => new Date((db.clock.now() + seconds) * 1000)

test('A document dies n seconds after its date, rounded up to the next whole second', async () => {
  const collection = newCollection()
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 10 })
  await collection.insertMany([
    { _id: 1 as never, at: inSeconds(0) },
    { _id: 2 as never, at: new Date(inSeconds(0).getTime() + 1) },
    { _id: 3 as never, at: new Date(inSeconds(1).getTime() - 1) },
    { _id: 4 as never, at: inSeconds(5) },
  ])
  await db.clock.advance('9s')
  assert.deepEqual(await livingIds(collection), [1, 2, 3, 4])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [2, 3, 4])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [4])
  await db.clock.advance('4s')
  assert.deepEqual(await livingIds(collection), [])
})

test('Values count as dates or not as measured on MongoDB', async () => {
  const collection = newCollection()
  await collection.createIndex({ x: 1 }, { expireAfterSeconds: 0 })
  const past = inSeconds(-100)
  const future = inSeconds(1000)
  const dead: Document[] = [
    { x: past },
    { x: new Date(0) },
    { x: new Date('1950-01-01') },
    { x: [past, future] },
    { x: ['x', past] },
  ]
  const alive: Document[] = [
    { x: future },
    { x: [future] },
    { x: [[past]] },
    { x: { d: past } },
    { x: new Timestamp({ t: 1, i: 1 }) },
    { x: 'text' },
    { x: 5 },
    { x: null },
    { x: true },
    {},
    { x: [] },
  ]
  await collection.insertMany(dead.map((document, _id) => ({ _id: `dead ${_id}` as never, ...document })))
  await collection.insertMany(alive.map((document, _id) => ({ _id: `alive ${_id}` as never, ...document })))
  const living = await livingIds(collection)
  assert.equal(living.length, alive.length)
  assert.ok(living.every(id => String(id).startsWith('alive')))
})

test('The path of a TTL index leads through arrays', async () => {
  const collection = newCollection()
  await collection.createIndex({ 'x.y': 1 }, { expireAfterSeconds: 0 })
  await collection.insertMany([
    { _id: 1 as never, x: [{ y: inSeconds(-5) }, { y: inSeconds(50) }] },
    { _id: 2 as never, x: { y: inSeconds(50) } },
    { _id: 3 as never, x: [{ z: inSeconds(-5) }] },
  ])
  assert.deepEqual(await livingIds(collection), [2, 3])
})

test('A new TTL index applies to existing documents', async () => {
  const collection = newCollection()
  const documents = Array.from({ length: 350 }, (_, _id) => ({
    _id: _id as never,
    at: inSeconds(_id % 2 === 0 ? -1 : 100),
    ttl: 1,
  }))
  await collection.insertMany(documents)
  await db.clock.advance('2s')
  assert.equal((await livingIds(collection)).length, 350, 'a ttl of its own means nothing here')
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 0 })
  assert.equal((await livingIds(collection)).length, 175)
})

test('With several TTL indexes the earliest deadline counts; a partial one applies to its documents only', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1 }, { expireAfterSeconds: 10 })
  await collection.createIndex({ b: 1 }, { expireAfterSeconds: 5, partialFilterExpression: { kind: 'short' } })
  await collection.insertMany([
    { _id: 1 as never, a: inSeconds(0), b: inSeconds(0), kind: 'short' },
    { _id: 2 as never, a: inSeconds(0), b: inSeconds(0), kind: 'long' },
    { _id: 3 as never, b: inSeconds(0), kind: 'long' },
  ])
  await db.clock.advance('5s')
  assert.deepEqual(await livingIds(collection), [2, 3])
  await db.clock.advance('5s')
  assert.deepEqual(await livingIds(collection), [3])
})

test('An update moves one deadline, collMod all, dropping the index removes them, and the dead stay dead', async () => {
  const collection = newCollection()
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 10 })
  await collection.insertMany([
    { _id: 1 as never, at: inSeconds(0) },
    { _id: 2 as never, at: inSeconds(0) },
    { _id: 3 as never, at: inSeconds(-9) },
  ])
  await db.clock.advance('1s')
  await collection.updateOne({ _id: 1 as never }, { $set: { at: inSeconds(100) } })
  assert.deepEqual(await livingIds(collection), [1, 2])
  const { expireAfterSeconds_new } = await collection.db.command({
    collMod: 'items',
    index: { name: 'at_1', expireAfterSeconds: 50 },
  })
  assert.equal(expireAfterSeconds_new, 50)
  await db.clock.advance('48s')
  assert.deepEqual(await livingIds(collection), [1, 2])
  await db.clock.advance('1s')
  assert.deepEqual(await livingIds(collection), [1])
  await collection.dropIndex('at_1')
  await db.clock.advance('90d')
  assert.deepEqual(await livingIds(collection), [1])
})

test('collMod turns a plain index into a TTL index, and a hidden TTL index still applies', async () => {
  const collection = newCollection()
  await collection.createIndex({ at: 1 })
  await collection.insertMany([
    { _id: 1 as never, at: inSeconds(-100) },
    { _id: 2 as never, at: inSeconds(100) },
  ])
  await collection.db.command({ collMod: 'items', index: { name: 'at_1', expireAfterSeconds: 0 } })
  await collection.db.command({ collMod: 'items', index: { name: 'at_1', hidden: true } })
  assert.deepEqual(await livingIds(collection), [2])
  await db.clock.advance('100s')
  assert.deepEqual(await livingIds(collection), [])
})

test('A collection has one kind of TTL index, and can change from one to the other', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  const { code, message } = await failure(collection.createIndex({ at: 1 }, { expireAfterSeconds: 0 }))
  assert.equal(code, 67)
  assert.match(message, /either a TTL index on '_ts' or TTL indexes on dates/)
  await collection.insertOne({ _id: 1 as never, at: inSeconds(-5), ttl: 3 })
  await collection.dropIndex('_ts_1')
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 100 })
  await db.clock.advance('50s')
  assert.deepEqual(await livingIds(collection), [1])
  await collection.dropIndex('at_1')
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 1000 })
  await db.clock.advance('3s')
  assert.deepEqual(await livingIds(collection), [], 'its own ttl counts again, from its last write')
})

test('TTL indexes on dates survive a restart', async () => {
  const data = temporaryDirectory()
  const { mayfly } = await import('../../../src/index.ts')
  const { MongoClient } = await import('mongodb')
  let ends: number
  {
    await using first = await mayfly({ clock: 'manual', data })
    await using client = new MongoClient(first.mongoUri!)
    ends = first.clock.now() + 10
    const collection = client.db('d').collection('items')
    await collection.createIndex({ at: 1 }, { expireAfterSeconds: 0 })
    await collection.insertOne({ _id: 1 as never, at: new Date(ends * 1000) })
  }
  await using second = await mayfly({ clock: 'manual', data })
  await using client = new MongoClient(second.mongoUri!)
  const collection = client.db('d').collection('items')
  await second.clock.set(ends - 1)
  assert.deepEqual(await livingIds(collection), [1])
  await second.clock.set(ends)
  assert.deepEqual(await livingIds(collection), [])
})
