/** What a change stream never misses: the first write after it, the order of drops and renames, and times. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ChangeStream, ChangeStreamOptions, Collection, Db, Document, MongoClient } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const { db, client, newCollection, newDatabase } = await startMongo({ enableTestCommands: true })

const streams: ChangeStream<Document, Document>[] = []
after(async () => {
  for (const stream of streams) await stream.close()
})

function watch(
  target: Collection<Document> | Db | MongoClient,
  options: ChangeStreamOptions & { pipeline?: Document[] } = {},
): ChangeStream<Document, Document> {
  const { pipeline = [], ...rest } = options
  const stream = target.watch(pipeline, { maxAwaitTimeMS: 50, ...rest }) as ChangeStream<Document, Document>
  streams.push(stream)
  return stream
}

/** The stream is open when its first batch, which is empty, has come. */
async function opened(
  target: Collection<Document> | Db | MongoClient,
  options: ChangeStreamOptions & { pipeline?: Document[] } = {},
): Promise<ChangeStream<Document, Document>> {
  const stream = watch(target, options)
  assert.equal(await stream.tryNext(), null)
  return stream
}

async function take(stream: ChangeStream<Document, Document>, count: number): Promise<Document[]> {
  const events: Document[] = []
  while (events.length < count) events.push(await stream.next())
  return events
}

const types = (events: readonly Document[]) => events.map(({ operationType }) => operationType)
const described = (events: readonly Document[]) =>
  events.map(({ operationType, ns, documentKey }) => [operationType, ns?.coll, documentKey?._id])
const id = (value: unknown) => value as never

test('What is written right after a stream was asked for is never lost, watched before or not', async () => {
  for (let round = 0; round < 20; round++) {
    const collection = newCollection()
    if (round % 2 === 0) await collection.insertOne({ _id: id('before') })
    const targets = [collection, collection.db, client] as const
    const stream = watch(targets[round % 3]!)
    const first = stream.next()
    await new Promise<void>(resolve => setImmediate(resolve))
    // The stream and the insert travel on two connections; the server has seen the stream when this returns.
    await client.db('admin').command({ ping: 1 })
    await collection.insertOne({ _id: id(round) })
    assert.equal((await first).documentKey._id, round)
    await stream.close()
  }
})

test('An insert and a drop at once are insert, drop and invalidate', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  const stream = await opened(collection)
  await collection.insertOne({ _id: id(1) })
  await collection.drop()
  await collection.insertOne({ _id: id(2) })
  const events = await take(stream, 3)
  assert.deepEqual(described(events), [
    ['insert', 'items', 1],
    ['drop', 'items', undefined],
    ['invalidate', undefined, undefined],
  ])
  // After the drop comes the invalidation, also for a stream that resumes there.
  for (const at of [0, 1]) {
    const again = watch(collection, { resumeAfter: events[at]!._id })
    assert.deepEqual(types(await take(again, 2 - at)), ['drop', 'invalidate'].slice(at))
    assert.equal(await again.tryNext(), null)
  }
  const next = watch(collection, { startAfter: events[2]!._id })
  assert.deepEqual(described(await take(next, 1)), [['insert', 'items', 2]])
})

test('Streams over a database and over everything see what happened in a dropped database, and its end', async () => {
  const database = newDatabase()
  await database.collection('a').insertOne({ _id: id(0) })
  const [ofDatabase, ofAll] = [await opened(database), await opened(client)]
  await database.collection('b').insertOne({ _id: id(1) })
  await database.collection('a').insertOne({ _id: id(2) })
  await database.dropDatabase()
  const expected = [
    ['insert', 'b', 1],
    ['insert', 'a', 2],
    ['drop', 'a', undefined],
    ['drop', 'b', undefined],
    ['dropDatabase', undefined, undefined],
  ]
  assert.deepEqual(described(await take(ofDatabase, 6)), [...expected, ['invalidate', undefined, undefined]])
  const events = await take(ofAll, 5)
  assert.deepEqual(described(events), expected)
  assert.deepEqual(events[4]!.ns, { db: database.databaseName })
  await database.collection('c').insertOne({ _id: id(3) })
  assert.deepEqual(described(await take(ofAll, 1)), [['insert', 'c', 3]])
})

