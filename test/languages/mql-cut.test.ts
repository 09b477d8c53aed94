/**
 * Work that is cut and done again gives what it would have given at once: pipelines, filters and updates, cut
 * at every place where a watch looks, or at random ones.
 *
 * MAYFLY_SEED and MAYFLY_PATH work as in the other property tests.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExtendedDocument } from '../../src/document/bson/parse-extended-json.ts'
import { type BsonArray, BsonDocument } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { commandScope, compilePipeline } from '../../src/mql/pipeline/pipeline.ts'
import { updatePipeline } from '../../src/mql/pipeline/update-pipeline.ts'
import { prepareFilter } from '../../src/mql/prepare.ts'
import { documentBytes } from '../../src/mql/stages/stage.ts'
import { finds, pipelines } from '../query/random-mongo.ts'
import { outcome, someSteps, untilDone, untilLook } from '../support/cut-work.ts'
import { fc } from '../support/property.ts'

function bson(document: object): BsonDocument {
  return BsonDocument.view(encodeDocument(parseExtendedDocument(JSON.stringify(document))))
}

function stagesOf(stages: readonly object[]): BsonArray {
  return bson({ stages }).get('stages') as BsonArray
}

const variables = { constants: { now: 1_700_000_000_000n, random: () => 0.5, clusterTime: 1n } }
const namespace = { database: 'd', collection: 'c' }

/** Large enough that a watch looks several times. */
const documents = Array.from({ length: 60 }, (_, n) => ({
  _id: n,
  a: n % 7,
  b: ['x', 'y', `z${n}`],
  c: { x: n % 3, y: [n, { z: n % 2 }] },
  list: Array.from({ length: 80 }, (__, at) => (at * n) % 17),
  text: 'ab'.repeat(150),
})).map(document => documentBytes(bson(document)))

async function results(stages: readonly object[]): Promise<string[]> {
  const pipeline = compilePipeline(stagesOf(stages), { ...variables, namespace })
  async function* all() {
    yield documents.map(bytes => BsonDocument.view(bytes))
  }
  const made: string[] = []
  const run = pipeline.runTail(all(), { find: none, replace: none, merge: none } as never)
  for await (const batch of run) for (const each of batch) made.push(Buffer.from(documentBytes(each)).toString('hex'))
  return made
}

function none(): never {
  throw new Error('there is no other collection')
}

const numbers = {
  $map: { input: '$list', as: 'n', in: { $add: ['$$n', { $size: { $setUnion: ['$list', ['$$n']] } }] } },
}
const heavy: readonly object[][] = [
  [{ $project: { n: numbers } }],
  [{ $unwind: '$list' }, { $group: { _id: '$list', n: { $sum: 1 }, all: { $addToSet: '$a' } } }, { $sort: { _id: 1 } }],
  [{ $project: { found: { $regexFindAll: { input: '$text', regex: '(a|b)+a' } } } }],
  [
    {
      $setWindowFields: {
        partitionBy: '$a',
        sortBy: { _id: 1 },
        output: { n: { $push: '$list', window: { documents: [-2, 0] } } },
      },
    },
  ],
  [{ $facet: { one: [{ $sortByCount: '$a' }], two: [{ $unwind: '$b' }, { $count: 'n' }] } }],
  [
    { $set: { sorted: { $sortArray: { input: '$list', sortBy: -1 } } } },
    { $bucketAuto: { groupBy: '$a', buckets: 3 } },
  ],
  [{ $match: { list: { $elemMatch: { $gt: 15 } }, $expr: { $in: ['$a', '$list'] } } }],
]

test('pipelines that are cut and begin again give what they give at once', async () => {
  let cuts = 0
  for (const stages of heavy) {
    const expected = await outcome(() => results(stages))
    const done = await untilDone(() => results(stages), [60, 400])
    assert.deepEqual(done.result, expected, JSON.stringify(stages))
    cuts += done.cuts
  }
  assert.ok(cuts > 20, `${cuts} cuts`)
})

test('random pipelines and filters that are cut and begin again give what they give at once', async () => {
  const property = fc.asyncProperty(pipelines, finds, someSteps, async (stages, { filter }, steps) => {
    const plain = JSON.parse(JSON.stringify(stages).replaceAll('"$$most"', '6'))
    const expected = await outcome(() => results(plain))
    assert.deepEqual((await untilDone(() => results(plain), steps)).result, expected)
    const given = bson(JSON.parse(JSON.stringify(filter).replaceAll('"$$most"', '6')))
    const matching = () => {
      const { matches } = prepareFilter({ filter: given, variables, allowsNear: true })
      return documents.map(document => matches(document))
    }
    const found = await outcome(matching)
    assert.deepEqual((await untilDone(matching, steps)).result, found)
  })
  await fc.assert(property, { numRuns: 60 })
})

test('one compiled program may be cut and used again', async () => {
  const update = updatePipeline(
    commandScope(variables),
    namespace,
  )(stagesOf([{ $set: { n: numbers, all: { $setUnion: ['$list', '$b'] } } }]))
  const { matches } = prepareFilter({
    filter: bson({ $expr: { $regexMatch: { input: { $concat: ['$text', '$text'] }, regex: '(ab)+c|b$' } } }),
    variables,
    allowsNear: true,
  })
  const compute = () =>
    documents.slice(0, 8).map(document => [Buffer.from(update(document)).toString('hex'), matches(document)])
  const expected: unknown = compute()
  let cuts = 0
  for (let look = 0; look < 40; look++) {
    const done = untilLook(look, compute)
    if (done === undefined) cuts++
    else assert.deepEqual(done, expected)
    assert.deepEqual(compute(), expected, `after a cut at look ${look}`)
  }
  assert.ok(cuts > 5, `${cuts} cuts`)
})
