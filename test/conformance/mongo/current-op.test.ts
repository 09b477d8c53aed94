/** currentOp shows what runs, and killOp ends it: in slices on the main thread, and in the query thread. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Db, Document, MongoClient } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const inMemory = await startMongo()
const onDisk = await startMongo({ data: folder })

/** Takes about a millisecond for each document. */
const slowSum = { $sum: { $map: { input: { $range: [0, 20_000] }, in: { $multiply: ['$$this', '$n'] } } } }
const slowFilter = { $expr: { $eq: [slowSum, -1] } }

async function fill(db: Db, count = 5000): Promise<void> {
  await db.collection('items').insertMany(Array.from({ length: count }, (_, n) => ({ n, list: [1, 2, 3, 4, 5] })))
}

/** Waits until an operation with this comment runs. */
async function running(of: MongoClient, comment: string): Promise<Document> {
  const admin = of.db('admin')
  for (;;) {
    const { inprog } = await admin.command({ currentOp: 1, 'command.comment': comment })
    if (inprog.length > 0) return inprog[0]
    await setImmediate()
  }
}

const unwinds = Array.from({ length: 12 }, () => [{ $set: { copy: [1, 2, 3, 4, 5] } }, { $unwind: '$copy' }]).flat()

const many = Array.from({ length: 50_000 }, (_, n) => n)

interface Case {
  readonly name: string
  readonly op: string
  run(db: Db, comment: string): Promise<unknown>
}

const cases: readonly Case[] = [
  {
    name: 'an aggregation that groups',
    op: 'command',
    run: (db, comment) =>
      db
        .collection('items')
        .aggregate([...unwinds, { $group: { _id: '$copy' } }], { comment })
        .toArray(),
  },
  {
    name: 'an aggregation behind a $lookup',
    op: 'command',
    run: (db, comment) => {
      const lookup = { $lookup: { from: 'items', pipeline: [{ $limit: 1 }], as: 'joined' } }
      return db
        .collection('items')
        .aggregate([lookup, ...unwinds, { $group: { _id: '$copy' } }], { comment })
        .toArray()
    },
  },
  {
    name: 'a find',
    op: 'query',
    run: (db, comment) => db.collection('items').find(slowFilter, { comment }).toArray(),
  },
  {
    name: 'an update of many',
    op: 'update',
    run: (db, comment) => db.collection('items').updateMany(slowFilter, { $set: { found: true } }, { comment }),
  },
  {
    name: 'an insert of many documents',
    op: 'insert',
    run: (db, comment) => db.command({ insert: 'items', documents: many.map(n => ({ n })), comment }),
  },
  {
    name: 'an insert of many documents whose ids are taken',
    op: 'insert',
    run: (db, comment) => {
      const documents = many.map(() => ({ _id: 0 }))
      return db.command({ insert: 'items', documents, ordered: false, comment })
    },
  },
  {
    name: 'an update of many statements',
    op: 'update',
    run: (db, comment) => {
      const updates = many.map(n => ({ q: { _id: n }, u: { $set: { found: true } } }))
      return db.command({ update: 'items', updates, comment })
    },
  },
  {
    name: 'a delete of many statements',
    op: 'remove',
    run: (db, comment) => {
      const deletes = many.map(n => ({ q: { _id: n }, limit: 1 }))
      return db.command({ delete: 'items', deletes, comment })
    },
  },
  {
    name: 'a change stream that waits',
    op: 'getmore',
    run: async (db, comment) => {
      const pipeline = [{ $changeStream: {} }]
      const { cursor } = await db.command({ aggregate: 'items', pipeline, cursor: {} })
      return db.command({ getMore: cursor.id, collection: 'items', maxTimeMS: 60_000, comment })
    },
  },
  {
    name: 'a getMore',
    op: 'getmore',
    run: async (db, comment) => {
      const filter = { $or: [{ n: { $lt: 2 } }, slowFilter] }
      const cursor = db.collection('items').find(filter, { batchSize: 2, comment }).sort({ _id: 1 })
      await cursor.next()
      await cursor.toArray()
    },
  },
]

