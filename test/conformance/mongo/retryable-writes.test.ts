/** Writes that are sent again after a lost connection happen once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UUID } from 'bson'
import { type Collection, type Document, Long } from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { fc } from '../../support/property.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { cuttingProxy } from './support/cutting-proxy.ts'
import { startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { uri, newDatabase, client, connect, db } = await startMongo()

const lsid = () => ({ id: new UUID() })

test('A retried write gets the same answer and is not done again', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const session = { lsid: lsid(), $db }
  const commands: readonly (readonly [command: Document, fields: readonly string[]])[] = [
    [
      {
        insert: 'c',
        documents: [
          { _id: 1, n: 0 },
          { _id: 2, n: 0 },
        ],
      },
      ['n'],
    ],
    [
      {
        update: 'c',
        updates: [
          { q: { _id: 1 }, u: { $inc: { n: 1 } } },
          { q: { _id: 9 }, u: { $inc: { n: 1 } }, upsert: true },
        ],
      },
      ['n', 'nModified', 'upserted'],
    ],
    [{ findAndModify: 'c', query: { _id: 1 }, update: { $inc: { n: 10 } }, new: true }, ['value', 'lastErrorObject']],
    [
      { findAndModify: 'c', query: { _id: 'new' }, update: { $inc: { n: 1 } }, upsert: true },
      ['value', 'lastErrorObject'],
    ],
    [{ findAndModify: 'c', query: { _id: 'new' }, remove: true }, ['value', 'lastErrorObject']],
    [{ delete: 'c', deletes: [{ q: { _id: { $gte: 2 } }, limit: 1 }] }, ['n']],
  ]
  for (const [at, [command, fields]] of commands.entries()) {
    const numbered = { ...command, ...session, txnNumber: Long.fromNumber(at) }
    const first = await raw.command(numbered)
    assert.equal(first.ok, 1, JSON.stringify(first))
    for (let repeat = 0; repeat < 3; repeat++) {
      const again = await raw.command(numbered)
      for (const field of fields) assert.deepEqual(again[field], first[field], `${Object.keys(command)[0]} ${field}`)
      assert.ok(again.retriedStmtIds !== undefined || again.retriedStmtId !== undefined)
    }
  }
  const { cursor } = await raw.command({ find: 'c', $db })
  assert.deepEqual(cursor.firstBatch, [
    { _id: 1, n: 11 },
    { _id: 9, n: 1 },
  ])
  raw.close()
})

test('A retry of a partly executed command executes the rest', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const session = { lsid: lsid(), txnNumber: Long.fromNumber(1), $db }
  const documents = [{ _id: 1 }, { _id: 2 }, { _id: 3 }]
  await raw.command({ insert: 'c', documents: documents.slice(0, 2), ...session })
  const again = await raw.command({ insert: 'c', documents, ...session })
  assert.equal(again.n, 3)
  assert.deepEqual(again.retriedStmtIds, [0, 1])
  const byIds = await raw.command({ insert: 'c', documents: [{ _id: 3 }, { _id: 4 }], stmtIds: [2, 3], ...session })
  assert.equal(byIds.n, 2)
  raw.close()
})

test('An older transaction number is refused', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const session = { lsid: lsid(), $db }
  await raw.command({ insert: 'c', documents: [{ _id: 1 }], ...session, txnNumber: Long.fromNumber(5) })
  const { code } = await raw.command({
    insert: 'c',
    documents: [{ _id: 2 }],
    ...session,
    txnNumber: Long.fromNumber(4),
  })
  assert.equal(code, 225)
  raw.close()
})

test('Transaction numbers need a session, and only writes may have one', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const txnNumber = Long.fromNumber(1)
  assert.equal((await raw.command({ insert: 'c', documents: [{}], txnNumber, $db })).code, 72)
  assert.equal((await raw.command({ find: 'c', txnNumber, lsid: lsid(), $db })).code, 50768)
  assert.equal((await raw.command({ insert: 'c', documents: [{}], txnNumber, lsid: { id: 5 }, $db })).code, 14)
  raw.close()
})

test('A write of many documents cannot be retried, so it may have no number', async () => {
  const { raw, collection, say } = await mortal()
  await collection.insertMany([{ n: 1 }, { n: 1 }])
  const session = { lsid: lsid(), txnNumber: Long.fromNumber(1) }
  for (const command of [
    { update: 'c', updates: [{ q: {}, u: { $inc: { n: 1 } }, multi: true }] },
    { delete: 'c', deletes: [{ q: {}, limit: 0 }] },
  ]) {
    const { writeErrors } = await say({ ...command, ...session })
    assert.equal(writeErrors[0].code, 72)
  }
  assert.equal(await collection.countDocuments({ n: 1 }), 2)
  raw.close()
})

test('The same write sent twice at the same time happens once', async () => {
  const [first, second] = [await RawClient.loggedIn(uri), await RawClient.loggedIn(uri)]
  const $db = newDatabase().databaseName
  await first.command({ insert: 'c', documents: [{ _id: 1, n: 0 }], $db })
  for (let number = 1; number <= 20; number++) {
    const session = { lsid: lsid(), txnNumber: Long.fromNumber(number), $db }
    const update = { update: 'c', updates: [{ q: { _id: 1 }, u: { $inc: { n: 1 } } }], ...session }
    await Promise.all([first.command(update), second.command(update)])
  }
  const { cursor } = await first.command({ find: 'c', $db })
  assert.equal(cursor.firstBatch[0].n, 20)
  first.close()
  second.close()
})

/** A collection whose documents live ten seconds, and a client that sends what it is told. */
async function mortal() {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const collection: Collection<Document> = client.db($db).collection('c')
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  const say = (command: Document) => raw.command({ ...command, $db: command.$db ?? $db })
  return { raw, collection, say, $db }
}

