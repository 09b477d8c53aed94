/** insert, find, update, delete, findAndModify, count and distinct, through the driver. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, MongoBulkWriteError } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { newCollection, newDatabase } = await startMongo()

const documents = (count: number) =>
  Array.from({ length: count }, (_, _id) => ({ _id: _id as never, n: _id, even: _id % 2 === 0 }))

async function filled(count = 10) {
  const collection = newCollection()
  await collection.insertMany(documents(count))
  return collection
}

test('insertMany stores all documents', async () => {
  const collection = newCollection()
  const { insertedCount } = await collection.insertMany(documents(2500))
  assert.equal(insertedCount, 2500)
  assert.deepEqual(idsOf(await collection.find().toArray()), idsOf(documents(2500)))
})

test('An ordered insert stops at the first error, an unordered one goes on', async () => {
  for (const [ordered, expected, indexes] of [
    [true, [0, 1, 5], [2]],
    [false, [0, 1, 2, 3, 5], [2, 4]],
  ] as const) {
    const collection = newCollection()
    await collection.insertOne({ _id: 5 as never })
    const error = await collection
      .insertMany(
        [0, 1, 5, 2, 1, 3].map(_id => ({ _id: _id as never })),
        { ordered },
      )
      .then(
        () => undefined,
        caught => caught,
      )
    assert.ok(error instanceof MongoBulkWriteError)
    assert.equal(error.code, 11000)
    assert.deepEqual(
      [error.writeErrors].flat().map(({ index }) => index),
      indexes,
    )
    assert.equal(error.insertedCount, expected.length - 1)
    assert.deepEqual(idsOf(await collection.find().toArray()), expected)
    const [first] = [error.writeErrors].flat()
    assert.match(first!.errmsg!, /^E11000 duplicate key error collection: .*\.items index: _id_ dup key: \{ _id: 5 \}$/)
  }
})

test('A duplicate key error says which key', async () => {
  const database = newDatabase()
  const { n, writeErrors } = await database.command({ insert: 'c', documents: [{ _id: 'x' }, { _id: 'x' }] })
  assert.equal(n, 1)
  assert.deepEqual(writeErrors, [
    {
      index: 1,
      code: 11000,
      errmsg: `E11000 duplicate key error collection: ${database.databaseName}.c index: _id_ dup key: { _id: "x" }`,
      keyPattern: { _id: 1 },
      keyValue: { _id: 'x' },
    },
  ])
})

test('find supports filter, sort, skip, limit and projection', async () => {
  const collection = await filled()
  const found = await collection
    .find({ n: { $gte: 3 } })
    .sort({ even: 1, n: -1 })
    .skip(1)
    .limit(3)
    .project({ n: 1, _id: 0 })
    .toArray()
  assert.deepEqual(found, [{ n: 7 }, { n: 5 }, { n: 3 }])
  assert.deepEqual(idsOf(await collection.find({ _id: { $in: [4, 99, 2] } as never }).toArray()), [2, 4])
  assert.deepEqual(idsOf(await collection.find({ _id: { $gt: 6 } as never }).toArray()), [7, 8, 9])
  assert.deepEqual(idsOf(await collection.find({ _id: { $gte: 6 } as never, even: true }).toArray()), [6, 8])
  assert.deepEqual(idsOf(await collection.find({}).sort({ _id: -1 }).limit(2).toArray()), [9, 8])
  assert.deepEqual(idsOf(await collection.find({}).sort({ $natural: -1 }).limit(2).toArray()), [9, 8])
  assert.deepEqual(
    await collection
      .find({ $expr: { $eq: ['$n', '$_id'] }, n: 3 })
      .project({ even: 0 })
      .toArray(),
    [{ _id: 3, n: 3 }],
  )
})

test('A find in an unknown collection returns nothing and creates nothing', async () => {
  const collection = newCollection()
  assert.deepEqual(await collection.find({}).toArray(), [])
  assert.equal(await collection.findOne({ _id: 1 as never }), null)
  assert.equal(await collection.estimatedDocumentCount(), 0)
  assert.deepEqual(await collection.distinct('x'), [])
  assert.equal((await collection.deleteMany({})).deletedCount, 0)
  assert.equal((await collection.updateMany({}, { $set: { a: 1 } })).matchedCount, 0)
  assert.deepEqual(await collection.db.listCollections().toArray(), [])
})

test('updateOne and updateMany count matched and modified documents separately', async () => {
  const collection = await filled()
  const one = await collection.updateOne({ even: true }, { $set: { n: 0 } })
  assert.deepEqual([one.matchedCount, one.modifiedCount], [1, 0])
  const many = await collection.updateMany({ even: true }, { $set: { n: 0 } })
  assert.deepEqual([many.matchedCount, many.modifiedCount], [5, 4])
  assert.equal((await collection.replaceOne({ _id: 1 as never }, { other: 1 })).modifiedCount, 1)
  assert.deepEqual(await collection.findOne({ _id: 1 as never }), { _id: 1, other: 1 })
})

test('An upsert creates a document from the filter and the update', async () => {
  const collection = newCollection()
  const first = await collection.updateOne(
    { a: 1, b: { $gt: 5 }, c: { $eq: 'x' } },
    { $set: { d: 2 }, $setOnInsert: { e: 3 } },
    { upsert: true },
  )
  assert.equal(first.upsertedCount, 1)
  assert.deepEqual(await collection.findOne({}), { _id: first.upsertedId, a: 1, c: 'x', d: 2, e: 3 })
  const second = await collection.updateOne({ a: 1 }, { $set: { d: 3 }, $setOnInsert: { e: 4 } }, { upsert: true })
  assert.deepEqual([second.upsertedCount, second.matchedCount], [0, 1])
  const named = await collection.replaceOne({ _id: 'x' as never }, { z: 1 }, { upsert: true })
  assert.equal(named.upsertedId, 'x')
  const many = await collection.updateMany({ _id: 'y' as never }, { $set: { z: 1 } }, { upsert: true })
  assert.equal(many.upsertedId, 'y')
})

test('Concurrent upserts of the same _id create one document', async () => {
  const collection = newCollection()
  await Promise.all(
    Array.from({ length: 20 }, () => collection.updateOne({ _id: 1 as never }, { $inc: { n: 1 } }, { upsert: true })),
  )
  assert.deepEqual(await collection.find().toArray(), [{ _id: 1, n: 20 }])
})

test('Concurrent increments all take effect', async () => {
  const collection = await filled()
  await Promise.all(
    Array.from({ length: 50 }, () => collection.updateOne({ even: true, n: { $gte: 0 } }, { $inc: { hits: 1 } })),
  )
  const total = (await collection.find().toArray()).reduce((sum, { hits = 0 }) => sum + hits, 0)
  assert.equal(total, 50)
})

test('deleteOne deletes one, deleteMany all', async () => {
  const collection = await filled()
  assert.equal((await collection.deleteOne({ even: true })).deletedCount, 1)
  assert.equal((await collection.deleteMany({ even: true })).deletedCount, 4)
  assert.equal((await collection.deleteMany({})).deletedCount, 5)
})

test('findAndModify returns the document before or after the change', async () => {
  const collection = await filled()
  const before = await collection.findOneAndUpdate({ even: true }, { $inc: { n: 100 } }, { sort: { n: -1 } })
  assert.deepEqual(before, { _id: 8, n: 8, even: true })
  const after = await collection.findOneAndUpdate(
    { _id: 8 as never },
    { $inc: { n: 1 } },
    { returnDocument: 'after', projection: { n: 1, _id: 0 } },
  )
  assert.deepEqual(after, { n: 109 })
  assert.deepEqual(await collection.findOneAndDelete({ n: 109 }), { _id: 8, n: 109, even: true })
  assert.equal(await collection.findOneAndDelete({ n: 109 }), null)
  assert.deepEqual(await collection.findOneAndReplace({ _id: 1 as never }, { r: 1 }, { returnDocument: 'after' }), {
    _id: 1,
    r: 1,
  })
  assert.equal(await collection.findOneAndUpdate({ _id: 'new' as never }, { $set: { a: 1 } }, { upsert: true }), null)
  const { lastErrorObject, value } = (await collection.findOneAndUpdate(
    { _id: 'newer' as never },
    { $set: { a: 1 } },
    { upsert: true, returnDocument: 'after', includeResultMetadata: true },
  ))!
  assert.deepEqual(lastErrorObject, { n: 1, updatedExisting: false, upserted: 'newer' })
  assert.deepEqual(value, { _id: 'newer', a: 1 })
})

test('count obeys skip and limit, and distinct returns each value once', async () => {
  const collection = newCollection()
  await collection.insertMany([{ a: 1 }, { a: [1, 2, [3]] }, { a: { b: 1 } }, { a: null }, {}, { a: 1.0 }])
  const { n } = await collection.db.command({ count: 'items', query: { a: 1 }, skip: 1 })
  assert.equal(n, 2)
  assert.equal((await collection.db.command({ count: 'items', limit: 4 })).n, 4)
  for (const limit of [Infinity, -Infinity, Number.NaN, 6.5, -1e300, 0]) {
    assert.equal((await collection.db.command({ count: 'items', limit })).n, 6)
  }
  assert.deepEqual(await collection.distinct('a'), [null, 1, 2, { b: 1 }, [3]])
  assert.deepEqual(await collection.distinct('a', { a: { $type: 'array' } }), [1, 2, [3]])
  assert.deepEqual(await collection.distinct('a.b'), [1])
})

test('bulkWrite can mix all kinds of writes', async () => {
  const collection = await filled(3)
  const result = await collection.bulkWrite([
    { insertOne: { document: { _id: 10 as never } } },
    { updateMany: { filter: { even: true }, update: { $set: { n: -1 } } } },
    { replaceOne: { filter: { _id: 1 as never }, replacement: { r: 1 } } },
    { updateOne: { filter: { _id: 11 as never }, update: { $set: { u: 1 } }, upsert: true } },
    { deleteOne: { filter: { _id: 0 as never } } },
  ])
  assert.deepEqual(
    [result.insertedCount, result.matchedCount, result.modifiedCount, result.upsertedCount, result.deletedCount],
    [1, 3, 3, 1, 1],
  )
  assert.deepEqual(idsOf(await collection.find().toArray()), [1, 2, 10, 11])
})

test('Unacknowledged writes are carried out', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never }, { writeConcern: { w: 0 } })
  // A command on another connection may overtake the write, so ask until it is there.
  while ((await collection.estimatedDocumentCount()) === 0);
  assert.deepEqual(idsOf(await collection.find().toArray()), [1])
})

test('An update that fails at one document keeps its changes to the earlier ones', async () => {
  const collection = newCollection()
  await collection.insertMany([
    { _id: 1 as never, n: 1 },
    { _id: 2 as never, n: 'text' },
    { _id: 3 as never, n: 1 },
  ])
  assert.equal((await failure(collection.updateMany({}, { $inc: { n: 1 } }))).code, 14)
  assert.deepEqual(
    (await collection.find().toArray()).map(({ n }) => n),
    [2, 'text', 1],
  )
})

/** Invalid commands, with MongoDB's error code. */
const refusals: readonly (readonly [command: Document, code: number])[] = [
  [{ find: 5 }, 73],
  [{ find: '' }, 73],
  [{ find: 'a$b' }, 73],
  [{ find: 'c', filter: 'x' }, 14],
  [{ find: 'c', batchSize: -1 }, 2],
  [{ find: 'c', limit: -1 }, 2],
  [{ find: 'c', skip: 'x' }, 14],
  [{ find: 'c', unknown: 1 }, 40415],
  [{ find: 'c', filter: { a: { $nonsense: 1 } } }, 2],
  [{ find: 'c', tailable: true }, 2],
  [{ insert: 'c' }, 40414],
  [{ insert: 'c', documents: [] }, 16],
  [{ insert: 'c', documents: [5] }, 14],
  [{ insert: 'system.views', documents: [{}] }, 73],
  [{ update: 'c', updates: [] }, 16],
  [{ update: 'c', updates: 5 }, 14],
  [{ delete: 'c', deletes: [] }, 16],
  [{ findAndModify: 'c', query: {} }, 9],
  [{ findAndModify: 'c', remove: true, update: {} }, 9],
  [{ findAndModify: 'c', remove: true, new: true }, 9],
  [{ distinct: 'c' }, 40414],
  [{ getMore: 5, collection: 'c' }, 14],
  [{ nonsense: 1 }, 59],
]

