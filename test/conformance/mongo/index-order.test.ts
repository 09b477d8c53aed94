/** The order of an index: of all its fields, and of its last fields if the first ones are fixed. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, Decimal128, type Document, type Sort } from 'mongodb'
import { startMongo } from './support/fixture.ts'

const { newCollection } = await startMongo()

const values = [3, 1, 'b', 'a', null, undefined, 2.5, Decimal128.fromString('1.0'), true, new Date(7), { x: 1 }]

/** Every value occurs several times, so that many documents are equal in it. */
const documents = Array.from({ length: 330 }, (_, n) => ({
  _id: ((n * 97) % 330) as never,
  tenant: n % 3 === 0 ? 't' : `t${n % 2}`,
  at: values[(n * 7) % values.length],
  n: n % 5,
}))

async function filled(...indexes: Document[]): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany(documents, { ignoreUndefined: true })
  for (const index of indexes) await collection.createIndex(index as never)
  return collection
}

/** Maps values that are equal in a sort to one value. */
function asSorted(at: unknown): unknown {
  return at instanceof Decimal128 ? Number(at.toString()) : (at ?? null)
}

async function planOf(collection: Collection<Document>, filter: Document, sort: Sort): Promise<Document> {
  return (await collection.find(filter).sort(sort).limit(5).explain('executionStats')) as Document
}

for (const [index, filter, sort] of [
  [{ tenant: 1, at: 1 }, { tenant: 't' }, { at: 1 }],
  [{ tenant: 1, at: 1 }, { tenant: 't' }, { at: -1 }],
  [{ tenant: 1, at: -1 }, { tenant: 't' }, { at: -1 }],
  [{ tenant: 1, at: -1 }, { tenant: { $in: ['t'] } }, { at: 1 }],
  [{ tenant: -1, at: 1 }, { tenant: 't' }, { at: -1 }],
  [{ tenant: 1, n: 1, at: -1 }, { tenant: 't', n: 2 }, { at: -1 }],
  [{ tenant: 1, n: -1, at: 1 }, { tenant: 't' }, { n: -1, at: 1 }],
  [{ tenant: 1, n: -1, at: 1 }, { tenant: 't' }, { n: 1, at: -1 }],
  [{ tenant: 1, at: -1 }, { tenant: 't', at: { $gte: 1 } }, { at: -1 }],
] satisfies [Document, Document, Document][]) {
  test(`${JSON.stringify(index)} gives ${JSON.stringify(filter)} in the order of ${JSON.stringify(sort)}`, async () => {
    const [plain, indexed] = [await filled(), await filled(index)]
    const { queryPlanner, executionStats } = await planOf(indexed, filter, sort as Sort)
    assert.equal(queryPlanner.winningPlan.stage, 'FETCH')
    assert.ok(executionStats.totalDocsExamined <= 8, `${executionStats.totalDocsExamined} were looked at`)
    const ids = (found: readonly Document[]) => found.map(({ _id }) => _id).sort((a, b) => a - b)
    const read = async (collection: Collection<Document>, batchSize: number) =>
      collection
        .find(filter)
        .sort(sort as Sort)
        .batchSize(batchSize)
        .toArray()
    const expected = await read(plain, 1000)
    const keys = (found: readonly Document[]) => found.map(({ at, n }) => [asSorted(at), 'n' in sort ? n : 0])
    for (const batchSize of [2, 7, 50, 1000]) {
      const found = await read(indexed, batchSize)
      assert.deepEqual(keys(found), keys(expected))
      assert.deepEqual(ids(found), ids(expected), 'none twice, none left out')
    }
    for (const [skip, limit] of [
      [0, 1],
      [3, 4],
      [20, 30],
    ] as const) {
      const page = await indexed
        .find(filter)
        .sort(sort as Sort)
        .skip(skip)
        .limit(limit)
        .toArray()
      assert.deepEqual(keys(page), keys(expected.slice(skip, skip + limit)))
    }
  })
}

test('An index gives no order if some of its fields are neither fixed nor sorted by', async () => {
  const collection = await filled({ tenant: 1, n: 1, at: 1 })
  for (const [filter, sort] of [
    [{ tenant: 't' }, { at: 1 }],
    [{ tenant: 't' }, { n: 1 }],
    [{ tenant: { $gt: 't' } }, { n: 1, at: 1 }],
    [{ tenant: null }, { n: 1, at: 1 }],
    [{ tenant: 't' }, { n: 1, at: -1 }],
  ] satisfies [Document, Document][]) {
    const { queryPlanner } = await planOf(collection, filter, sort as Sort)
    assert.equal(queryPlanner.winningPlan.stage, 'SORT', JSON.stringify([filter, sort]))
  }
})

test('The next job of a queue is found without reading the others', async () => {
  const collection = newCollection()
  await collection.createIndex({ state: 1, at: 1 })
  await collection.insertMany(Array.from({ length: 500 }, (_, at) => ({ _id: (500 - at) as never, state: 'new', at })))
  for (const expected of [500, 499, 498]) {
    const job = await collection.findOneAndUpdate({ state: 'new' }, { $set: { state: 'taken' } }, { sort: { at: 1 } })
    assert.equal(job?._id, expected)
  }
  const { executionStats } = await planOf(collection, { state: 'new' }, { at: 1 })
  assert.ok(executionStats.totalDocsExamined <= 8)
})
