/**
 * Queries of the Mongo side through the driver, in memory and on disk: what the query thread answers is what
 * the thread of the requests answers (here, the server in memory does everything in it); long work goes
 * there, short work does not, and its errors are the same.
 *
 * MAYFLY_QUERY_RUNS, MAYFLY_SEED and MAYFLY_PATH work as in metamorphic.test.ts.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { Db, Document } from 'mongodb'
import { inlineRowsMax } from '../../src/engine/where-to-run.ts'
import { collectRows } from '../../src/query/collect-rows.ts'
import { makePage } from '../../src/query/page-task.ts'
import { collectorOf, programOf } from '../../src/server/query-thread/programs.ts'
import { QueryThreads } from '../../src/server/query-thread/query-threads.ts'
import { failure, startMongo } from '../conformance/mongo/support/fixture.ts'
import { fc, isReplay } from '../support/property.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { documents, finds, pipelines, type RandomFind } from './random-mongo.ts'

const { MAYFLY_QUERY_RUNS } = process.env

let remote = 0
/** Happens once, after work was planned and before the thread looks at anything. */
let onTheWay: (() => Promise<unknown>) | undefined

async function noteTask(): Promise<void> {
  remote++
  const happen = onTheWay
  onTheWay = undefined
  await happen?.()
}

const { run, collect } = QueryThreads.prototype
QueryThreads.prototype.run = async function (this: QueryThreads, task, work) {
  if (this.readsHere) return makePage(work!.reader!, programOf(task.statement, task.at.moment), task)
  await noteTask()
  return run.call(this, task, work)
}
QueryThreads.prototype.collect = async function (this: QueryThreads, task, work) {
  if (this.readsHere) return collectRows(work!.reader!, collectorOf(task.statement), task)
  await noteTask()
  return collect.call(this, task, work)
}

const started = new Set<Worker>()
const { postMessage } = Worker.prototype
Worker.prototype.postMessage = function (this: Worker, ...message) {
  started.add(this)
  return postMessage.apply(this, message)
}

const memory = await startMongo()
const disk = await startMongo({ data: temporaryDirectory() })
const servers = [memory, disk]

const large = disk.newCollection()
await large.insertMany(
  Array.from({ length: 4000 }, (_, n) => ({
    _id: n as never,
    n,
    k: n % 10,
    list: Array.from({ length: 20 }, (_, i) => i),
  })),
)
await large.createIndex({ n: 1 })

const count = inlineRowsMax + 150
const variables = { most: 6 }

/** The same documents in a collection of each server, and a few in another. */
async function fill(all: readonly Document[], indexes: readonly Document[]): Promise<readonly [Db, Db]> {
  const [first, second] = servers.map(({ newDatabase }) => newDatabase())
  for (const db of [first!, second!]) {
    const items = db.collection('items')
    for (const [at, key] of indexes.entries()) await items.createIndex(key as never, { name: `i${at}` })
    await items.insertMany(all.map(document => ({ ...document })))
    await db.collection('few').insertMany(all.slice(0, 5).map(document => ({ ...document })))
  }
  return [first!, second!]
}

function numbered(some: readonly Document[], from = 0): Document[] {
  return Array.from({ length: count }, (_, n) => ({ _id: from + n, ...some[n % some.length] }))
}

function find(db: Db, { filter, ...options }: RandomFind) {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return db.collection('items').find(filter, { ...given, let: variables })
}

async function outcome(work: Promise<Document[]>): Promise<unknown> {
  try {
    return { documents: await work }
  } catch (error) {
    const { code, codeName, message } = error as { code?: number; codeName?: string; message: string }
    return { code, codeName, message }
  }
}

const someDocuments = fc.array(documents, { minLength: 20, maxLength: 60, size: 'max' })
const someIndexes = fc.subarray<Document>([{ a: 1 }, { b: 1 }, { b: -1, c: 1 }, { 'c.y': 1 }], { maxLength: 2 })

const queriesPerWorld = 20
const runs = MAYFLY_QUERY_RUNS === undefined ? 3 : Math.ceil(Number(MAYFLY_QUERY_RUNS) / queriesPerWorld)
const settings = {
  numRuns: runs,
}