test('Invalid commands are refused with MongoDB’s error code', async () => {
  const database = newDatabase()
  for (const [command, code] of refusals) {
    const answer = await database.command(command).catch((error: { code?: number }) => error)
    assert.equal(answer.code, code, JSON.stringify(command))
  }
})

/** Invalid statements within a valid command. */
const statementRefusals: readonly (readonly [command: Document, code: number])[] = [
  [{ update: 'c', updates: [{ q: {}, u: { $nonsense: { a: 1 } } }] }, 9],
  [{ update: 'c', updates: [{ q: {}, u: { a: 1 }, multi: true }] }, 9],
  [{ update: 'c', updates: [{ q: {}, u: { $set: { _id: 2 } } }] }, 66],
  [{ update: 'c', updates: [{ q: {}, u: { $set: { a: 1 }, $inc: { a: 1 } } }] }, 40],
]

test('An invalid statement is a write error of its own', async () => {
  const database = newDatabase()
  await database.collection('c').insertOne({ _id: 1 as never })
  for (const [command, code] of statementRefusals) {
    const answer = await database.command(command)
    assert.equal(answer.ok, 1)
    assert.equal(answer.n, 0)
    assert.deepEqual(
      answer.writeErrors.map(({ index, code }: Document) => [index, code]),
      [[0, code]],
      JSON.stringify(command),
    )
  }
})

