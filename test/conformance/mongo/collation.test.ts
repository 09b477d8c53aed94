/** Collations: strings that compare, sort, group and collide as a language says, with indexes and without. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db, Document } from 'mongodb'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { client, newDatabase } = await startMongo()

interface Item extends Document {
  readonly _id: number | string
}

const newCollection = () => newDatabase().collection<Item>('items')

/** Neither case nor accents matter. */
const base = { locale: 'en', strength: 1 }
/** Case does not matter. */
const noCase = { locale: 'en', strength: 2 }

async function withNames(): Promise<Db> {
  const database = newDatabase()
  await database.collection<Item>('people').insertMany([
    { _id: 1, name: 'Zoe', tags: ['A', 'b'], n: 'item10' },
    { _id: 2, name: 'anna', tags: ['B'], n: 'item9' },
    { _id: 3, name: 'Ánna', tags: ['c'], n: 'Item10' },
    { _id: 4, name: 'ANNA', tags: ['a', 'C'], n: 'item1' },
    { _id: 5, name: 'Bob', tags: [], n: 'item2' },
    { _id: 6, name: 7, tags: [{ t: 'X' }] },
  ])
  return database
}

const people = (database: Db) => database.collection<Item>('people')

test('find, count and distinct compare strings by the collation, also within arrays and documents', async () => {
  const collection = people(await withNames())
  const find = async (filter: Document, collation: Document) =>
    idsOf(await collection.find(filter as never, { collation: collation as never }).toArray())
  assert.deepEqual(await find({ name: 'anna' }, noCase), [2, 4])
  assert.deepEqual(await find({ name: 'anna' }, base), [2, 3, 4])
  assert.deepEqual(await find({ name: 'anna' }, { locale: 'en' }), [2])
  assert.deepEqual(await find({ name: 'anna' }, { locale: 'simple' }), [2])
  assert.deepEqual(await find({ name: { $in: ['ANNA', 'BOB', 7] } }, noCase), [2, 4, 5, 6])
  assert.deepEqual(await find({ name: { $ne: 'ANNA' } }, noCase), [1, 3, 5, 6])
  assert.deepEqual(await find({ name: { $nin: ['anna', 'zoe'] } }, base), [5, 6])
  assert.deepEqual(await find({ name: { $gt: 'anna', $lt: 'zoe' } }, noCase), [3, 5])
  assert.deepEqual(await find({ tags: 'a' }, noCase), [1, 4])
  assert.deepEqual(await find({ tags: { $all: ['C', 'A'] } }, noCase), [4])
  assert.deepEqual(await find({ tags: ['a', 'B'] }, noCase), [1])
  assert.deepEqual(await find({ tags: { t: 'x' } }, noCase), [6])
  assert.deepEqual(await find({ tags: { $elemMatch: { $eq: 'a' } } }, noCase), [1, 4])
  assert.deepEqual(await find({ 'tags.t': 'x' }, noCase), [6])
  assert.deepEqual(await find({ name: /anna/ }, noCase), [2])
  assert.deepEqual(await find({ $expr: { $eq: ['$name', 'anna'] } }, noCase), [2, 4])
  assert.equal(await collection.countDocuments({ name: 'ANNA' }, { collation: noCase }), 2)
  assert.equal((await collection.db.command({ count: 'people', query: { name: 'ANNA' }, collation: base })).n, 3)
  assert.deepEqual(await collection.distinct('name', {}, { collation: base }), [7, 'anna', 'Bob', 'Zoe'])
  assert.deepEqual(await collection.distinct('tags', { _id: { $lt: 6 } } as never, { collation: noCase }), [
    'A',
    'b',
    'c',
  ])
})