test('the query thread finds what would have been found here', async () => {
  const before = remote
  const queries = fc.array(finds, { minLength: queriesPerWorld, maxLength: queriesPerWorld })
  const property = fc.asyncProperty(someDocuments, someIndexes, queries, async (some, indexes, list) => {
    const [here, there] = await fill(numbered(some), indexes)
    for (const query of list) {
      const expected = await outcome(find(here, query).toArray())
      assert.deepEqual(await outcome(find(there, query).toArray()), expected, JSON.stringify(query))
      const { filter } = query
      const numbers = await Promise.all(
        [here, there].map(db =>
          db
            .collection('items')
            .countDocuments(filter, { let: variables } as never)
            .catch(String),
        ),
      )
      assert.equal(numbers[1], numbers[0], JSON.stringify(filter))
      const [mine, theirs] = await Promise.all(
        [here, there].map(db =>
          outcome(db.command({ distinct: 'items', key: 'a', query: plain(filter) }).then(({ values }) => values)),
        ),
      )
      assert.deepEqual(theirs, mine, JSON.stringify(filter))
    }
  })
  await fc.assert(property, settings)
  if (!isReplay) assert.ok(remote - before > runs * 15, `${remote - before} pages`)
})

/** `distinct` has no variables. */
function plain(filter: Document): Document {
  return JSON.parse(JSON.stringify(filter).replaceAll('"$$most"', String(variables.most)))
}

test('the query thread gives the results of a pipeline that would have been given here', async () => {
  const before = remote
  const queries = fc.array(fc.tuple(pipelines, fc.constantFrom(30, 200, 1000)), {
    minLength: queriesPerWorld,
    maxLength: queriesPerWorld,
  })
  const property = fc.asyncProperty(someDocuments, someIndexes, queries, async (some, indexes, list) => {
    const [here, there] = await fill(numbered(some), indexes)
    for (const [pipeline, batchSize] of list) {
      const ask = (db: Db) =>
        outcome(db.collection('items').aggregate(pipeline, { batchSize, let: variables }).toArray())
      assert.deepEqual(await ask(there), await ask(here), JSON.stringify(pipeline))
    }
  })
  await fc.assert(property, settings)
  if (!isReplay) assert.ok(remote - before > runs * 10, `${remote - before} pages`)
})

test('documents that die between two batches are in no later one', async () => {
  // The servers may have been started in different seconds.
  const moment = Math.max(...servers.map(({ db }) => db.clock.now()))
  for (const { db } of servers) await db.clock.set(moment)
  const inSeconds = (seconds: number) => new Date((moment + seconds) * 1000)
  const all = numbered([{}]).map(({ _id }) => ({ _id, b: _id % 7, s: (_id * 31) % 97, at: inSeconds(1 + (_id % 5)) }))
  const [here, there] = await fill(all, [])
  for (const db of [here, there]) await db.collection('items').createIndex({ at: 1 }, { expireAfterSeconds: 0 })
  const queries: RandomFind[] = [
    { filter: { b: { $ne: 3 } }, batchSize: 40 },
    { filter: { b: { $ne: 3 } }, sort: { s: 1 }, batchSize: 40 },
    { filter: { b: { $mod: [2, 1] } }, sort: { _id: -1 }, batchSize: 40 },
  ]
  const cursors = queries.map(query => [here, there].map(db => find(db, query)))
  const perDocument = there
    .collection<{ _id: number; at: Date }>('items')
    .aggregate<{ at: Date }>([{ $set: { e: 1 } }, { $match: { b: { $ne: 3 } } }], { batchSize: 40 })
  for (let second = 0; second < 5; second++) {
    for (const [at, pair] of cursors.entries()) {
      const [mine, theirs] = await Promise.all(
        pair.map(async cursor => ((await cursor.hasNext()) ? cursor.readBufferedDocuments() : [])),
      )
      assert.deepEqual(theirs, mine, `${JSON.stringify(queries[at])} after ${second} s`)
    }
    if (await perDocument.hasNext()) {
      for (const { at } of perDocument.readBufferedDocuments()) {
        assert.ok(at.getTime() / 1000 > disk.db.clock.now(), `dead since ${at} after ${second} s`)
      }
    }
    await Promise.all(servers.map(({ db }) => db.clock.advance('1s')))
  }
  for (const pair of cursors) for (const cursor of pair) assert.deepEqual(await cursor.toArray(), [])
})

/** Takes some tens of microseconds for a document. */
const numbers = { $map: { input: { $range: [0, 1000] }, in: { $add: ['$$this', '$_id'] } } }
const dear = { $expr: { $gte: [{ $size: numbers }, 0] } }

