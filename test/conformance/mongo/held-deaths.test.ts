/**
 * Documents that die while a cursor holds them: no later batch shows anything of a dead document, and nothing
 * of a living one is lost. What was computed from several documents is about the moment of the first batch.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AggregationCursor, type Collection, type Document, type FindCursor, Long } from 'mongodb'
import { RequestError } from '../../../src/base/error.ts'
import { Engine } from '../../../src/engine/engine.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, startMongo } from './support/fixture.ts'

const here = await startMongo()
/** On disk long pipelines run in the query thread. */
const onDisk = await startMongo({ data: temporaryDirectory() })
const servers = [here, onDisk]

/** More than a scan reads in the thread of the requests. */
const count = 603
const isMortal = (n: number) => n % 3 !== 0
const markOf = (n: number) => `<${n}>`

/** Two of three die after ten seconds. */
function documentOf(n: number): Document {
  return {
    _id: n,
    k: n % 7,
    mark: markOf(n),
    sub: { mark: markOf(n), list: [{ mark: markOf(n) }] },
    next: (n + 1) % count,
    place: { type: 'Point', coordinates: [n / 100, 1] },
    ...(isMortal(n) && { ttl: 10 }),
  }
}

async function filled({ newCollection }: typeof here): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 1000 })
  await collection.insertMany(Array.from({ length: count }, (_, n) => documentOf(n)) as never)
  const others = collection.db.collection('others')
  await others.createIndex({ _ts: 1 }, { expireAfterSeconds: 1000 })
  await others.insertMany(Array.from({ length: count }, (_, n) => documentOf(n)) as never)
  return collection
}

const marksIn = (document: Document) =>
  [...JSON.stringify(document).matchAll(/<(\d+)>/g)].map(([, number]) => Number(number))

type AnyCursor = AggregationCursor<Document> | FindCursor<Document>

/** A first batch of two, and everything behind it after ten seconds. */
async function acrossDeaths(
  server: typeof here,
  { db, collectionName }: Collection<Document>,
  pipeline: readonly Document[],
): Promise<[Document[], Document[]]> {
  const { cursor } = await db.command({ aggregate: collectionName, pipeline, cursor: { batchSize: 2 } })
  await server.db.clock.advance('10s')
  const rest: Document[] = []
  for (let id = cursor.id; !Long.fromValue(id).isZero(); ) {
    const more = await db.command({ getMore: Long.fromValue(id), collection: collectionName, batchSize: 100 })
    rest.push(...more.cursor.nextBatch)
    id = more.cursor.id
  }
  return [cursor.firstBatch, rest]
}

function assertNoDead(rest: readonly Document[], name: string): void {
  const dead = rest.filter(document => marksIn(document).some(isMortal))
  assert.deepEqual(dead.slice(0, 2), [], `${name}: ${dead.length} of ${rest.length} show dead documents`)
}

function assertNoneLost(shown: readonly Document[], name: string): void {
  const marks = new Set(shown.flatMap(marksIn))
  const lost = Array.from({ length: count }, (_, n) => n).filter(n => !isMortal(n) && !marks.has(n))
  assert.deepEqual(lost, [], `${name}: living documents are lost`)
}

const byKey = { _id: { $mod: ['$_id', 50] } }
const whole = { $first: '$$ROOT' }

