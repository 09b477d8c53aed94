/** Random documents, finds and pipelines of the Mongo side. */

import type { Document } from 'mongodb'
import { fc } from '../support/property.ts'

const scalar = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 9 }) },
  { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'ab', '') },
  { weight: 1, arbitrary: fc.constantFrom(null, true, 2.5) },
)
const anything = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.record({ x: scalar, y: fc.array(scalar, { maxLength: 3 }) }) },
)

const fields = ['a', 'b', 'c', 'a.x', 'c.y'] as const
const field = fc.constantFrom(...fields)

export const documents: fc.Arbitrary<Document> = fc.record(
  { a: anything, b: scalar, c: anything },
  { requiredKeys: [] },
)

const condition: fc.Arbitrary<unknown> = fc.oneof(
  scalar,
  fc.record({ $gt: scalar }),
  fc.record({ $gte: scalar, $lt: scalar }),
  fc.record({ $in: fc.array(scalar, { maxLength: 4 }) }),
  fc.record({ $ne: scalar }),
  fc.record({ $exists: fc.boolean() }),
  fc.record({ $mod: fc.tuple(fc.integer({ min: 1, max: 5 }), fc.constant(1)) }),
  fc.record({ $elemMatch: fc.record({ $gte: fc.integer({ min: 0, max: 9 }) }) }),
)

const term: fc.Arbitrary<Document> = fc.oneof(
  fc.tuple(field, condition).map(([name, value]) => ({ [name]: value })),
  fc
    .tuple(fc.constantFrom('$gt', '$lte'), fc.integer({ min: 0, max: 900 }))
    .map(([name, n]) => ({ _id: { [name]: n } })),
  fc.tuple(field, scalar).map(([name, value]) => ({ $expr: { $eq: [`$${name}`, value] } })),
  fc.constant({ $expr: { $lt: ['$b', '$$most'] } }),
)

export const filters: fc.Arbitrary<Document> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 6, arbitrary: term },
  { weight: 3, arbitrary: fc.tuple(term, term).map(([one, other]) => ({ $and: [one, other] })) },
  { weight: 1, arbitrary: fc.tuple(term, term).map(([one, other]) => ({ $or: [one, other] })) },
)

const direction = fc.constantFrom(1, -1)

const sorts: fc.Arbitrary<Document> = fc.oneof(
  fc.tuple(fc.constantFrom('a', 'b', '_id'), direction).map(([name, way]) => ({ [name]: way })),
  fc.tuple(direction, direction).map(([one, other]) => ({ b: one, _id: other })),
)

const projections: fc.Arbitrary<Document> = fc.constantFrom(
  { a: 1 },
  { c: 0 },
  { _id: 0, b: 1, 'c.y': 1 },
  { b: 1, sum: { $add: [1, '$$most'] } },
  { c: { $slice: 1 } },
)

export interface RandomFind {
  readonly filter: Document
  readonly sort?: Document | undefined
  readonly projection?: Document | undefined
  readonly skip?: number | undefined
  readonly limit?: number | undefined
  readonly batchSize: number
}

export const finds: fc.Arbitrary<RandomFind> = fc.record({
  filter: filters,
  sort: fc.option(sorts, { nil: undefined }),
  projection: fc.option(projections, { nil: undefined }),
  skip: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined, freq: 1 }),
  limit: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined, freq: 1 }),
  batchSize: fc.constantFrom(30, 100, 1000),
})

const perDocument: fc.Arbitrary<Document> = fc.oneof(
  filters.map($match => ({ $match })),
  fc.constantFrom<Document>(
    { $unwind: '$a' },
    { $unwind: { path: '$c', preserveNullAndEmptyArrays: true, includeArrayIndex: 'at' } },
    {
      $project: {
        a: 1,
        twice: {
          $multiply: [2, { $ifNull: [{ $size: { $ifNull: [{ $cond: [{ $isArray: '$a' }, '$a', []] }, []] } }, 0] }],
        },
      },
    },
    { $set: { e: '$b', most: '$$most' } },
    { $unset: 'c' },
    { $replaceWith: { $mergeObjects: [{ z: 1 }, '$$ROOT'] } },
    { $redact: { $cond: [{ $eq: ['$b', 3] }, '$$PRUNE', '$$KEEP'] } },
  ),
)

const others: fc.Arbitrary<Document> = fc.oneof(
  fc.constantFrom<Document>(
    { $group: { _id: '$b', n: { $sum: 1 }, ids: { $push: '$_id' }, most: { $max: '$a' } } },
    { $group: { _id: null, all: { $avg: '$b' }, first: { $first: '$_id' } } },
    { $sortByCount: '$b' },
    { $bucketAuto: { groupBy: '$_id', buckets: 5 } },
    { $count: 'n' },
    {
      $setWindowFields: {
        partitionBy: '$b',
        sortBy: { _id: 1 },
        output: {
          sum: { $sum: '$a', window: { documents: [-2, 1] } },
          around: { $push: '$_id', window: { documents: [-1, 1] } },
          least: { $minN: { n: 2, input: '$a' } },
          rank: { $rank: {} },
        },
      },
    },
    { $fill: { sortBy: { _id: 1 }, output: { a: { method: 'locf' }, d: { value: 0 } } } },
    { $facet: { few: [{ $limit: 3 }], groups: [{ $group: { _id: '$b', n: { $sum: 1 } } }] } },
    { $unionWith: { coll: 'few' } },
    { $lookup: { from: 'few', localField: 'b', foreignField: 'b', as: 'found' } },
    { $limit: 40 },
    { $skip: 7 },
  ),
  sorts.map($sort => ({ $sort })),
)

export const pipelines: fc.Arbitrary<Document[]> = fc.array(
  fc.oneof({ weight: 2, arbitrary: perDocument }, { weight: 1, arbitrary: others }),
  { minLength: 1, maxLength: 5 },
)
