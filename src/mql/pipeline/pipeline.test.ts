/**
 * Tests of what a pipeline tells its caller: the find it begins with, where it writes, and how often it
 * searches.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serialize } from 'bson'
import { type BsonArray, BsonDocument } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { printDocument } from '../errors/print.ts'
import { compileFilter } from '../filter/match.ts'
import type { ByteStream, Collections, FindRequest } from '../stages/stage.ts'
import { commandScope, compilePipeline, type Pipeline, type PipelineOptions } from './pipeline.ts'
import { updatePipeline } from './update-pipeline.ts'

const constants = { now: 0n, random: () => 0.5 }
const namespace = { database: 'shop', collection: 'carts' }

const bsonOf = (value: object) => BsonDocument.view(serialize(value))

function compiled(stages: readonly object[], options: Partial<PipelineOptions> = {}): Pipeline {
  return compilePipeline(bsonOf({ stages }).get('stages') as BsonArray, { namespace, constants, ...options })
}

function findOf(stages: readonly object[], options: Partial<PipelineOptions> = {}): FindRequest {
  const { source } = compiled(stages, options)
  assert.equal(source.kind, 'collection')
  return (source as { readonly find: FindRequest }).find
}

/** The find in a short form. */
function findSummary(stages: readonly object[], options: Partial<PipelineOptions> = {}): readonly unknown[] {
  const { filter, sort, skip, limit } = findOf(stages, options)
  return [printDocument(filter), sort && printDocument(sort), skip, limit]
}

/** Counts the searches. It has one collection of documents with the numbers below a limit. */
class CountingCollections implements Collections {
  readonly finds: string[] = []
  readonly #documents: readonly Uint8Array[]

  constructor(count: number) {
    this.#documents = Array.from({ length: count }, (_, n) => serialize({ _id: n, n: n % 10 }))
  }

  async *find(_: unknown, { filter, expression }: FindRequest): AsyncGenerator<readonly BsonDocument[]> {
    this.finds.push(printDocument(filter))
    const matcher = compileFilter(filter, { expression })
    yield this.#documents.filter(document => matcher.matches(document)).map(document => BsonDocument.view(document))
  }

  async replace(_: unknown, documents: ByteStream): Promise<void> {
    for await (const batch of documents) this.finds.push(`replaced by ${batch.length}`)
  }

  async merge(): Promise<void> {}
}

async function drained(pipeline: Pipeline, documents: readonly object[], collections: Collections): Promise<number> {
  async function* input() {
    yield documents.map(document => BsonDocument.view(serialize(document)))
  }
  let count = 0
  for await (const batch of pipeline.run(input(), collections)) count += batch.length
  return count
}

test('the first stages of a pipeline become a find', () => {
  assert.deepEqual(findSummary([]), ['{}', undefined, 0, undefined])
  assert.deepEqual(
    findSummary([{ $match: { a: 1 } }, { $sort: { b: -1 } }, { $skip: 2 }, { $limit: 3 }, { $count: 'n' }]),
    ['{ a: 1 }', '{ b: -1 }', 2, 3],
  )
  assert.deepEqual(findSummary([{ $sort: { b: 1 } }, { $match: { a: 1 } }, { $match: { c: 1 } }]), [
    '{ $and: [ { a: 1 }, { c: 1 } ] }',
    '{ b: 1 }',
    0,
    undefined,
  ])
  assert.deepEqual(findSummary([{ $limit: 9 }, { $skip: 2 }, { $limit: 3 }]), ['{}', undefined, 2, 3])
})

test('the find ends where its parts would mean something else', () => {
  assert.deepEqual(findSummary([{ $limit: 5 }, { $match: { a: 1 } }]), ['{}', undefined, 0, 5])
  assert.deepEqual(findSummary([{ $skip: 1 }, { $sort: { a: 1 } }]), ['{}', undefined, 1, undefined])
  assert.deepEqual(findSummary([{ $sort: { a: 1 } }, { $sort: { b: 1 } }]), ['{}', '{ a: 1 }', 0, undefined])
  assert.deepEqual(findSummary([{ $limit: 2 }, { $skip: 2 }]), ['{}', undefined, 0, 2])
  assert.deepEqual(findSummary([{ $project: { a: 1 } }, { $match: { a: 1 } }]), ['{}', undefined, 0, undefined])
})

test('the find knows the variables of the command, also in index hints', () => {
  const find = findOf([{ $match: { $expr: { $eq: ['$a', '$$x'] } } }], { let: bsonOf({ x: { $add: [1, 1] } }) })
  assert.equal(printDocument(find.filter), '{ $and: [ { a: { $eq: 2 } }, { $expr: { $eq: [ "$a", "$$x" ] } } ] }')
  const matcher = compileFilter(find.filter, { expression: find.expression })
  assert.deepEqual([matcher.matches(serialize({ a: 2 })), matcher.matches(serialize({ a: [2] }))], [true, false])
})

test('other sources are named', () => {
  assert.deepEqual(compiled([{ $documents: [] }]).source, { kind: 'pipeline' })
  const { source } = compiled([{ $changeStream: { fullDocument: 'updateLookup' } }, { $match: { a: 1 } }])
  assert.deepEqual([source.kind, source.kind === 'stage' && source.name], ['stage', '$changeStream'])
})