test('A sort follows the collation, page by page, with numbers and with the case that comes first', async () => {
  const collection = people(await withNames())
  const sorted = async (path: string, collation: Document) =>
    idsOf(
      await collection
        .find({ _id: { $lt: 6 } } as never, { collation: collation as never })
        .sort({ [path]: 1, _id: 1 })
        .batchSize(2)
        .toArray(),
    )
  assert.deepEqual(await sorted('name', { locale: 'simple' }), [4, 5, 1, 2, 3])
  assert.deepEqual(await sorted('name', { locale: 'en' }), [2, 4, 3, 5, 1])
  assert.deepEqual(await sorted('name', { locale: 'en', caseFirst: 'upper' }), [4, 2, 3, 5, 1])
  assert.deepEqual(await sorted('name', base), [2, 3, 4, 5, 1])
  assert.deepEqual(await sorted('n', { locale: 'en' }), [4, 1, 3, 5, 2])
  assert.deepEqual(await sorted('n', { locale: 'en', numericOrdering: true }), [4, 5, 2, 1, 3])
  const swedish = newCollection()
  await swedish.insertMany(['ö', 'z', 'ä', 'å', 'a'].map(_id => ({ _id })))
  assert.deepEqual(idsOf(await swedish.find().collation({ locale: 'sv' }).sort({ _id: 1 }).toArray()), [
    'a',
    'z',
    'å',
    'ä',
    'ö',
  ])
  assert.deepEqual(idsOf(await swedish.find().collation({ locale: 'de' }).sort({ _id: -1 }).toArray()), [
    'z',
    'ö',
    'ä',
    'å',
    'a',
  ])
})

test('Stages, accumulators and expressions of a pipeline follow the collation', async () => {
  const database = await withNames()
  const run = (stages: Document[], collation: Document = noCase) =>
    people(database)
      .aggregate(stages, { collation: collation as never })
      .toArray()
  assert.deepEqual(idsOf(await run([{ $match: { name: 'ANNA' } }])), [2, 4])
  assert.deepEqual(idsOf(await run([{ $limit: 5 }, { $match: { name: 'ANNA' } }])), [2, 4])
  assert.deepEqual(idsOf(await run([{ $limit: 5 }, { $sort: { name: 1, _id: -1 } }])), [4, 2, 3, 5, 1])
  const groups = await run(
    [{ $sort: { _id: 1 } }, { $group: { _id: '$name', n: { $sum: 1 } } }, { $sort: { _id: 1 } }],
    base,
  )
  assert.deepEqual(groups, [
    { _id: 7, n: 1 },
    { _id: 'anna', n: 3 },
    { _id: 'Bob', n: 1 },
    { _id: 'Zoe', n: 1 },
  ])
  const counted = await run([{ $match: { _id: { $lt: 6 } } }, { $sortByCount: '$name' }, { $limit: 1 }], base)
  assert.equal(counted[0]?.count, 3)
  const [kept] = await run([
    { $sort: { _id: 1 } },
    { $match: { _id: { $lt: 6 } } },
    {
      $group: {
        _id: null,
        min: { $min: '$name' },
        max: { $max: '$name' },
        set: { $addToSet: '$name' },
        two: { $minN: { n: 2, input: '$name' } },
        top: { $top: { sortBy: { name: 1, _id: 1 }, output: '$_id' } },
      },
    },
  ])
  assert.deepEqual(
    [kept!.min, kept!.max, kept!.set.length, kept!.two, kept!.top],
    ['anna', 'Zoe', 4, ['anna', 'ANNA'], 2],
  )
  const [computed] = await run([
    { $match: { _id: 4 } },
    {
      $project: {
        _id: 0,
        eq: { $eq: ['$name', 'anna'] },
        cmp: { $cmp: ['b', 'A'] },
        lt: { $lt: ['a', 'B'] },
        in: { $in: ['ANNA', ['x', 'anna']] },
        at: { $indexOfArray: [['x', 'Anna'], '$name'] },
        union: {
          $setUnion: [
            ['b', 'A'],
            ['a', 'B'],
          ],
        },
        same: { $setEquals: [['a'], ['A']] },
        max: { $max: ['b', 'A', 'C'] },
        sorted: { $sortArray: { input: ['c', 'B', 'a'], sortBy: 1 } },
        position: { $indexOfCP: ['ANNA', 'n'] },
        matches: { $regexMatch: { input: '$name', regex: 'anna' } },
        strcasecmp: { $strcasecmp: ['a', 'A'] },
      },
    },
  ])
  assert.deepEqual(computed, {
    ...{ eq: true, cmp: 1, lt: true, in: true, at: 1, union: ['A', 'b'], same: true, max: 'C' },
    ...{ sorted: ['a', 'B', 'c'], position: -1, matches: false, strcasecmp: 0 },
  })
  const buckets = await run([
    { $match: { _id: { $lt: 6 } } },
    { $bucket: { groupBy: '$name', boundaries: ['A', 'b', 'ZZ'], output: { n: { $sum: 1 } } } },
  ])
  assert.deepEqual(buckets, [
    { _id: 'A', n: 3 },
    { _id: 'b', n: 2 },
  ])
  const windows = await run([
    { $match: { _id: { $lt: 6 } } },
    { $setWindowFields: { partitionBy: '$name', sortBy: { _id: 1 }, output: { n: { $documentNumber: {} } } } },
    { $sort: { _id: 1 } },
  ])
  assert.deepEqual(
    windows.map(({ n }) => n),
    [1, 1, 1, 2, 1],
  )
  await database.collection<Item>('notes').insertMany([
    { _id: 1, of: 'ANNA' },
    { _id: 2, of: 'bob' },
  ])
  const joined = await run([
    { $sort: { _id: 1 } },
    { $lookup: { from: 'notes', localField: 'name', foreignField: 'of', as: 'notes' } },
    { $project: { n: { $size: '$notes' } } },
  ])
  assert.deepEqual(
    joined.map(({ n }) => n),
    [0, 1, 0, 1, 1, 0],
  )
  const inner = await run([
    { $match: { _id: 2 } },
    {
      $lookup: {
        from: 'notes',
        let: { x: '$name' },
        pipeline: [{ $match: { $expr: { $eq: ['$of', '$$x'] } } }],
        as: 'notes',
      },
    },
  ])
  assert.equal(inner[0]?.notes.length, 1)
  const graph = await run([
    { $match: { _id: 2 } },
    { $graphLookup: { from: 'notes', startWith: '$name', connectFromField: 'of', connectToField: 'of', as: 'found' } },
  ])
  assert.equal(graph[0]?.found.length, 1)
})