async function remotePages(work: () => Promise<unknown>): Promise<number> {
  const before = remote
  await work()
  return remote - before
}

test('long work goes to the query thread, short work does not', async () => {
  const long: Record<string, () => Promise<unknown>> = {
    'a scan': () => large.find({ k: 3 }).toArray(),
    'a scan in the order of _id': () =>
      large
        .find({ $expr: { $lt: [{ $size: numbers }, 0] } })
        .sort({ _id: 1 })
        .toArray(),
    'a sort': () => large.find({}).sort({ k: 1 }).limit(3).toArray(),
    'a count': () => large.countDocuments({ k: 4 }),
    distinct: () => large.distinct('k'),
    'a group': () => large.aggregate([{ $group: { _id: '$k', n: { $sum: 1 } } }]).toArray(),
    'a window': () =>
      large.aggregate([{ $setWindowFields: { partitionBy: '$k', output: { n: { $count: {} } } } }]).toArray(),
    'an update': () => large.updateMany({ k: 77 }, { $set: { x: 1 } }),
  }
  for (const [name, work] of Object.entries(long)) assert.ok((await remotePages(work)) > 0, name)
  const short: Record<string, () => Promise<unknown>> = {
    'one by _id': () => large.findOne({ _id: 5 as never }),
    'some by _id': () => large.find({ _id: { $in: [5, 6] as never[] } }).toArray(),
    'a range of _id': () =>
      large
        .find({ _id: { $gt: 3990 as never } })
        .sort({ _id: 1 })
        .toArray(),
    'the first by _id': () => large.find({}).sort({ _id: -1 }).limit(5).toArray(),
    'some by an index': () => large.find({ n: { $gt: 3990 } }).toArray(),
    'the first of all': () => large.find({}).limit(5).toArray(),
    'a group of few': () => large.aggregate([{ $match: { n: { $lt: 20 } } }, { $group: { _id: '$k' } }]).toArray(),
  }
  for (const [name, work] of Object.entries(short)) assert.equal(await remotePages(work), 0, name)
})

const sum = { $reduce: { input: { $range: [0, 10_000] }, initialValue: 0, in: { $add: ['$$value', '$n'] } } }
/** Takes many seconds. */
const slow = { $expr: { $lt: [sum, -1] } }

test('maxTimeMS ends work in the query thread', async () => {
  const options = { maxTimeMS: 50 }
  const works = [
    () => large.find(slow, options).toArray(),
    () => large.find(slow, options).sort({ k: 1 }).toArray(),
    () => large.aggregate([{ $match: slow }, { $group: { _id: '$k' } }], options).toArray(),
    () => large.distinct('k', slow, options),
  ]
  for (const work of works) {
    const { code, message } = await failure(work() as Promise<unknown>)
    assert.equal(code, 50, message)
  }
  assert.equal((await large.find({ k: 1 }).toArray()).length, 400, 'the thread has time for others')
})

test('killOp ends work in the query thread', async () => {
  const works = [
    () => large.find(slow).toArray(),
    () => large.aggregate([{ $match: slow }, { $group: { _id: '$k' } }]).toArray(),
  ]
  const admin = disk.client.db('admin')
  for (const work of works) {
    const failed = failure(work())
    for (let isKilled = false; !isKilled; ) {
      const { inprog } = await admin.command({ currentOp: 1 })
      const operation = inprog.find((each: Document) => each.ns === large.namespace)
      if (operation === undefined) continue
      await admin.command({ killOp: 1, op: operation.opid })
      isKilled = true
    }
    assert.equal((await failed).code, 11601)
  }
})

test('work whose memory is used up fails with the same error in the query thread', async () => {
  const fill = {
    $set: {
      text: {
        $reduce: { input: { $range: [0, 14] }, initialValue: 'x'.repeat(8), in: { $concat: ['$$value', '$$value'] } },
      },
    },
  }
  const failures = await Promise.all(
    servers.map(async ({ newCollection }) => {
      const collection = newCollection()
      await collection.insertMany(numbered([{ a: 1 }]))
      return failure(collection.aggregate([fill, { $group: { _id: null, all: { $push: '$text' } } }]).toArray())
    }),
  )
  assert.equal(failures[0]!.code, 292)
  assert.deepEqual(failures[1], failures[0])
})

