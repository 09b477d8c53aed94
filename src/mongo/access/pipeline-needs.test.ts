/** What pipelines need: each collection that they read or write, also within other stages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, serialize } from 'bson'
import { BsonArray, BsonDocument, string, type Value } from '../../document/bson/value.ts'
import { pipelineNeeds } from './pipeline-needs.ts'

const place = { database: 'shop', collection: 'carts' }

function stagesOf(stages: readonly Document[]): Value {
  return BsonArray.of(stages.map(stage => BsonDocument.view(serialize(stage))))
}

/** As `action database.collection`. */
function shown(stages: Value, on: Parameters<typeof pipelineNeeds>[1] = place): string[] {
  return pipelineNeeds(stages, on).flatMap(({ resource, actions }) =>
    actions.map(action => `${action} ${'db' in resource ? `${resource.db}.${resource.collection}` : 'cluster'}`),
  )
}

const own = 'find shop.carts'
const lookup = { $lookup: { from: 'other', pipeline: [], as: 'x' } }
const reads = 'find shop.other'

const cases: readonly (readonly [name: string, stages: readonly Document[], needs: readonly string[]])[] = [
  ['no stage', [], [own]],
  ['stages that stay with their documents', [{ $match: {} }, { $group: { _id: null } }], [own]],
  ['$lookup', [lookup], [own, reads]],
  ['$lookup by fields', [{ $lookup: { from: 'other', localField: 'a', foreignField: 'b', as: 'x' } }], [own, reads]],
  ['$graphLookup', [{ $graphLookup: { from: 'other' } }], [own, reads]],
  ['$unionWith by name', [{ $unionWith: 'other' }], [own, reads]],
  ['$unionWith a pipeline', [{ $unionWith: { coll: 'x', pipeline: [lookup] } }], [own, 'find shop.x', reads]],
  ['$lookup in $lookup', [{ $lookup: { from: 'x', pipeline: [lookup] } }], [own, 'find shop.x', reads]],
  ['$lookup in $facet', [{ $facet: { a: [{ $match: {} }], b: [lookup] } }], [own, reads]],
  ['$documents reads nothing', [{ $documents: [] }], []],
  ['$documents, then a join', [{ $documents: [] }, lookup], [reads]],
  ['$documents in $lookup', [{ $lookup: { pipeline: [{ $documents: [] }, lookup], as: 'x' } }], [own, reads]],
  ['$out', [{ $out: 'copy' }], [own, 'insert shop.copy', 'remove shop.copy']],
  ['$out elsewhere', [{ $out: { db: 'b', coll: 'copy' } }], [own, 'insert b.copy', 'remove b.copy']],
  ['$merge', [{ $merge: 'copy' }], [own, 'insert shop.copy', 'update shop.copy']],
  ['$merge elsewhere', [{ $merge: { into: { db: 'b', coll: 'c' } } }], [own, 'insert b.c', 'update b.c']],
  ['$merge that only inserts', [{ $merge: { into: 'c', whenMatched: 'fail' } }], [own, 'insert shop.c']],
  ['$merge that only updates', [{ $merge: { into: 'c', whenNotMatched: 'discard' } }], [own, 'update shop.c']],
  [
    '$merge by a pipeline',
    [{ $merge: { into: 'c', whenMatched: [{ $set: {} }], whenNotMatched: 'fail' } }],
    [own, 'update shop.c'],
  ],
  ['$changeStream', [{ $changeStream: {} }], ['changeStream shop.carts', own]],
  ['$changeStream over all', [{ $changeStream: { allChangesForCluster: true } }], ['changeStream .', 'find .']],
  ['$collStats', [{ $collStats: {} }, lookup], ['collStats shop.carts', reads]],
  ['$indexStats', [{ $indexStats: {} }], ['indexStats shop.carts']],
  ['$planCacheStats', [{ $planCacheStats: {} }], ['planCacheRead shop.carts']],
  ['$currentOp of oneself', [{ $currentOp: {} }], []],
  ['$currentOp of all', [{ $currentOp: { allUsers: true } }], ['inprog cluster']],
  ['$listSessions of oneself', [{ $listSessions: {} }], []],
  ['$listSessions of others', [{ $listSessions: { users: [] } }], ['listSessions cluster']],
  ['$listLocalSessions of all', [{ $listLocalSessions: { allUsers: true } }], ['listSessions cluster']],
]

for (const [name, stages, needs] of cases) {
  test(name, () => assert.deepEqual(shown(stagesOf(stages)), needs))
}

test('a field that is given twice counts twice', () => {
  const twice = BsonDocument.of([
    ['from', string('one')],
    ['from', string('two')],
  ])
  const stages = BsonArray.of([BsonDocument.of([['$lookup', twice]])])
  assert.deepEqual(shown(stages), [own, 'find shop.one', 'find shop.two'])
})

test('names and pipelines that are given many times cost no more than they are long', () => {
  let stages: Value = BsonArray.of([])
  for (let depth = 0; depth < 20; depth++) {
    const names = Array.from({ length: 10 }, () => ['from', string('x')] as const)
    stages = BsonArray.of([BsonDocument.of([['$lookup', BsonDocument.of([...names, ['pipeline', stages]])]])])
  }
  assert.equal(pipelineNeeds(stages, place).length, 201)
})

test('a pipeline on a database has no collection of its own', () => {
  assert.deepEqual(shown(stagesOf([{ $changeStream: {} }]), { database: 'shop', collection: undefined }), [
    'changeStream shop.',
    'find shop.',
  ])
})
