/**
 * Random pipelines over documents that die while a cursor is read: the clock moves between two batches.
 *
 * Everything that a document holds carries its mark, so a result tells whose values it shows. The model is
 * the same pipeline over the same documents in a collection where nobody dies:
 *
 *   - no batch shows the mark of a document that is dead when the batch is made;
 *   - results that show only documents which survive are the same as in the model, in the same order.
 *
 * MAYFLY_QUERY_RUNS, MAYFLY_SEED and MAYFLY_PATH work as in metamorphic.test.ts.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Db, type Document, Long } from 'mongodb'
import { inlineRowsMax } from '../../src/engine/where-to-run.ts'
import { startMongo } from '../conformance/mongo/support/fixture.ts'
import { fc } from '../support/property.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const { MAYFLY_QUERY_RUNS } = process.env

const memory = await startMongo()
const disk = await startMongo({ data: temporaryDirectory() })

const markOf = (n: number) => `<${n}>`
const marksIn = (result: Document) =>
  [...JSON.stringify(result).matchAll(/<(\d+)>/g)].map(([, number]) => Number(number))

function documentOf(n: number, ttl: number | undefined): Document {
  const mark = markOf(n)
  const list = Array.from({ length: n % 4 }, (_, at) => ({ mark, at }))
  return { _id: n, n, k: n % 5, mark, sub: { mark, n: -n }, list, ...(ttl !== undefined && { ttl }) }
}

const own = fc.constantFrom<unknown>('$$ROOT', '$mark', '$sub', '$list', { m: '$mark' }, { $concat: ['$mark', '!'] })
const sortBy = fc.constantFrom<Document>({ n: 1 }, { k: 1, n: -1 }, { mark: -1 })

const accumulators: fc.Arbitrary<Document> = fc.record(
  {
    all: own.map(value => ({ $push: value })),
    one: fc.constantFrom<Document>({ $first: '$$ROOT' }, { $last: '$$ROOT' }),
    set: fc.constant({ $addToSet: '$mark' }),
    top: fc.tuple(sortBy, own).map(([order, output]) => ({ $top: { sortBy: order, output } })),
    last: own.map(input => ({ $lastN: { n: 3, input } })),
    greatest: fc.constantFrom<Document>({ $max: '$sub' }, { $minN: { n: 2, input: '$sub' } }),
    sum: fc.constant({ $sum: '$n' }),
  },
  { requiredKeys: ['all', 'one'] },
)

const groupKey = fc.constantFrom<unknown>(null, '$_id', '$k', '$mark', { $mod: ['$n', 7] })
const group = fc.tuple(groupKey, accumulators).map(([_id, fields]) => ({ $group: { _id, ...fields } }))

const eachStage = fc.constantFrom<Document>(
  { $set: { c: { $concat: ['$mark', '?'] } } },
  { $unwind: { path: '$list', preserveNullAndEmptyArrays: true } },
  { $match: { k: { $ne: 2 } } },
  { $sort: { k: -1, n: 1 } },
  { $sort: { n: -1 } },
  { $lookup: { from: 'items', localField: 'k', foreignField: 'n', as: 'found' } },
  { $graphLookup: { from: 'items', startWith: '$k', connectFromField: 'k', connectToField: 'n', as: 'graph' } },
  { $unionWith: { coll: 'items', pipeline: [{ $match: { k: 1 } }] } },
  {
    $setWindowFields: {
      partitionBy: '$k',
      sortBy: { n: 1 },
      output: { near: { $push: '$mark', window: { documents: [-1, 1] } } },
    },
  },
)

const behindGroup = fc.constantFrom<readonly Document[]>(
  [],
  [{ $unwind: '$all' }],
  [{ $sort: { _id: -1 } }],
  [{ $replaceRoot: { newRoot: '$one' } }],
  [{ $set: { name: '$one.mark', size: { $size: '$all' } } }],
  [{ $set: { marks: { $map: { input: '$all', in: { m: '$$this' } } }, some: { $slice: ['$all', 2] } } }],
  [{ $unset: ['one.list', 'sum'] }, { $sort: { 'one.n': 1, _id: 1 } }],
  [{ $facet: { all: [{ $sort: { _id: -1 } }], few: [{ $limit: 2 }] } }, { $unwind: '$all' }],
  [{ $group: { _id: null, groups: { $push: '$$ROOT' } } }, { $unwind: '$groups' }],
  [{ $redact: '$$DESCEND' }],
  [{ $skip: 1 }],
  [{ $limit: 4 }],
)

const pipelines = fc
  .tuple(fc.array(eachStage, { maxLength: 2 }), fc.option(fc.tuple(group, behindGroup)))
  .map(([before, grouped]): readonly Document[] => [
    ...before,
    ...(grouped === null ? [] : [grouped[0], ...grouped[1]]),
  ])

interface Walk {
  readonly results: readonly Document[]
  readonly code?: number
}

/** Reads a cursor batch by batch; `between` is called before each `getMore`. */
async function walk(
  { db, collectionName }: Collection<Document>,
  pipeline: readonly Document[],
  sizes: () => number,
  between: (shown: readonly Document[]) => Promise<void>,
): Promise<Walk> {
  const results: Document[] = []
  try {
    let { cursor } = await db.command({ aggregate: collectionName, pipeline, cursor: { batchSize: sizes() } })
    for (let batch = cursor.firstBatch; ; batch = cursor.nextBatch) {
      results.push(...batch)
      await between(batch)
      const id = Long.fromValue(cursor.id)
      if (id.isZero()) return { results }
      cursor = (await db.command({ getMore: id, collection: collectionName, batchSize: sizes() })).cursor
    }
  } catch (error) {
    const { code } = error as { code?: number }
    if (code === undefined) throw error
    return { results, code }
  }
}