test('update, delete, findAndModify and bulkWrite follow the collation, with array filters and modifiers', async () => {
  const collection = people(await withNames())
  const collation = noCase
  assert.equal((await collection.updateMany({ name: 'ANNA' }, { $set: { seen: 1 } }, { collation })).modifiedCount, 2)
  assert.equal((await collection.updateOne({ name: 'BOB' }, { $set: { seen: 2 } }, { collation })).matchedCount, 1)
  await collection.updateOne({ _id: 1 }, { $set: { 'tags.$[t]': 'z' } }, { arrayFilters: [{ t: 'a' }], collation })
  assert.deepEqual((await collection.findOne({ _id: 1 }))?.tags, ['z', 'b'])
  await collection.updateOne({ _id: 1 }, { $addToSet: { tags: 'B' } }, { collation })
  assert.deepEqual((await collection.findOne({ _id: 1 }))?.tags, ['z', 'b'])
  await collection.updateOne({ _id: 1 }, { $push: { tags: { $each: ['C', 'a'], $sort: 1 } } } as never, { collation })
  assert.deepEqual((await collection.findOne({ _id: 1 }))?.tags, ['a', 'b', 'C', 'z'])
  await collection.updateOne({ _id: 1 }, { $pull: { tags: 'c' }, $min: { name: 'ZOE' } } as never, { collation })
  await collection.updateOne({ _id: 1 }, { $pullAll: { tags: ['Z'] }, $max: { name: 'zOe' } } as never, { collation })
  assert.deepEqual(await collection.findOne({ _id: 1 }, { projection: { _id: 0, tags: 1, name: 1 } }), {
    name: 'Zoe',
    tags: ['a', 'b'],
  })
  const found = await collection.findOneAndUpdate(
    { name: 'anna' },
    { $set: { first: true } },
    { sort: { name: -1 }, collation: base },
  )
  assert.equal(found?._id, 4)
  const positional = await collection.findOneAndUpdate(
    { tags: 'A' },
    { $set: { 'tags.$': 'q' } },
    { sort: { _id: 1 }, collation, returnDocument: 'after' },
  )
  assert.deepEqual(positional?.tags, ['q', 'b'])
  const bulk = await collection.bulkWrite([
    { updateOne: { filter: { name: 'bob' }, update: { $set: { b: 1 } }, collation } },
    { deleteOne: { filter: { name: 'zoe' }, collation } },
    { deleteMany: { filter: { name: 'bOB' } } },
  ])
  assert.deepEqual([bulk.modifiedCount, bulk.deletedCount], [1, 1])
  assert.equal((await collection.deleteMany({ name: 'anna' }, { collation: base })).deletedCount, 3)
})

