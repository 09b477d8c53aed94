/** Cursors: results that come in batches. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, Long } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { uri, newCollection, client, connect } = await startMongo()

async function filled(count: number, text = '') {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: count }, (_, _id) => ({ _id: _id as never, n: count - _id, text })))
  return collection
}

const long = (id: unknown) => Long.fromValue(id as never)

test('The first batch has 101 documents unless asked otherwise, and the id of a cursor is an int64', async () => {
  const collection = await filled(250)
  const { cursor } = await collection.db.command({ find: 'items' }, { promoteLongs: false })
  assert.equal(cursor.firstBatch.length, 101)
  assert.equal(cursor.ns, `${collection.dbName}.items`)
  assert.ok(cursor.id instanceof Long)
  assert.ok(!cursor.id.isZero())
  const more = await collection.db.command(
    { getMore: cursor.id, collection: 'items', batchSize: 100 },
    { promoteLongs: false },
  )
  assert.equal(more.cursor.nextBatch.length, 100)
  assert.ok(more.cursor.id.equals(cursor.id))
  const rest = await collection.db.command({ getMore: cursor.id, collection: 'items' }, { promoteLongs: false })
  assert.equal(rest.cursor.nextBatch.length, 49)
  assert.ok(rest.cursor.id.isZero())
  assert.equal((await failure(collection.db.command({ getMore: cursor.id, collection: 'items' }))).code, 43)
})

test('Every size of batch gives all documents once, in order', async () => {
  const collection = await filled(57)
  for (const batchSize of [1, 2, 7, 56, 57, 58, 1000]) {
    for (const sort of [undefined, { _id: 1 }, { n: 1 }, { n: -1, _id: 1 }] as const) {
      const found = await collection.find({}, { batchSize, ...(sort && { sort }) }).toArray()
      const expected = Array.from({ length: 57 }, (_, index) =>
        sort !== undefined && 'n' in sort && sort.n === 1 ? 56 - index : index,
      )
      assert.deepEqual(idsOf(found), expected, `${batchSize} ${JSON.stringify(sort)}`)
    }
  }
})

test('A batch size of 0 opens a cursor and returns no documents yet', async () => {
  const collection = await filled(3)
  const { cursor } = await collection.db.command({ find: 'items', batchSize: 0 })
  assert.deepEqual(cursor.firstBatch, [])
  const more = await collection.db.command({ getMore: long(cursor.id), collection: 'items' })
  assert.equal(more.cursor.nextBatch.length, 3)
  assert.equal(
    (await failure(collection.db.command({ getMore: long(cursor.id), collection: 'items', batchSize: 0 }))).code,
    2,
  )
})

test('A single batch and a limit leave no cursor behind', async () => {
  const collection = await filled(200)
  const single = await collection.db.command({ find: 'items', batchSize: 5, singleBatch: true })
  assert.equal(single.cursor.firstBatch.length, 5)
  assert.equal(Number(single.cursor.id), 0)
  const limited = await collection.db.command({ find: 'items', limit: 50 })
  assert.equal(limited.cursor.firstBatch.length, 50)
  assert.equal(Number(limited.cursor.id), 0)
  assert.equal((await collection.find({}).limit(150).batchSize(20).toArray()).length, 150)
  assert.equal((await collection.find({}).skip(190).toArray()).length, 10)
})

test('A batch has at most about 16 MB', async () => {
  const collection = await filled(30, 'x'.repeat(1_000_000))
  const { cursor } = await collection.db.command({ find: 'items' })
  assert.ok(cursor.firstBatch.length >= 15 && cursor.firstBatch.length <= 18, String(cursor.firstBatch.length))
  assert.equal((await collection.find({}).toArray()).length, 30)
})

test('killCursors reports which cursors it found', async () => {
  const collection = await filled(200)
  const { cursor } = await collection.db.command({ find: 'items' })
  const id = long(cursor.id)
  const unknown = Long.fromNumber(12345)
  const { cursorsKilled, cursorsNotFound, cursorsAlive, cursorsUnknown } = await collection.db.command(
    { killCursors: 'items', cursors: [id, unknown] },
    { promoteLongs: false },
  )
  assert.deepEqual([cursorsKilled, cursorsNotFound, cursorsAlive, cursorsUnknown], [[id], [unknown], [], []])
  assert.equal((await failure(collection.db.command({ getMore: id, collection: 'items' }))).code, 43)
})

test('A cursor belongs to its collection and to its session', async () => {
  const collection = await filled(200)
  const first = client.startSession()
  const second = client.startSession()
  const { cursor } = await collection.db.command({ find: 'items' }, { session: first })
  const getMore = { getMore: long(cursor.id), collection: 'items' }
  assert.equal((await failure(collection.db.command(getMore, { session: second }))).code, 50737)
  assert.equal((await failure(collection.db.command({ ...getMore, collection: 'other' }, { session: first }))).code, 13)
  assert.equal((await collection.db.command(getMore, { session: first })).ok, 1)
  await first.endSession()
  await second.endSession()
})

test('Cursors end with their session and with their collection', async () => {
  const collection = await filled(200)
  const other = connect()
  const database = other.db(collection.dbName)
  const session = other.startSession()
  const open = async () => (await database.command({ find: 'items' }, { session })).cursor.id
  const ofSession = await open()
  await database.admin().command({ endSessions: [session.id] })
  assert.equal(
    (await failure(database.command({ getMore: long(ofSession), collection: 'items' }, { session }))).code,
    43,
  )
  const ofCollection = await open()
  await collection.drop()
  assert.equal(
    (await failure(database.command({ getMore: long(ofCollection), collection: 'items' }, { session }))).code,
    43,
  )
  await session.endSession()
})

test('A cursor may return documents written after it was opened, and returns none twice', async () => {
  const collection = await filled(100)
  const cursor = collection.find({}).batchSize(10)
  const seen: unknown[] = []
  for await (const document of cursor) {
    seen.push(document._id)
    if (seen.length === 5) {
      await collection.deleteMany({ _id: { $gte: 50, $lt: 60 } as never })
      await collection.updateMany({ _id: { $lt: 20 } as never }, { $set: { seen: true } })
      await collection.insertOne({ _id: 1000 as never })
    }
  }
  assert.deepEqual(seen, [...Array(50).keys(), ...[...Array(40).keys()].map(index => index + 60), 1000])
})

test('A client that is cut off during a command leaves no cursor behind', async () => {
  const collection = await filled(3000, 'x'.repeat(100))
  const before = (await client.db('admin').command({ serverStatus: 1 })).metrics.cursor.open.total
  const raw = await RawClient.loggedIn(uri)
  void raw
    .command({ find: 'items', filter: { $expr: { $gt: ['$n', 5] } }, sort: { text: 1 }, $db: collection.dbName })
    .catch(() => {})
  await new Promise(resolve => setImmediate(resolve))
  raw.close()
  const openNow = async () => (await client.db('admin').command({ serverStatus: 1 })).metrics.cursor.open.total
  const running = async () => {
    const { inprog } = await client.db('admin').command({ currentOp: 1 })
    return inprog.some(({ command }: Document) => 'find' in command)
  }
  while (await running());
  assert.equal(await openNow(), before)
})

test('An operation can be killed, and has a time limit', async () => {
  const collection = await filled(20_000)
  const slow = { find: 'items', filter: { $expr: { $lt: [{ $sqrt: '$n' }, -1] } } }
  assert.equal((await failure(collection.db.command({ ...slow, maxTimeMS: 1 }))).code, 50)
})

test('listCollections and listIndexes are cursors too', async () => {
  const collection = await filled(1)
  for (let index = 0; index < 5; index++) await collection.db.createCollection(`c${index}`)
  const { cursor } = await collection.db.command({ listCollections: 1, cursor: { batchSize: 2 } })
  assert.equal(cursor.firstBatch.length, 2)
  assert.equal(cursor.ns, `${collection.dbName}.$cmd.listCollections`)
  assert.equal((await collection.db.listCollections({}, { batchSize: 2 }).toArray()).length, 6)
  await collection.createIndex({ a: 1 })
  const indexes = await collection.db.command({ listIndexes: 'items', cursor: { batchSize: 1 } })
  assert.equal(indexes.cursor.firstBatch.length, 1)
  const more = await collection.db.command({ getMore: long(indexes.cursor.id), collection: 'items' })
  assert.equal(more.cursor.nextBatch.length, 1)
})

test('A getMore whose cursor is killed meanwhile fails with CursorKilled', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  const { cursor } = await collection.db.command(
    { aggregate: 'items', pipeline: [{ $changeStream: {} }], cursor: {} },
    { promoteLongs: false },
  )
  const fetching = failure(
    collection.db.command({ getMore: cursor.id, collection: 'items', maxTimeMS: 60_000 }, { promoteLongs: false }),
  )
  const isFetching = async () => {
    const { inprog } = await client.db('admin').command({ currentOp: 1 })
    return inprog.some(({ command }: Document) => 'getMore' in command)
  }
  // Before that, the cursor would be killed while nobody uses it, and the getMore would not find it.
  while (!(await isFetching()));
  const { cursorsKilled } = await collection.db.command({ killCursors: 'items', cursors: [cursor.id] })
  assert.equal(cursorsKilled.length, 1)
  // A killed stream notices it at the next change at the latest.
  await collection.insertOne({})
  const { code, codeName } = await fetching
  assert.deepEqual([code, codeName], [237, 'CursorKilled'])
  assert.equal((await failure(collection.db.command({ getMore: cursor.id, collection: 'items' }))).code, 43)
})
