/** Cases of updates with a pipeline. Source: the manual's page on updates with aggregation pipelines. */

import { Double, ObjectId } from 'bson'
import { caseObjectId, type UpdateCase } from './update-case.ts'

export const pipelineCases: readonly UpdateCase[] = [
  {
    name: '$set in a pipeline adds a field that it computes',
    before: { a: 1, b: 2 },
    update: [{ $set: { c: { $add: ['$a', '$b'] } } }],
    after: { a: 1, b: 2, c: 3 },
  },
  {
    name: '$addFields replaces a field in its place',
    before: { a: 1, b: 2 },
    update: [{ $addFields: { a: { $multiply: ['$a', 10] } } }],
    after: { a: 10, b: 2 },
  },
  {
    name: '$unset in a pipeline',
    before: { a: 1, b: 2, c: { d: 3, e: 4 } },
    update: [{ $unset: ['b', 'c.d'] }],
    after: { a: 1, c: { e: 4 } },
  },
  {
    name: '$project keeps the named fields and the _id',
    before: { _id: 7, a: 1, b: 2 },
    update: [{ $project: { b: 1 } }],
    after: { _id: 7, b: 2 },
  },
  {
    name: '$project without the _id keeps it anyway',
    before: { _id: 7, a: 1, b: 2 },
    update: [{ $project: { _id: 0, b: 1 } }],
    after: { _id: 7, b: 2 },
  },
  {
    name: '$replaceRoot',
    before: { _id: 7, a: { b: 1 } },
    update: [{ $replaceRoot: { newRoot: '$a' } }],
    after: { _id: 7, b: 1 },
  },
  {
    name: '$replaceWith puts the _id first',
    before: { _id: 7, a: { b: 1 } },
    update: [{ $replaceWith: { z: '$a.b', _id: '$_id' } }],
    after: { _id: 7, z: 1 },
  },
  {
    name: 'the stages of a pipeline follow each other',
    before: { a: 1 },
    update: [{ $set: { b: { $add: ['$a', 1] } } }, { $set: { c: { $add: ['$b', 1] } } }, { $unset: 'a' }],
    after: { b: 2, c: 3 },
  },
  { name: 'a pipeline that changes nothing', before: { a: 1 }, update: [{ $set: { a: '$a' } }], isUnchanged: true },
  { name: 'a pipeline without stages', before: { a: 1 }, update: [], isUnchanged: true },
  {
    name: 'a pipeline may make names that begin with a dollar',
    before: { a: 1 },
    update: [{ $replaceWith: { $setField: { field: { $literal: '$b' }, input: {}, value: 1 } } }],
    after: { $b: 1 },
  },
  {
    name: 'an upsert by a pipeline begins with the equalities of the filter',
    filter: { _id: 3, x: 1 },
    update: [{ $set: { y: { $add: ['$x', 1] } } }],
    after: { _id: 3, x: 1, y: 2 },
  },
  {
    name: 'an upsert by a pipeline without an _id',
    filter: { x: 1 },
    update: [{ $set: { y: 2 } }],
    after: { _id: new ObjectId(caseObjectId), x: 1, y: 2 },
  },
  {
    name: 'a pipeline that changes the type of the _id',
    before: { _id: 5, a: 1 },
    update: [{ $set: { _id: { $toDouble: '$_id' } } }],
    after: { _id: new Double(5), a: 1 },
  },
  {
    name: 'a pipeline that changes the _id',
    before: { _id: 5 },
    update: [{ $set: { _id: 6 } }],
    error: [66, "After applying the update, the (immutable) field '_id' was found to have been altered to _id: 6"],
  },
  {
    name: 'a pipeline with a stage that is not for updates',
    before: {},
    update: [{ $match: { a: 1 } }],
    error: [72, '$match is not allowed to be used within an update'],
  },
  {
    name: 'a pipeline with array filters',
    before: {},
    update: [{ $set: { a: 1 } }],
    arrayFilters: [{ e: 1 }],
    error: [9, 'arrayFilters may not be specified for pipeline-style updates'],
  },
  {
    name: 'a pipeline with $replaceWith of a number',
    before: { a: 1 },
    update: [{ $replaceWith: '$a' }],
    error: [40228, 'must evaluate to an object'],
  },
]