const good = { q: {}, u: { $set: { a: 1 } } }
const malformedStatements: readonly (readonly [Document, number])[] = [
  [{ update: 'c', updates: [good, { q: {}, u: 5 }] }, 9],
  [{ update: 'c', updates: [good, { q: {}, u: { $set: {} }, nonsense: 1 }] }, 40415],
  [{ update: 'c', updates: [good, { u: { $set: { a: 1 } } }] }, 40414],
  [{ update: 'c', updates: [good, { ...good, multi: 'yes' }] }, 14],
  [{ update: 'c', updates: [good, { ...good, q: 5 }] }, 14],
  [{ delete: 'c', deletes: [{ q: {}, limit: 1 }, { q: {} }] }, 40414],
  [
    {
      delete: 'c',
      deletes: [
        { q: {}, limit: 1 },
        { q: {}, limit: 2 },
      ],
    },
    9,
  ],
  [
    {
      delete: 'c',
      deletes: [
        { q: {}, limit: 1 },
        { q: {}, limit: 1, nonsense: 1 },
      ],
    },
    40415,
  ],
]

test('A malformed statement fails the whole command, and the statements before it do nothing', async () => {
  const database = newDatabase()
  await database.collection('c').insertOne({ _id: 1 as never })
  for (const [command, code] of malformedStatements) {
    for (const ordered of [true, false]) {
      assert.equal((await failure(database.command({ ...command, ordered }))).code, code, JSON.stringify(command))
    }
  }
  const updates = Array.from({ length: 5000 }, () => good)
  assert.equal((await failure(database.command({ update: 'c', updates: [...updates, { nonsense: 1 }] }))).code, 40415)
  assert.deepEqual(await database.collection('c').find().toArray(), [{ _id: 1 }])
})

