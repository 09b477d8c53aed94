/**
 * What clients of the Mongo port can make the server hold: each kind of work has a bound, with MongoDB's
 * code, others are served meanwhile, and everything is given back.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { type Document, MongoClient } from 'mongodb'
import { serveCli } from '../../support/run-cli.ts'
import { eventually } from '../../support/server-with-time.ts'
import { failure } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

/** The account has 16 MB, a connection 8 MB, strangers 2 MB. */
const small = await serveCli(['--memory', '--port', '0', '--mongo-port', '0', '--json', '--memory-budget', '32'])
const uri: string = small.ready.mongoUri
const client = new MongoClient(uri, { maxPoolSize: 1 })
const others = new MongoClient(uri, { maxPoolSize: 1 })
const collection = client.db('shop').collection<{ _id: number; n: number; text: string }>('carts')
after(async () => {
  await client.close()
  await others.close()
  await small[Symbol.asyncDispose]()
})
for (let first = 0; first < 12_000; first += 1000) {
  await collection.insertMany(
    Array.from({ length: 1000 }, (_, n) => ({ _id: first + n, n: first + n, text: 'x'.repeat(1000) })),
  )
}

interface Memory {
  readonly heldBytes: number
  readonly held: Readonly<Record<string, number>>
}

async function memory(): Promise<Memory> {
  const status = (await (await fetch(`${small.endpoint}/status`)).json()) as { memory: Memory }
  return status.memory
}

/** Others find a document, and all that was held has been given back. */
async function assertBack(): Promise<void> {
  assert.equal((await others.db('shop').collection('carts').findOne({ n: 7 }))?.n, 7)
  await eventually(async () => (await memory()).heldBytes === 0)
}

/** 1.5 MB of groups. */
const firstGroups = [{ $match: { n: { $lt: 1500 } } }, { $group: { _id: '$n', text: { $first: '$text' } } }]

const tooMuch: readonly [name: string, pipeline: Document[]][] = [
  ['$group', [{ $group: { _id: { $mod: ['$n', 10] }, all: { $push: '$$ROOT' } } }]],
  ['$sort', [{ $sort: { text: 1, n: -1 } }]],
  ['$setWindowFields', [{ $setWindowFields: { sortBy: { n: 1 }, output: { k: { $sum: '$n' } } } }]],
  ['$facet', [{ $facet: { all: [{ $match: {} }] } }]],
]

for (const [name, pipeline] of tooMuch) {
  test(`a ${name} of more than the share of a connection is refused, and nothing of it stays`, async () => {
    const error = await failure(collection.aggregate(pipeline).toArray())
    assert.equal(error.code, 292)
    assert.equal(error.codeName, 'QueryExceededMemoryLimitNoDiskUseAllowed')
    assert.match(error.message, /--memory-budget/)
    await assertBack()
  })
}

test('a cursor holds what its pipeline has made, until it is closed', async () => {
  const cursor = collection.aggregate(firstGroups, { batchSize: 10 })
  await cursor.next()
  const { held } = await memory()
  assert.ok(held.cursors! > 1_000_000, JSON.stringify(held))
  await cursor.close()
  await assertBack()
})

test('a cursor without a session ends with its connection', async () => {
  const raw = await RawClient.loggedIn(uri)
  const answer = await raw.command({
    aggregate: 'carts',
    pipeline: firstGroups,
    cursor: { batchSize: 10 },
    $db: 'shop',
  })
  assert.equal(answer.ok, 1)
  assert.ok((await memory()).held.cursors! > 1_000_000)
  raw.socket.destroy()
  await assertBack()
})

for (const ending of ['killCursors', 'a closed connection'] as const) {
  test(`documents that wait in the streams of cursors are given back by ${ending}`, async () => {
    const raw = await RawClient.loggedIn(uri)
    const cursors: unknown[] = []
    for (let n = 0; n < 20; n++) {
      const pipeline = [{ $match: { n: { $gte: 0 } } }, { $unwind: '$n' }]
      const answer = await raw.command({ aggregate: 'carts', pipeline, cursor: { batchSize: 100 }, $db: 'shop' })
      assert.equal(answer.ok, 1)
      cursors.push((answer.cursor as Document).id)
    }
    assert.ok((await memory()).held.work! > 1_000_000)
    if (ending === 'killCursors') await raw.command({ killCursors: 'carts', cursors, $db: 'shop' })
    else raw.socket.destroy()
    await assertBack()
    raw.socket.destroy()
  })
}

