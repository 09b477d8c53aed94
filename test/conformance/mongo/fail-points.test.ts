/** Fail points: what the test suites of drivers ask of a server that was started with test commands. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document, MongoClientOptions } from 'mongodb'
import { parseConfig, settings } from '../../../src/server/config.ts'
import { failure, startMongo } from './support/fixture.ts'

const { client, connect, newCollection } = await startMongo({ enableTestCommands: true })
const plain = await startMongo()

const admin = client.db('admin')

const set = (name: string, mode: unknown, data?: Document) =>
  admin.command({ configureFailPoint: name, mode, ...(data === undefined ? {} : { data }) })
const fail = (mode: unknown, data: Document) => set('failCommand', mode, data)

/** The same collection through a client of its own. */
const through = (name: string, options: MongoClientOptions = {}) =>
  connect({ retryWrites: true, retryReads: false, ...options })
    .db(name)
    .collection<Document>('items')

async function filled() {
  const collection = newCollection()
  await collection.insertMany([{ _id: 0 as never }, { _id: 1 as never }, { _id: 2 as never }])
  return collection
}

test('Without --enable-test-commands fail points are refused, and nobody can switch them on', async () => {
  const other = plain.client.db('admin')
  assert.equal((await failure(other.command({ configureFailPoint: 'failCommand', mode: 'off' }))).code, 59)
  assert.equal((await failure(other.command({ setParameter: 1, enableTestCommands: true }))).code, 20)
  assert.equal((await failure(other.command({ configureFailPoint: 'failCommand', mode: 'off' }))).code, 59)
  assert.equal((await other.command({ getParameter: 1, enableTestCommands: 1 })).enableTestCommands, false)
  assert.equal((await admin.command({ getParameter: 1, enableTestCommands: 1 })).enableTestCommands, true)
  assert.equal(parseConfig(settings({}, {})).areTestCommandsOn, false)
  assert.equal(parseConfig(settings({ enableTestCommands: true }, {})).areTestCommandsOn, true)
})

test('A command fails with the code of failCommand, as often as asked', async () => {
  const collection = await filled()
  await fail({ times: 2 }, { failCommands: ['find'], errorCode: 2 })
  for (let time = 0; time < 2; time++) assert.equal((await failure(collection.find().toArray())).code, 2)
  assert.equal((await collection.find().toArray()).length, 3)
  await fail({ skip: 1 }, { failCommands: ['find'], errorCode: 2 })
  assert.equal((await collection.find().toArray()).length, 3)
  for (let time = 0; time < 3; time++) {
    const { code, message } = await failure(collection.find().toArray())
    assert.deepEqual([code, message], [2, "Failing command via 'failCommand' failpoint"])
  }
  await fail({ activationProbability: 0 }, { failCommands: ['find'], errorCode: 2 })
  assert.equal((await collection.find().toArray()).length, 3)
  await fail({ activationProbability: 1 }, { failCommands: ['find'], errorCode: 2 })
  assert.equal((await failure(collection.find().toArray())).code, 2)
  const { count } = await fail('off', {})
  assert.equal(count, 6)
  assert.equal((await collection.find().toArray()).length, 3)
})

test('A driver repeats what failCommand let fail or cut', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 0 as never })
  const retrying = through(collection.dbName)
  await fail({ times: 1 }, { failCommands: ['insert'], errorCode: 91, errorLabels: ['RetryableWriteError'] })
  await retrying.insertOne({ _id: 1 as never })
  await fail({ times: 1 }, { failCommands: ['update'], closeConnection: true })
  await retrying.updateOne({ _id: 1 as never }, { $set: { a: 1 } })
  assert.deepEqual(await collection.find({}).toArray(), [{ _id: 0 }, { _id: 1, a: 1 }])
})

test('failCommand is about the clients with its appName only, from their greeting on', async () => {
  const collection = await filled()
  const mine = through(collection.dbName, { appName: 'mine', serverSelectionTimeoutMS: 300 })
  await fail('alwaysOn', { appName: 'mine', failCommands: ['find'], errorCode: 2 })
  assert.equal((await collection.find().toArray()).length, 3)
  assert.equal((await failure(mine.find().toArray())).code, 2)
  await fail('alwaysOn', { appName: 'late', failCommands: ['hello', 'isMaster'], closeConnection: true })
  assert.equal((await collection.find().toArray()).length, 3)
  const late = connect({ appName: 'late', serverSelectionTimeoutMS: 300 })
  assert.match((await failure(late.connect())).message, /closed/)
  await fail('off', {})
  await late.connect()
})