test('An index serves finds, ranges and sorts of its collation, and conditions without strings', async () => {
  const collection = people(await withNames())
  await collection.createIndex({ name: 1 }, { collation: noCase, name: 'byName' })
  const stagesOf = async (filter: Document, options: Document) => {
    const cursor = collection.find(filter as never, options)
    const plan = (await cursor.explain('queryPlanner')).queryPlanner.winningPlan
    const inner = plan.inputStage?.inputStage ?? plan.inputStage ?? plan
    return inner.stage
  }
  assert.equal(await stagesOf({ name: 'anna' }, { collation: noCase }), 'IXSCAN')
  assert.equal(await stagesOf({ name: { $gt: 'b' } }, { collation: noCase }), 'IXSCAN')
  assert.equal(await stagesOf({}, { collation: noCase, sort: { name: 1 } }), 'IXSCAN')
  assert.equal(await stagesOf({ name: 'anna' }, {}), 'COLLSCAN')
  assert.equal(await stagesOf({ name: 'anna' }, { collation: base }), 'COLLSCAN')
  assert.equal(await stagesOf({ name: 7 }, {}), 'IXSCAN')
  assert.equal(await stagesOf({ name: /^a/ }, { collation: noCase }), 'COLLSCAN')
  assert.equal(await stagesOf({ name: 7 }, { sort: { name: 1 } }), 'IXSCAN')
  const find = async (filter: Document, collation: Document = noCase) =>
    idsOf(
      await collection
        .find(filter as never, { collation: collation as never })
        .sort({ name: 1, _id: 1 })
        .toArray(),
    )
  assert.deepEqual(await find({ name: 'ANNA' }), [2, 4])
  assert.deepEqual(await find({ name: { $gte: 'anna', $lt: 'B' } }), [2, 4, 3])
  assert.deepEqual(await find({ name: { $in: ['anna', 'ZOE', 7] } }), [6, 2, 4, 1])
  assert.deepEqual(await find({ name: 'ANNA' }, { locale: 'simple' }), [4])
  assert.deepEqual(
    idsOf(await collection.find({}, { collation: noCase }).sort({ name: -1 }).toArray()),
    [1, 5, 3, 4, 2, 6],
  )
  await collection.updateOne({ _id: 5 }, { $set: { name: 'ANNA' } })
  assert.deepEqual(await find({ name: 'anna' }), [2, 4, 5])
  const explained = await collection.find({ name: 'anna' }, { collation: noCase }).explain('queryPlanner')
  assert.equal(explained.queryPlanner.collation.strength, 2)
  assert.equal(explained.queryPlanner.winningPlan.inputStage.collation.locale, 'en')
})

test('Strings that the collation of a unique index finds equal collide', async () => {
  const collection = newCollection()
  await collection.createIndex({ email: 1 }, { unique: true, collation: noCase })
  await collection.insertOne({ _id: 1, email: 'Ada@Example.com' })
  const refused = await failure(collection.insertOne({ _id: 2, email: 'ada@example.COM' }))
  assert.equal(refused.code, 11000)
  assert.match(refused.message, /index: email_1 dup key: \{ email: "ada@example\.COM" \}/)
  await collection.insertOne({ _id: 3, email: 'adà@example.com' })
  assert.equal((await failure(collection.updateOne({ _id: 3 }, { $set: { email: 'ADA@example.com' } }))).code, 11000)
  await collection.updateOne({ _id: 1 }, { $set: { email: 'ADA@EXAMPLE.COM' } })
  const upserted = await collection.updateOne(
    { email: 'ada@example.com' },
    { $set: { n: 1 } },
    { upsert: true, collation: noCase },
  )
  assert.deepEqual([upserted.matchedCount, upserted.upsertedCount], [1, 0])
  const twice = newCollection()
  await twice.insertMany([
    { _id: 1, a: 'x' },
    { _id: 2, a: 'X' },
  ])
  assert.equal((await failure(twice.createIndex({ a: 1 }, { unique: true, collation: noCase }))).code, 11000)
  await twice.createIndex({ a: 1 }, { unique: true, collation: { locale: 'en' }, name: 'exact' })
  await twice.createIndex({ a: 1 }, { collation: noCase, name: 'loose' })
  assert.deepEqual(
    (await twice.indexes()).map(({ name, collation }) => [name, collation?.strength]),
    [
      ['_id_', undefined],
      ['exact', 3],
      ['loose', 2],
    ],
  )
})