test('Events of different collections come in the order of the writes, within a second', async () => {
  const database = newDatabase()
  const [a, b] = [database.collection<Document>('a'), database.collection<Document>('b')]
  const stream = await opened(database)
  const expected: unknown[] = []
  for (let n = 0; n < 40; n++) {
    const collection = n % 3 === 0 ? a : b
    await collection.insertOne({ _id: id(n) })
    expected.push(['insert', collection.collectionName, n])
  }
  const events = await take(stream, 40)
  assert.deepEqual(described(events), expected)
  const times = events.map(({ clusterTime }) => BigInt(clusterTime.toString()))
  assert.deepEqual(
    times,
    [...new Set(times)].sort((x, y) => (x < y ? -1 : 1)),
  )
})

test('A rename is told to streams over either name, and the events before it keep the old name', async () => {
  const database = newDatabase()
  const [from, to] = [database.collection<Document>('from'), database.collection<Document>('to')]
  await from.insertOne({ _id: id(0) })
  await to.insertOne({ _id: id(0) })
  const all = [await opened(database), await opened(from), await opened(to)] as const
  await from.insertOne({ _id: id(1) })
  await from.rename('to', { dropTarget: true })
  await to.insertOne({ _id: id(2) })
  const [ofDatabase, ofFrom, ofTo] = [await take(all[0], 3), await take(all[1], 3), await take(all[2], 2)]
  assert.deepEqual(described(ofDatabase), [
    ['insert', 'from', 1],
    ['rename', 'from', undefined],
    ['insert', 'to', 2],
  ])
  assert.deepEqual(ofDatabase[1]!.to, { db: database.databaseName, coll: 'to' })
  assert.deepEqual(types(ofFrom), ['insert', 'rename', 'invalidate'])
  assert.deepEqual(types(ofTo), ['rename', 'invalidate'])
})

test('A stream can start at the time of any event, and at the operationTime of any answer', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id('before') })
  const stream = await opened(collection)
  const times: Document[] = []
  for (let n = 0; n < 6; n++) {
    if (n === 3) await db.clock.advance('1s')
    const session = client.startSession()
    await collection.insertOne({ _id: id(n) }, { session })
    times.push(session.operationTime!)
    await session.endSession()
  }
  const events = await take(stream, 6)
  for (const [n, { clusterTime }] of events.entries()) {
    // The answer of the write has the time of its event.
    assert.deepEqual(times[n], clusterTime)
    const again = watch(collection, { startAtOperationTime: clusterTime })
    assert.deepEqual(
      (await take(again, 6 - n)).map(({ documentKey }) => documentKey._id),
      [0, 1, 2, 3, 4, 5].slice(n),
    )
  }
  await db.clock.advance('1s')
  const { operationTime } = await client.db('admin').command({ ping: 1 })
  await collection.insertOne({ _id: id(6) })
  const later = watch(collection, { startAtOperationTime: operationTime })
  assert.equal((await take(later, 1))[0]!.documentKey._id, 6)
})

test('What happened to an array is told by its elements and its size', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(1), a: [1, 2, 3], empty: [], deep: [{ x: [1, 2] }] })
  const stream = await opened(collection, { showExpandedEvents: true })
  const cases: [Document, Document][] = [
    [{ $push: { a: 4 } }, { updatedFields: { 'a.3': 4 } }],
    [{ $pop: { a: 1 } }, { truncatedArrays: [{ field: 'a', newSize: 3 }] }],
    [{ $push: { empty: 'x' } }, { updatedFields: { 'empty.0': 'x' } }],
    [{ $push: { a: { $each: [5, 6] } } }, { updatedFields: { 'a.3': 5, 'a.4': 6 } }],
    [{ $set: { 'a.1': 9 } }, { updatedFields: { 'a.1': 9 } }],
    [{ $pull: { a: 1 } }, { updatedFields: { a: [9, 3, 5, 6] } }],
    [{ $pop: { a: -1 } }, { updatedFields: { a: [3, 5, 6] } }],
    [{ $push: { 'deep.0.x': 3 } }, { updatedFields: { 'deep.0.x.2': 3 } }],
    [{ $unset: { empty: 1 } }, { removedFields: ['empty'] }],
    [{ $set: { a: [] } }, { truncatedArrays: [{ field: 'a', newSize: 0 }] }],
    [{ $set: { o: { 1: 1 } } }, { updatedFields: { o: { 1: 1 } } }],
    [{ $set: { 'o.1': 2 } }, { updatedFields: { 'o.1': 2 }, disambiguatedPaths: { 'o.1': ['o', '1'] } }],
  ]
  for (const [update, expected] of cases) {
    await collection.updateOne({ _id: id(1) }, update)
    const [event] = await take(stream, 1)
    const nothing = { updatedFields: {}, removedFields: [], truncatedArrays: [], disambiguatedPaths: {} }
    assert.deepEqual(event!.updateDescription, { ...nothing, ...expected }, JSON.stringify(update))
  }
})