test('A findAndModify that is repeated after the death of its document does not show it', async () => {
  const commands: readonly (readonly [command: Document, value: Document | null])[] = [
    [
      { query: { _id: 1 }, update: { $set: { n: 1 } } },
      { _id: 1, n: 0 },
    ],
    [
      { query: { _id: 1 }, update: { $set: { n: 1 } }, new: true },
      { _id: 1, n: 1 },
    ],
    [
      { query: { _id: 1 }, update: { $set: { n: 0 } }, new: true },
      { _id: 1, n: 0 },
    ],
    [
      { query: { _id: 1 }, remove: true },
      { _id: 1, n: 0 },
    ],
    [
      { query: { _id: 2 }, update: { $set: { n: 2 } }, upsert: true, new: true },
      { _id: 2, n: 2 },
    ],
    [{ query: { _id: 2 }, update: { $set: { n: 2 } }, upsert: true }, null],
  ]
  for (const [command, value] of commands) {
    const { raw, collection, say } = await mortal()
    await collection.insertOne({ _id: 1 as never, n: 0 })
    await db.clock.advance('4s')
    const numbered = { findAndModify: 'c', ...command, lsid: lsid(), txnNumber: Long.fromNumber(1) }
    const first = await say(numbered)
    assert.deepEqual(first.value, value)
    await db.clock.advance('5s')
    assert.deepEqual((await say(numbered)).value, value)
    await db.clock.advance('5s')
    const late = await say(numbered)
    assert.deepEqual([late.value, late.lastErrorObject], [null, first.lastErrorObject], JSON.stringify(command))
    raw.close()
  }
})

test('A repeated findAndModify follows the life of its document when the collection changes', async () => {
  const { raw, collection, say, $db } = await mortal()
  await collection.insertOne({ _id: 1 as never, ttl: -1 })
  const session = { lsid: lsid(), txnNumber: Long.fromNumber(1) }
  const numbered = { findAndModify: 'c', query: { _id: 1 }, update: { $set: { n: 1 } }, new: true, ...session }
  await say(numbered)
  await db.clock.advance('20s')
  assert.deepEqual((await say(numbered)).value, { _id: 1, ttl: -1, n: 1 })
  await client.db($db).dropCollection('c')
  assert.equal((await say(numbered)).value, null)
  await client
    .db($db)
    .collection<Document>('c')
    .insertOne({ _id: 1 as never })
  assert.equal((await say(numbered)).value, null)
  raw.close()
})

