/**
 * Work that would take very long on one document: it does not keep other clients waiting, and it is ended by
 * maxTimeMS, by killOp and by disconnecting, on disk and in memory.
 *
 * Each work would take minutes at least, so one that ends was ended.
 */

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Db, type Document, MongoClient } from 'mongodb'
import { temporaryDirectory } from '../../support/start-server.ts'
import { storeName } from '../../support/test-store.ts'
import { failure, type MongoFixture, startMongo } from './support/fixture.ts'

/** A million elements, different for each document. */
const million = { $range: [0, { $add: [1_000_000, '$_id'] }] }
/** As many steps as there are elements, squared. */
const endless = {
  $sum: {
    $map: { input: million, as: 'x', in: { $size: { $filter: { input: million, cond: { $gt: ['$$this', '$$x'] } } } } },
  },
}
const never = { $gt: [0, endless] }
const text = { $reduce: { input: { $range: [0, 20] }, initialValue: 'a', in: { $concat: ['$$value', '$$value'] } } }
const aggregate = (...pipeline: Document[]) => ({ aggregate: 'items', pipeline, cursor: {} })
/** The partition is small, so its documents are read although the index fits. */
const small = { pk: 'p', k: 1, $expr: never }
const eachOf = (list: Document, work: Document) => ({ $map: { input: list, as: 'outer', in: work } })
const again = (work: Document) => ({ $sum: eachOf({ $range: [0, { $add: [100_000, '$_id'] }] }, { $size: work }) })

const works: Readonly<Record<string, Document>> = {
  // Those that were found first, each longer than it was.
  '$unwind, three times over 1,000 elements': aggregate(
    { $unwind: '$a' },
    { $set: { b: '$$ROOT.c' } },
    { $unwind: '$b' },
    { $set: { d: '$c' } },
    { $unwind: '$d' },
    { $match: { d: -1 } },
  ),
  '$setUnion of ranges': aggregate({ $project: { n: again({ $setUnion: [million, ['$$outer']] }) } }),
  '$setUnion in an update': {
    update: 'items',
    updates: [{ q: { _id: 1 }, u: [{ $set: { n: again({ $setUnion: [million, ['$$outer']] }) } }] }],
  },
  $regexFindAll: aggregate({ $project: { n: { $size: { $regexFindAll: { input: text, regex: '(a+)+b|a' } } } } }),
  // Their relatives: arrays.
  '$map within $filter': aggregate({ $match: { $expr: never } }),
  '$reduce that grows': aggregate({
    $project: {
      n: { $size: { $reduce: { input: million, initialValue: [], in: { $concatArrays: ['$$value', ['$$this']] } } } },
    },
  }),
  $sortArray: aggregate({ $project: { n: again({ $sortArray: { input: million, sortBy: -1 } }) } }),
  $zip: aggregate({ $project: { n: again({ $zip: { inputs: [million, million] } }) } }),
  $indexOfArray: aggregate({ $project: { n: { $sum: eachOf(million, { $indexOfArray: [million, -1] }) } } }),
  $in: aggregate({ $project: { n: eachOf(million, { $in: [-1, million] }) } }),
  // Sets and strings.
  $setIntersection: aggregate({ $project: { n: again({ $setIntersection: [million, million] }) } }),
  $setIsSubset: aggregate({ $project: { n: eachOf(million, { $setIsSubset: [million, million] }) } }),
  $split: aggregate({ $project: { n: again({ $split: [text, 'a'] }) } }),
  $indexOfCP: aggregate({ $project: { n: eachOf(million, { $indexOfCP: [text, 'b'] }) } }),
  $replaceAll: aggregate({
    $project: { n: eachOf(million, { $strLenCP: { $replaceAll: { input: text, find: 'aa', replacement: 'b' } } }) },
  }),
  // Commands beside aggregate.
  'find by _id': { find: 'items', filter: { _id: 1, $expr: never } },
  'find with a filter': { find: 'items', filter: { $expr: never } },
  'a projection': { find: 'items', filter: { _id: 1 }, projection: { n: endless } },
  'a sort by what is computed': aggregate({ $set: { n: endless } }, { $sort: { n: 1 } }),
  count: { count: 'items', query: { $expr: never } },
  distinct: { distinct: 'items', key: '_id', query: { $expr: never } },
  let: { find: 'items', filter: { $expr: { $eq: ['$_id', '$$v'] } }, let: { v: constant(endless) } },
  'a constant': { find: 'items', filter: { $expr: constant(never) } },
  explain: { explain: { find: 'items', filter: { $expr: never } }, verbosity: 'executionStats' },
  // Where an index fits, and the partition is small.
  'aggregate, a small partition': { ...aggregate({ $match: small }), aggregate: 'sharded' },
  'find, a small partition': { find: 'sharded', filter: small },
  'count, a small partition': { count: 'sharded', query: small },
  'distinct, a small partition': { distinct: 'sharded', key: '_id', query: small },
  // Writes.
  'an update of many': { update: 'items', updates: [{ q: { $expr: never }, u: { $set: { x: 1 } }, multi: true }] },
  'an upsert': { update: 'items', updates: [{ q: { _id: 77 }, u: [{ $set: { n: endless } }], upsert: true }] },
  findAndModify: { findAndModify: 'items', query: { _id: 1 }, update: [{ $set: { n: endless } }] },
  'a removal': { delete: 'items', deletes: [{ q: { _id: 1, $expr: never }, limit: 1 }] },
  'a validator': { insert: 'ruled', documents: [{ _id: 9 }] },
  $merge: aggregate({ $set: { n: endless } }, { $merge: { into: 'other' } }),
  'what $merge makes of two': aggregate({ $merge: { into: 'target', whenMatched: [{ $set: { n: endless } }] } }),
  // Joins, groups, windows, facets, views.
  $lookup: aggregate({
    $lookup: { from: 'items', let: { o: '$_id' }, pipeline: [{ $match: { $expr: never } }], as: 'found' },
  }),
  $graphLookup: aggregate({
    $graphLookup: { from: 'items', startWith: endless, connectFromField: 'a', connectToField: '_id', as: 'found' },
  }),
  $unionWith: aggregate({ $unionWith: { coll: 'items', pipeline: [{ $project: { n: endless } }] } }),
  $group: aggregate({ $group: { _id: endless } }),
  'an accumulator': aggregate({ $group: { _id: null, n: { $push: endless } } }),
  $bucket: aggregate({ $bucket: { groupBy: endless, boundaries: [0, 1], default: 2 } }),
  $facet: aggregate({ $facet: { some: [{ $project: { n: endless } }] } }),
  $setWindowFields: aggregate({ $setWindowFields: { partitionBy: endless, output: { n: { $count: {} } } } }),
  'what stands behind $sort': aggregate({ $sort: { _id: -1 } }, { $project: { n: endless } }),
  $documents: { aggregate: 1, pipeline: [{ $documents: [{ _id: 1 }] }, { $project: { n: endless } }], cursor: {} },
  'a view': { find: 'view', filter: { n: 0 } },
}