test('A hint must name an existing index', async () => {
  const collection = await filled(3)
  await collection.createIndex({ n: 1 })
  for (const hint of ['n_1', { n: 1 }, { _id: 1 }, '_id_', { $natural: 1 }] as const) {
    assert.equal((await collection.find({}, { hint: hint as never }).toArray()).length, 3)
    assert.equal((await collection.updateMany({}, { $set: { h: 1 } }, { hint: hint as never })).matchedCount, 3)
  }
  const hint = 'nonsense'
  for (const work of [
    () => collection.find({}, { hint }).toArray(),
    () => collection.countDocuments({}, { hint }),
    () => collection.distinct('n', {}, { hint } as never),
    () => collection.updateOne({}, { $set: { h: 2 } }, { hint }),
    () => collection.deleteOne({}, { hint }),
    () => collection.findOneAndUpdate({}, { $set: { h: 2 } }, { hint } as never),
  ]) {
    assert.equal((await failure(work())).code, 2)
  }
})

test('Concurrent upserts create one document, also if only a unique index detects the conflict', async () => {
  const collection = newCollection()
  await collection.createIndex({ k: 1, l: 1 }, { unique: true })
  const upsert = { upsert: true }
  await Promise.all(
    Array.from({ length: 30 }, (_, n) => {
      const filter = { k: 1, l: 'x' }
      if (n % 3 === 0) return collection.updateMany(filter, { $inc: { n: 1 } }, upsert)
      if (n % 3 === 1) return collection.findOneAndUpdate(filter, { $inc: { n: 1 } }, upsert)
      return collection.updateOne({ $and: [{ l: { $eq: 'x' } }, { k: 1 }] }, { $inc: { n: 1 } }, upsert)
    }),
  )
  assert.deepEqual(
    (await collection.find().toArray()).map(({ n }) => n),
    [30],
  )
  await Promise.all(
    Array.from({ length: 10 }, () => collection.updateMany({ _id: 7 as never }, { $inc: { n: 1 } }, upsert)),
  )
  assert.equal((await collection.findOne({ _id: 7 as never }))?.n, 10)
})

