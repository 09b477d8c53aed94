/** Commands about the server itself. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, type FindCursor, Long, UUID } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { client, newCollection, newDatabase, db, uri } = await startMongo()
const admin = client.db('admin')

test('Every command about the server has an answer', async () => {
  for (const command of [
    { ping: 1 },
    { hello: 1 },
    { isMaster: 1 },
    { buildInfo: 1 },
    { getParameter: '*' },
    { getParameter: 1, featureCompatibilityVersion: 1 },
    { getLog: '*' },
    { getLog: 'startupWarnings' },
    { hostInfo: 1 },
    { whatsmyuri: 1 },
    { connectionStatus: 1, showPrivileges: true },
    { serverStatus: 1 },
    { getCmdLineOpts: 1 },
    { getLastRequestStatistics: 1 },
    { currentOp: 1 },
    { killOp: 1, op: 12345 },
    { startSession: 1 },
    { refreshSessions: [] },
    { killSessions: [] },
    { killAllSessions: [] },
    { listDatabases: 1 },
  ]) {
    assert.equal((await admin.command(command)).ok, 1, JSON.stringify(command))
  }
  assert.equal((await admin.command({ buildInfo: 1 })).version, '7.0.0')
})

test('The commands that a shell sends at start get an answer or an expected error', async () => {
  assert.deepEqual(
    await client
      .db('admin')
      .collection('atlascli')
      .aggregate([{ $match: { managedClusterType: 'atlasCliLocalDevCluster' } }, { $group: { _id: 1 } }])
      .toArray(),
    [],
  )
  assert.equal((await failure(admin.command({ atlasVersion: 1 }))).code, 59)
  assert.equal((await failure(admin.command({ getParameter: 'foo' }))).code, 72)
})

test('Commands of the admin database are refused elsewhere', async () => {
  assert.equal((await failure(client.db('other').command({ listDatabases: 1 }))).code, 13)
})

test('An unknown read concern is refused, the others are accepted', async () => {
  const collection = newCollection()
  for (const level of ['local', 'available', 'majority', 'linearizable', 'snapshot']) {
    assert.equal((await collection.db.command({ find: 'items', readConcern: { level } })).ok, 1, level)
  }
  assert.equal((await failure(collection.db.command({ find: 'items', readConcern: { level: 'nonsense' } }))).code, 2)
})

test('The effect of ttl in documents can be switched on and off', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  assert.equal((await admin.command({ setParameter: 1, perDocumentTtl: false })).was, true)
  await collection.insertOne({ _id: 'off' as never, ttl: 5 })
  assert.equal((await admin.command({ setParameter: 1, perDocumentTtl: true })).was, false)
  await collection.insertOne({ _id: 'on' as never, ttl: 5 })
  await db.clock.advance('5s')
  assert.deepEqual(
    (await collection.find().toArray()).map(({ _id }) => _id),
    ['off'],
  )
})

test('Ending a session aborts its transaction', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  const session = client.startSession()
  session.startTransaction()
  await collection.insertOne({ _id: 1 as never }, { session })
  await admin.command({ endSessions: [session.id] })
  assert.equal((await failure(session.commitTransaction())).code, 251)
  await session.endSession()
  assert.equal(await collection.estimatedDocumentCount(), 1)
})

test('An operation that takes long can be killed', async () => {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: 20_000 }, (_, n) => ({ n })))
  const slow = failure(collection.updateMany({ $expr: { $gte: [{ $abs: '$n' }, 0] } }, { $inc: { m: 1 } }))
  for (;;) {
    const { inprog } = await admin.command({ currentOp: 1 })
    const found = inprog.find(({ command }: { command: object }) => 'update' in command)
    if (found === undefined) continue
    assert.equal(found.ns, collection.namespace)
    await admin.command({ killOp: 1, op: Long.fromNumber(found.opid) })
    break
  }
  assert.equal((await slow).code, 11601)
})

test('getLastRequestStatistics shows the cost of the last command on documents, whatever follows it', async () => {
  const database = newDatabase()
  const collection = database.collection<{ _id: number; n?: number }>('c')
  const last = async (options = {}) => {
    const statistics = await database.command({ getLastRequestStatistics: 1 }, options)
    assert.equal(statistics._t, 'GetRequestStatisticsResponse')
    assert.ok(statistics.RequestDurationInMilliSeconds >= 0)
    return [statistics.CommandName, statistics.RequestCharge]
  }
  await collection.insertOne({ _id: 1, n: 1 })
  assert.deepEqual(await last(), ['insert', 5])
  await collection.insertMany([{ _id: 2 }, { _id: 3 }])
  for await (const _ of collection.find().batchSize(1)) break
  const [name, charge] = await last()
  assert.equal(name, 'find')
  assert.ok(charge > 2)
  await database.listCollections().toArray()
  await database.command({ ping: 1 })
  await client.db('admin').collection('atlascli').aggregate([]).toArray()
  assert.deepEqual(await last(), ['find', charge])
  await collection.find({ n: 1 }).explain('executionStats')
  assert.deepEqual(await last(), ['explain', 2.03])
  await database.collection('nowhere').findOne()
  assert.deepEqual(await last(), ['find', 0])
})

test('getLastRequestStatistics shows the last command of a session over another connection', async () => {
  const database = newDatabase()
  const collection = database.collection<{ _id: number; n?: number }>('c')
  const lsid = { id: new UUID() }
  const [first, second] = [await RawClient.loggedIn(uri), await RawClient.loggedIn(uri)]
  await collection.insertOne({ _id: 1 })
  const $db = database.databaseName
  await second.command({ find: 'c', filter: { _id: 1 }, $db })
  await first.command({ insert: 'c', documents: [{ _id: 2 }], lsid, $db })
  const ofSession = await second.command({ getLastRequestStatistics: 1, lsid, $db })
  assert.deepEqual([ofSession.CommandName, ofSession.RequestCharge], ['insert', 5])
  const ofConnection = await second.command({ getLastRequestStatistics: 1, $db })
  assert.deepEqual([ofConnection.CommandName, ofConnection.RequestCharge], ['find', 1])
  for (const { socket } of [first, second]) socket.destroy()
})

test('Health checks find a replica set whose only member is primary', async () => {
  const status = await admin.command({ replSetGetStatus: 1 })
  assert.deepEqual([status.ok, status.set, status.myState], [1, 'globaldb', 1])
  const { host } = new URL(uri)
  assert.deepEqual(
    status.members.map(({ name, stateStr, health, self }: Document) => [name, stateStr, health, self]),
    [[host, 'PRIMARY', 1, true]],
  )
  const { config } = await admin.command({ replSetGetConfig: 1 })
  assert.deepEqual([config._id, config.members[0].host], ['globaldb', host])
  const { commands } = await admin.command({ listCommands: 1 })
  assert.deepEqual(commands.listDatabases, { help: '', requiresAuth: true, adminOnly: true })
})

test('Databases come in the order of their names, with their sizes', async () => {
  for (const name of ['zoo', 'ape'])
    await client
      .db(name)
      .collection('c')
      .insertOne({ text: 'x'.repeat(1000) })
  const { databases, totalSize } = await admin.admin().listDatabases()
  const names = databases.map(({ name }) => name)
  assert.deepEqual(names, names.toSorted())
  const ape = databases.find(({ name }) => name === 'ape')!
  assert.ok(ape.sizeOnDisk! > 1000 && totalSize! > 2 * 1000)
  assert.equal(ape.empty, false)
})

test('The database admin is always listed, once', async () => {
  const listed = async (options: Document = {}) =>
    (await admin.command({ listDatabases: 1, ...options })).databases.filter(({ name }: Document) => name === 'admin')
  assert.equal((await listed()).length, 1)
  assert.deepEqual(await listed({ nameOnly: true }), [{ name: 'admin' }])
  assert.deepEqual(await listed({ filter: { name: 'other' } }), [])
  await admin.collection('things').insertOne({})
  assert.equal((await listed())[0].empty, false)
  assert.equal((await listed()).length, 1)
  await admin.collection('things').drop()
})

test('validate takes the options of old and new drivers', async () => {
  const collection = newCollection()
  await collection.insertOne({})
  const validate = (options: Document) => collection.db.command({ validate: 'items', ...options })
  for (const options of [{ scandata: true, full: true }, { background: true }, { enforceFastCount: true }]) {
    assert.equal((await validate(options)).valid, true)
  }
  assert.equal((await failure(validate({ background: true, full: true }))).code, 72)
})

test('$collStats and the command collStats return the same figures', async () => {
  const collection = newCollection()
  await collection.insertMany([{ a: 1 }, { a: 2 }])
  await collection.createIndex({ a: 1 })
  const [database, name] = collection.namespace.split('.') as [string, string]
  const { ns, ok, $clusterTime, operationTime, ...stats } = await client
    .db(database)
    .command({ collStats: name, scale: 2 })
  const stage = { $collStats: { storageStats: { scale: 2 }, count: {} } }
  const [shown] = await collection.aggregate([stage]).toArray()
  assert.deepEqual(shown!.storageStats, stats)
  assert.deepEqual([stats.count, stats.nindexes, Object.keys(stats.indexSizes)], [2, 2, ['_id_', 'a_1']])
  assert.ok(stats.avgObjSize > 0)
})

test('explain shows how many documents a command examines', async () => {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: 100 }, (_, n) => ({ _id: n as never, n: n % 10, m: n })))
  await collection.createIndex({ n: 1 })
  const statsOf = async (cursor: FindCursor) => {
    const { executionStats } = (await cursor.explain('executionStats')) as Document
    return [executionStats.nReturned, executionStats.totalKeysExamined, executionStats.totalDocsExamined]
  }
  assert.deepEqual(await statsOf(collection.find({ n: 3 })), [10, 10, 10])
  assert.deepEqual(await statsOf(collection.find({ m: 3 })), [1, 0, 100])
  assert.deepEqual(await statsOf(collection.find({ _id: 3 as never })), [1, 1, 1])
  assert.deepEqual(await statsOf(collection.find().sort({ _id: -1 }).limit(3)), [3, 3, 3])
  assert.deepEqual(await statsOf(collection.find().sort({ m: -1 }).skip(98).limit(5)), [2, 0, 100])
  const explain = { delete: 'items', deletes: [{ q: { n: 3 }, limit: 1 }] }
  const [database] = collection.namespace.split('.')
  const { executionStats } = await client.db(database).command({ explain, verbosity: 'executionStats' })
  assert.equal(executionStats.nReturned, 1)
  assert.equal(await collection.countDocuments(), 100)
})