test('showExpandedEvents tells about collections, indexes and options', async () => {
  const database = newDatabase()
  const expanded = await opened(database, { showExpandedEvents: true })
  const plain = await opened(database)
  const collection = await database.createCollection<Document>('c')
  await collection.createIndex({ a: 1 }, { name: 'byA' })
  await collection.insertOne({ _id: id(1) })
  await collection.createIndex({ at: 1 }, { name: 'ttl', expireAfterSeconds: 10 })
  await database.command({ collMod: 'c', index: { name: 'ttl', expireAfterSeconds: 20 } })
  await collection.dropIndex('byA')
  await database.command({ collMod: 'c', changeStreamPreAndPostImages: { enabled: true } })
  await collection.rename('d')
  await database.collection('d').drop()
  const events = await take(expanded, 9)
  assert.deepEqual(types(events), [
    'create',
    'createIndexes',
    'insert',
    'createIndexes',
    'modify',
    'dropIndexes',
    'modify',
    'rename',
    'drop',
  ])
  const [create, createIndex, insert, , modify, dropIndex, , rename] = events
  assert.deepEqual(create!.operationDescription, { idIndex: { v: 2, key: { _id: 1 }, name: '_id_' } })
  assert.deepEqual(createIndex!.operationDescription, { indexes: [{ v: 2, key: { a: 1 }, name: 'byA' }] })
  assert.deepEqual(modify!.operationDescription, { index: { name: 'ttl', expireAfterSeconds: 20 } })
  assert.deepEqual(modify!.stateBeforeChange.indexOptions, { expireAfterSeconds: 10 })
  assert.deepEqual(dropIndex!.operationDescription, { indexes: [{ v: 2, key: { a: 1 }, name: 'byA' }] })
  assert.deepEqual(rename!.operationDescription, { to: { db: database.databaseName, coll: 'd' } })
  const uuids = new Set(events.map(({ collectionUUID }) => collectionUUID.toString('hex')))
  assert.equal(uuids.size, 1)
  assert.equal(insert!.ns.coll, 'c')
  const shown = await take(plain, 3)
  assert.deepEqual(types(shown), ['insert', 'rename', 'drop'])
  assert.ok(shown.every(event => !('collectionUUID' in event) && !('operationDescription' in event)))
})

test('A collMod that changes nothing is an event, too', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1 })
  const stream = await opened(collection, { showExpandedEvents: true })
  const before = await collection.options()
  await collection.db.command({ collMod: collection.collectionName })
  const [event] = await take(stream, 1)
  assert.deepEqual([event!.operationType, event!.operationDescription], ['modify', {}])
  assert.deepEqual(await collection.options(), before)
})

test('An event that is too large is refused, or comes in fragments from which a stream resumes', async () => {
  const collection = newCollection()
  const half = 'x'.repeat(9 * 2 ** 20)
  await collection.insertOne({ _id: id(1), half })
  const both = { fullDocument: 'required', fullDocumentBeforeChange: 'required' }
  const whole = await opened(collection, both)
  const split = await opened(collection, { ...both, pipeline: [{ $changeStreamSplitLargeEvent: {} }] })
  await collection.updateOne({ _id: id(1) }, { $set: { n: 1 } })
  await collection.insertOne({ _id: id(2) })
  assert.equal((await failure(whole.next())).code, 10334)
  const [first, second, small] = await take(split, 3)
  assert.deepEqual(first!.splitEvent, { fragment: 1, of: 2 })
  assert.deepEqual(second!.splitEvent, { fragment: 2, of: 2 })
  assert.equal(first!.operationType, 'update')
  const images = [first, second].map(each => each!.fullDocument?.n ?? each!.fullDocumentBeforeChange?.half.length)
  assert.deepEqual(new Set(images), new Set([1, half.length]))
  assert.deepEqual([small!.documentKey._id, 'splitEvent' in small!], [2, false])
  const pipeline = [{ $changeStreamSplitLargeEvent: {} }]
  const again = watch(collection, { ...both, resumeAfter: first!._id, pipeline })
  const rest = await take(again, 2)
  assert.deepEqual([rest[0], rest[1]!.documentKey._id], [second, 2])
  const without = watch(collection, { ...both, resumeAfter: first!._id })
  assert.equal((await failure(without.tryNext())).code, 280)
  const misplaced = watch(collection, { pipeline: [{ $changeStreamSplitLargeEvent: {} }, { $match: {} }] })
  assert.equal((await failure(misplaced.tryNext())).code, 7182802)
})

