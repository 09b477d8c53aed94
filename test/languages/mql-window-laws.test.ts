/** Laws of window functions: a moving window gives what the same documents give on their own. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, deserialize } from 'bson'
import { aggregate } from '../support/aggregate.ts'
import { fc } from '../support/property.ts'

const resultsOf = async (pipeline: readonly Document[], documents: readonly Document[]) =>
  (await aggregate(pipeline, { documents })).results.map(bytes => deserialize(bytes) as Document)

const functions: readonly Document[] = [
  { $sum: '$n' },
  { $avg: '$n' },
  { $min: '$n' },
  { $max: '$n' },
  { $push: '$n' },
  { $addToSet: '$n' },
  { $first: '$n' },
  { $last: '$n' },
  { $stdDevPop: '$n' },
  { $median: { input: '$n', method: 'approximate' } },
  { $percentile: { input: '$n', p: [0.1, 0.9], method: 'approximate' } },
  { $stdDevSamp: '$n' },
  { $firstN: { n: 2, input: '$n' } },
  { $lastN: { n: 2, input: '$n' } },
  { $minN: { n: 2, input: '$n' } },
  { $maxN: { n: 2, input: '$n' } },
  { $top: { sortBy: { n: 1 }, output: '$_id' } },
  { $bottom: { sortBy: { n: 1 }, output: '$_id' } },
  { $topN: { n: 2, sortBy: { n: -1 }, output: '$_id' } },
  { $bottomN: { n: 2, sortBy: { n: -1 }, output: '$_id' } },
]

const fieldOf = (at: number) => `f${at}`
const grouped = {
  $group: { _id: null, ...Object.fromEntries(functions.map((each, at) => [fieldOf(at), each])) },
}

const value = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -20, max: 20 }) },
  fc.double({ min: -10, max: 10, noNaN: true }),
  fc.constantFrom(null, undefined, 'text', 0.1, 0.2),
)
const bound = fc.oneof(fc.constantFrom('unbounded' as const, 'current' as const), fc.integer({ min: -4, max: 4 }))

interface Sample {
  readonly list: readonly unknown[]
  readonly lower: number | 'unbounded' | 'current'
  readonly upper: number | 'unbounded' | 'current'
}

const samples: fc.Arbitrary<Sample> = fc
  .record({ list: fc.array(value, { minLength: 1, maxLength: 12 }), lower: bound, upper: bound })
  .filter(({ lower, upper }) => {
    const [from, to] = [lower, upper].map(each => (each === 'current' ? 0 : each))
    return typeof from !== 'number' || typeof to !== 'number' || from <= to
  })

/** Sums that were subtracted from differ in the last digits. */
function near(left: unknown, right: unknown): boolean {
  if (typeof left === 'number' && typeof right === 'number') {
    return Math.abs(left - right) <= 1e-6 * Math.max(1, Math.abs(left))
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((each, at) => near(each, right[at]))
  }
  return left === right || (left === null && right === undefined)
}

function documentOf(n: unknown, _id: number): Document {
  return n === undefined ? { _id } : { _id, n }
}

/** What a function gives for no documents. `$group` has no group then. */
function ofNothing(each: Document): unknown {
  if ('$sum' in each) return 0
  if ('$percentile' in each) return [null, null]
  return Object.keys(each)[0]!.match(/N$|push|addToSet/) ? [] : null
}

test('a window of documents gives what $group gives for the same documents', async () => {
  await fc.assert(
    fc.asyncProperty(samples, async ({ list, lower, upper }) => {
      const documents = list.map(documentOf)
      const output = Object.fromEntries(
        functions.map((each, at) => [fieldOf(at), { ...each, window: { documents: [lower, upper] } }]),
      )
      const results = await resultsOf([{ $setWindowFields: { sortBy: { _id: 1 }, output } }], documents)
      for (const [index, result] of results.entries()) {
        const from = lower === 'unbounded' ? 0 : index + (lower === 'current' ? 0 : lower)
        const to = upper === 'unbounded' ? documents.length : index + (upper === 'current' ? 0 : upper) + 1
        const within = documents.slice(Math.max(0, from), Math.max(0, to))
        const [group] = await resultsOf([{ $sort: { _id: 1 } }, grouped], within)
        for (const [at, each] of functions.entries()) {
          const wanted = group === undefined ? ofNothing(each) : group[fieldOf(at)]
          const sorted = (some: unknown) => ('$addToSet' in each ? [...(some as unknown[])].map(String).sort() : some)
          const [is, should] = [sorted(result[fieldOf(at)]), sorted(wanted)]
          assert.ok(near(is, should), `${JSON.stringify(each)} at ${index}: ${is}, not ${should}`)
        }
      }
    }),
    { numRuns: 150 },
  )
})

test('a range of numbers gives the documents whose values are in it', async () => {
  const numbers = fc.array(fc.integer({ min: -10, max: 10 }), { minLength: 1, maxLength: 15 })
  const bounds = fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: 0, max: 5 }))
  await fc.assert(
    fc.asyncProperty(numbers, bounds, async (list, [lower, width]) => {
      const documents = list.map(documentOf)
      const window = { range: [lower, lower + width] }
      const output = { ids: { $push: '$_id', window }, sum: { $sum: '$n', window }, least: { $min: '$n', window } }
      for (const result of await resultsOf([{ $setWindowFields: { sortBy: { n: 1 }, output } }], documents)) {
        const within = documents.filter(({ n }) => n >= result.n + lower && n <= result.n + lower + width)
        const values = within.map(({ n }) => n as number)
        assert.deepEqual(new Set(result.ids), new Set(within.map(({ _id }) => _id)))
        assert.equal(
          result.sum,
          values.reduce((sum, each) => sum + each, 0),
        )
        assert.equal(result.least, values.length === 0 ? null : Math.min(...values))
      }
    }),
    { numRuns: 200 },
  )
})

test('a wide window costs about as much as a narrow one', async () => {
  const documents = Array.from({ length: 20_000 }, (_, _id) => ({ _id, n: (_id * 7919) % 10_007 }))
  const functions = {
    sum: { $sum: '$n' },
    deviation: { $stdDevPop: '$n' },
    least: { $min: '$n' },
    leastTwo: { $minN: { n: 2, input: '$n' } },
    top: { $top: { sortBy: { n: 1 }, output: '$_id' } },
  }
  const timeOf = async (width: number) => {
    const window = { documents: [-width, width] }
    const output = Object.fromEntries(Object.entries(functions).map(([name, each]) => [name, { ...each, window }]))
    const start = performance.now()
    await aggregate([{ $setWindowFields: { sortBy: { _id: 1 }, output } }, { $count: 'n' }], { documents })
    return performance.now() - start
  }
  await timeOf(10)
  const narrow = await timeOf(10)
  const wide = await timeOf(10_000)
  assert.ok(wide < 10 * narrow + 500, `${Math.round(wide)} ms instead of ${Math.round(narrow)} ms`)
})
