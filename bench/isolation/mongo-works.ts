/** Hostile works of the Mongo API. */

import type { Document } from 'bson'
import { CONTAINER, SMALL_ITEMS } from './hostile-data.ts'
import type { HostileWork } from './hostile-work.ts'

const times = (count: number) => Array.from({ length: count }, (_, n) => n)

function pipeline(name: string, ...stages: readonly Document[]): HostileWork {
  return { name, mongo: () => ({ command: { aggregate: CONTAINER, pipeline: stages, cursor: {} } }) }
}

/** One value, computed from one document. */
function value(name: string, id: string, expression: unknown): HostileWork {
  return pipeline(name, { $match: { _id: id } }, { $project: { value: expression } })
}

function find(name: string, filter: Document, more: Document = {}): HostileWork {
  return { name, mongo: () => ({ command: { find: CONTAINER, filter, ...more } }) }
}

const million = { $range: [0, 1_000_000] }
const union = { $size: { $setUnion: [million, { $range: [500_000, 1_500_000] }] } }
const expressions = { $regexFindAll: { input: '$text', regex: '(a+)+b|a' } }

export const mongoWorks: readonly HostileWork[] = [
  pipeline(
    '$unwind x 3 over 999 elements',
    { $match: { _id: 'list' } },
    ...['$list', '$more', '$others'].map(path => ({ $unwind: path })),
    { $match: { list: -1 } },
  ),
  value('$regexFindAll over 1 MB', 'same', { $size: expressions }),
  value('$setUnion of a million', 'list', union),
  {
    name: '$setUnion of a million in an update',
    mongo: () => ({
      command: { update: CONTAINER, updates: [{ q: { _id: 'list' }, u: [{ $set: { size: union } }] }] },
    }),
  },
  value('$reduce that concatenates', 'list', {
    $size: {
      $reduce: { input: { $range: [0, 20_000] }, initialValue: [], in: { $concatArrays: ['$$value', ['$$this']] } },
    },
  }),
  value('$map in $map', 'list', {
    $sum: {
      $map: { input: million, as: 'x', in: { $sum: { $map: { input: '$list', in: { $add: ['$$this', '$$x'] } } } } },
    },
  }),
  value('$filter in $filter', 'numbers', {
    $size: { $filter: { input: '$numbers', as: 'x', cond: { $in: [{ $add: ['$$x', 200_000] }, '$numbers'] } } },
  }),
  value('$sortArray of a million', 'list', {
    $size: {
      $sortArray: {
        input: { $map: { input: million, in: { $mod: [{ $multiply: ['$$this', 7919] }, 1_000_003] } } },
        sortBy: 1,
      },
    },
  }),
  value('$zip and $setIntersection of a million', 'list', {
    $size: { $setIntersection: [{ $zip: { inputs: [million, million] } }, []] },
  }),
  value('$split and $concat of 1 MB', 'same', { $size: { $split: [{ $toUpper: '$text' }, 'A'] } }),
  pipeline(
    '$lookup without an index',
    { $match: { pk: 'many' } },
    { $lookup: { from: CONTAINER, localField: 's', foreignField: 'text', as: 'found' } },
    { $match: { 'found.0': 1 } },
  ),
  pipeline(
    '$lookup with a pipeline',
    { $match: { pk: 'many' } },
    {
      $lookup: {
        from: CONTAINER,
        let: { n: '$n' },
        pipeline: [{ $match: { $expr: { $eq: ['$n', { $add: ['$$n', 0.5] }] } } }],
        as: 'found',
      },
    },
  ),
  pipeline(
    '$graphLookup over all',
    { $match: { pk: 'many' } },
    { $graphLookup: { from: CONTAINER, startWith: '$next', connectFromField: 'next', connectToField: 'n', as: 'way' } },
    { $project: { size: { $size: '$way' } } },
  ),
  pipeline('$facet with sorts', {
    $facet: Object.fromEntries(
      times(10).map(n => [`f${n}`, [{ $sort: { s: n % 2 === 0 ? 1 : -1, n: 1 } }, { $limit: 10 }]]),
    ),
  }),
  pipeline(
    '$setWindowFields over all',
    { $setWindowFields: { sortBy: { n: 1 }, output: { m: { $push: '$n', window: { documents: [-2000, 2000] } } } } },
    { $match: { n: -1 } },
  ),
  pipeline(
    '$group of all with $push',
    { $group: { _id: '$k', all: { $push: '$$ROOT' }, first: { $addToSet: '$s' } } },
    { $sort: { _id: 1 } },
  ),
  pipeline(
    '$bucketAuto and $sort of all',
    { $sort: { s: 1, n: -1 } },
    { $bucketAuto: { groupBy: '$s', buckets: 500 } },
  ),
  find('$jsonSchema with nested alternatives', { $jsonSchema: schema(7) }),
  find('$expr over a list of each', {
    $expr: {
      $in: ['$s', { $map: { input: { $range: [0, 500] }, in: { $concat: ['text-', { $toString: '$$this' }] } } }],
    },
  }),
  find('a sort without an index', {}, { sort: { s: 1 }, limit: 10 }),
  find('$or of 5,000 regular expressions', { $or: times(5000).map(n => ({ s: { $regex: `x${n}.*y` } })) }),
  find('$in with 50,000 values', { s: { $in: times(50_000).map(n => `none-${n}`) } }, { collation: { locale: 'en' } }),
  { name: 'distinct over all', mongo: () => ({ command: { distinct: CONTAINER, key: 's' } }) },
  {
    name: 'count with a regular expression',
    mongo: () => ({ command: { count: CONTAINER, query: { s: { $regex: '(t|e|x)+(-|1)*$' } } } }),
  },
  {
    name: 'an update of all documents',
    mongo: n => ({
      command: { update: CONTAINER, updates: [{ q: { pk: 'many' }, u: { $set: { touched: n } }, multi: true }] },
    }),
  },
  {
    name: 'insertMany of 100,000',
    connections: 1,
    mongo: n => ({
      command: { insert: 'inserted', ordered: false },
      documents: times(100_000).map(at => ({ _id: `${n}-${at}`, at })),
    }),
  },
  {
    name: 'documents of 2 MB',
    isFlood: true,
    mongo: () => ({
      command: {
        update: CONTAINER,
        updates: [{ q: { _id: 'large' }, u: { text: 'x'.repeat(2_000_000) }, upsert: true }],
      },
    }),
  },
  {
    name: '10,000 pipelined finds',
    pipelined: 10_000,
    isFlood: true,
    mongo: () => ({
      command: { find: CONTAINER, filter: { _id: `small-${SMALL_ITEMS - 1}` }, limit: 1, singleBatch: true },
    }),
  },
  {
    name: 'commands of 100,000 fields',
    isFlood: true,
    mongo: () => ({ command: { find: CONTAINER, filter: Object.fromEntries(times(100_000).map(n => [`f${n}`, n])) } }),
  },
]

function schema(depth: number): Document {
  if (depth === 0) return { properties: { s: { pattern: '^(t|e)+.*5$' } } }
  return {
    anyOf: [{ allOf: [schema(depth - 1), schema(depth - 1), { required: ['none'] }] }, { not: schema(depth - 1) }],
  }
}
