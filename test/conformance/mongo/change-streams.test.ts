/** Change streams on a collection, a database and everything: events, images, tokens and deaths. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import {
  type ChangeStream,
  type ChangeStreamOptions,
  type Collection,
  type Db,
  type Document,
  MongoClient,
  type Timestamp,
} from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, startMongo } from './support/fixture.ts'

const { db, client, newCollection, newDatabase } = await startMongo()

const streams: ChangeStream[] = []
after(async () => {
  for (const stream of streams) await stream.close()
})

async function watch(
  target: Collection<Document> | Db | MongoClient,
  pipeline: Document[] = [],
  options: ChangeStreamOptions = {},
): Promise<ChangeStream<Document, Document>> {
  const stream = target.watch(pipeline, { maxAwaitTimeMS: 50, ...options }) as ChangeStream<Document, Document>
  streams.push(stream as never)
  // The stream is open when its first batch, which is empty, has come.
  assert.equal(await stream.tryNext(), null)
  return stream
}

const shown = ({ operationType, documentKey, fullDocument }: Document) => [
  operationType,
  documentKey?._id,
  fullDocument,
]

async function take(stream: ChangeStream<Document, Document>, count: number): Promise<Document[]> {
  const events: Document[] = []
  while (events.length < count) events.push(await stream.next())
  return events
}

test('Inserts, updates, replacements and deletes are events, in the order in which they happened', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 'before' as never })
  const stream = await watch(collection)
  await collection.insertOne({ _id: 1 as never, a: 1, b: { c: 1, d: 1 } })
  await collection.updateOne({ _id: 1 as never }, { $set: { a: 2, 'b.c': 5 }, $unset: { 'b.d': 1 } })
  await collection.replaceOne({ _id: 1 as never }, { r: 1 })
  await collection.deleteOne({ _id: 1 as never })
  const events = await take(stream, 4)
  assert.deepEqual(events.map(shown), [
    ['insert', 1, { _id: 1, a: 1, b: { c: 1, d: 1 } }],
    ['update', 1, undefined],
    ['replace', 1, { _id: 1, r: 1 }],
    ['delete', 1, undefined],
  ])
  const [insert, update] = events
  assert.deepEqual(insert!.ns, { db: collection.dbName, coll: 'items' })
  assert.deepEqual(update!.updateDescription, {
    updatedFields: { a: 2, 'b.c': 5 },
    removedFields: ['b.d'],
    truncatedArrays: [],
  })
  assert.equal(insert!.clusterTime.t, db.clock.now())
  assert.equal(insert!.wallTime.getTime(), db.clock.now() * 1000)
})

test('An event can show the document before and after the change', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never, a: 1 })
  const looking = await watch(collection, [], {
    fullDocument: 'updateLookup',
    fullDocumentBeforeChange: 'whenAvailable',
  })
  const exact = await watch(collection, [], { fullDocument: 'required', fullDocumentBeforeChange: 'required' })
  await collection.updateOne({ _id: 1 as never }, { $inc: { a: 1 } })
  await collection.updateOne({ _id: 1 as never }, { $inc: { a: 1 } })
  await collection.deleteOne({ _id: 1 as never })
  const images = (events: Document[]) =>
    events.map(({ fullDocument, fullDocumentBeforeChange }) => [fullDocument?.a ?? null, fullDocumentBeforeChange.a])
  assert.deepEqual(images(await take(looking, 3)), [
    [null, 1],
    [null, 2],
    [null, 3],
  ])
  assert.deepEqual(images(await take(exact, 3)), [
    [2, 1],
    [3, 2],
    [null, 3],
  ])
})

test('The death of a document is a delete event, marked as a death, with the document', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  const stream = await watch(collection, [], { fullDocumentBeforeChange: 'whenAvailable' })
  await collection.insertMany([{ _id: 1 as never, a: 1 }, { _id: 2 as never }])
  await collection.deleteOne({ _id: 2 as never })
  await db.clock.advance('10s')
  await db.purge()
  const events = await take(stream, 4)
  assert.deepEqual(
    events.map(({ operationType, documentKey, mayflyExpired }) => [operationType, documentKey._id, mayflyExpired]),
    [
      ['insert', 1, undefined],
      ['insert', 2, undefined],
      ['delete', 2, undefined],
      ['delete', 1, true],
    ],
  )
  assert.deepEqual(events[3]!.fullDocumentBeforeChange, { _id: 1, a: 1 })
})

test('Deaths can be left out, as Cosmos does', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  const stream = await watch(collection)
  await collection.insertOne({ _id: 1 as never })
  await take(stream, 1)
  const admin = client.db('admin')
  await admin.command({ setParameter: 1, changeStreamExpiryEvents: false })
  await db.clock.advance('10s')
  await db.purge()
  await collection.insertOne({ _id: 2 as never })
  assert.deepEqual(shown((await take(stream, 1))[0]!).slice(0, 2), ['insert', 2])
  const { was } = await admin.command({ setParameter: 1, changeStreamExpiryEvents: true })
  assert.equal(was, false)
})

test('A pipeline after the stream selects and shapes events', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  const stream = await watch(collection, [
    { $match: { operationType: 'insert', 'fullDocument.a': { $gt: 1 } } },
    { $project: { fullDocument: 1 } },
  ])
  await collection.insertMany([1, 2, 3].map(a => ({ _id: a as never, a })))
  const events = await take(stream, 2)
  assert.deepEqual(
    events.map(({ _id, ...rest }) => rest),
    [{ fullDocument: { _id: 2, a: 2 } }, { fullDocument: { _id: 3, a: 3 } }],
  )
  const broken = collection.watch([{ $project: { _id: 0 } }], { maxAwaitTimeMS: 50 })
  streams.push(broken as never)
  await broken.tryNext()
  await collection.insertOne({})
  const { message } = await failure(broken.next())
  assert.match(message, /resume token/)
})

test('A stream resumes after any event, and skips and repeats nothing', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 'before' as never })
  const stream = await watch(collection)
  await collection.insertMany([...Array(10).keys()].map(_id => ({ _id: _id as never })))
  const events = await take(stream, 10)
  await stream.close()
  await collection.insertOne({ _id: 10 as never })
  for (const at of [0, 4, 9]) {
    for (const option of ['resumeAfter', 'startAfter'] as const) {
      const again = collection.watch([], { [option]: events[at]!._id, maxAwaitTimeMS: 50 })
      streams.push(again as never)
      const rest = await take(again as never, 10 - at)
      assert.deepEqual(
        rest.map(({ documentKey }) => documentKey._id),
        [...Array(11).keys()].slice(at + 1),
      )
    }
  }
})

test('A stream resumes after a restart of the server', async () => {
  const data = temporaryDirectory()
  let token: unknown
  {
    await using first = await mayfly({ clock: 'manual', data })
    await using connected = new MongoClient(first.mongoUri!)
    const collection = connected.db('d').collection<Document>('c')
    await collection.insertOne({ _id: 0 as never })
    const stream = collection.watch([], { maxAwaitTimeMS: 50 })
    await stream.tryNext()
    await collection.insertOne({ _id: 1 as never })
    token = (await stream.next())._id
    await collection.insertOne({ _id: 2 as never })
    await stream.close()
  }
  await using second = await mayfly({ clock: 'manual', data })
  await using connected = new MongoClient(second.mongoUri!)
  const collection = connected.db('d').collection<Document>('c')
  await collection.insertOne({ _id: 3 as never })
  const stream = collection.watch([], { resumeAfter: token as never, maxAwaitTimeMS: 50 })
  const events = await take(stream as never, 2)
  assert.deepEqual(
    events.map(({ documentKey }) => documentKey._id),
    [2, 3],
  )
  await stream.close()
})

test('A stream over a database sees all its collections, also new ones', async () => {
  const database = newDatabase()
  await database.collection('a').insertOne({ _id: 0 as never })
  const stream = await watch(database)
  // Within a second, order is guaranteed only within one collection, with every store.
  await database.collection('a').insertOne({ _id: 1 as never })
  await db.clock.advance('1s')
  await database.collection('b').insertOne({ _id: 2 as never })
  await db.clock.advance('1s')
  await database.collection('a').deleteOne({ _id: 1 as never })
  const events = await take(stream, 3)
  assert.deepEqual(
    events.map(({ operationType, ns, documentKey }) => [operationType, ns.coll, documentKey._id]),
    [
      ['insert', 'a', 1],
      ['insert', 'b', 2],
      ['delete', 'a', 1],
    ],
  )
  await database.collection('b').drop()
  const [drop] = await take(stream, 1)
  assert.deepEqual([drop!.operationType, drop!.ns.coll], ['drop', 'b'])
  await database.dropDatabase()
  const rest = await take(stream, 3)
  assert.deepEqual(
    rest.map(({ operationType }) => operationType),
    ['drop', 'dropDatabase', 'invalidate'],
  )
})

test('A stream over everything sees every database', async () => {
  const stream = await watch(client)
  const [first, second] = [newDatabase(), newDatabase()]
  await first.collection('x').insertOne({ _id: 1 as never })
  await db.clock.advance('1s')
  await second.collection('y').insertOne({ _id: 2 as never })
  const events = await take(stream, 2)
  assert.deepEqual(
    events.map(({ ns }) => [ns.db, ns.coll]),
    [
      [first.databaseName, 'x'],
      [second.databaseName, 'y'],
    ],
  )
  await stream.close()
})

test('Dropping and renaming a collection end its stream', async () => {
  for (const [work, expected] of [
    [(collection: Collection<Document>) => collection.drop(), 'drop'],
    [(collection: Collection<Document>) => collection.rename('other'), 'rename'],
  ] as const) {
    const collection = newCollection()
    await collection.insertOne({ _id: 1 as never })
    const stream = await watch(collection)
    await work(collection)
    const [event, invalidate] = await take(stream, 2)
    assert.equal(event!.operationType, expected)
    assert.equal(invalidate!.operationType, 'invalidate')
    if (expected === 'rename') assert.deepEqual(event!.to, { db: collection.dbName, coll: 'other' })
    const refused = collection.watch([], { resumeAfter: invalidate!._id as never })
    streams.push(refused as never)
    assert.equal((await failure(refused.tryNext())).code, 260)
    await collection.insertOne({ _id: 2 as never })
    const again = collection.watch([], { startAfter: invalidate!._id as never, maxAwaitTimeMS: 50 })
    streams.push(again as never)
    await again.tryNext()
    await collection.insertOne({ _id: 3 as never })
    const seen = await take(again as never, 1)
    assert.equal(seen[0]!.operationType, 'insert')
  }
})

test('A stream can start at a time', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  await (await watch(collection)).close()
  await collection.insertOne({ _id: 1 as never })
  await db.clock.advance('5s')
  const { operationTime } = await client.db('admin').command({ ping: 1 })
  await collection.insertOne({ _id: 2 as never })
  const stream = collection.watch([], { startAtOperationTime: operationTime, maxAwaitTimeMS: 50 })
  streams.push(stream as never)
  const [event] = await take(stream as never, 1)
  assert.equal(event!.documentKey._id, 2)
})

test('A stream that starts before the first watch shows nothing instead of a part: it is refused', async () => {
  // Elsewhere streams over the whole cluster make new collections keep a log from the beginning.
  await using unwatched = await mayfly({ clock: 'manual' })
  await using connected = new MongoClient(unwatched.mongoUri!)
  const pinged = async () => (await connected.db('admin').command({ ping: 1 })).operationTime
  const since = (name: string, startAtOperationTime: Timestamp) =>
    connected.db('d').collection(name).watch([], { startAtOperationTime, maxAwaitTimeMS: 50 })
  for (const seconds of [0, 2]) {
    const before = await pinged()
    await connected.db('d').collection(`c${seconds}`).insertMany([{}, {}, {}])
    if (seconds > 0) await unwatched.clock.advance(`${seconds}s`)
    await using stream = since(`c${seconds}`, before)
    assert.equal((await failure(stream.next())).code, 286, `${seconds} s later`)
  }
  // Nothing was written in this second, so nothing is missing.
  const quiet = connected.db('d').collection<{ _id: number }>('quiet')
  await quiet.insertOne({ _id: 0 })
  await unwatched.clock.advance('1s')
  await using stream = since('quiet', await pinged())
  assert.equal(await stream.tryNext(), null)
  await quiet.insertOne({ _id: 1 })
  assert.equal(((await stream.next()) as Document).documentKey._id, 1)
})

test('A stream with invalid options is refused', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  const open = async (spec: Document) => (await failure(collection.aggregate([{ $changeStream: spec }]).toArray())).code
  assert.equal(await open({ resumeAfter: { _data: 'nonsense' } }), 260)
  assert.equal(await open({ resumeAfter: { x: 1 } }), 260)
  assert.equal(await open({ fullDocument: 'nonsense' }), 2)
  assert.equal(await open({ nonsense: 1 }), 40415)
  assert.equal(await open({ allChangesForCluster: true }), 72)
  assert.equal(await open({ startAtOperationTime: 5 }), 14)
})

test('The writes of a transaction become events when it commits', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  const stream = await watch(collection)
  const session = client.startSession()
  session.startTransaction()
  await collection.insertMany([{ _id: 1 as never }, { _id: 2 as never }], { session })
  await collection.deleteOne({ _id: 0 as never }, { session })
  assert.equal(await stream.tryNext(), null)
  await session.commitTransaction()
  await session.endSession()
  const events = await take(stream, 3)
  assert.deepEqual(
    events.map(({ operationType, documentKey }) => [operationType, documentKey._id]),
    [
      ['insert', 1],
      ['insert', 2],
      ['delete', 0],
    ],
  )
})

test('A token from Cosmos’s GetChangeStreamTokens resumes where the collection was at that time', async () => {
  const database = newDatabase()
  const collection = database.collection<Document>('items')
  await collection.insertOne({ _id: 1 as never })
  const action = { customAction: 'GetChangeStreamTokens', collection: 'items' }
  const { resumeAfterTokens } = await database.command(action)
  assert.equal(resumeAfterTokens.length, 1)
  await collection.insertOne({ _id: 2 as never })
  const stream = collection.watch([], { resumeAfter: resumeAfterTokens[0] }) as ChangeStream<Document, Document>
  streams.push(stream as never)
  assert.deepEqual((await take(stream, 1)).map(shown), [['insert', 2, { _id: 2 }]])
  assert.equal((await failure(database.command({ ...action, collection: 'none' }))).code, 26)
})

test('A token of an earlier version, with a position for each collection, resumes where it was', async () => {
  const data = temporaryDirectory()
  const tickOf = (token: Document) => JSON.parse(Buffer.from(token._data, 'hex').toString()).t as number
  const oldToken = (stored: unknown) => ({
    _data: Buffer.from(JSON.stringify(stored)).toString('hex').toUpperCase(),
  })
  let ticks: number[]
  {
    await using first = await mayfly({ clock: 'manual', data })
    await using connected = new MongoClient(first.mongoUri!)
    const database = connected.db('d')
    const stream = database.watch([], { maxAwaitTimeMS: 50 })
    await stream.tryNext()
    for (let n = 0; n < 6; n++) await database.collection(n % 2 === 0 ? 'a' : 'b').insertOne({ _id: n as never })
    ticks = (await take(stream as never, 6)).map(({ _id }) => tickOf(_id))
    await stream.close()
  }
  const file = new DatabaseSync(join(data, 'mayfly.db'))
  const rows = file.prepare("SELECT id, number FROM containers WHERE id IN ('a', 'b')").all()
  file.close()
  const numbers = Object.fromEntries(rows.map(({ id, number }) => [id, number]))
  await using second = await mayfly({ clock: 'manual', data })
  await using connected = new MongoClient(second.mongoUri!)
  for (const [at, tick] of ticks.entries()) {
    // The collection of the event is at its number, the other one at its own last event before that.
    const [own, other] = at % 2 === 0 ? ['a', 'b'] : ['b', 'a']
    // What was not there yet has no position.
    const before = at === 0 ? {} : { [numbers[other!]]: String(ticks[at - 1]) }
    const positions = { [numbers[own!]]: String(tick), ...before }
    const resumeAfter = oldToken({ p: positions })
    const stream = connected.db('d').watch([], { resumeAfter, maxAwaitTimeMS: 50 })
    const rest = await take(stream as never, 5 - at)
    assert.deepEqual(
      rest.map(({ documentKey }) => documentKey._id),
      [0, 1, 2, 3, 4, 5].slice(at + 1),
    )
    assert.equal(await stream.tryNext(), null)
    await stream.close()
  }
  const over = connected.db('d').watch([], { resumeAfter: oldToken({ p: {}, i: true }) })
  assert.equal((await failure(over.tryNext())).code, 260)
  await over.close()
})