test('when the thread dies, work under way is done again and a cursor over collected results goes on', async () => {
  const cursor = large.aggregate([{ $group: { _id: '$n', k: { $first: '$k' } } }], { batchSize: 10 })
  assert.equal((await cursor.next())!.k, 0)
  const once = disk.connect({ retryReads: false })
  const under = failure(
    once.db(large.dbName).collection(large.collectionName).find(slow, { maxTimeMS: 1500 }).toArray(),
  )
  await new Promise(resolve => setTimeout(resolve, 200))
  for (const worker of started) await worker.terminate()
  assert.equal((await under).code, 50, 'it went on until its own limit')
  assert.equal((await cursor.toArray()).length, 3999)
  assert.equal(await large.countDocuments({ k: 4 }), 400, 'the next work has another thread')
})

test('work is planned anew when an index is dropped or made while it is on its way', async () => {
  const collection = disk.newCollection()
  await collection.insertMany(numbered([{ a: 1 }, { a: 2 }]))
  const groups = [1, 2].map(_id => ({ _id, n: count / 2 }))
  for (const change of [() => collection.createIndex({ b: 1 }), () => collection.dropIndex('b_1')]) {
    onTheWay = change
    assert.equal(
      (
        await collection
          .find({ a: 1, b: null, ...dear })
          .sort({ z: 1 })
          .toArray()
      ).length,
      count / 2,
    )
    assert.equal(onTheWay, undefined)
  }
  onTheWay = () => collection.createIndex({ b: 1 })
  const pipeline = [{ $match: { b: null } }, { $group: { _id: '$a', n: { $sum: 1 } } }]
  assert.deepEqual(await collection.aggregate(pipeline).toArray(), groups)
  assert.equal(onTheWay, undefined)
})

test('documents whose _id is too long for the order of keys are sorted in the query thread', async () => {
  const long = (n: number) => `${'x'.repeat(400)}${String((n * 7919) % 1000).padStart(4, '0')}`
  const all = numbered([{ a: 1 }, { a: 2 }]).map(({ _id, a }) => ({
    _id: (_id % 5 === 0 ? long(_id) : _id) as never,
    a,
  }))
  const sort = { _id: -1 } as const
  const collected = [{ $match: { a: { $ne: 3 } } }, { $sort: sort }, { $group: { _id: null, ids: { $push: '$_id' } } }]
  const answers = await Promise.all(
    servers.map(async ({ newCollection }) => {
      const collection = newCollection()
      await collection.insertMany(all.map(document => ({ ...document })))
      return {
        found: await collection
          .find({ a: { $mod: [2, 1] } })
          .sort(sort)
          .batchSize(50)
          .toArray(),
        collected: await collection.aggregate(collected).toArray(),
        each: await collection.aggregate([{ $sort: sort }, { $set: { b: 1 } }, { $match: { a: 1 } }]).toArray(),
      }
    }),
  )
  const strings = answers[0]!.found.map(({ _id }) => String(_id)).filter(id => id.length > 400)
  assert.deepEqual(strings, strings.toSorted().reverse())
  assert.equal(answers[0]!.found.length, count / 2)
  assert.deepEqual(answers[1], answers[0])
})

test('a pipeline is not begun before its first batch is asked for, and is not collected twice', async () => {
  const db = disk.client.db(large.dbName)
  const aggregate = large.collectionName
  const pipeline = [{ $group: { _id: '$n' } }, { $sort: { _id: 1 } }]
  const before = remote
  const { cursor } = await db.command({ aggregate, pipeline, cursor: { batchSize: 0 } })
  assert.equal(remote, before)
  for (let n = 0; n < 3; n++) {
    const next = await db.command({ getMore: cursor.id, collection: aggregate, batchSize: 10 })
    assert.equal(next.cursor.nextBatch[0]._id, 10 * n)
  }
  assert.equal(remote - before, 1)
})

test('$out and $merge behind a part that ran elsewhere write once', async () => {
  const db = disk.newDatabase()
  await db.collection('items').insertMany(
    numbered([
      { a: 1, n: 2 },
      { a: 2, n: 3 },
    ]),
  )
  const sums = { $group: { _id: '$a', n: { $sum: '$n' } } }
  const expected = [
    { _id: 1 as never, n: count },
    { _id: 2 as never, n: (count / 2) * 3 },
  ]
  for (const last of [{ $out: 'sums' }, { $merge: { into: 'sums', whenMatched: 'replace' } }]) {
    await db.collection('items').aggregate([sums, last]).toArray()
    assert.deepEqual(await db.collection('sums').find().sort({ _id: 1 }).toArray(), expected)
  }
})