/** The same documents in a collection where they die and in one where nobody does. */
async function fill(db: Db, ttls: readonly (number | undefined)[], hasExpiry: boolean): Promise<Collection<Document>> {
  const items = db.collection('items')
  if (hasExpiry) await items.createIndex({ _ts: 1 }, { expireAfterSeconds: 10_000 })
  await items.insertMany(ttls.map((ttl, n) => documentOf(n, ttl)) as never)
  return items
}

const ttls = fc.array(fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }), {
  minLength: 10,
  maxLength: 40,
  size: 'max',
})
const steps = fc.array(fc.record({ seconds: fc.integer({ min: 0, max: 4 }), isPurged: fc.boolean() }), {
  minLength: 6,
  maxLength: 12,
})

for (const { name, server, count, runs } of [
  { name: 'in memory', server: memory, count: undefined, runs: Number(MAYFLY_QUERY_RUNS ?? 60) },
  { name: 'in the query thread', server: disk, count: inlineRowsMax + 20, runs: Number(MAYFLY_QUERY_RUNS ?? 60) / 5 },
]) {
  test(`no batch shows what has died, and none loses what lives, ${name}`, async () => {
    const { clock } = server.db
    const property = fc.asyncProperty(ttls, pipelines, steps, async (some, pipeline, moves) => {
      const lives = Array.from({ length: count ?? some.length }, (_, n) => some[n % some.length])
      const [mortal, immortal] = [server.newDatabase(), server.newDatabase()]
      const subject = await fill(mortal, lives, true)
      const model = await walk(
        await fill(immortal, lives, false),
        pipeline,
        () => 1000,
        async () => {},
      )
      const startS = clock.now()
      const isDead = (n: number) => lives[n] !== undefined && startS + lives[n]! <= clock.now()
      const sizes = count === undefined ? [1, 3, 2] : [1, 90, 40]
      let batches = 0
      const { results, code } = await walk(
        subject,
        pipeline,
        () => sizes[batches++ % sizes.length]!,
        async shown => {
          for (const result of shown) {
            assert.deepEqual(marksIn(result).filter(isDead), [], `${clock.now() - startS} s: ${JSON.stringify(result)}`)
          }
          const { seconds, isPurged } = moves[batches % moves.length]!
          if (seconds > 0) await clock.advance(`${seconds}s`)
          if (isPurged) await server.db.purge()
        },
      )
      assert.equal(code, model.code)
      // What read later than the first batch may have met fewer documents.
      const readsLater = pipeline.some(stage => Object.keys(stage).some(each => /[lL]ookup|unionWith/.test(each)))
      if (!readsLater) {
        const surviving = model.results.filter(result => {
          const marks = marksIn(result)
          return marks.length > 0 && !marks.some(isDead)
        })
        assert.deepEqual(
          results.filter(isAmong(surviving)).map(result => JSON.stringify(result)),
          surviving.map(result => JSON.stringify(result)),
        )
      }
      await Promise.all([mortal.dropDatabase(), immortal.dropDatabase()])
    })
    await fc.assert(property, { numRuns: Math.ceil(runs) })
  })
}

function isAmong(results: readonly Document[]): (result: Document) => boolean {
  const texts = new Set(results.map(result => JSON.stringify(result)))
  return result => texts.has(JSON.stringify(result))
}