test('An upsert fails as a duplicate if a document that its filter excludes has the key', async () => {
  const collection = newCollection()
  await collection.createIndex({ k: 1 }, { unique: true })
  await collection.insertOne({ k: 1, state: 'closed' })
  const upsert = { upsert: true }
  for (const work of [
    () => collection.updateOne({ k: 1, state: 'open' }, { $inc: { n: 1 } }, upsert),
    () => collection.updateOne({ k: 2 }, { $set: { k: 1 } }, upsert),
    () => collection.updateOne({ k: { $in: [2, 1] }, state: 'x' }, { $set: { k: 1 } }, upsert),
  ]) {
    assert.equal((await failure(work())).code, 11000)
  }
})

test('A constant of a pipeline that cannot be computed fails only where a document is updated', async () => {
  const collection = await filled(1)
  const update = [{ $set: { a: { $divide: [1, 0] } } }]
  assert.equal((await collection.updateOne({ n: 'none' }, update)).matchedCount, 0)
  assert.equal((await collection.updateMany({ n: 'none' }, update)).matchedCount, 0)
  assert.equal(await collection.findOneAndUpdate({ n: 'none' }, update), null)
  assert.equal((await failure(collection.updateOne({}, update))).code, 2)
  assert.equal((await failure(collection.updateOne({ n: 'none' }, update, { upsert: true }))).code, 2)
  assert.equal((await failure(collection.updateOne({ n: 'none' }, [{ $set: { a: { $nonsense: 1 } } }]))).code, 168)
  assert.equal(await collection.countDocuments(), 1)
})