const shown = {
  ...{ locale: 'en', caseLevel: false, caseFirst: 'off', strength: 2, numericOrdering: false },
  ...{ alternate: 'non-ignorable', maxVariable: 'punct', normalization: false, backwards: false },
  version: process.versions.icu,
}

test('A collection has a default collation: its operations, its indexes and its _id follow it', async () => {
  const database = newDatabase()
  const collection = await database.createCollection<Item>('c', { collation: noCase })
  const [listed] = await database.listCollections({ name: 'c' }).toArray()
  assert.deepEqual((listed as Document).options.collation, shown)
  assert.deepEqual((listed as Document).idIndex.collation, shown)
  await collection.createIndex({ a: 1 })
  await collection.createIndex({ b: 1 }, { collation: { locale: 'simple' } })
  assert.deepEqual(
    (await collection.indexes()).map(({ name, collation }) => [name, collation]),
    [
      ['_id_', shown],
      ['a_1', shown],
      ['b_1', undefined],
    ],
  )
  await collection.insertMany([
    { _id: 'One', a: 'X' },
    { _id: 'two', a: 'y' },
  ])
  const refused = await failure(collection.insertOne({ _id: 'ONE' }))
  assert.deepEqual([refused.code, /index: _id_ dup key: \{ _id: "ONE" \}/.test(refused.message)], [11000, true])
  assert.equal((await collection.findOne({ _id: 'ONE' }))?.a, 'X')
  assert.equal(await collection.findOne({ _id: 'ONE' }, { collation: { locale: 'simple' } }), null)
  assert.equal((await collection.findOne({ a: 'x' }))?._id, 'One')
  assert.deepEqual(idsOf(await collection.find().sort({ _id: -1 }).toArray()), ['two', 'One'])
  assert.equal((await collection.updateOne({ _id: 'TWO' }, { $set: { b: 1 } })).modifiedCount, 1)
  assert.deepEqual((await collection.aggregate([{ $match: { a: 'Y' } }]).toArray()).length, 1)
  assert.deepEqual(
    (await collection.aggregate([{ $match: { a: 'Y' } }], { collation: { locale: 'simple' } }).toArray()).length,
    0,
  )
  assert.equal((await failure(collection.createIndex({ _id: 1 }, { collation: { locale: 'simple' } }))).code, 2)
  assert.equal((await collection.deleteOne({ _id: 'one' })).deletedCount, 1)
  await collection.aggregate([{ $out: 'c' }]).toArray()
  assert.equal((await collection.findOne({ _id: 'TWO' }))?.a, 'y')
})

test('$merge matches by the collation of the pipeline, if an index of the target has it', async () => {
  const database = newDatabase()
  const source = database.collection<Item>('source')
  await source.insertMany([
    { _id: 1, k: 'A', v: 1 },
    { _id: 2, k: 'c', v: 2 },
  ])
  const target = database.collection<Item>('target')
  await target.insertMany([
    { _id: 10, k: 'a' },
    { _id: 11, k: 'b' },
  ])
  await target.createIndex({ k: 1 }, { unique: true, collation: noCase })
  const merge = { $merge: { into: 'target', on: 'k', whenMatched: [{ $set: { v: '$$new.v' } }] } }
  assert.equal((await failure(source.aggregate([merge]).toArray())).code, 51183)
  await source.aggregate([{ $project: { _id: 0 } }, merge], { collation: noCase }).toArray()
  assert.deepEqual(
    (await target.find().sort({ k: 1 }).collation(noCase).toArray()).map(({ k, v }) => [k, v]),
    [
      ['a', 1],
      ['b', undefined],
      ['c', 2],
    ],
  )
})

test('A view has a collation of its own', async () => {
  const database = await withNames()
  await database.createCollection('v', {
    viewOn: 'people',
    pipeline: [{ $match: { name: 'ANNA' } }],
    collation: noCase,
  })
  await database.createCollection('plain', { viewOn: 'people', pipeline: [] })
  const view = database.collection<Item>('v')
  assert.deepEqual(idsOf(await view.find().toArray()), [2, 4])
  assert.deepEqual(idsOf(await view.find({ name: 'Anna' }).collation(noCase).toArray()), [2, 4])
  assert.deepEqual(await view.distinct('name'), ['anna'])
  assert.equal((await failure(view.find().collation(base).toArray())).code, 167)
  assert.equal((await failure(view.find().collation({ locale: 'simple' }).toArray())).code, 167)
  assert.equal((await failure(database.createCollection('w', { viewOn: 'v', pipeline: [] }))).code, 167)
  const [listed] = await database.listCollections({ name: 'v' }).toArray()
  assert.deepEqual((listed as Document).options.collation, shown)
  const joined = { $lookup: { from: 'v', localField: 'name', foreignField: 'name', as: 'x' } }
  assert.equal((await failure(people(database).aggregate([joined]).toArray())).code, 167)
  assert.equal((await people(database).aggregate([joined], { collation: noCase }).toArray()).length, 6)
})

