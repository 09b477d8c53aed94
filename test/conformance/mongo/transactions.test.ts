/** Transactions: atomic and isolated. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UUID } from 'bson'
import { type ClientSession, type Collection, type Db, type Document, Long } from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { db, uri, client, newCollection, newDatabase } = await startMongo()

async function within<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
  const session = client.startSession()
  try {
    return await work(session)
  } finally {
    await session.endSession()
  }
}

async function accounts(): Promise<Collection<Document>> {
  const collection = newCollection()
  await collection.insertMany([
    { _id: 'a' as never, n: 100 },
    { _id: 'b' as never, n: 0 },
  ])
  return collection
}

const balances = async (collection: Collection<Document>) => (await collection.find().toArray()).map(({ n }) => n)

test('Others see the writes of a transaction only after its commit', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.updateOne({ _id: 'a' as never }, { $inc: { n: -30 } }, { session })
    await collection.updateOne({ _id: 'b' as never }, { $inc: { n: 30 } }, { session })
    await collection.insertOne({ _id: 'c' as never, n: 1 }, { session })
    assert.deepEqual(await balances(collection), [100, 0])
    await session.commitTransaction()
  })
  assert.deepEqual(await balances(collection), [70, 30, 1])
})

test('A transaction sees its own writes, by every way of reading', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.insertMany(
      [
        { _id: 'c' as never, n: 5 },
        { _id: 'd' as never, n: 7 },
      ],
      { session },
    )
    await collection.deleteOne({ _id: 'b' as never }, { session })
    await collection.updateMany({ n: { $gt: 6 } }, { $inc: { n: 1 } }, { session })
    assert.deepEqual(idsOf(await collection.find({}, { session, sort: { _id: 1 } }).toArray()), ['a', 'c', 'd'])
    assert.deepEqual(idsOf(await collection.find({}, { session, sort: { n: -1 }, limit: 2 }).toArray()), ['a', 'd'])
    assert.deepEqual(await collection.findOne({ _id: 'd' as never }, { session }), { _id: 'd', n: 8 })
    assert.equal(await collection.findOne({ _id: 'b' as never }, { session }), null)
    assert.deepEqual(await collection.distinct('n', {}, { session }), [5, 8, 101])
    const modified = await collection.findOneAndUpdate(
      { _id: 'c' as never },
      { $set: { n: 6 } },
      { session, returnDocument: 'after' },
    )
    assert.deepEqual(modified, { _id: 'c', n: 6 })
    assert.equal(
      (await collection.updateOne({ _id: 'e' as never }, { $set: { n: 9 } }, { session, upsert: true })).upsertedId,
      'e',
    )
    assert.equal((await collection.deleteMany({ n: { $gte: 100 } }, { session })).deletedCount, 1)
    await session.commitTransaction()
  })
  assert.deepEqual(await collection.find().toArray(), [
    { _id: 'c', n: 6 },
    { _id: 'd', n: 8 },
    { _id: 'e', n: 9 },
  ])
})

test('An aborted transaction leaves nothing', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.deleteMany({}, { session })
    await session.abortTransaction()
  })
  assert.deepEqual(await balances(collection), [100, 0])
})

test('A transaction that fails leaves nothing, and can be tried again', async () => {
  const collection = await accounts()
  const { code } = await failure(
    within(session =>
      session.withTransaction(async () => {
        await collection.updateOne({ _id: 'a' as never }, { $inc: { n: 1 } }, { session })
        await collection.insertOne({ _id: 'b' as never }, { session })
      }),
    ),
  )
  assert.equal(code, 11000)
  assert.deepEqual(await balances(collection), [100, 0])
})

test('An insert that fails in a transaction names the index that refused it', async () => {
  const taken = { _id: 'a', n: 1 }
  for (const [documents, index] of [
    [
      [
        { _id: 'x', n: 7 },
        { _id: 'y', n: 7 },
      ],
      'n_1',
    ],
    [[{ _id: 'x', n: 7 }, taken, { _id: 'y', n: 7 }], '_id_'],
    [
      [
        { _id: 'x', n: 7 },
        { _id: 'x', n: 8 },
      ],
      '_id_',
    ],
  ] as const) {
    for (const ordered of [true, false]) {
      const collection = await accounts()
      await collection.createIndex({ n: 1 }, { unique: true })
      await within(async session => {
        session.startTransaction()
        const { message } = await failure(collection.insertMany(documents as never, { session, ordered }))
        assert.match(message, new RegExp(`index: ${index} dup key`))
      })
      assert.deepEqual(await balances(collection), [100, 0])
    }
  }
})

test('Of two transactions that write one document, the second one fails at its statement', async () => {
  const collection = await accounts()
  await collection.createIndex({ k: 1 }, { unique: true, sparse: true })
  const inc = { $inc: { n: 1 } }
  for (const [own, write] of [
    [{ _id: 'a' as never }, session => collection.updateOne({ _id: 'a' as never }, inc, { session })],
    [{ _id: 'a' as never }, session => collection.updateMany({ n: { $gte: 0 } }, inc, { session })],
    [{ _id: 'a' as never }, session => collection.deleteOne({ _id: 'a' as never }, { session })],
    [{ _id: 'a' as never }, session => collection.findOneAndUpdate({ _id: 'a' as never }, inc, { session })],
    [{ _id: 'new' as never }, session => collection.insertOne({ _id: 'new' as never }, { session })],
    [{ _id: 'new' as never }, session => collection.insertOne({ _id: 'other' as never, k: 1 }, { session })],
  ] satisfies (readonly [Document, (session: ClientSession) => Promise<unknown>])[]) {
    await within(first =>
      within(async second => {
        first.startTransaction()
        second.startTransaction()
        await collection.updateOne(own, { $set: { k: 1 } }, { session: first, upsert: true })
        const { code, labels } = await failure(write(second))
        assert.deepEqual([code, labels], [112, ['TransientTransactionError']])
        await second.abortTransaction()
        await first.abortTransaction()
      }),
    )
  }
  assert.deepEqual(await balances(collection), [100, 0])
})

test('A write outside of transactions waits for the transaction that wrote its document first', async () => {
  const collection = await accounts()
  for (const isCommitted of [true, false]) {
    await within(async session => {
      session.startTransaction()
      await collection.updateOne({ _id: 'a' as never }, { $inc: { n: 1 } }, { session })
      await collection.updateOne({ _id: 'b' as never }, { $inc: { n: 5 } })
      let isDone = false
      const write = collection.updateOne({ _id: 'a' as never }, { $mul: { n: 2 } }).then(() => {
        isDone = true
      })
      const limited = collection.updateOne({ _id: 'a' as never }, { $mul: { n: 2 } }, { maxTimeMS: 30 } as never)
      assert.equal((await failure(limited)).code, 50)
      assert.deepEqual([isDone, await balances(collection)], [false, isCommitted ? [100, 5] : [202, 10]])
      await (isCommitted ? session.commitTransaction() : session.abortTransaction())
      await write
    })
  }
  assert.deepEqual(await balances(collection), [404, 10])
})

test('A statement that fails ends its transaction', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 'c' as never }, { session })
    await failure(collection.find({ $nonsense: 1 } as never, { session }).toArray())
    const { code, message } = await failure(collection.find({}, { session }).toArray())
    assert.equal(code, 251)
    assert.match(message, /^Transaction with \{ txnNumber: \d+ \} has been aborted\.$/)
    await session.abortTransaction()
  })
  assert.deepEqual(await balances(collection), [100, 0])
})

test('A transaction cannot overwrite a document that somebody else wrote since it was read', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.updateOne({ _id: 'b' as never }, { $inc: { n: 1 } }, { session })
    const { n } = (await collection.findOne({ _id: 'a' as never }, { session }))!
    await collection.updateOne({ _id: 'a' as never }, { $inc: { n: 5 } })
    const { code, labels } = await failure(
      collection.updateOne({ _id: 'a' as never }, { $set: { n: n + 1 } }, { session }),
    )
    assert.equal(code, 112)
    assert.ok(labels.includes('TransientTransactionError'))
    await session.abortTransaction()
  })
  assert.deepEqual(await balances(collection), [105, 0])
})

test('Concurrent transfers keep the sum', async () => {
  const collection = newCollection()
  const names = ['a', 'b', 'c', 'd']
  await collection.insertMany(names.map(_id => ({ _id: _id as never, n: 100 })))
  const transfer = (from: string, to: string) =>
    within(session =>
      session.withTransaction(async () => {
        const source = (await collection.findOne({ _id: from as never }, { session }))!
        await collection.updateOne({ _id: from as never }, { $set: { n: source.n - 1 } }, { session })
        await collection.updateOne({ _id: to as never }, { $inc: { n: 1 } }, { session })
      }),
    )
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => transfer(names[index % 4]!, names[(index + 1 + (index % 3)) % 4]!)),
  )
  const sum = (await balances(collection)).reduce((total, n) => total + n, 0)
  assert.equal(sum, 400)
})

test('A transaction spans collections', async () => {
  const database = newDatabase()
  const [first, second] = [database.collection('first'), database.collection('second')]
  await first.insertOne({ _id: 1 as never })
  await within(session =>
    session.withTransaction(async () => {
      await first.deleteOne({ _id: 1 as never }, { session })
      await second.insertOne({ _id: 1 as never }, { session })
    }),
  )
  assert.deepEqual([await first.estimatedDocumentCount(), await second.estimatedDocumentCount()], [0, 1])
})

test('A document that dies before the commit is a conflict, and a written one lives from the commit on', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await collection.insertMany([{ _id: 'old' as never }, { _id: 'kept' as never, ttl: -1 }])
  await within(async session => {
    session.startTransaction()
    await collection.updateOne({ _id: 'old' as never }, { $set: { a: 1 } }, { session })
    await db.clock.advance('10s')
    assert.equal((await failure(session.commitTransaction())).code, 112)
  })
  await within(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 'new' as never }, { session })
    await db.clock.advance('9s')
    await session.commitTransaction()
  })
  await db.clock.advance('9s')
  assert.deepEqual(idsOf(await collection.find().toArray()), ['kept', 'new'])
  await db.clock.advance('1s')
  assert.deepEqual(idsOf(await collection.find().toArray()), ['kept'])
})

test('A collection that a transaction creates exists from its commit on, for others', async () => {
  for (const isCommitted of [true, false]) {
    for (const [name, write] of Object.entries({
      create: database => (session: ClientSession) => database.createCollection('new', { session }),
      insert: database => session => database.collection('new').insertOne({ _id: 1 as never }, { session }),
      upsert: database => session =>
        database.collection('new').updateOne({ _id: 1 as never }, { $set: { n: 1 } }, { session, upsert: true }),
      modify: database => session =>
        database.collection('new').findOneAndReplace({ _id: 1 as never }, { n: 1 }, { session, upsert: true }),
      index: database => session => database.collection('new').createIndex({ n: 1 }, { session }),
    } satisfies Record<string, (database: Db) => (session: ClientSession) => Promise<unknown>>)) {
      const database = newDatabase()
      const names = async () => (await database.listCollections().toArray()).map(each => each.name)
      await within(async session => {
        session.startTransaction()
        await write(database)(session)
        assert.deepEqual(await names(), [], name)
        await (isCommitted ? session.commitTransaction() : session.abortTransaction())
      })
      assert.deepEqual(await names(), isCommitted ? ['new'] : [], name)
    }
  }
})

test('A transaction sees the collection that it creates, with its indexes and documents', async () => {
  const database = newDatabase()
  const made = database.collection<Document>('made')
  await within(async session => {
    session.startTransaction()
    assert.deepEqual(await made.find({}, { session }).toArray(), [])
    await database.createCollection('made', { session })
    await made.createIndexes([{ key: { k: 1 }, unique: true, sparse: true }, { key: { n: -1 } }], { session })
    await made.insertMany(
      [
        { _id: 1 as never, k: 'a', n: 1 },
        { _id: 2 as never, n: 2 },
      ],
      { session },
    )
    assert.deepEqual(idsOf(await made.find({}, { session, sort: { n: -1 } }).toArray()), [2, 1])
    assert.equal((await made.findOne({ _id: 1 as never }, { session }))!.k, 'a')
    assert.equal(await made.countDocuments({ n: { $gt: 0 } }, { session }), 2)
    assert.equal((await made.deleteOne({ _id: 2 as never }, { session })).deletedCount, 1)
    await session.commitTransaction()
    assert.deepEqual(await made.find().toArray(), [{ _id: 1, k: 'a', n: 1 }])
    assert.deepEqual((await made.indexes()).map(({ name }) => name).sort(), ['_id_', 'k_1', 'n_-1'])
    session.startTransaction()
    const { code } = await failure(made.insertOne({ k: 'a' }, { session }))
    assert.equal(code, 11000)
    await session.abortTransaction()
  })
  await within(async session => {
    session.startTransaction()
    const other = database.collection('other')
    await other.createIndex({ k: 1 }, { unique: true, session })
    await other.insertOne({ k: 1 }, { session })
    assert.equal((await failure(other.insertOne({ k: 1 }, { session }))).code, 11000)
    await session.abortTransaction()
  })
})

test('Documents of a collection that a transaction created live from the commit on', async () => {
  const made = newCollection()
  await within(async session => {
    session.startTransaction()
    await made.createIndex({ _ts: 1 }, { expireAfterSeconds: 10, session })
    await made.insertOne({ _id: 1 as never }, { session })
    await db.clock.advance('9s')
    await session.commitTransaction()
  })
  await db.clock.advance('9s')
  assert.equal((await made.find().toArray()).length, 1)
  await db.clock.advance('1s')
  assert.equal((await made.find().toArray()).length, 0)
})

test('A collection that somebody else creates first is a conflict', async () => {
  const [plain, planned] = [newCollection(), newCollection()]
  await within(async session => {
    session.startTransaction()
    await plain.insertOne({ _id: 1 as never }, { session })
    await plain.insertOne({ _id: 2 as never })
    assert.equal((await failure(session.commitTransaction())).code, 112)
  })
  assert.deepEqual(idsOf(await plain.find().toArray()), [2])
  await within(first =>
    within(async second => {
      first.startTransaction()
      second.startTransaction()
      await planned.insertOne({ _id: 1 as never }, { session: first })
      assert.equal((await failure(planned.insertOne({ _id: 2 as never }, { session: second }))).code, 112)
      await first.commitTransaction()
    }),
  )
  assert.deepEqual(idsOf(await planned.find().toArray()), [1])
})

test('A collection that is dropped while a transaction uses it ends the transaction', async () => {
  const collection = await accounts()
  await within(async session => {
    session.startTransaction()
    await collection.findOne({}, { session })
    await collection.drop()
    const { code, labels } = await failure(collection.find({}, { session }).toArray())
    assert.deepEqual([code, labels], [246, ['TransientTransactionError']])
  })
})

test('What MongoDB refuses in a transaction is refused in its words', async () => {
  const collection = await accounts()
  const { db: database } = { db: client.db(collection.dbName) }
  const name = `${collection.dbName}.items`
  for (const [work, code, message] of [
    [
      session => collection.createIndex({ n: 1 }, { session }),
      263,
      `Cannot create new indexes on existing collection ${name} in a multi-document transaction.`,
    ],
    [session => database.createCollection('items', { session }), 48, `Collection ${name} already exists.`],
    [
      session => collection.aggregate([{ $out: 'other' }], { session }).toArray(),
      263,
      'Stage not supported inside of a multi-document transaction: $out',
    ],
    [
      session => collection.aggregate([{ $merge: 'other' }], { session }).toArray(),
      263,
      'Stage not supported inside of a multi-document transaction: $merge',
    ],
    [
      session => collection.aggregate([{ $collStats: { count: {} } }], { session }).toArray(),
      263,
      'Stage not supported inside of a multi-document transaction: $collStats',
    ],
    [session => collection.drop({ session }), 263, "Cannot run 'drop' in a multi-document transaction."],
    [
      session => database.command({ count: 'items' }, { session }),
      263,
      "Cannot run 'count' in a multi-document transaction. Please see " +
        'http://dochub.mongodb.org/core/transaction-count for a recommended alternative.',
    ],
    [
      session => client.db('admin').collection('x').findOne({}, { session }),
      263,
      "Cannot run command against the 'admin' database in a transaction.",
    ],
    [
      async session => {
        const made = database.collection('made')
        await made.insertOne({}, { session })
        await made.createIndex({ n: 1 }, { session })
      },
      263,
      `Cannot create new indexes on non-empty collection ${collection.dbName}.made in a multi-document transaction.`,
    ],
  ] satisfies (readonly [(session: ClientSession) => Promise<unknown>, number, string])[]) {
    await within(async session => {
      session.startTransaction()
      const found = await failure(work(session))
      assert.deepEqual([found.code, found.message], [code, message])
      await session.abortTransaction()
    })
  }
  assert.deepEqual(
    (await database.listCollections().toArray()).map(each => each.name),
    ['items'],
  )
})

test('The events of a transaction name it and its session', async () => {
  const collection = await accounts()
  const stream = collection.watch()
  await stream.tryNext()
  await within(async session => {
    session.startTransaction()
    await collection.insertOne({ _id: 'c' as never }, { session })
    await collection.updateOne({ _id: 'a' as never }, { $inc: { n: 1 } }, { session })
    await collection.replaceOne({ _id: 'c' as never }, { n: 9 }, { session })
    await collection.replaceOne({ _id: 'b' as never }, { n: 9 }, { session })
    await session.commitTransaction()
    session.startTransaction()
    await collection.deleteOne({ _id: 'a' as never }, { session })
    await session.commitTransaction()
    await collection.updateOne({ _id: 'b' as never }, { $inc: { n: 1 } })
    const events: Document[] = []
    for (let n = 0; n < 5; n++) events.push((await stream.next()) as Document)
    assert.deepEqual(
      events.map(({ operationType, documentKey }) => [operationType, documentKey._id]),
      [
        ['insert', 'c'],
        ['update', 'a'],
        ['replace', 'b'],
        ['delete', 'a'],
        ['update', 'b'],
      ],
    )
    const numbers = events.map(({ txnNumber }) => txnNumber)
    assert.deepEqual(numbers, [numbers[0], numbers[0], numbers[0], numbers[0] + 1, undefined])
    assert.equal(typeof numbers[0], 'number')
    for (const { lsid } of events.slice(0, 4)) {
      assert.deepEqual(lsid.id.buffer, session.id!.id.buffer)
      assert.equal(lsid.uid.length(), 32)
    }
    assert.equal(events[4]!.lsid, undefined)
  })
  await stream.close()
})

test('A write that was refused lends its origin to no other', async () => {
  const collection = await accounts()
  await collection.createIndex({ k: 1 }, { unique: true, sparse: true })
  await collection.insertOne({ _id: 'c' as never, k: 1 })
  const stream = collection.watch()
  await stream.tryNext()
  assert.equal((await failure(collection.replaceOne({ _id: 'a' as never }, { k: 1 }))).code, 11000)
  await collection.updateOne({ _id: 'a' as never }, { $inc: { n: 1 } })
  assert.equal(((await stream.next()) as Document).operationType, 'update')
  await stream.close()
})

const numbered = (txnNumber: number, rest: Document = {}) => ({
  txnNumber: Long.fromNumber(txnNumber),
  autocommit: false,
  ...rest,
})

test('Commands in the wrong state of a transaction are refused', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const lsid = { id: new UUID() }
  const say = async (command: Document) => {
    const { code = 0, errorLabels = [] } = await raw.command({
      ...command,
      lsid,
      $db: command.commitTransaction || command.abortTransaction ? 'admin' : $db,
    })
    return { code, errorLabels }
  }
  const insert = { insert: 'c', documents: [{ _id: 1 }] }
  assert.deepEqual(await say({ ...insert, ...numbered(1) }), { code: 251, errorLabels: ['TransientTransactionError'] })
  assert.equal((await say({ ...insert, ...numbered(1, { startTransaction: true }) })).code, 0)
  assert.equal((await say({ ...insert, ...numbered(1, { startTransaction: true }) })).code, 117)
  assert.equal((await say({ ...insert, ...numbered(0, { startTransaction: true }) })).code, 225)
  assert.equal((await say({ count: 'c', ...numbered(1) })).code, 263)
  assert.equal((await say({ drop: 'c', ...numbered(1) })).code, 263)
  assert.equal((await say({ ...insert, txnNumber: Long.fromNumber(1), autocommit: true })).code, 72)
  assert.equal((await say({ ...insert, autocommit: false })).code, 72)
  assert.equal((await say({ commitTransaction: 1, ...numbered(1) })).code, 0)
  assert.equal((await say({ commitTransaction: 1, ...numbered(1) })).code, 0, 'a commit may be repeated')
  assert.equal((await say({ abortTransaction: 1, ...numbered(1) })).code, 256)
  assert.equal((await say({ find: 'c', ...numbered(1) })).code, 256)
  assert.deepEqual(await say({ commitTransaction: 1, ...numbered(2) }), {
    code: 251,
    errorLabels: ['TransientTransactionError'],
  })
  assert.equal((await say({ find: 'c', ...numbered(3, { startTransaction: true }) })).code, 0)
  assert.equal((await say({ abortTransaction: 1, ...numbered(3) })).code, 0)
  assert.equal((await say({ commitTransaction: 1, ...numbered(3) })).code, 251)
  raw.close()
})

test('A new transaction of a session aborts the previous one', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const lsid = { id: new UUID() }
  await raw.command({ insert: 'c', documents: [{ _id: 1 }], ...numbered(1, { startTransaction: true }), lsid, $db })
  await raw.command({ insert: 'c', documents: [{ _id: 2 }], ...numbered(2, { startTransaction: true }), lsid, $db })
  assert.equal((await raw.command({ commitTransaction: 1, ...numbered(2), lsid, $db: 'admin' })).ok, 1)
  const { cursor } = await raw.command({ find: 'c', $db })
  assert.deepEqual(idsOf(cursor.firstBatch), [2])
  raw.close()
})

test('A commit whose answer was lost is recognised after a restart of the server', async () => {
  const data = temporaryDirectory()
  const lsid = { id: new UUID() }
  const commit = { commitTransaction: 1, ...numbered(1), lsid, $db: 'admin' }
  {
    await using first = await mayfly({ clock: 'manual', data })
    const raw = await RawClient.loggedIn(first.mongoUri!)
    await raw.command({
      insert: 'c',
      documents: [{ _id: 1 }],
      ...numbered(1, { startTransaction: true }),
      lsid,
      $db: 'd',
    })
    assert.equal((await raw.command(commit)).ok, 1)
    raw.close()
  }
  await using second = await mayfly({ clock: 'manual', data })
  const raw = await RawClient.loggedIn(second.mongoUri!)
  assert.equal((await raw.command(commit)).ok, 1)
  assert.equal((await raw.command({ ...commit, ...numbered(2) })).code, 251)
  raw.close()
})

test('A write in a transaction checks unique indexes, including its own earlier writes', async () => {
  const collection = newCollection()
  await collection.createIndex({ k: 1 }, { unique: true })
  await collection.insertMany([
    { _id: 1 as never, k: 'a' },
    { _id: 2 as never, k: ['b', 'c'] },
  ])
  const committed = (work: (session: ClientSession) => Promise<unknown>) =>
    within(async session => {
      session.startTransaction()
      await work(session)
      await session.commitTransaction()
    })
  for (const work of [
    session => collection.insertOne({ k: 'a' }, { session }),
    session => collection.insertOne({ k: ['x', 'c'] }, { session }),
    session => collection.updateOne({ _id: 1 as never }, { $set: { k: 'b' } }, { session }),
    async session => {
      await collection.insertOne({ k: 'new' }, { session })
      await collection.insertOne({ k: 'new' }, { session })
    },
  ] satisfies ((session: ClientSession) => Promise<unknown>)[]) {
    let hasReachedCommit = false
    const { code } = await failure(
      committed(async session => {
        await work(session)
        hasReachedCommit = true
      }),
    )
    assert.deepEqual([code, hasReachedCommit], [11000, false])
  }
  await committed(async session => {
    await collection.updateOne({ _id: 1 as never }, { $set: { n: 1 } }, { session })
    await collection.deleteOne({ _id: 2 as never }, { session })
    await collection.insertOne({ _id: 3 as never, k: 'c' }, { session })
    await collection.updateOne({ _id: 1 as never }, { $set: { k: 'd' } }, { session })
    await collection.insertOne({ _id: 4 as never, k: 'a' }, { session })
  })
  assert.deepEqual(await collection.distinct('k'), ['a', 'c', 'd'])
})