/** Each shows all documents. */
const pipelines: Readonly<Record<string, readonly Document[]>> = {
  $match: [{ $match: { _id: { $gte: 0 } } }],
  $sort: [{ $sort: { mark: 1 } }],
  'later $sort': [{ $set: { a: 1 } }, { $sort: { mark: -1 } }],
  '$sort and $unwind': [{ $sort: { mark: 1 } }, { $unwind: '$sub.list' }],
  $sample: [{ $sample: { size: count } }],
  $unwind: [{ $unwind: '$sub.list' }, { $project: { 'sub.list': 1 } }],
  '$group of single documents': [{ $group: { _id: '$_id', d: whole } }, { $replaceRoot: { newRoot: '$d' } }],
  '$group by whole documents': [{ $group: { _id: '$$ROOT' } }],
  '$group by a value of one document': [{ $group: { _id: '$mark', n: { $sum: 1 } } }],
  '$group, $push': [{ $group: { ...byKey, all: { $push: '$$ROOT' } } }],
  '$group, $push of values': [{ $group: { ...byKey, all: { $push: '$mark' } } }],
  '$group, $push of made values': [{ $group: { ...byKey, all: { $push: { m: { $concat: ['$mark', '!'] } } } } }],
  '$group, $addToSet': [{ $group: { ...byKey, all: { $addToSet: '$mark' } } }],
  '$group, $push, $unwind': [{ $group: { ...byKey, all: { $push: '$$ROOT' } } }, { $unwind: '$all' }],
  '$group, $push, $unwind, $replaceRoot': [
    { $group: { ...byKey, all: { $push: '$$ROOT' } } },
    { $unwind: { path: '$all', includeArrayIndex: 'at', preserveNullAndEmptyArrays: true } },
    { $replaceWith: { $mergeObjects: ['$all', { a: 1 }] } },
  ],
  '$group, $push, $map': [
    { $group: { ...byKey, all: { $push: '$$ROOT' } } },
    { $project: { marks: { $map: { input: '$all', in: { $concat: ['$$this.mark', '!'] } } } } },
  ],
  '$group, $push, path': [
    { $group: { ...byKey, all: { $push: '$$ROOT' } } },
    { $set: { marks: '$all.sub.list.mark' } },
    { $unset: ['all.place', 'all.next'] },
  ],
  '$group, $push, $project': [
    { $group: { ...byKey, all: { $push: '$$ROOT' }, n: { $sum: 1 } } },
    { $project: { 'all.mark': 1 } },
    { $sort: { n: 1, _id: -1 } },
  ],
  '$group twice': [
    { $group: { ...byKey, all: { $push: '$sub' } } },
    { $group: { _id: { $mod: ['$_id', 10] }, all: { $push: '$$ROOT' } } },
  ],
  '$group, $unwind, $group': [
    { $group: { ...byKey, all: { $push: '$sub' } } },
    { $unwind: '$all' },
    { $group: { _id: { $mod: ['$_id', 10] }, all: { $push: '$all.mark' } } },
  ],
  '$firstN and $lastN': [{ $group: { ...byKey, all: { $firstN: { n: 100, input: '$mark' } } } }],
  $lastN: [{ $group: { ...byKey, all: { $lastN: { n: 100, input: '$mark' } } } }],
  $topN: [{ $group: { ...byKey, all: { $topN: { n: 100, sortBy: { _id: 1 }, output: '$mark' } } } }],
  $bottomN: [{ $group: { ...byKey, all: { $bottomN: { n: 100, sortBy: { _id: 1 }, output: ['$mark'] } } } }],
  '$maxN of documents': [{ $group: { ...byKey, all: { $maxN: { n: 100, input: '$sub' } } } }],
  $mergeObjects: [
    { $group: { ...byKey, all: { $mergeObjects: { $arrayToObject: [[['$mark', '$mark']]] } } } },
    { $project: { all: { $map: { input: { $objectToArray: '$all' }, in: '$$this.v' } } } },
  ],
  '$facet and $unwind': [{ $facet: { all: [{ $sort: { mark: 1 } }] } }, { $unwind: '$all' }],
  '$facet of groups': [
    { $facet: { groups: [{ $group: { ...byKey, all: { $push: '$mark' } } }] } },
    { $unwind: '$groups' },
  ],
  $setWindowFields: [
    {
      $setWindowFields: {
        partitionBy: { $mod: ['$_id', 50] },
        sortBy: { _id: 1 },
        output: {
          around: { $push: '$mark', window: { documents: [-1, 1] } },
          before: { $shift: { output: '$sub', by: -1 } },
          first: { $first: '$$ROOT' },
          top: { $top: { sortBy: { _id: -1 }, output: '$mark' } },
          set: { $addToSet: '$mark', window: { documents: ['unbounded', 'current'] } },
          last: { $lastN: { n: 2, input: '$mark' } },
          rank: { $documentNumber: {} },
        },
      },
    },
  ],
  $densify: [
    { $densify: { field: '_id', partitionByFields: ['mark'], range: { step: 200, bounds: 'full' } } },
    { $sort: { _id: 1, mark: 1 } },
  ],
  $fill: [
    { $set: { carried: { $cond: [{ $eq: [{ $mod: ['$_id', 2] }, 0] }, '$mark', null] } } },
    { $fill: { sortBy: { _id: 1 }, output: { carried: { method: 'locf' }, none: { value: 1 } } } },
  ],
  $bucket: [{ $bucket: { groupBy: '$_id', boundaries: [0, 5, 100, 300, 650], output: { all: { $push: '$mark' } } } }],
  $bucketAuto: [{ $bucketAuto: { groupBy: '$_id', buckets: 40, output: { all: { $push: '$$ROOT' } } } }],
  $sortByCount: [{ $sortByCount: '$mark' }],
  $geoNear: [{ $geoNear: { near: [0, 0], distanceField: 'far', key: 'place' } }],
  $redact: [{ $sort: { mark: 1 } }, { $redact: '$$DESCEND' }],
  '$redact of groups': [{ $group: { ...byKey, all: { $push: '$$ROOT' } } }, { $redact: '$$DESCEND' }],
  $unionWith: [{ $match: { _id: -1 } }, { $unionWith: 'others' }],
  '$unionWith, sorted': [{ $unionWith: 'others' }, { $sort: { mark: 1 } }],
  $lookup: [
    { $sort: { mark: 1 } },
    { $lookup: { from: 'others', localField: 'next', foreignField: '_id', as: 'found' } },
    { $project: { found: 1, mark: 1 } },
  ],
  '$lookup of groups': [
    { $group: { _id: { $mod: ['$_id', 7] } } },
    { $lookup: { from: 'others', localField: '_id', foreignField: 'k', as: 'found' } },
  ],
  '$lookup by a pipeline': [
    { $group: { _id: { $mod: ['$_id', 7] } } },
    {
      $lookup: {
        from: 'others',
        let: { k: '$_id' },
        pipeline: [{ $match: { $expr: { $eq: ['$k', '$$k'] } } }, { $sort: { mark: 1 } }, { $project: { mark: 1 } }],
        as: 'found.here',
      },
    },
    { $unwind: '$found.here' },
    { $sort: { 'found.here.mark': 1 } },
  ],
  $graphLookup: [
    { $match: { k: { $gte: 0 } } },
    { $sort: { mark: 1 } },
    {
      $graphLookup: {
        from: 'others',
        startWith: '$next',
        connectFromField: 'next',
        connectToField: '_id',
        as: 'found',
        maxDepth: 1,
        depthField: 'depth',
      },
    },
    { $project: { mark: 1, found: 1 } },
  ],
}