test('Only stages that look at one event at a time may follow', async () => {
  const collection = newCollection()
  for (const stage of [{ $group: { _id: 1 } }, { $sort: { a: 1 } }, { $limit: 1 }]) {
    const { code, message } = await failure(watch(collection, { pipeline: [stage] }).tryNext())
    assert.equal(code, 20)
    assert.match(message, /is not permitted in a \$changeStream pipeline/)
  }
})

test('A stream has the read concern majority or none', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  await opened(collection, { readConcern: { level: 'majority' } } as ChangeStreamOptions)
  for (const level of ['local', 'available', 'linearizable', 'snapshot']) {
    const { code, message } = await failure(watch(collection, { readConcern: { level } } as never).tryNext())
    assert.equal(code, 72)
    assert.match(message, new RegExp(`with a readConcern other than 'majority'. Current readConcern: ${level}$`))
  }
})

test('A place that is forgotten, or that no stream was at, is refused with a label', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  const stream = await opened(collection)
  await collection.insertOne({ _id: id(1) })
  const [event] = await take(stream, 1)
  await stream.close()
  const unknown = { _data: Buffer.from('{"t":9007199254740991,"s":1}').toString('hex').toUpperCase() }
  const found = await failure(watch(collection, { resumeAfter: unknown }).tryNext())
  assert.equal(found.code, 280)
  assert.ok(found.labels.includes('NonResumableChangeStreamError'))
  await db.clock.advance('24h')
  for (const start of [{ resumeAfter: event!._id }, { startAtOperationTime: event!.clusterTime }]) {
    const lost = await failure(watch(collection, start).tryNext())
    assert.equal(lost.code, 286)
    assert.ok(lost.labels.includes('NonResumableChangeStreamError'))
  }
})

test('A stream that waits is ended by killOp, and its wait by a client that goes', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  const stream = watch(collection, { maxAwaitTimeMS: 60_000 })
  const waiting = stream.next().catch(error => error)
  let operation: Document | undefined
  while (operation === undefined) {
    const { inprog } = await client.db('admin').command({ currentOp: 1 })
    operation = inprog.find(({ command }: Document) => command?.getMore !== undefined)
  }
  await client.db('admin').command({ killOp: 1, op: operation.opid })
  assert.equal((await waiting).code, 11601)
})

test('There is no oplog, and the tools that ask for it are told so', async () => {
  const local = client.db('local')
  const { code, message } = await failure(local.collection('oplog.rs').findOne({}, { sort: { $natural: -1 } }))
  assert.equal(code, 238)
  assert.match(message, /no oplog/)
  assert.equal((await failure(client.db('admin').command({ applyOps: [] }))).code, 238)
})

test('An error after which a stream can be resumed says so, and the driver resumes it', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  const stream = await opened(collection)
  const fail = (failCommands: string[], errorCode: number, times: number) =>
    client
      .db('admin')
      .command({ configureFailPoint: 'failCommand', mode: { times }, data: { failCommands, errorCode } })
  const point = { configureFailPoint: 'failGetMoreAfterCursorCheckout', mode: { times: 1 }, data: { errorCode: 91 } }
  await client.db('admin').command(point)
  await collection.insertOne({ _id: id(1) })
  assert.equal((await take(stream, 1))[0]!.documentKey._id, 1)
  const command = { aggregate: 'items', pipeline: [{ $changeStream: {} }], cursor: {} }
  await fail(['aggregate'], 262, 1)
  assert.deepEqual((await failure(collection.db.command(command))).labels, ['ResumableChangeStreamError'])
  // Other cursors have nothing to resume.
  await fail(['aggregate'], 262, 1)
  assert.deepEqual((await failure(collection.db.command({ ...command, pipeline: [] }))).labels, [])
  // A getMore that fails before it has found its cursor does not know that this is a stream.
  const short = await opened(collection)
  await fail(['getMore'], 6, 1)
  const unlabelled = await failure(short.next())
  assert.deepEqual([unlabelled.code, unlabelled.labels], [6, []])
  await fail(['getMore'], 280, 1)
  const error = await failure(stream.next())
  assert.deepEqual([error.code, error.labels], [280, ['NonResumableChangeStreamError']])
})

test('A stream that begins with an empty batch has a place from which it can be resumed', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: id(0) })
  const command = { aggregate: 'items', pipeline: [{ $changeStream: {} }], cursor: { batchSize: 0 } }
  const { cursor } = await collection.db.command(command)
  await collection.insertOne({ _id: id(1) })
  const resumed = watch(collection, { resumeAfter: cursor.postBatchResumeToken })
  assert.equal((await take(resumed, 1))[0]!.documentKey._id, 1)
})
