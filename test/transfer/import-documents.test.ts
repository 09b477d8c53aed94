/** Rows that are imported into Mongo collections: types, refusals, lives, and what watchers see. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EJSON } from 'bson'
import { type Document, MongoClient } from 'mongodb'
import { encodeRows } from '../../src/transfer/frames.ts'
import type { ImportAnswer } from '../../src/transfer/target.ts'
import { startServer } from '../support/start-server.ts'

const server = await startServer()
const client = new MongoClient(server.db.mongoUri!)
after(() => client.close())
const shop = client.db('shop')

let count = 0

async function newCollection() {
  const name = `c${++count}`
  const made = await server.admin('POST', `import/shop/${name}?create=mongo`)
  assert.equal(made.json.api, 'mongo')
  return shop.collection<Document>(name)
}

async function put(name: string, rows: readonly string[], query = ''): Promise<ImportAnswer> {
  const input = rows.map((row, at) => ({ line: at + 1, bytes: Buffer.from(row), end: 0, endLine: 0 }))
  const url = new URL(`_mayfly/import/shop/${name}?${query}`, server.db.endpoint)
  const response = await fetch(url, { method: 'POST', body: encodeRows(input) })
  const answer = await response.json()
  assert.equal(response.status, 200, JSON.stringify(answer))
  return answer as ImportAnswer
}

test('every type of a document arrives as it was', async () => {
  const documents = [
    '{"_id":{"$oid":"6917a0c2e4b0a1b2c3d4e5f6"},"n":{"$numberInt":"1"},"l":{"$numberLong":"9007199254740993"}}',
    '{"_id":{"$numberInt":"7"},"d":{"$numberDouble":"1.0"},"at":{"$date":{"$numberLong":"1794750680123"}}}',
    '{"_id":"x","10":{"$numberInt":"1"},"9":{"$numberInt":"3"},"b":{"$binary":{"base64":"AQ==","subType":"00"}}}',
    '{"_id":{"a":{"$numberInt":"1"}},"r":{"$regularExpression":{"pattern":"^a","options":"i"}},"m":{"$minKey":1}}',
  ]
  const collection = await newCollection()
  const { counts, refused } = await put(collection.collectionName, documents)
  assert.deepEqual(refused, [])
  assert.equal(counts.created, documents.length)
  const found = await collection.find({}, { promoteValues: false, promoteLongs: false }).toArray()
  assert.deepEqual(
    found.map(each => EJSON.stringify(each, { relaxed: false })).toSorted(),
    [
      documents[0],
      documents[1],
      // The driver moves names that look like numbers to the front.
      '{"9":{"$numberInt":"3"},"10":{"$numberInt":"1"},"_id":"x","b":{"$binary":{"base64":"AQ==","subType":"00"}}}',
      documents[3],
    ].toSorted(),
  )
})

test('a row that cannot be a document is refused at its line', async () => {
  const collection = await newCollection()
  await shop.command({ collMod: collection.collectionName, validator: { n: { $gte: 0 } } })
  await collection.createIndex({ mail: 1 }, { unique: true, sparse: true })
  const rows: readonly [row: string, reason: RegExp | undefined][] = [
    ['{"_id":1,"n":1,"mail":"a"}', undefined],
    ['{"_id":2,', /./],
    ['[1]', /./],
    ['{"_id":[1],"n":1}', /cannot be of type array/],
    ['{"_id":{"$oid":"12"},"n":1}', /./],
    ['{"_id":3,"n":-1}', /Document failed validation/],
    ['{"_id":4,"n":1,"mail":"a"}', /Another item has the same value of a unique key/],
    ['{"_id":1,"n":2}', /There is a document with this _id already/],
    ['{"n":5}', undefined],
  ]
  const { refused } = await put(
    collection.collectionName,
    rows.map(([row]) => row),
  )
  const expected = rows.flatMap(([, reason], at) => (reason === undefined ? [] : [[at + 1, reason] as const]))
  assert.deepEqual(
    refused.map(({ line }) => line),
    expected.map(([line]) => line),
  )
  for (const [at, [, reason]] of expected.entries()) assert.match(refused[at]!.reason, reason)
  assert.deepEqual((await collection.find().toArray()).map(({ n }) => n).toSorted(), [1, 5])
})

test('a validator that would take very long ends the import, and others are answered', async () => {
  const collection = await newCollection()
  const million = { $range: [0, { $add: [1_000_000, '$n'] }] }
  const each = { $size: { $filter: { input: million, cond: { $gt: ['$$this', '$$x'] } } } }
  const validator = { $expr: { $gt: [0, { $sum: { $map: { input: million, as: 'x', in: each } } }] } }
  await shop.command({ collMod: collection.collectionName, validator })
  const bytes = Buffer.from('{"_id":1,"n":1}')
  const url = new URL(`_mayfly/import/shop/${collection.collectionName}`, server.db.endpoint)
  const response = await fetch(url, { method: 'POST', body: encodeRows([{ line: 1, bytes, end: 0, endLine: 0 }]) })
  assert.equal(response.status, 408, await response.text())
  assert.equal(await collection.countDocuments(), 0)
})

test('lives go on in a collection with a TTL index on _ts', async () => {
  const now = server.db.clock.now()
  const note = `"_mayfly":{"exportedAt":${now - 100},"expiresAt":${now + 50}}`
  for (const [keepTtl, ttls] of [
    ['reset', { own: 500, inherits: undefined }],
    ['remaining', { own: 150, inherits: 150 }],
    ['absolute', { own: 50, inherits: 50 }],
  ] as const) {
    const collection = await newCollection()
    await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 1000 })
    await put(
      collection.collectionName,
      [`{"_id":"own","ttl":500,${note}}`, `{"_id":"inherits",${note}}`],
      `keepTtl=${keepTtl}`,
    )
    for (const [id, ttl] of Object.entries(ttls)) {
      const found = await collection.findOne({ _id: id as never })
      assert.equal(found?.ttl, ttl, `${keepTtl} ${id}`)
      assert.equal(found?._mayfly, undefined)
    }
  }
})

test('a change stream sees imported documents, and a snapshot does not', async () => {
  const collection = await newCollection()
  await collection.insertOne({ _id: 'a' as never, v: 1 })
  const stream = collection.watch()
  const next = stream.next()
  await new Promise(resolve => setImmediate(resolve))
  const session = client.startSession({ snapshot: true })
  assert.equal(await collection.countDocuments({}, { session }), 1)
  await put(collection.collectionName, ['{"_id":"a","v":2}', '{"_id":"b","v":2}'], 'mode=upsert')
  const seen = await collection.find({}, { session }).toArray()
  assert.deepEqual(seen, [{ _id: 'a', v: 1 }])
  const events = [await next, await stream.next()]
  assert.deepEqual(
    events.map(({ operationType }) => operationType),
    ['replace', 'insert'],
  )
  await stream.close()
  await session.endSession()
})