test('A transaction sees its own writes by the collation', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1 }, { unique: true, collation: noCase })
  await collection.insertOne({ _id: 1, a: 'x' })
  await client.withSession(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 2, a: 'Y' }, { session })
    assert.deepEqual(
      idsOf(await collection.find({ a: { $in: ['X', 'y'] } }, { session, collation: noCase }).toArray()),
      [1, 2],
    )
    assert.equal((await failure(collection.insertOne({ _id: 3, a: 'y' }, { session }))).code, 11000)
    await session.abortTransaction()
  })
})

test('A collation is checked as MongoDB checks it', async () => {
  const collection = newCollection()
  const cases: readonly (readonly [Document, number, RegExp])[] = [
    [{ strength: 1 }, 40414, /'collation\.locale' is missing/],
    [{ locale: 5 }, 14, /'collation\.locale' is the wrong type 'int', expected type 'string'/],
    [{ locale: '' }, 2, /cannot be the empty string/],
    [{ locale: 'xx' }, 2, /Field 'locale' is invalid in: \{ locale: "xx" \}/],
    [{ locale: 'en-US' }, 2, /is invalid/],
    [{ locale: 'EN_us' }, 2, /Did you mean 'en_US'\?/],
    [{ locale: 'zh_CN' }, 2, /Did you mean 'zh_Hans_CN'\?/],
    [{ locale: 'no such' }, 2, /is not valid in/],
    [{ locale: 'en@collation=phonebook' }, 2, /Did you mean 'en'\?/],
    [{ locale: 'en', strength: 6 }, 51024, /value must be <= 5, actual value '6'/],
    [{ locale: 'en', strength: 0 }, 51024, /value must be >= 1, actual value '0'/],
    [{ locale: 'en', strength: 'x' }, 14, /'collation\.strength' is the wrong type/],
    [{ locale: 'en', caseLevel: 1 }, 14, /'collation\.caseLevel' is the wrong type/],
    [{ locale: 'en', caseFirst: 'x' }, 2, /Enumeration value 'x' for field 'collation\.caseFirst'/],
    [{ locale: 'en', alternate: 'x' }, 2, /Enumeration value/],
    [{ locale: 'en', foo: 1 }, 40415, /'collation\.foo' is an unknown field/],
    [{ locale: 'simple', strength: 1 }, 9, /no other fields should be present/],
    [{ locale: 'en', strength: 1, caseFirst: 'upper' }, 2, /'caseFirst' is invalid unless/],
    [{ locale: 'fr_CA', strength: 1 }, 2, /'backwards' is invalid with 'strength' of 1/],
    [{ locale: 'en', version: '1.0' }, 161, /Requested collation version 1\.0/],
  ]
  for (const [collation, code, message] of cases) {
    const refused = await failure(collection.find({}, { collation: collation as never }).toArray())
    assert.deepEqual(
      [refused.code, message.test(refused.message)],
      [code, true],
      `${JSON.stringify(collation)} ${refused.message}`,
    )
    assert.equal((await failure(collection.createIndex({ a: 1 }, { collation: collation as never }))).code, code)
    assert.equal(
      (await failure(collection.updateOne({}, { $set: { a: 1 } }, { collation: collation as never }))).code,
      code,
    )
  }
  for (const locale of [
    'en',
    'en_US',
    'de@collation=phonebook',
    'fr_CA',
    'zh',
    'zh_Hant',
    'ja',
    'th',
    'es@collation=traditional',
    'nb',
  ]) {
    assert.deepEqual(await collection.find({}, { collation: { locale } }).toArray(), [], locale)
  }
  assert.deepEqual(await collection.find({}, { collation: { locale: 'en', version: '57.1' } as never }).toArray(), [])
})