test('what a search in a transaction collects is counted', async () => {
  const session = client.startSession()
  try {
    session.startTransaction()
    assert.equal((await failure(collection.distinct('text', {}, { session }))).code, 292)
  } finally {
    await session.endSession()
  }
  const few = client.startSession()
  await few.withTransaction(async () => {
    assert.deepEqual(await collection.distinct('n', { n: { $lt: 3 } }, { session: few }), [0, 1, 2])
    assert.equal((await collection.find({ n: { $lt: 3000 } }, { session: few }).toArray()).length, 3000)
  })
  await few.endSession()
  await assertBack()
})

test('a transaction that grows beyond its share is refused as too large, and is over', async () => {
  const session = client.startSession()
  session.startTransaction()
  const documents = () => Array.from({ length: 100 }, () => ({ text: 'x'.repeat(10_000) }))
  const written = client.db('shop').collection('written')
  const error = await failure(
    (async () => {
      for (let n = 0; n < 50; n++) await written.insertMany(documents(), { session })
    })(),
  )
  assert.equal(error.code, 388)
  assert.equal(error.codeName, 'TransactionTooLargeForCache')
  assert.match(error.message, /too large and will not fit/)
  await session.endSession()
  await assertBack()
  assert.equal(await written.countDocuments(), 0)
})

test('a transaction gives back what it held when it is committed or aborted', async () => {
  const written = client.db('shop').collection('committed')
  for (const ends of ['commitTransaction', 'abortTransaction'] as const) {
    const session = client.startSession()
    session.startTransaction()
    await written.insertMany([{ text: 'x'.repeat(500_000) }, { text: 'y'.repeat(500_000) }], { session })
    assert.ok((await memory()).held.transactions! >= 1_000_000)
    await session[ends]()
    await session.endSession()
    await assertBack()
  }
  assert.equal(await written.countDocuments(), 2)
})

test('a message that says to be large is counted before it arrives, and given back if its client goes', async () => {
  const raw = await RawClient.loggedIn(uri)
  const start = Buffer.alloc(1000)
  start.writeInt32LE(5_000_000, 0)
  start.writeInt32LE(2013, 12)
  raw.socket.write(start)
  await eventually(async () => (await memory()).held.bodies === 5_013_504)
  raw.socket.destroy()
  await assertBack()
})

test('a large message waits while others have the memory, and is carried out then', async () => {
  const blockers = await Promise.all([1, 2].map(() => RawClient.loggedIn(uri)))
  const start = Buffer.alloc(1000)
  start.writeInt32LE(6_000_000, 0)
  start.writeInt32LE(2013, 12)
  for (const { socket } of blockers) socket.write(start)
  await eventually(async () => (await memory()).held.bodies! > 11_900_000)
  const documents = Array.from({ length: 300 }, (_, n) => ({ _id: n, text: 'x'.repeat(10_000) }))
  const inserted = client.db('shop').collection<{ _id: number; text: string }>('waited').insertMany(documents)
  assert.equal((await others.db('shop').collection('carts').findOne({ n: 7 }))?.n, 7)
  for (const { socket } of blockers) socket.destroy()
  assert.equal((await inserted).insertedCount, 300)
  await assertBack()
})

test('what a message is decompressed to is counted before it is', async () => {
  const raw = await RawClient.loggedIn(uri)
  const head = Buffer.alloc(25)
  const packed = deflateSync(Buffer.alloc(20_000_000))
  head.writeInt32LE(head.length + packed.length, 0)
  head.writeInt32LE(2012, 12)
  head.writeInt32LE(2013, 16)
  head.writeInt32LE(20_000_000, 20)
  head[24] = 2
  raw.send(Buffer.concat([head, packed]))
  const reply = await raw.next()
  assert.equal(reply?.body.code, 292)
  raw.socket.destroy()
  await assertBack()
})

test('strangers hold no more than their one share', async () => {
  const start = Buffer.alloc(60_000)
  start.writeInt32LE(64_000, 0)
  start.writeInt32LE(2013, 12)
  const strangers = await Promise.all(Array.from({ length: 50 }, () => RawClient.open(uri)))
  for (const { socket } of strangers) socket.write(start)
  await eventually(async () => strangers.some(({ isClosed }) => isClosed))
  assert.ok((await memory()).held.bodies! <= 2 * 1024 * 1024)
  for (const { socket } of strangers) socket.destroy()
  await assertBack()
})