for (const [place, server] of [
  ['in memory', inMemory],
  ['on disk', onDisk],
] as const) {
  for (const { name, op, run } of cases) {
    test(`${place}, ${name} is found by its comment and killed`, async () => {
      const db = server.newDatabase()
      await fill(db)
      const comment = `slow, ${name}`
      const slow = failure(run(db, comment))
      let found = await running(server.client, comment)
      while (found.op !== op) found = await running(server.client, comment)
      assert.equal(found.ns, `${db.databaseName}.items`)
      // Of a long command there is only the beginning.
      if (found.command.$truncated === undefined) assert.equal(found.command.$db, db.databaseName)
      assert.deepEqual(found.effectiveUsers, [{ user: 'localhost', db: 'admin' }])
      assert.ok(found.lsid.id)
      assert.ok(found.microsecs_running > 0)
      assert.equal(typeof found.opid, 'number')
      await server.client.db('admin').command({ killOp: 1, op: found.opid })
      const { code, message } = await slow
      assert.equal(code, 11601, message)
      assert.match(message, /operation was interrupted$/)
    })
  }
}

test('An unacknowledged insert is done to its end although its client leaves at once', {
  timeout: 60_000,
}, async () => {
  const { databaseName } = inMemory.newDatabase()
  const leaving = inMemory.connect()
  const documents = many.map(n => ({ n }))
  await leaving
    .db(databaseName)
    .collection('items')
    .insertMany(documents, { writeConcern: { w: 0 } })
  await leaving.close(true)
  const items = inMemory.client.db(databaseName).collection('items')
  while ((await items.countDocuments()) < many.length) await setImmediate()
})

test('$currentOp shows the same, with the name of the application; a long command is cut', async () => {
  const named = inMemory.connect({ appName: 'reports' })
  const db = named.db(inMemory.newDatabase().databaseName)
  await fill(db)
  const wide = { $or: [slowFilter, { text: 'x'.repeat(20_000) }] }
  const slow = failure(db.collection('items').find(wide, { comment: 'wide' }).toArray())
  const found = await running(inMemory.client, 'wide')
  assert.equal(found.appName, 'reports')
  assert.equal(found.command.$truncated, '{ find: ... }')
  const shown = await inMemory.client
    .db('admin')
    .aggregate([{ $currentOp: { allUsers: true } }, { $match: { opid: found.opid } }])
    .toArray()
  assert.deepEqual([shown[0]!.ns, shown[0]!.client], [found.ns, found.client])
  const elsewhere = await failure(db.aggregate([{ $currentOp: {} }]).toArray())
  assert.equal(elsewhere.code, 73)
  await inMemory.client.db('admin').command({ killOp: 1, op: found.opid })
  assert.equal((await slow).code, 11601)
})

test('A user sees and ends its own operations only', async () => {
  const db = inMemory.newDatabase()
  await fill(db)
  const address = new URL(inMemory.uri)
  const logIn = async (name: string) => {
    await db.command({ createUser: name, pwd: 'p', roles: ['read'] })
    address.username = name
    address.password = 'p'
    return inMemory.connect({}, `${address.toString()}&authSource=${db.databaseName}`)
  }
  const [ann, bob] = [await logIn('ann'), await logIn('bob')]
  const slow = failure(ann.db(db.databaseName).collection('items').find(slowFilter, { comment: 'own' }).toArray())
  const { opid, effectiveUsers } = await running(inMemory.client, 'own')
  assert.deepEqual(effectiveUsers, [{ user: 'ann', db: db.databaseName }])
  const own = async (of: MongoClient) => {
    const stages = [{ $currentOp: {} }, { $match: { 'command.comment': 'own' } }]
    return (await of.db('admin').aggregate(stages).toArray()).map(found => found.opid)
  }
  assert.deepEqual(await own(ann), [opid])
  assert.deepEqual(await own(bob), [])
  const { inprog } = await bob.db('admin').command({ currentOp: 1, $ownOps: true })
  assert.ok(inprog.every((found: Document) => found.effectiveUsers[0].user === 'bob'))
  assert.equal((await failure(bob.db('admin').command({ killOp: 1, op: opid }))).code, 13)
  await ann.db('admin').command({ killOp: 1, op: opid })
  assert.equal((await slow).code, 11601)
})
