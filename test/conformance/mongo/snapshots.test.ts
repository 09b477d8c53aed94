/** Snapshots: a transaction and a snapshot session read one state, whatever others do meanwhile. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClientSession, type Collection, type Document, Long, Timestamp, UUID } from 'mongodb'
import { fc } from '../../support/property.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { db, uri, client, newCollection, newDatabase } = await startMongo()

async function within<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
  const session = client.startSession()
  try {
    return await work(session)
  } finally {
    await session.endSession()
  }
}

async function numbered(count: number): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: count }, (_, n) => ({ _id: n as never, n, group: n % 3 })))
  return collection
}

/** Everything that a transaction can see of a collection, by every way of reading. */
async function seen(collection: Collection<Document>, session?: ClientSession) {
  const options = session === undefined ? {} : { session }
  const byId = await collection.find({}, { ...options, sort: { _id: 1 } }).toArray()
  const points: Document[] = []
  for (const { _id } of byId) points.push((await collection.findOne({ _id }, options))!)
  assert.deepEqual(points, byId)
  const grouped = collection.aggregate([{ $group: { _id: null, all: { $push: '$_id' } } }], options)
  assert.deepEqual(new Set((await grouped.toArray())[0]?.all ?? []), new Set(idsOf(byId)))
  assert.equal(await collection.countDocuments({}, options), byId.length)
  const found = (await collection.find({ n: { $gte: 0 } }, { ...options, sort: { n: 1, _id: 1 } }).toArray()).length
  assert.equal(found, byId.filter(({ n }) => n >= 0).length)
  assert.deepEqual(new Set(await collection.distinct('n', {}, options)), new Set(byId.map(({ n }) => n)))
  return byId
}

test('A transaction reads one state, whatever others insert, change and delete', async () => {
  const collection = await numbered(10)
  await collection.createIndex({ n: 1 })
  const before = await seen(collection)
  await within(async session => {
    session.startTransaction()
    assert.deepEqual(await collection.findOne({ _id: 5 as never }, { session }), before[5])
    await collection.insertOne({ _id: 20 as never, n: 20 })
    await collection.updateMany({ n: { $lt: 5 } }, { $inc: { n: 100 } })
    await collection.deleteMany({ _id: { $gt: 7 } as never })
    await collection.replaceOne({ _id: 6 as never }, { n: -1 })
    await collection.deleteOne({ _id: 7 as never })
    await collection.insertOne({ _id: 7 as never, n: 700 })
    assert.deepEqual(await seen(collection, session), before)
    assert.deepEqual(await collection.findOne({ _id: 20 as never }, { session }), null)
    assert.equal(await collection.countDocuments({ n: { $gte: 100 } }, { session }), 0)
    await session.commitTransaction()
  })
  assert.notDeepEqual(await seen(collection), before)
})

test('The state of a transaction is that of its first statement, in all collections', async () => {
  const database = newDatabase()
  const [first, second] = [database.collection<Document>('first'), database.collection<Document>('second')]
  await first.insertOne({ _id: 1 as never, n: 1 })
  await within(async session => {
    session.startTransaction()
    await first.findOne({}, { session })
    await second.insertOne({ _id: 1 as never, n: 1 })
    await first.updateOne({}, { $set: { n: 2 } })
    assert.deepEqual(await second.find({}, { session }).toArray(), [])
    const joined = first.aggregate(
      [{ $lookup: { from: 'second', localField: '_id', foreignField: '_id', as: 'there' } }, { $unionWith: 'second' }],
      { session },
    )
    assert.deepEqual(await joined.toArray(), [{ _id: 1, n: 1, there: [] }])
    assert.equal((await failure(first.updateOne({}, { $inc: { n: 1 } }, { session }))).code, 112)
    await session.abortTransaction()
  })
})

test('A transaction cannot write what was changed or deleted since its snapshot', async () => {
  for (const change of [
    (collection: Collection<Document>) => collection.updateOne({ _id: 1 as never }, { $set: { n: 7 } }),
    (collection: Collection<Document>) => collection.deleteOne({ _id: 1 as never }),
  ]) {
    for (const write of [
      (collection: Collection<Document>, session: ClientSession) =>
        collection.updateOne({ _id: 1 as never }, { $set: { n: 8 } }, { session }),
      (collection: Collection<Document>, session: ClientSession) =>
        collection.deleteMany({ n: { $lt: 5 } }, { session }),
      (collection: Collection<Document>, session: ClientSession) =>
        collection.updateOne({ _id: 1 as never }, { $set: { n: 8 } }, { session, upsert: true }),
    ]) {
      const collection = await numbered(3)
      await within(async session => {
        session.startTransaction()
        await collection.findOne({}, { session })
        await change(collection)
        const { code, labels } = await failure(write(collection, session))
        assert.deepEqual([code, labels], [112, ['TransientTransactionError']])
        await session.abortTransaction()
      })
    }
  }
})

