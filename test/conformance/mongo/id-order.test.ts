/**
 * A sort or a range on `_id` reads documents in the order in which they are stored, and no more than needed.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Binary,
  type Collection,
  Decimal128,
  type Document,
  type Filter,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  type Sort,
} from 'mongodb'
import { startMongo } from './support/fixture.ts'

const { client, connect, newCollection, db } = await startMongo()

async function costOf({ namespace }: Collection<Document>, work: (collection: Collection<Document>) => unknown) {
  const [database, name] = namespace.split('.') as [string, string]
  const single = connect({ maxPoolSize: 1 }).db(database)
  await work(single.collection(name))
  return (await single.command({ getLastRequestStatistics: 1 })).RequestCharge as number
}

const count = 2000

async function numbered(): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: count }, (_, _id) => ({ _id: _id as never, n: _id % 100 })))
  return collection
}

test('The first documents by _id are read alone, in both directions and from any bound', async () => {
  const collection = await numbered()
  const scan = await costOf(collection, each => each.find({ x: 1 }).toArray())
  const cost = (filter: Filter<Document>, sort: Sort, limit = 3) =>
    costOf(collection, async each => {
      assert.equal((await each.find(filter).sort(sort).limit(limit).toArray()).length, limit)
    })
  const three = await cost({}, { _id: 1 })
  assert.ok(three < 2.2, `three cost ${three}`)
  assert.equal(await cost({}, { _id: -1 }), three)
  assert.equal(await cost({}, { $natural: -1 } as never), three)
  assert.equal(await cost({}, { _id: -1, n: 1 }), three)
  assert.equal(await cost({ _id: { $lt: 500 as never } }, { _id: -1 }), three)
  assert.equal(await cost({ _id: { $gte: 500 as never } }, { _id: 1 }), three)
  assert.ok((await cost({ n: 7 }, { _id: -1 }, 1)) < scan / 2)

  const within = { _id: { $gt: 500 as never, $lte: 510 as never } }
  for (const work of [
    each => each.find(within).toArray(),
    each => each.countDocuments(within),
    each => each.aggregate([{ $match: within }, { $sort: { _id: -1 } }, { $limit: 2 }]).toArray(),
    each => each.aggregate([{ $sort: { _id: -1 } }, { $limit: 2 }]).toArray(),
    each => each.distinct('n', within),
  ] satisfies ((each: Collection<Document>) => Promise<unknown>)[]) {
    const cost = await costOf(collection, work)
    assert.ok(cost < scan / 2, `${work}: ${cost} of ${scan}`)
  }
  assert.equal(await collection.countDocuments(within), 10)
  const update = await costOf(collection, each =>
    each.findOneAndUpdate({}, { $set: { x: 1 } }, { sort: { _id: -1 }, projection: { _id: 1 } }),
  )
  assert.ok(update < 8, `${update}`)
  assert.deepEqual(await collection.findOne({ x: 1 }), { _id: count - 1, n: 99, x: 1 })
  assert.equal((await collection.deleteMany({ _id: { $lt: 1990 as never } })).deletedCount, 1990)
  assert.equal(await collection.countDocuments(), 10)
})

test('explain shows the order of _id as its index', async () => {
  const collection = await numbered()
  const planOf = async (filter: Document, sort: Sort) =>
    (await collection.find(filter).sort(sort).explain('queryPlanner')).queryPlanner.winningPlan
  const down = await planOf({}, { _id: -1 })
  assert.deepEqual([down.stage, down.inputStage.indexName, down.inputStage.direction], ['FETCH', '_id_', 'backward'])
  assert.equal((await planOf({ n: 1 }, { _id: 1 })).inputStage.direction, 'forward')
  assert.equal((await planOf({}, { n: 1 })).stage, 'SORT')
})

test('Backward pages neither repeat nor skip, while documents are inserted, deleted and die', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 })
  await collection.insertMany(
    Array.from({ length: 300 }, (_, _id) => ({ _id: _id as never, ...(_id % 3 === 0 && { ttl: 5 }) })),
  )
  const cursor = collection.find().sort({ _id: -1 }).batchSize(10)
  const seen: unknown[] = []
  for await (const { _id } of cursor) {
    seen.push(_id)
    if (seen.length === 45) await db.clock.advance('5s')
    if (seen.length === 65) await collection.insertMany([{ _id: 300.5 as never }, { _id: 1.5 as never }])
    if (seen.length === 85) await collection.deleteOne({ _id: 2 as never })
  }
  const order = seen as number[]
  assert.deepEqual(
    order,
    order.toSorted((a, b) => b - a),
  )
  const expected = Array.from({ length: 300 }, (_, n) => n).filter(n => n % 3 !== 0 && n !== 2)
  for (const id of [...expected, 1.5]) assert.ok(order.includes(id), `${id}`)
  assert.equal(new Set(order).size, order.length)
  assert.ok(!order.includes(0) && !order.includes(2) && !order.includes(300.5))
})

const long = 'x'.repeat(360)
const ids: unknown[] = [
  ...[
    new MinKey(),
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    -1.5,
    0,
    Long.fromString('9007199254740993'),
    9007199254740992,
  ],
  ...[
    Decimal128.fromString('0.1'),
    Number.POSITIVE_INFINITY,
    '',
    'a',
    'a\u0000',
    'a\u0001',
    'ab',
    'é',
    '\u{1f600}',
    '\uffff',
  ],
  ...[
    {},
    { a: 1 },
    { a: 1, b: 2 },
    { b: 1 },
    { a: 'x'.repeat(70) },
    new Binary(Buffer.from('ab')),
    new Binary(Buffer.from('b')),
  ],
  ...[new ObjectId('0123456789abcdef01234567'), false, true, new Date(-1), new Date(0), new MaxKey()],
]
const longIds: unknown[] = [
  ...[
    long,
    `${long}a`,
    `${long}b${'y'.repeat(20)}`,
    ...Array.from({ length: 20 }, (_, n) => `${long}${'z'.repeat(40)}${n}`),
  ],
  ...[{ a: long, b: 2 }, { a: long, b: 10 }, new Binary(Buffer.from(long)), 'w'.repeat(350), 'y'.repeat(350)],
]

for (const [name, of, bounds] of [
  ['of all types', ids, ids],
  ['and of any length', [...ids, ...longIds], longIds.slice(0, 8)],
] as const) {
  test(`The order of _id is the order of the same values in another field, ${name}`, async () => {
    const collection = newCollection()
    const shuffled = of
      .map((_id, at) => ({ at, document: { _id, v: _id } }))
      .sort((a, b) => ((a.at * 7) % 11) - ((b.at * 7) % 11))
    await collection.insertMany(shuffled.map(({ document }) => document) as never)
    const compare = async (filter: Document, direction: 1 | -1, window: { skip?: number; limit?: number } = {}) => {
      const named = collection.find(filter, {
        sort: { _id: direction },
        batchSize: 10,
        projection: { v: 1, _id: 0 },
        ...window,
      })
      const elsewhere: Document[] = [{ $match: filter }, { $sort: { v: direction } }]
      if (window.skip !== undefined) elsewhere.push({ $skip: window.skip })
      if (window.limit !== undefined) elsewhere.push({ $limit: window.limit })
      const expected = await collection.aggregate([...elsewhere, { $project: { v: 1, _id: 0 } }]).toArray()
      assert.deepEqual(await named.toArray(), expected)
    }
    for (const direction of [1, -1] as const) {
      await compare({}, direction)
      await compare({}, direction, { skip: 5, limit: 20 })
      await compare({ v: { $type: 'string' } }, direction)
      for (const bound of bounds) {
        for (const operator of direction === 1 ? ['$lt', '$gte'] : ['$lte', '$gt']) {
          await compare({ _id: { [operator]: bound } }, direction)
        }
      }
    }
    for (const bound of bounds) {
      for (const operator of ['$lt', '$lte', '$gt', '$gte']) {
        const [byId, byValue] = [{ _id: { [operator]: bound } }, { v: { [operator]: bound } }] as [Document, Document]
        assert.equal(await collection.countDocuments(byId), await collection.countDocuments(byValue))
      }
    }
  })
}

test('The order of _id is the same in a transaction and over several shards', async () => {
  const collection = await numbered()
  await client.withSession(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 1998.5 as never }, { session })
    const found = await collection.find({}, { session }).sort({ _id: -1 }).limit(3).toArray()
    assert.deepEqual(
      found.map(({ _id }) => _id),
      [1999, 1998.5, 1998],
    )
    await session.abortTransaction()
  })
  const sharded = newCollection()
  await client.db('admin').command({ shardCollection: sharded.namespace, key: { n: 'hashed' } })
  await sharded.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id: _id as never, n: _id % 10 })))
  const last = async (filter: Document) =>
    (await sharded.find(filter).sort({ _id: -1 }).limit(3).toArray()).map(({ _id }) => _id)
  assert.deepEqual(await last({}), [99, 98, 97])
  assert.deepEqual(await last({ n: 4 }), [94, 84, 74])
  assert.deepEqual(await last({ n: 4, _id: { $lt: 50 } }), [44, 34, 24])
})