for (const [index, server] of servers.entries()) {
  test(`No stage shows what died while it held it, and none loses the living (${index})`, async () => {
    for (const [name, stages] of Object.entries(pipelines)) {
      const collection = await filled(server)
      const [first, rest] = await acrossDeaths(server, collection, stages)
      assertNoDead(rest, name)
      assertNoneLost([...first, ...rest], name)
      await collection.db.dropDatabase()
    }
  })

  test(`A sorted find shows no document that died after it was sorted (${index})`, async () => {
    const collection = await filled(server)
    const sort = { k: -1, mark: 1 } as const
    for (const cursor of [
      collection.find({}, { sort, batchSize: 40 }),
      collection.find({ _id: { $in: Array.from({ length: count }, (_, n) => n) as never[] } }, { sort, batchSize: 40 }),
    ]) {
      assert.ok(await cursor.hasNext())
      const first = cursor.readBufferedDocuments()
      // This batch is a part of what is sorted for it; the rest is held.
      assert.ok(await cursor.hasNext())
      const second = cursor.readBufferedDocuments()
      await server.db.clock.advance('10s')
      const rest = await cursor.toArray()
      assertNoDead(rest, 'find')
      assertNoneLost([...first, ...second, ...rest], 'find')
      await collection.updateMany({}, { $set: { touched: true } })
      await collection.deleteMany({})
      await collection.insertMany(Array.from({ length: count }, (_, n) => documentOf(n)) as never)
    }
  })

  test(`What is computed from several documents is about the moment of the first batch (${index})`, async () => {
    const collection = await filled(server)
    const group = {
      _id: { $mod: ['$_id', 50] },
      n: { $sum: 1 },
      mean: { $avg: '$_id' },
      min: { $min: '$_id' },
      least: { $min: '$sub' },
      d: whole,
      all: { $push: '$_id' },
    }
    const stages = [{ $group: group }, { $set: { size: { $size: '$all' }, name: '$d.mark', last: { $last: '$all' } } }]
    const [first, rest] = await acrossDeaths(server, collection, stages)
    assert.equal(first.length + rest.length, 50)
    assert.equal(
      [...first, ...rest].reduce((sum, { n }) => sum + n, 0),
      count,
    )
    for (const { _id, n, size, mean, min, d, name, least, last } of rest) {
      const members = Array.from({ length: count }, (_, number) => number).filter(number => number % 50 === _id)
      assert.deepEqual([n, size, min], [members.length, members.length, _id])
      assert.equal(mean, members.reduce((sum, number) => sum + number, 0) / members.length)
      assert.deepEqual([d?._id, name], isMortal(_id) ? [undefined, null] : [_id, markOf(_id)])
      const [smallest] = members.toSorted((left, right) => (markOf(left) < markOf(right) ? -1 : 1))
      assert.equal(least?.mark, isMortal(smallest!) ? undefined : markOf(smallest!))
      assert.equal(last, isMortal(members.at(-1)!) ? null : members.at(-1)!)
    }
  })

  test(`A dead element of an array is one result less behind $unwind (${index})`, async () => {
    const collection = await filled(server)
    const stages = [{ $group: { ...byKey, all: { $push: '$$ROOT' } } }, { $unwind: '$all' }]
    const [first, rest] = await acrossDeaths(server, collection, stages)
    const isLiving = (_: unknown, n: number) => !isMortal(n)
    const living = Array.from({ length: count }, isLiving).filter(Boolean).length
    assert.equal(rest.length, living - first.filter(({ all }) => !isMortal(all._id)).length)
    for (const { all } of rest) assert.equal(typeof all._id, 'number')
  })

  test(`A batch follows the policy of its moment (${index})`, async () => {
    const collection = server.newCollection()
    await collection.insertMany(Array.from({ length: count }, (_, n) => ({ _id: n as never, mark: markOf(1) })))
    const stages = [{ $group: { _id: { $mod: ['$_id', 100] }, all: { $push: '$$ROOT' } } }, { $unwind: '$all' }]
    const open = async () => {
      const cursors: AnyCursor[] = [
        collection.aggregate(stages, { batchSize: 2 }),
        collection.aggregate([{ $set: { a: 1 } }, { $unwind: { path: '$list', preserveNullAndEmptyArrays: true } }], {
          batchSize: 2,
        }),
        collection.aggregate([{ $lookup: { from: 'items', localField: '_id', foreignField: '_id', as: 'same' } }], {
          batchSize: 2,
        }),
        collection.find({}, { sort: { mark: 1 }, batchSize: 2 }),
      ]
      for (const cursor of cursors) {
        await cursor.hasNext()
        cursor.readBufferedDocuments()
        await cursor.hasNext()
        cursor.readBufferedDocuments()
      }
      return cursors
    }
    const before = await open()
    await server.db.clock.advance('20s')
    await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 100, name: 'ttl' })
    assert.ok(await before[0]!.hasNext(), 'all are alive')
    before[0]!.readBufferedDocuments()
    const between = await open()
    await collection.db.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 20 } })
    // Nobody knows any more which of these documents have died.
    assert.equal((await failure(before[0]!.toArray())).code, 175)
    for (const cursor of [...before.slice(1), ...between]) assert.equal((await cursor.toArray()).length, 0)
  })

  test(`Held documents follow new TTL indexes on dates (${index})`, async () => {
    const collection = server.newCollection()
    const now = (await server.db.clock.now()) * 1000
    await collection.createIndex({ at: 1 }, { expireAfterSeconds: 100, name: 'ttl' })
    await collection.insertMany(
      Array.from({ length: count }, (_, n) => ({
        _id: n as never,
        mark: markOf(n),
        at: new Date(now - (isMortal(n) ? 50_000 : 0)),
      })),
    )
    const cursor = collection.aggregate([{ $group: { _id: null, all: { $push: '$$ROOT' } } }, { $unwind: '$all' }], {
      batchSize: 2,
    })
    await cursor.hasNext()
    const first = cursor.readBufferedDocuments()
    await collection.db.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 40 } })
    const rest = await cursor.toArray()
    assertNoDead(rest, 'dates')
    assertNoneLost([...first, ...rest], 'dates')
  })
}

