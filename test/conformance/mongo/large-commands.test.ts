/** Commands with very many parts: they mean the same, whatever thread parses them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'

const server = await startMongo()
const times = (count: number) => Array.from({ length: count }, (_, n) => n)

async function filled() {
  const items = server.newDatabase().collection('items')
  await items.insertMany(times(50).map(n => ({ _id: n as never, n, s: `text-${n}`, g: [n / 10, 0] })))
  return items
}

/** Longer than a few milliseconds to parse, and the odd numbers of the first 50. */
const odd = times(60_000).map(n => 2 * n + 1)

test('a filter with a long list finds, counts and names what it lets through', async () => {
  const items = await filled()
  const filter = { n: { $in: odd } }
  assert.equal((await items.find(filter).toArray()).length, 25)
  assert.equal(await items.countDocuments(filter), 25)
  assert.equal((await items.distinct('s', filter)).length, 25)
  assert.equal((await items.find({ ...filter, n: { $in: odd, $lt: 10 } }).toArray()).length, 5)
  assert.deepEqual(await items.findOne({ ...filter, _id: 4 as never }), null)
  const { queryPlanner } = await items.find(filter).explain()
  assert.ok(queryPlanner)
})

test('writes with a long list in their filter concern what it lets through, once', async () => {
  const items = await filled()
  const filter = { n: { $in: odd } }
  const updates = [
    { updateOne: { filter: { _id: 0 as never }, update: { $inc: { x: 1 } } } },
    { updateMany: { filter, update: { $inc: { x: 1 } } } },
    { updateOne: { filter: { ...filter, s: 'text-7' }, update: { $inc: { x: 1 } } } },
    { updateOne: { filter: { ...filter, n: -5 }, update: { $set: { y: 1 } }, upsert: true } },
    { deleteMany: { filter: { ...filter, s: 'text-9' } } },
  ]
  const { modifiedCount, upsertedCount, deletedCount } = await items.bulkWrite(updates as never)
  assert.deepEqual(
    { modifiedCount, upsertedCount, deletedCount },
    { modifiedCount: 27, upsertedCount: 1, deletedCount: 1 },
  )
  assert.equal(await items.countDocuments({ x: 1 }), 24)
  assert.equal(await items.countDocuments({ x: 2 }), 1)
  const changed = await items.findOneAndUpdate(
    { ...filter, s: 'text-3' },
    { $inc: { x: 1 } },
    { returnDocument: 'after' },
  )
  assert.equal(changed?.x, 2)
})

test('$near beside a long list still says which document comes first', async () => {
  const items = await filled()
  await items.createIndex({ g: '2dsphere' })
  const near = { $near: { $geometry: { type: 'Point', coordinates: [4.9, 0] } } }
  const found = await items
    .find({ n: { $in: odd }, g: near })
    .limit(3)
    .toArray()
  assert.deepEqual(
    found.map(({ n }) => n),
    [49, 47, 45],
  )
})

test('a large update changes what a small one would', async () => {
  const items = await filled()
  const many = Object.fromEntries(times(40_000).map(n => [`f${n}`, n]))
  const { modifiedCount } = await items.updateMany({ _id: { $lt: 2 as never } }, { $set: many, $inc: { n: 1 } })
  assert.equal(modifiedCount, 2)
  const { _id, n, f39999 } = (await items.findOne({ _id: 1 as never }))!
  assert.deepEqual([_id, n, f39999], [1, 2, 39_999])
  await items.updateOne({ _id: 60 as never }, { $set: many, $setOnInsert: { made: true } }, { upsert: true })
  assert.equal(await items.countDocuments({ made: true, f7: 7 }), 1)
  await items.replaceOne({ _id: 60 as never }, many)
  assert.deepEqual(await items.findOne({ _id: 60 as never }), { _id: 60, ...many })
  await items.updateOne({ _id: 61 as never, a: 1 }, { $set: { a: [1, 2] } }, { upsert: true })
  const arrayFilters = [{ x: { $in: odd } }]
  await items.updateOne({ _id: 61 as never }, { $set: { 'a.$[x]': 9 } }, { arrayFilters })
  assert.deepEqual((await items.findOne({ _id: 61 as never }))?.a, [9, 2])
  const { code } = await failure(items.updateOne({ _id: 1 as never }, { $set: { ...many, 'f7.x': 1 } }))
  assert.equal(code, 40)
})

test('a large new document is checked like a small one', async () => {
  const items = server.newDatabase().collection('items')
  const many = Object.fromEntries(times(40_000).map(n => [`f${n}`, n]))
  await items.insertMany([{ ...many, _id: 5 as never }, { _id: 6 as never }])
  assert.equal(await items.countDocuments({ f39999: 39_999 }), 1)
  const { code } = await failure(items.insertOne({ ...many, _id: [] as never }))
  assert.equal(code, 53)
})

const schema = (depth: number): Document =>
  depth === 0
    ? { properties: { s: { pattern: '^(t|e)+.*5$' } } }
    : { anyOf: [{ allOf: [schema(depth - 1), schema(depth - 1)] }, { not: schema(depth - 1) }] }

test('a filter with too many parts is refused, and so is one with a wrong part far behind', async () => {
  const items = await filled()
  for (const filter of [{ $jsonSchema: schema(8) }, Object.fromEntries(times(100_000).map(n => [`f${n}`, n]))]) {
    const { code, message } = await failure(items.find(filter).toArray())
    assert.equal(code, 2)
    assert.match(message, /too many conditions or values/)
  }
  const { code, message } = await failure(items.find({ n: { $in: [...odd, { $gt: 1 }] } } as never).toArray())
  assert.deepEqual([code, message], [2, 'cannot nest $ under $in'])
})

test('a command has no more fields than it knows', async () => {
  const many = Object.fromEntries(times(20_000).map(n => [`f${n}`, n]))
  const { code } = await failure(server.newDatabase().command({ find: 'items', ...many }))
  assert.equal(code, 2)
})

test('of very many errors, those beyond a megabyte have no text; all have their number and code', async () => {
  const db = server.newDatabase()
  const items = db.collection('items')
  const documents = times(20_000).map(n => ({ _id: n as never }))
  await items.insertMany(documents)
  const { writeErrors } = await db.command({ insert: 'items', documents, ordered: false })
  const errors = writeErrors as readonly { index: number; code: number; errmsg: string }[]
  assert.deepEqual(
    errors.map(({ index }) => index),
    times(20_000),
  )
  assert.ok(errors.every(({ code }) => code === 11000))
  assert.match(errors[0]!.errmsg, /^E11000 duplicate key error/)
  assert.equal(errors.at(-1)!.errmsg, '')
  const bytes = errors.reduce((sum, { errmsg }) => sum + errmsg.length, 0)
  assert.ok(bytes > 2 ** 20 && bytes < 1.1 * 2 ** 20, `${bytes} bytes of texts`)
})
