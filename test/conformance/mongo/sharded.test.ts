/**
 * Sharded collections: the same answers as without shards, and a command that names the shard key reads only
 * its shard.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BSONSymbol, type Collection, Decimal128, type Document, Double, Long, ObjectId } from 'mongodb'
import { startMongo } from './support/fixture.ts'

const { client, connect, newCollection, newDatabase } = await startMongo()

async function sharded(key: Document): Promise<Collection<Document>> {
  const collection = newCollection()
  await client.db('admin').command({ shardCollection: collection.namespace, key })
  return collection
}

async function costOf({ namespace }: Collection<Document>, work: (collection: Collection<Document>) => unknown) {
  const [database, name] = namespace.split('.') as [string, string]
  const single = connect({ maxPoolSize: 1 }).db(database)
  await work(single.collection(name))
  return (await single.command({ getLastRequestStatistics: 1 })).RequestCharge as number
}

const tenants = 200
const perTenant = 10

async function filled(): Promise<Collection<Document>> {
  const collection = await sharded({ tenant: 'hashed' })
  await collection.insertMany(
    Array.from({ length: tenants * perTenant }, (_, n) => ({
      _id: Math.floor(n / tenants) as never,
      tenant: `t${n % tenants}`,
      id: `i${n % 3}`,
      n,
    })),
  )
  return collection
}

test('A command whose filter fixes the shard key reads only that shard', async () => {
  const collection = await filled()
  const scan = await costOf(collection, all => all.find({ n: -1 }).toArray())
  const tenant = 't7'
  const commands: Record<string, (collection: Collection<Document>) => Promise<unknown>> = {
    find: each => each.find({ tenant }).toArray(),
    sorted: each => each.find({ tenant }).sort({ n: 1 }).toArray(),
    'in $and and $in': each => each.find({ $and: [{ n: { $gte: 0 } }, { tenant: { $in: [tenant] } }] }).toArray(),
    count: each => each.countDocuments({ tenant, n: { $gte: 0 } }),
    distinct: each => each.distinct('n', { tenant }),
    aggregate: each => each.aggregate([{ $match: { tenant } }, { $group: { _id: '$id', n: { $sum: 1 } } }]).toArray(),
    'a named field': each => each.find({ tenant, id: 'i1' }).toArray(),
  }
  for (const [name, command] of Object.entries(commands)) {
    const cost = await costOf(collection, command)
    assert.ok(cost < scan / 4, `${name}: ${cost} of ${scan}`)
  }
  assert.equal((await collection.find({ tenant, id: 'i1' }).toArray()).length, 4)
  const write = 5
  for (const command of [
    each => each.updateOne({ tenant, n: { $gte: 0 } }, { $set: { x: 1 } }),
    each => each.findOneAndUpdate({ tenant }, { $set: { x: 2 } }, { sort: { n: -1 } }),
    each => each.deleteOne({ tenant, n: { $gte: 0 } }),
  ] satisfies ((collection: Collection<Document>) => Promise<unknown>)[]) {
    assert.ok((await costOf(collection, command)) < scan / 4 + write)
  }
  const { shards } = (await collection.find({ tenant }).explain()).queryPlanner.winningPlan
  assert.equal(shards[0].winningPlan.stage, 'COLLSCAN')
})

test('A shard key and an _id identify one document', async () => {
  const collection = await filled()
  const filter = { tenant: 't7', _id: 3 as never }
  assert.equal(await costOf(collection, each => each.findOne(filter)), 1)
  assert.deepEqual(await collection.findOne(filter), { ...filter, id: 'i1', n: 607 })
  assert.equal((await collection.updateOne(filter, { $set: { n: 0 } })).modifiedCount, 1)
  assert.equal(await collection.countDocuments(filter), 1)
  assert.equal((await collection.deleteMany({ ...filter, n: 1 })).deletedCount, 0)
  assert.equal((await collection.deleteMany(filter)).deletedCount, 1)
  assert.equal(await collection.countDocuments({ _id: 3 as never }), tenants - 1)
})

test('Within a shard, documents are read in the order of _id, starting at the bound of the filter', async () => {
  const collection = await filled()
  const page = (_id: Document) =>
    collection
      .find({ tenant: 't7', ..._id })
      .sort({ _id: 1 })
      .limit(3)
      .toArray()
  assert.deepEqual(
    (await page({})).map(({ _id }) => _id),
    [0, 1, 2],
  )
  assert.deepEqual(
    (await page({ _id: { $gt: 5 } })).map(({ _id }) => _id),
    [6, 7, 8],
  )
  assert.equal(await collection.countDocuments({ tenant: 't7', _id: { $gte: 6 as never } }), 4)
})

test('A transaction sees its own writes in the shard that a filter names', async () => {
  const collection = await filled()
  await client.withSession(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 77 as never, tenant: 't7', n: -7 }, { session })
    await collection.deleteOne({ tenant: 't7', _id: 0 as never }, { session })
    const found = await collection.find({ tenant: 't7' }, { session }).toArray()
    assert.deepEqual(
      found.map(({ _id }) => _id),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 77],
    )
    await session.abortTransaction()
  })
})

const values: unknown[] = [
  ...[
    '',
    'a',
    new BSONSymbol('a'),
    1,
    new Double(1),
    Long.fromNumber(1),
    Decimal128.fromString('1.0'),
    0.5,
    -0,
    Number.NaN,
  ],
  ...[Long.fromString('9007199254740993'), Decimal128.fromString('9007199254740993'), true, false, null],
  ...[new Date(0), new ObjectId('0123456789abcdef01234567'), { a: 1 }, { a: new Double(1) }, { a: 2 }],
]

test('Whatever the value of a shard key, a filter finds the same as without shards', async () => {
  const plain = newDatabase().collection<Document>('plain')
  for (const key of [{ k: 'hashed' }, { 'k.a': 'hashed' }, { k: 1, l: 1 }] satisfies Document[]) {
    const collection = await sharded(key)
    const documents: Document[] = values.map((k, _id) => ({ _id, k, l: _id % 2 }))
    documents.push({ _id: 'none' }, { _id: 'half', k: {} })
    await plain.deleteMany({})
    for (const each of [plain, collection]) await each.insertMany(documents as never)
    for (const value of [...values, { $in: ['a'] }, { $in: ['a', 1] }, { $exists: false }, /^a/, { $gt: 0 }, ['a']]) {
      for (const filter of [{ k: value }, { 'k.a': value }, { k: value, l: 1 }, { $or: [{ k: value }] }]) {
        const idsOf = async (each: Collection<Document>) =>
          (await each.find(filter as Document).toArray()).map(({ _id }) => String(_id)).sort()
        assert.deepEqual(await idsOf(collection), await idsOf(plain), JSON.stringify([key, filter]))
        assert.equal(
          await collection.countDocuments(filter as Document),
          await plain.countDocuments(filter as Document),
        )
      }
    }
  }
})