test('failCommand cannot lock anybody out', async () => {
  await fail('alwaysOn', { failCommands: ['configureFailPoint', 'ping'], errorCode: 2 })
  assert.equal((await failure(admin.command({ ping: 1 }))).code, 2)
  await fail('off', {})
  await admin.command({ ping: 1 })
})

test('The labels of failCommand replace the usual ones, and an empty list leaves none', async () => {
  const collection = await filled()
  const insert = () => failure(through(collection.dbName).insertOne({}))
  await fail({ times: 2 }, { failCommands: ['insert'], errorCode: 91 })
  assert.equal((await insert()).labels.includes('RetryableWriteError'), true)
  await fail({ times: 1 }, { failCommands: ['insert'], errorCode: 91, errorLabels: [] })
  const bare = await collection.db
    .command({ insert: 'items', documents: [{}], lsid: { id: client.startSession().id!.id }, txnNumber: 1n as never })
    .catch(error => error)
  assert.deepEqual([bare.code, bare.errorResponse?.errorLabels], [91, undefined])
  await fail({ times: 1 }, { failCommands: ['insert'], errorCode: 2, errorLabels: ['RetryableWriteError', 'Mine'] })
  const retried = await through(collection.dbName).insertOne({})
  assert.ok(retried.acknowledged)
})

test('A writeConcernError is added to the answer of a command that was carried out', async () => {
  const collection = await filled()
  const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out', errInfo: { wtimeout: true } }
  await fail({ times: 1 }, { failCommands: ['find', 'insert'], writeConcernError })
  assert.equal((await collection.find().toArray()).length, 3)
  const answer = await collection.db
    .command({ insert: 'items', documents: [{ _id: 3 as never }] })
    .catch(error => error)
  assert.deepEqual((answer.errorResponse ?? answer).writeConcernError, writeConcernError)
  assert.equal(await collection.countDocuments(), 4)
  // With a code that is worth a retry the driver sends the write again, and it is found in the record.
  await fail({ times: 1 }, { failCommands: ['insert'], writeConcernError: { ...writeConcernError, code: 91 } })
  await through(collection.dbName).insertOne({ _id: 4 as never })
  assert.equal(await collection.countDocuments(), 5)
})

test('A write concern error within a transaction asks for no retry, one at its end does', async () => {
  const collection = await filled()
  const session = client.startSession()
  const writeConcernError = { code: 91, errmsg: 'stopping' }
  session.startTransaction()
  await fail({ times: 1 }, { failCommands: ['insert'], writeConcernError })
  const labelsOf = (error: { errorLabels?: string[] }) => error.errorLabels ?? []
  const insert = await collection.insertOne({ _id: 7 as never }, { session }).catch(error => error)
  assert.ok(!labelsOf(insert).includes('RetryableWriteError'))
  await session.abortTransaction()
  session.startTransaction()
  await collection.insertOne({ _id: 8 as never }, { session })
  await fail({ times: 1 }, { failCommands: ['commitTransaction'], errorCode: 267 })
  assert.deepEqual((await failure(session.commitTransaction())).labels, ['TransientTransactionError'])
  await session.endSession()
})

test('A blocked command goes on after its time, or ends with its maxTimeMS', async () => {
  const collection = await filled()
  await fail({ times: 2 }, { failCommands: ['find'], blockConnection: true, blockTimeMS: 40 })
  const before = performance.now()
  assert.equal((await collection.find().toArray()).length, 3)
  assert.ok(performance.now() - before >= 39)
  assert.equal((await failure(collection.find({}, { maxTimeMS: 5 }).toArray())).code, 50)
  assert.equal((await failure(fail('alwaysOn', { failCommands: ['find'], blockConnection: true }))).code, 72)
})

test('A transaction is neither begun nor ended by a command that failCommand stops', async () => {
  const collection = await filled()
  const session = client.startSession()
  session.startTransaction()
  await fail({ times: 1 }, { failCommands: ['insert'], errorCode: 2 })
  assert.equal((await failure(collection.insertOne({ _id: 7 as never }, { session }))).code, 2)
  assert.equal((await failure(collection.insertOne({ _id: 7 as never }, { session }))).code, 251)
  await session.abortTransaction()
  session.startTransaction()
  await collection.insertOne({ _id: 8 as never }, { session })
  await fail({ times: 1 }, { failCommands: ['insert'], errorCode: 2 })
  assert.equal((await failure(collection.insertOne({ _id: 9 as never }, { session }))).code, 2)
  await session.commitTransaction()
  assert.equal(await collection.countDocuments({ _id: { $gt: 5 } as never }), 1)
  await session.endSession()
})