let filters = 0

/** To compile it takes seconds, each time: what was compiled before does not help. */
function slowFilter(field: string): Document {
  filters++
  const pattern = (n: number) => `(${filters}|x${n}){1,200}y.*(z|${n}){1,200}`
  return { $or: Array.from({ length: 10_000 }, (_, n) => ({ [field]: { $regex: pattern(n) } })) }
}

/** Filters of lists that the server makes, by a text that each entry has. They end by themselves. */
const filtersOfLists: Readonly<Record<string, { field: string; command: (filter: Document) => Document }>> = {
  listCollections: { field: 'name', command: filter => ({ listCollections: 1, filter }) },
  listDatabases: { field: 'name', command: filter => ({ listDatabases: 1, filter }) },
  usersInfo: { field: 'user', command: filter => ({ usersInfo: 1, filter }) },
  currentOp: { field: 'op', command: filter => ({ currentOp: 1, ...filter }) },
}

/** The same without a document. */
function constant(work: Document): Document {
  return JSON.parse(JSON.stringify(work).replaceAll('"$_id"', '1'))
}

async function filled(server: MongoFixture): Promise<Db> {
  const db = server.newDatabase()
  const list = Array.from({ length: 1000 }, (_, n) => n)
  await db.collection('items').insertOne({ _id: 1 as never, a: list, c: list })
  await db.collection('target').insertOne({ _id: 1 as never })
  await db.createCollection('ruled', { validator: { $expr: { $not: never } } })
  await admin(server).command({ shardCollection: `${db.databaseName}.sharded`, key: { pk: 1 } })
  await db.command({ createUser: 'user', pwd: 'password', roles: [] })
  await db.collection('sharded').createIndex({ k: 1 })
  await db.collection('sharded').insertOne({ _id: 1 as never, pk: 'p', k: 1 })
  await db.createCollection('view', { viewOn: 'items', pipeline: [{ $project: { n: endless } }] })
  return db
}

const admin = (server: MongoFixture) => server.client.db('admin')

async function running(server: MongoFixture, comment: string): Promise<Document | undefined> {
  const { inprog } = await admin(server).command({ currentOp: 1 })
  return inprog.find(({ command }: Document) => command?.comment === comment)
}