test('A number answers from the record only for the statement that it was given to', async () => {
  const { raw, collection, say } = await mortal()
  await collection.insertOne({ _id: 1 as never, n: 0 })
  const session = { lsid: lsid(), txnNumber: Long.fromNumber(1) }
  const update = { findAndModify: 'c', query: { _id: 1 }, update: { $inc: { n: 1 } }, ...session }
  await say(update)
  for (const [other, code] of [
    [{ ...update, findAndModify: 'd' }, 40609],
    [{ ...update, $db: 'other' }, 40609],
    [{ ...update, new: true }, 40611],
    [{ findAndModify: 'c', query: { _id: 1 }, remove: true, ...session }, 40609],
  ] as const) {
    const answer = await say(other)
    assert.deepEqual([answer.code, answer.value], [code, undefined])
  }
  const removal = { findAndModify: 'c', query: { _id: 1 }, remove: true, ...session, txnNumber: Long.fromNumber(2) }
  assert.equal((await say(removal)).ok, 1)
  assert.equal((await say({ ...update, txnNumber: Long.fromNumber(2) })).code, 40606)
  const upsert = { ...update, upsert: true, txnNumber: Long.fromNumber(3) }
  assert.equal((await say(upsert)).ok, 1)
  assert.equal((await say({ ...upsert, upsert: false })).code, 40608)
  const insert = { insert: 'c', documents: [{ _id: 5 }], ...session, txnNumber: Long.fromNumber(4) }
  assert.equal((await say(insert)).n, 1)
  assert.equal((await say({ ...update, txnNumber: Long.fromNumber(4) })).code, 40609)
  raw.close()
})

test('A retried write is recognised after a restart of the server', async () => {
  const data = temporaryDirectory()
  const command = { findAndModify: 'c', query: { _id: 1 }, update: { $inc: { n: 1 } }, upsert: true, new: true }
  const session = { lsid: lsid(), txnNumber: Long.fromNumber(3), $db: 'd' }
  const answers: Document[] = []
  for (let run = 0; run < 3; run++) {
    await using db = await mayfly({ clock: 'manual', data })
    const raw = await RawClient.loggedIn(db.mongoUri!)
    answers.push(await raw.command({ ...command, ...session }))
    raw.close()
  }
  for (const { value, lastErrorObject } of answers) {
    assert.deepEqual(value, { _id: 1, n: 1 })
    assert.deepEqual(lastErrorObject, { n: 1, updatedExisting: false, upserted: 1 })
  }
})

test('Over connections that are cut at random, every increment of the driver happens once', async () => {
  const proxy = await cuttingProxy(uri)
  const { databaseName } = newDatabase()
  const direct: Collection<Document> = client.db(databaseName).collection('c')
  const cut = connect(
    { retryWrites: true, maxPoolSize: 4, heartbeatFrequencyMS: 500, minHeartbeatFrequencyMS: 10 },
    proxy.uri,
  )
  const through: Collection<Document> = cut.db(databaseName).collection('c')
  await direct.insertOne({ _id: 'counter' as never, n: 0 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('request', 'answer'),
      fc.constantFrom('insert', 'update', 'modify', 'many'),
      async (direction, kind) => {
        // Cut only the first attempt: a driver retries once.
        let isSent = false
        let isCut = false
        proxy.cut = (at, bytes) => {
          if (at === 'request' && bytes.includes('txnNumber')) isSent = true
          const isNow = !isCut && isSent && at === direction
          isCut ||= isNow
          return isNow
        }
        const before = (await direct.findOne({ _id: 'counter' as never }))!.n
        const count = await direct.estimatedDocumentCount()
        if (kind === 'insert') await through.insertOne({})
        if (kind === 'many') await through.insertMany([{}, {}, {}])
        if (kind === 'update')
          assert.equal((await through.updateOne({ _id: 'counter' as never }, { $inc: { n: 1 } })).modifiedCount, 1)
        if (kind === 'modify') {
          const after = await through.findOneAndUpdate(
            { _id: 'counter' as never },
            { $inc: { n: 1 } },
            { returnDocument: 'after' },
          )
          assert.equal(after!.n, before + 1)
        }
        proxy.cut = () => false
        const isCounted = kind === 'update' || kind === 'modify'
        assert.equal((await direct.findOne({ _id: 'counter' as never }))!.n, before + (isCounted ? 1 : 0))
        const inserted = kind === 'insert' ? 1 : kind === 'many' ? 3 : 0
        assert.equal(await direct.estimatedDocumentCount(), count + inserted)
      },
    ),
    { numRuns: 40 },
  )
  assert.ok(proxy.cuts >= 40, `${proxy.cuts} connections were cut`)
})