test('onPrimaryTransactionalWrite cuts the connection after a retryable write, or before it', async () => {
  const collection = newCollection()
  const retrying = through(collection.dbName)
  const once = through(collection.dbName, { retryWrites: false })
  await set('onPrimaryTransactionalWrite', { times: 1 })
  await once.insertOne({ _id: 0 as never })
  await retrying.insertOne({ _id: 1 as never })
  await set('onPrimaryTransactionalWrite', { times: 1 }, { failBeforeCommitExceptionCode: 1 })
  await retrying.updateOne({ _id: 1 as never }, { $inc: { n: 1 } })
  await set('onPrimaryTransactionalWrite', { times: 2 }, { failBeforeCommitExceptionCode: 1 })
  assert.match((await failure(retrying.insertOne({ _id: 2 as never }))).message, /closed/)
  await set(
    'onPrimaryTransactionalWrite',
    { times: 1 },
    { failBeforeCommitExceptionCode: 11600, closeConnection: false },
  )
  await retrying.insertOne({ _id: 3 as never })
  assert.deepEqual(await collection.find().toArray(), [{ _id: 0 }, { _id: 1, n: 1 }, { _id: 3 }])
  assert.equal((await set('onPrimaryTransactionalWrite', 'off')).count, 5)
})

test('With onPrimaryTransactionalWrite a command runs to its end, and only its answer gets lost', async () => {
  const collection = newCollection()
  const retrying = through(collection.dbName)
  await set('onPrimaryTransactionalWrite', 'alwaysOn')
  const inserted = await retrying.insertMany([{ _id: 1 as never }, { _id: 2 as never }])
  assert.equal(inserted.insertedCount, 2)
  const ids = [1, 2, 3]
  const changed = await retrying.bulkWrite(
    ids.map(id => ({ updateOne: { filter: { _id: id as never }, update: { $inc: { n: id } }, upsert: true } })),
  )
  assert.deepEqual([changed.modifiedCount, changed.upsertedCount], [2, 1])
  await set('onPrimaryTransactionalWrite', 'off')
  assert.deepEqual(
    await collection.find().toArray(),
    ids.map(id => ({ _id: id, n: id })),
  )
})

test('failGetMoreAfterCursorCheckout ends a cursor with its code', async () => {
  const collection = await filled()
  await set('failGetMoreAfterCursorCheckout', { times: 1 }, { errorCode: 280 })
  const cursor = collection.find({}, { batchSize: 2 })
  assert.equal((await failure(cursor.toArray())).code, 280)
  assert.equal((await collection.find({}, { batchSize: 2 }).toArray()).length, 3)
})

test('With maxTimeAlwaysTimeOut every command with a maxTimeMS is too late, and so are its cursors', async () => {
  const collection = await filled()
  const cursor = collection.find({}, { batchSize: 2, maxTimeMS: 60_000 })
  await cursor.next()
  await set('maxTimeAlwaysTimeOut', 'alwaysOn')
  assert.equal((await failure(collection.find({}, { maxTimeMS: 60_000 }).toArray())).code, 50)
  assert.equal((await failure(collection.countDocuments({}, { maxTimeMS: 60_000 }))).code, 50)
  assert.equal((await failure(cursor.toArray())).code, 50)
  assert.equal((await collection.find({}, { batchSize: 2 }).toArray()).length, 3)
  await set('maxTimeAlwaysTimeOut', 'off')
  assert.equal((await collection.find({}, { maxTimeMS: 60_000 }).toArray()).length, 3)
})

test('An unknown fail point and a malformed mode are refused', async () => {
  for (const [name, mode, code] of [
    ['failEverything', 'alwaysOn', 266],
    ['failCommand', undefined, 20],
    ['failCommand', 'sometimes', 2],
    ['failCommand', 5, 14],
    ['failCommand', {}, 2],
    ['failCommand', { times: -1 }, 2],
    ['failCommand', { skip: 'a' }, 14],
    ['failCommand', { activationProbability: 2 }, 2],
  ] as const) {
    const command = { configureFailPoint: name, ...(mode === undefined ? {} : { mode }) }
    assert.equal((await failure(admin.command(command))).code, code, JSON.stringify(command))
  }
})