test('A write that fails or changes nothing disturbs no transaction', async () => {
  const collection = await numbered(3)
  const before = await seen(collection)
  await within(async session => {
    session.startTransaction()
    await collection.findOne({}, { session })
    assert.equal((await failure(collection.insertOne({ _id: 1 as never }))).code, 11000)
    await collection.updateOne({ _id: 2 as never }, { $set: { n: 2 } })
    assert.deepEqual(await seen(collection, session), before)
    await collection.updateMany({}, { $inc: { m: 1 } }, { session })
    await session.commitTransaction()
  })
  assert.equal(await collection.countDocuments({ m: 1 }), 3)
})

test('A document that dies while a transaction is open is gone for it at once', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await collection.insertMany([{ _id: 1 as never }, { _id: 2 as never }, { _id: 3 as never, ttl: -1 }])
  await within(async session => {
    session.startTransaction()
    assert.equal((await collection.find({}, { session }).toArray()).length, 3)
    await collection.updateMany({}, { $set: { n: 1 } })
    await db.clock.advance('9s')
    assert.deepEqual(await collection.find({}, { session }).toArray(), [{ _id: 1 }, { _id: 2 }, { _id: 3, ttl: -1 }])
    await db.clock.advance('1s')
    assert.deepEqual(await collection.find({}, { session }).toArray(), [{ _id: 3, ttl: -1 }])
    assert.equal(await collection.findOne({ _id: 1 as never }, { session }), null)
    await session.abortTransaction()
  })
})

