/** Places: `$near` in every command that takes a filter, and shapes across the antimeridian. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { newCollection } = await startMongo()

async function places() {
  const collection = newCollection()
  await collection.createIndex({ p: '2dsphere' })
  const at = (longitude: number) => ({ type: 'Point', coordinates: [longitude, 0] })
  await collection.insertMany([
    { _id: 'a' as never, p: at(20) },
    { _id: 'b' as never, p: at(1) },
    { _id: 'c' as never, p: at(5) },
  ])
  return collection
}

const here = { type: 'Point', coordinates: [0, 0] }
const forms: readonly Document[] = [
  { $near: { $geometry: here } },
  { $near: here },
  { $nearSphere: here, $maxDistance: 10_000_000 },
  { $near: [0, 0] },
  { $geoNear: { $geometry: here, $maxDistance: 10_000_000 } },
]

test('The nearest comes first in find, whatever form near has', async () => {
  const collection = await places()
  for (const near of forms) {
    assert.deepEqual(idsOf(await collection.find({ p: near }).toArray()), ['b', 'c', 'a'], JSON.stringify(near))
  }
  assert.equal(await collection.count({ p: { $near: here, $maxDistance: 1_000_000 } }), 2)
  assert.deepEqual((await collection.distinct('_id', { p: { $near: here, $maxDistance: 1_000_000 } })).sort(), [
    'b',
    'c',
  ])
})

test('update, delete and findAndModify take near, and change the nearest', async () => {
  for (const near of forms) {
    const collection = await places()
    const filter = { p: near }
    await collection.updateOne(filter, { $set: { mark: 1 } })
    assert.deepEqual(idsOf(await collection.find({ mark: 1 }).toArray()), ['b'])
    assert.equal((await collection.updateMany(filter, { $set: { seen: 1 } })).modifiedCount, 3)
    assert.equal((await collection.findOneAndUpdate(filter, { $set: { mark: 2 } }))!._id, 'b')
    assert.equal((await collection.findOneAndDelete(filter, { sort: { _id: 1 } }))!._id, 'a')
    assert.equal((await collection.deleteOne(filter)).deletedCount, 1)
    assert.deepEqual(idsOf(await collection.find().toArray()), ['c'])
    assert.equal((await collection.deleteMany({ p: { ...near } })).deletedCount, 1)
    const made = await collection.updateOne({ ...filter, n: 1 }, { $set: { m: 1 } }, { upsert: true })
    assert.deepEqual(await collection.findOne({ _id: made.upsertedId as never }, { projection: { _id: 0 } }), {
      n: 1,
      m: 1,
    })
  }
})

test('A stage does not take near', async () => {
  const collection = await places()
  assert.equal((await failure(collection.aggregate([{ $match: { p: { $near: here } } }]).toArray())).code, 2)
})

test('A polygon across the antimeridian holds what is on both sides of it', async () => {
  const collection = newCollection()
  await collection.insertMany([
    { _id: 'west' as never, p: { type: 'Point', coordinates: [175, -17] } },
    { _id: 'east' as never, p: { type: 'Point', coordinates: [-175, -17] } },
    {
      _id: 'line' as never,
      p: {
        type: 'LineString',
        coordinates: [
          [178, -17],
          [-178, -17],
        ],
      },
    },
    { _id: 'far' as never, p: { type: 'Point', coordinates: [0, -17] } },
  ])
  const ring = [
    [170, -10],
    [-170, -10],
    [-170, -25],
    [170, -25],
    [170, -10],
  ]
  const $geometry = { type: 'Polygon', coordinates: [ring] }
  for (const operator of ['$geoIntersects', '$geoWithin']) {
    const found = await collection.find({ p: { [operator]: { $geometry } } }).toArray()
    assert.deepEqual(idsOf(found), ['east', 'line', 'west'], operator)
  }
})
