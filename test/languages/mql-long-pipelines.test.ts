/** Pipelines of as many stages as there may be: they are answered, whatever the stages are. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { deserialize } from 'bson'
import type { Document } from 'mongodb'
import { aggregate } from '../support/aggregate.ts'

const stagesMax = 1000

const stages: readonly Document[] = [
  { $match: { n: { $gte: 0 } } },
  { $set: { b: 1 } },
  { $project: { n: 1 } },
  { $redact: '$$KEEP' },
  { $replaceRoot: { newRoot: '$$ROOT' } },
  { $unwind: '$n' },
  { $limit: 3 },
  { $skip: 0 },
  { $sort: { n: 1 } },
  { $sample: { size: 3 } },
  { $group: { _id: '$_id', n: { $first: '$n' } } },
  { $densify: { field: 'n', range: { step: 1, bounds: 'full' } } },
  { $fill: { output: { b: { value: 1 } } } },
  { $setWindowFields: { sortBy: { n: 1 }, output: { c: { $sum: '$n' } } } },
  { $unionWith: { coll: 'none', pipeline: [] } },
]

for (const stage of stages) {
  test(`${stagesMax} times ${Object.keys(stage)[0]}`, async () => {
    const documents = [0, 1, 2].map(n => ({ _id: n, n }))
    const { results } = await aggregate(Array(stagesMax).fill(stage), { documents })
    assert.deepEqual(results.map(bytes => Number(deserialize(bytes).n)).toSorted(), [0, 1, 2])
  })
}