test('In random histories every transaction sees the state of its beginning and its own writes', async () => {
  const step = fc.record({
    kind: fc.constantFrom('insert', 'update', 'updateMany', 'delete', 'begin', 'read', 'write', 'end'),
    id: fc.integer({ min: 0, max: 5 }),
    who: fc.integer({ min: 0, max: 1 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      const collection = await numbered(4)
      const open: ({ session: ClientSession; state: Map<number, Document>; written: Set<number> } | undefined)[] = []
      const present = async () => new Map((await collection.find().toArray()).map(each => [Number(each._id), each]))
      let counter = 0
      for (const { kind, id, who } of steps) {
        const _id = id as never
        counter++
        // A write outside would wait for the transaction that wrote the document.
        const isHeld = (each: number) => open.some(one => one?.written.has(each))
        const transaction = open[who]
        if (kind === 'insert' && !isHeld(id)) await collection.insertOne({ _id, n: counter }).catch(() => {})
        if (kind === 'update' && !isHeld(id)) await collection.updateOne({ _id }, { $set: { n: counter } })
        if (kind === 'updateMany' && !open.some(one => (one?.written.size ?? 0) > 0)) {
          await collection.updateMany({ n: { $mod: [2, id % 2] } }, { $inc: { n: 2 } })
        }
        if (kind === 'delete' && !isHeld(id)) await collection.deleteOne({ _id })
        if (kind === 'begin' && transaction === undefined) {
          const session = client.startSession()
          session.startTransaction()
          const state = await present()
          await collection.findOne({ _id: -1 as never }, { session })
          open[who] = { session, state, written: new Set() }
        }
        if (kind === 'read' && transaction !== undefined) {
          const { session, state } = transaction
          const expected = [...state.values()].sort((a, b) => Number(a._id) - Number(b._id))
          assert.deepEqual(await collection.find({}, { session, sort: { _id: 1 } }).toArray(), expected)
          assert.deepEqual(await collection.findOne({ _id }, { session }), state.get(id) ?? null)
        }
        if (kind === 'write' && transaction !== undefined) {
          const { session, state, written } = transaction
          const before = (await present()).get(id)
          const isFree = !open.some(one => one !== transaction && one?.written.has(id))
          const mayWrite = written.has(id) || (isFree && JSON.stringify(before) === JSON.stringify(state.get(id)))
          const outcome = await collection.updateOne({ _id }, { $set: { n: counter } }, { session, upsert: true }).then(
            () => 'done',
            error => error.code,
          )
          if (outcome === 'done') {
            assert.ok(mayWrite || JSON.stringify(before) === JSON.stringify(state.get(id)))
            state.set(id, { ...(state.get(id) ?? { _id: id }), n: counter })
            written.add(id)
          } else {
            assert.equal(outcome, 112)
            await session.abortTransaction()
            await session.endSession()
            open[who] = undefined
          }
        }
        if (kind === 'end' && transaction !== undefined) {
          const { session, state, written } = transaction
          await session.commitTransaction()
          await session.endSession()
          open[who] = undefined
          const after = await present()
          for (const each of written) assert.deepEqual(after.get(each), state.get(each))
        }
      }
      for (const one of open) await one?.session.endSession()
    }),
    { numRuns: 60 },
  )
})

test('A snapshot session reads the state of its first read, for find, aggregate and distinct', async () => {
  for (const first of ['find', 'aggregate', 'distinct', 'nothing'] as const) {
    const collection = await numbered(5)
    const none = client.db(collection.dbName).collection<Document>('none')
    const session = client.startSession({ snapshot: true })
    const before = await seen(collection)
    if (first === 'find') await collection.find({}, { session, batchSize: 2 }).next()
    if (first === 'aggregate') await collection.aggregate([{ $match: { n: 1 } }], { session }).toArray()
    if (first === 'distinct') await collection.distinct('n', {}, { session })
    if (first === 'nothing') assert.deepEqual(await none.find({}, { session }).toArray(), [])
    await collection.updateMany({ n: { $gt: 1 } }, { $inc: { n: 10 } })
    await collection.deleteOne({ _id: 0 as never })
    await none.insertOne({ _id: 1 as never })
    assert.deepEqual(await seen(collection, session), before, first)
    assert.deepEqual(await none.find({}, { session }).toArray(), [])
    await session.endSession()
    const later = client.startSession({ snapshot: true })
    assert.deepEqual(await seen(collection, later), await seen(collection))
    await later.endSession()
  }
})

test('An answer at a snapshot says its cluster time; an unknown time is refused', async () => {
  const collection = await numbered(3)
  const command = (name: string, rest: Document, atClusterTime?: unknown) =>
    client.db(collection.dbName).command({
      [name]: 'items',
      ...rest,
      readConcern: { level: 'snapshot', ...(atClusterTime === undefined ? {} : { atClusterTime }) },
    })
  const found = await command('find', {})
  const { atClusterTime } = found.cursor
  assert.equal(atClusterTime._bsontype, 'Timestamp')
  await collection.insertOne({ _id: 9 as never })
  assert.equal((await command('find', { filter: { _id: 9 } }, atClusterTime)).cursor.firstBatch.length, 0)
  assert.equal((await command('find', { filter: { _id: 9 } })).cursor.firstBatch.length, 1)
  const distinct = await command('distinct', { key: 'n' }, atClusterTime)
  assert.deepEqual([distinct.values, distinct.atClusterTime], [[0, 1, 2], atClusterTime])
  const aggregate = await command('aggregate', { pipeline: [], cursor: {} }, atClusterTime)
  assert.deepEqual([aggregate.cursor.firstBatch.length, aggregate.cursor.atClusterTime], [3, atClusterTime])
  // Some drivers repeat the read concern with every page.
  const first = await command('find', { batchSize: 2 }, atClusterTime)
  const next = { getMore: first.cursor.id, collection: 'items', readConcern: { level: 'snapshot', atClusterTime } }
  assert.equal((await client.db(collection.dbName).command(next)).cursor.nextBatch.length, 1)
  const at = (t: number) => new Timestamp({ t, i: 1 })
  assert.equal((await failure(command('find', {}, at(5)))).code, 239)
  assert.equal((await failure(command('find', {}, at(2 ** 32 - 1)))).code, 72)
  assert.equal((await failure(command('find', {}, 7))).code, 14)
  const refused = await failure(command('count', {}))
  assert.equal(refused.code, 72)
  assert.match(refused.message, /^Command count does not support .* read concern not supported$/)
  assert.equal((await failure(command('insert', { documents: [{}] }))).code, 72)
})

test('A document that dies is gone from snapshot sessions at once', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await collection.insertMany([{ _id: 1 as never }, { _id: 2 as never, ttl: -1 }])
  const session = client.startSession({ snapshot: true })
  assert.equal((await collection.find({}, { session }).toArray()).length, 2)
  await collection.deleteMany({})
  assert.equal((await collection.find({}, { session }).toArray()).length, 2)
  await db.clock.advance('10s')
  assert.deepEqual(idsOf(await collection.find({}, { session }).toArray()), [2])
  await session.endSession()
})

test('A cursor of a transaction can be read in it only', async () => {
  const { dbName: $db } = await numbered(5)
  const raw = await RawClient.loggedIn(uri)
  const lsid = { id: new UUID() }
  const find = { find: 'items', batchSize: 0, lsid, $db }
  const numberOne = { txnNumber: Long.fromNumber(1), autocommit: false }
  const { cursor } = await raw.command({ ...find, ...numberOne, startTransaction: true })
  const plain = await raw.command(find)
  const more = (id: unknown, rest: Document = {}) =>
    raw.command({ getMore: id, collection: 'items', lsid, $db, ...rest })
  assert.equal((await more(cursor.id)).code, 50740)
  assert.equal((await more(plain.cursor.id, numberOne)).code, 50739)
  assert.equal((await raw.command({ ...find, ...numberOne })).ok, 0, 'a statement that fails ends the transaction')
  const numberTwo = { txnNumber: Long.fromNumber(2), autocommit: false }
  const second = await raw.command({ ...find, ...numberTwo, startTransaction: true })
  assert.equal((await more(second.cursor.id, numberTwo)).cursor.nextBatch.length, 5)
  assert.equal((await more(cursor.id, numberTwo)).code, 50741)
  raw.close()
})