test('A sort that no index serves is done once for many batches', async context => {
  const collection = await filled(here)
  const pages = context.mock.method(Engine.prototype, 'queryPage')
  const found = await collection.find({}, { sort: { mark: 1 }, batchSize: 20 }).toArray()
  const marks = found.map(({ mark }) => mark as string)
  assert.deepEqual(marks, Array.from({ length: count }, (_, n) => markOf(n)).sort())
  assert.equal(pages.mock.callCount(), 2)
})

test('A sort that has no memory for many batches is done for each', async context => {
  const collection = await filled(here)
  const { queryPage } = Engine.prototype
  const pages = context.mock.method(
    Engine.prototype,
    'queryPage',
    async function (this: Engine, ...asked: Parameters<typeof queryPage>) {
      if (asked[2].rowsMax > 100) throw new RequestError('malformed', 'Sorting needs too much memory.')
      return queryPage.apply(this, asked)
    },
  )
  const found = await collection.find({}, { sort: { mark: 1 }, batchSize: 100 }).toArray()
  assert.equal(found.length, count)
  assert.equal(pages.mock.callCount(), 8)
})

test('A deleted document is not dead: a sorted cursor goes on showing it', async () => {
  const collection = await filled(here)
  const cursor = collection.aggregate([{ $set: { a: 1 } }, { $sort: { mark: 1 } }], { batchSize: 2 })
  await cursor.hasNext()
  await collection.deleteMany({})
  assert.equal((await cursor.toArray()).length, count)
  assert.equal((await failure(collection.aggregate([{ $group: {} }]).toArray())).code, 15955)
})
