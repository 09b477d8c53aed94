/**
 * Messages of a logged-in client that are damaged or contain strange values. They get an answer, and the
 * server never fails.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { BSONRegExp, Decimal128, type Document, Long, ObjectId, serialize, Timestamp, UUID } from 'bson'
import { fc } from '../../support/property.ts'
import { startMongo } from './support/fixture.ts'
import { opMsg, RawClient } from './support/raw-client.ts'

const { uri } = await startMongo()
let client = await RawClient.loggedIn(uri)
after(() => client.close())

const lsid = { id: new UUID() }
const commands: readonly Document[] = [
  {
    insert: 'c',
    documents: [{ _id: 1, a: [1, { b: 'x' }], c: { d: 1.5 }, ttl: 5 }, { _id: new ObjectId() }],
    ordered: false,
  },
  { insert: 'c', documents: [{ _id: 3 }], lsid, txnNumber: Long.fromNumber(1) },
  {
    find: 'c',
    filter: { a: { $elemMatch: { b: 'x' } }, 'c.d': { $gt: 1 } },
    sort: { a: 1 },
    projection: { a: 1 },
    limit: 5,
  },
  { find: 'c', filter: { _id: 1 } },
  {
    update: 'c',
    updates: [
      {
        q: { _id: 1 },
        u: { $set: { 'a.$[x].b': 1 }, $push: { p: { $each: [1], $slice: -3 } } },
        arrayFilters: [{ 'x.b': 'x' }],
      },
    ],
  },
  { update: 'c', updates: [{ q: { a: 1 }, u: [{ $set: { v: { $add: ['$c.d', 1] } } }], multi: true, upsert: true }] },
  { delete: 'c', deletes: [{ q: { a: { $gt: 100 } }, limit: 1 }] },
  { findAndModify: 'c', query: { _id: 1 }, update: { $max: { m: 5 } }, new: true, upsert: true, fields: { a: 1 } },
  {
    aggregate: 'c',
    pipeline: [{ $match: { a: 1 } }, { $group: { _id: '$t', n: { $sum: 1 } } }, { $sort: { n: 1 } }],
    cursor: {},
  },
  { count: 'c', query: { a: 1 } },
  { distinct: 'c', key: 'a.b', query: {} },
  { createIndexes: 'c', indexes: [{ key: { a: 1, t: -1 }, name: 'x', sparse: true }] },
  { createIndexes: 'c', indexes: [{ key: { _ts: 1 }, name: 'ttl', expireAfterSeconds: 1000 }] },
  { collMod: 'c', index: { name: 'ttl', expireAfterSeconds: 500 } },
  { dropIndexes: 'c', index: 'x' },
  { listCollections: 1, filter: { name: 'c' } },
  { explain: { find: 'c', filter: { a: 1 } }, verbosity: 'executionStats' },
  { getMore: Long.fromNumber(5), collection: 'c' },
  { killCursors: 'c', cursors: [Long.fromNumber(5)] },
]

async function answerTo(message: Buffer): Promise<Document | undefined> {
  client.send(message)
  const reply = await client.next()
  if (reply === undefined) client = await RawClient.loggedIn(uri)
  return reply?.body
}

test('A damaged message gets an error or closes the connection', async () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...commands), damage, async (command, changes) => {
      const message = opMsg(serialize({ ...command, $db: 'd' }))
      // Leave the flags alone: one of them says that no answer is wanted.
      for (const [at, byte] of changes) message[20 + (at % (message.length - 20))] = byte
      assert.notEqual((await answerTo(message))?.code, 1, message.toString('hex'))
    }),
    { numRuns: 500 },
  )
})

const strange = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1.5,
  Number.NaN,
  2 ** 31,
  2 ** 53,
  '',
  '$a',
  '$$ROOT',
  'a.',
  '\0',
  'a\0b',
  [],
  [[]],
  [null],
  {},
  { $gt: 1 },
  { $set: {} },
  { $elemMatch: {} },
  new Date(Number.NaN),
  Long.MIN_VALUE,
  Decimal128.fromString('NaN'),
  new Timestamp({ t: 0, i: 0 }),
  new BSONRegExp('(', 'i'),
  new BSONRegExp('^(a+)+$'),
)

/** The command with one part replaced, somewhere in it. */
function withStranger(value: unknown, path: readonly number[], stranger: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return stranger
  const entries = Array.isArray(value) ? [...value.entries()] : isPlain(value) ? Object.entries(value) : []
  if (entries.length === 0) return stranger
  const [chosen] = entries[step % entries.length]!
  const changed = entries.map(
    ([name, part]) => [name, name === chosen ? withStranger(part, rest, stranger) : part] as const,
  )
  return Array.isArray(value) ? changed.map(([, part]) => part) : Object.fromEntries(changed)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

test('A command with a strange value in it gets an answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...commands),
      fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
      strange,
      async (command, path, stranger) => {
        const changed = withStranger(command, path, stranger) as Document
        assert.notEqual((await answerTo(opMsg(serialize({ ...changed, $db: 'd' }))))?.code, 1, JSON.stringify(changed))
      },
    ),
    { numRuns: 500 },
  )
})

test('A path with a null byte in it finds nothing, and does not read beyond the document', async () => {
  await client.command({ insert: 'p', documents: [{ _id: 1, a: [{ b: 1 }] }], $db: 'd' })
  for (const key of ['a\0', 'a.b\0\u0003query', '\0', 'a\0.b']) {
    assert.deepEqual((await client.command({ distinct: 'p', key, $db: 'd' })).values, [], JSON.stringify(key))
  }
})