/** Asks until the answer is there; each time the server had a turn. */
async function until<T>(ask: () => Promise<T | undefined>, what: string): Promise<T> {
  for (let attempt = 0; attempt < 2000; attempt++) {
    const found = await ask()
    if (found !== undefined) return found
  }
  return assert.fail(what)
}

/** Over PostgreSQL the threads work as they do in memory, so a few of the works will do. */
const isPostgres = storeName === 'postgres'
const servers: Readonly<Record<string, MongoFixture>> = isPostgres
  ? { 'over PostgreSQL': await startMongo() }
  : {
      'in memory': await startMongo({ data: undefined as never }),
      'on disk': await startMongo({ data: temporaryDirectory() }),
    }
const worksToRun = Object.entries(works).filter((_, index) => !isPostgres || index % 6 === 0)

for (const [place, [name, server]] of Object.entries(servers).entries()) {
  describe(name, async () => {
    const db = await filled(server)
    const others = db.collection('others')
    await others.insertOne({ _id: 5 as never })

    for (const [index, [work, command]] of worksToRun.entries()) {
      const isTimed = isPostgres || index % 2 === place
      test(`${work}: others are answered meanwhile, and killOp ends it`, async () => {
        const comment = `${name} ${work} killOp`
        const failed = failure(db.command({ ...command, comment }))
        const { opid } = await until(() => running(server, comment), 'it began')
        for (let read = 0; read < 10; read++) assert.ok(await others.findOne({ _id: 5 as never }))
        assert.ok(await running(server, comment), 'it goes on while others are answered')
        await admin(server).command({ killOp: 1, op: opid })
        assert.equal((await failed).code, 11601)
      })

      if (isTimed) {
        test(`${work}: maxTimeMS ends it`, async () => {
          const { code, message } = await failure(db.command({ ...command, maxTimeMS: 60 }))
          assert.equal(code, 50, message)
        })
      }

      if (isPostgres || !isTimed) {
        test(`${work}: disconnecting ends it`, async () => {
          const comment = `${name} ${work} disconnect`
          const leaving = new MongoClient(server.uri, { retryReads: false, retryWrites: false })
          after(() => leaving.close())
          const left = failure(leaving.db(db.databaseName).command({ ...command, comment }))
          await until(() => running(server, comment), 'it began')
          await leaving.close(true)
          await left
          await until(async () => ((await running(server, comment)) === undefined ? true : undefined), 'it ended')
        })
      }
    }

    for (const [list, { field, command }] of Object.entries(filtersOfLists)) {
      test(`${list}: its filter is ended`, async () => {
        const onAdmin = list === 'listDatabases' || list === 'currentOp'
        const place = onAdmin ? admin(server) : db
        const { code, message } = await failure(place.command(command(slowFilter(field))))
        assert.equal(code, 50, message)
        assert.match(message, /^The filter takes more than/)
        assert.equal((await place.command(command({ $or: [{ [field]: 'a' }] }))).ok, 1)
      })
    }

    test('the pipeline of a change stream: others are answered meanwhile, and killOp ends it', async () => {
      const filter = JSON.parse(JSON.stringify(never).replaceAll('"$_id"', '"$fullDocument._id"'))
      const stream = aggregate({ $changeStream: {} }, { $match: { $expr: filter } })
      const { cursor } = await db.command({ ...stream, aggregate: 'watched' })
      await db.collection('watched').insertOne({ _id: 1 as never })
      const comment = `${name} change stream`
      const failed = failure(db.command({ getMore: cursor.id, collection: 'watched', comment }))
      const { opid } = await until(() => running(server, comment), 'it began')
      for (let read = 0; read < 10; read++) assert.ok(await others.findOne({ _id: 5 as never }))
      assert.ok(await running(server, comment), 'it goes on while others are answered')
      await admin(server).command({ killOp: 1, op: opid })
      assert.equal((await failed).code, 11601)
    })

    test('when all of it was ended, the threads have time for others, and nothing was written', async () => {
      const { cursor } = await db.command(aggregate({ $set: { n: { $size: '$a' } } }, { $project: { n: 1 } }))
      assert.deepEqual(cursor.firstBatch, [{ _id: 1, n: 1000 }])
      assert.equal(await db.collection('items').countDocuments({ n: { $exists: true } }), 0)
      assert.equal(await db.collection('ruled').countDocuments(), 0)
      assert.deepEqual(await db.collection('target').find().toArray(), [{ _id: 1 }])
      assert.deepEqual(
        await db
          .collection('items')
          .find({ $expr: { $lt: [{ $size: million }, 5] } })
          .toArray(),
        [],
      )
    })
  })
}