test('the target of a pipeline is known before it runs', async () => {
  const pipeline = compiled([{ $match: { a: 1 } }, { $out: { db: 'archive', coll: 'old' } }])
  assert.deepEqual(pipeline.target, { database: 'archive', collection: 'old' })
  assert.equal(compiled([{ $match: {} }]).target, undefined)
  const collections = new CountingCollections(0)
  assert.equal(await drained(pipeline, [{ a: 1 }, { a: 2 }], collections), 0)
  assert.deepEqual(collections.finds, ['replaced by 2'])
})

test('$out and $merge write what is alive when it is written', async () => {
  const written: number[] = []
  const note = async (documents: ByteStream) => {
    for await (const batch of documents) written.push(batch.length)
  }
  const collections: Collections = {
    find: () => assert.fail('no other collection is read'),
    replace: (_, documents) => note(documents),
    merge: (_, documents) => note(documents),
    living: batch => batch.slice(1),
  }
  const documents = [{ _id: 1 }, { _id: 2 }, { _id: 3 }]
  for (const last of [{ $out: 'target' }, { $merge: 'target' }]) {
    await drained(compiled([{ $group: { _id: '$_id' } }, last]), documents, collections)
  }
  assert.deepEqual(written, [2, 2])
})

test('$lookup by equality searches once for many documents', async () => {
  const collections = new CountingCollections(100)
  const pipeline = compiled([{ $lookup: { from: 'others', localField: 'k', foreignField: 'n', as: 'found' } }])
  const documents = Array.from({ length: 200 }, (_, k) => ({ _id: k, k: k % 4 }))
  assert.equal(await drained(pipeline, documents, collections), 200)
  assert.deepEqual(collections.finds, ['{ n: { $in: [ 0, 1, 2, 3 ] } }'])
})

test('$lookup splits its values into as many searches as index lookups need', async () => {
  const collections = new CountingCollections(10)
  const pipeline = compiled([{ $lookup: { from: 'others', localField: 'k', foreignField: 'n', as: 'found' } }])
  const documents = Array.from({ length: 600 }, (_, k) => ({ _id: k, k }))
  assert.equal(await drained(pipeline, documents, collections), 600)
  assert.equal(collections.finds.length, 3)
})

test('$lookup by a constant pipeline searches once', async () => {
  const collections = new CountingCollections(10)
  const pipeline = compiled([{ $lookup: { from: 'others', pipeline: [{ $match: { n: 1 } }], as: 'found' } }])
  assert.equal(await drained(pipeline, [{}, {}, {}], collections), 3)
  assert.deepEqual(collections.finds, ['{ n: 1 }'])
})

test('$lookup by a pipeline gives its variables to the index', async () => {
  const collections = new CountingCollections(10)
  const stages = [{ $match: { $expr: { $and: [{ $eq: ['$n', '$$x'] }, { $gt: ['$_id', 0] }] } } }]
  const pipeline = compiled([{ $lookup: { from: 'others', let: { x: '$k' }, pipeline: stages, as: 'found' } }])
  await drained(pipeline, [{ k: 7 }], collections)
  assert.match(collections.finds[0]!, /^\{ \$and: \[ \{ n: \{ \$eq: 7 \} \}, /)
})

test('an error while running says so, with the code of its cause', async () => {
  const pipeline = compiled([{ $project: { a: { $divide: [1, '$a'] } } }])
  await assert.rejects(drained(pipeline, [{ a: 0 }], new CountingCollections(0)), (error: unknown) => {
    assert.ok(error instanceof MongoError)
    const words = "PlanExecutor error during aggregation :: caused by :: can't $divide by zero"
    assert.deepEqual([error.code, error.codeName, error.message], [2, 'BadValue', words])
    return true
  })
})

test('stopping early ends the read of the collection', async () => {
  let isEnded = false
  async function* input() {
    try {
      for (;;) yield [BsonDocument.view(serialize({ a: 1 }))]
    } finally {
      isEnded = true
    }
  }
  const pipeline = compiled([{ $addFields: { b: 1 } }, { $match: { b: 1 } }, { $limit: 5 }])
  let count = 0
  for await (const batch of pipeline.run(input(), new CountingCollections(0))) count += batch.length
  assert.deepEqual([count, isEnded], [5, true])
})

test('a pipeline can be an update of one document', () => {
  const scope = commandScope({ constants: { ...constants, now: 86_400_000n }, let: bsonOf({ by: 2 }) })
  const stages = bsonOf({ s: [{ $set: { n: { $add: ['$n', '$$by'] }, at: '$$NOW' } }, { $unset: 'x' }] }).get('s')
  const update = updatePipeline(scope, namespace)(stages as BsonArray)
  const updated = BsonDocument.view(update(serialize({ _id: 1, n: 1, x: 1 })))
  assert.equal(printDocument(updated), '{ _id: 1, n: 3, at: new Date(86400000) }')
  assert.throws(
    () => updatePipeline(scope, namespace)(bsonOf({ s: [{ $match: {} }] }).get('s') as BsonArray),
    (error: unknown) => error instanceof MongoError && error.code === 72,
  )
})
