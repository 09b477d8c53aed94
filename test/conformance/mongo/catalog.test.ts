/** Databases, collections, their indexes, and Cosmos's own commands for them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, Double, Long, MongoClient } from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { newClient, temporaryDirectory } from '../../support/start-server.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { db, client, newDatabase, newCollection } = await startMongo()

test('A database exists as long as it has a collection', async () => {
  const database = newDatabase()
  const names = async () =>
    (await client.db().admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name)
  assert.ok(!(await names()).includes(database.databaseName))
  await database.createCollection('c')
  assert.ok((await names()).includes(database.databaseName))
  const { databases } = await client.db('admin').command({ listDatabases: 1, filter: { name: database.databaseName } })
  assert.equal(databases.length, 1)
  assert.equal((await database.command({ dropDatabase: 1 })).dropped, database.databaseName)
  assert.ok(!(await names()).includes(database.databaseName))
  assert.equal((await database.command({ dropDatabase: 1 })).dropped, undefined)
  assert.equal((await failure(client.db('admin').command({ dropDatabase: 1 }))).code, 20)
})

test('Collections are created, listed and dropped', async () => {
  const database = newDatabase()
  await database.createCollection('b')
  await database.createCollection('a')
  assert.equal((await failure(database.createCollection('a'))).code, 48)
  const [first, second] = await database.listCollections().toArray()
  assert.deepEqual([first?.name, second?.name], ['a', 'b'])
  assert.equal(first?.type, 'collection')
  const { info, idIndex, options } = first as Document
  assert.equal(info.readOnly, false)
  assert.equal(info.uuid.sub_type, 4)
  assert.deepEqual(idIndex, { v: 2, key: { _id: 1 }, name: '_id_' })
  assert.deepEqual(options, {})
  assert.deepEqual(await database.listCollections({ name: 'b' }, { nameOnly: true }).toArray(), [
    { name: 'b', type: 'collection' },
  ])
  const { nIndexesWas, ns } = await database.command({ drop: 'a' })
  assert.deepEqual([nIndexesWas, ns], [1, `${database.databaseName}.a`])
  assert.equal((await database.command({ drop: 'a' })).ok, 1)
  assert.deepEqual(
    (await database.listCollections().toArray()).map(({ name }) => name),
    ['b'],
  )
})

test('Invalid names are refused', async () => {
  const database = newDatabase()
  for (const name of ['', '.a', 'a$', '$cmd', 'system.users', 'x'.repeat(300)]) {
    assert.equal((await failure(database.command({ create: name }))).code, 73, name)
  }
  const raw = await RawClient.loggedIn(db.mongoUri!)
  for (const $db of ['', 'a.b', 'a b', 'a$b', 'a/b', 'x'.repeat(64)]) {
    assert.equal((await raw.command({ create: 'c', $db })).code, 73, $db)
  }
  raw.close()
})

test('Options that Mayfly would have to ignore are refused', async () => {
  const database = newDatabase()
  for (const option of [{ capped: true, size: 100 }, { timeseries: { timeField: 't' } }]) {
    assert.equal((await failure(database.command({ create: 'c', ...option }))).code, 238, JSON.stringify(option))
  }
  assert.equal((await database.command({ create: 'c', capped: false, collation: { locale: 'simple' } })).ok, 1)
})

test('A collection is renamed with everything in it', async () => {
  const collection = newCollection()
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await collection.insertOne({ _id: 1 as never })
  const renamed = await collection.rename('other')
  assert.deepEqual(idsOf(await renamed.find().toArray()), [1])
  assert.deepEqual(await collection.find().toArray(), [])
  assert.equal((await renamed.indexes()).length, 2)
  await db.clock.advance('10s')
  assert.deepEqual(await renamed.find().toArray(), [])
  await collection.insertOne({ _id: 2 as never })
  assert.equal((await failure(collection.rename('other'))).code, 48)
  const replaced = await collection.rename('other', { dropTarget: true })
  assert.deepEqual(idsOf(await replaced.find().toArray()), [2])
  assert.equal((await failure(collection.rename('another'))).code, 26)
})

test('The two APIs do not see each other’s containers', async () => {
  const nosql = newClient(db)
  const { database } = await nosql.databases.create({ id: 'both' })
  await database.containers.create({ id: 'json', partitionKey: '/pk' })
  const mongo = client.db('both')
  assert.deepEqual(await mongo.listCollections().toArray(), [])
  const databases = async () => (await client.db().admin().listDatabases()).databases.map(({ name }) => name)
  assert.ok(!(await databases()).includes('both'), 'it has nothing that is there for Mongo')
  await mongo.collection('bson').insertOne({ _id: 1 as never })
  assert.ok((await databases()).includes('both'))
  const { resources } = await database.containers.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['json'],
  )
  const taken = await failure(mongo.collection('json').insertOne({ _id: 1 as never }))
  assert.equal(taken.code, 48)
  assert.match(taken.message, /taken by a container of the NoSQL API/)
  assert.deepEqual(await mongo.collection('json').find().toArray(), [])
  await mongo.dropDatabase()
  assert.deepEqual(
    (await database.containers.readAll().fetchAll()).resources.map(({ id }) => id),
    ['json'],
  )
})

test('Indexes are created, listed and dropped', async () => {
  const collection = newCollection()
  await collection.insertMany([{ a: 1, b: [1, 2] }, { a: 2 }])
  assert.equal(await collection.createIndex({ a: 1, b: -1 }), 'a_1_b_-1')
  assert.equal(await collection.createIndex({ c: 'hashed' }), 'c_hashed')
  assert.equal(await collection.createIndex({ '$**': 1 }), '$**_1')
  assert.equal(await collection.createIndex({ d: 1 }, { sparse: true, name: 'd' }), 'd')
  assert.equal(await collection.createIndex({ e: 1 }, { partialFilterExpression: { a: { $gt: 1 } } }), 'e_1')
  assert.deepEqual(await collection.indexes(), [
    { v: 2, key: { _id: 1 }, name: '_id_' },
    { v: 2, key: { a: 1, b: -1 }, name: 'a_1_b_-1' },
    { v: 2, key: { c: 'hashed' }, name: 'c_hashed' },
    { v: 2, key: { '$**': 1 }, name: '$**_1' },
    { v: 2, key: { d: 1 }, name: 'd', sparse: true },
    { v: 2, key: { e: 1 }, name: 'e_1', partialFilterExpression: { a: { $gt: 1 } } },
  ])
  const again = await collection.db.command({
    createIndexes: 'items',
    indexes: [{ key: { a: 1, b: -1 }, name: 'a_1_b_-1' }],
  })
  assert.equal(again.note, 'all indexes already exist')
  await collection.dropIndex('d')
  await collection.db.command({ dropIndexes: 'items', index: { c: 'hashed' } })
  assert.equal((await collection.indexes()).length, 4)
  const { nIndexesWas, msg } = await collection.db.command({ dropIndexes: 'items', index: '*' })
  assert.deepEqual([nIndexesWas, msg], [4, 'non-_id indexes dropped for collection'])
  assert.equal((await collection.indexes()).length, 1)
})

const badIndexes: readonly (readonly [spec: Document, code: number])[] = [
  [{ key: {}, name: 'x' }, 67],
  [{ key: { a: 0 }, name: 'x' }, 67],
  [{ key: { a: 'nonsense' }, name: 'x' }, 67],
  [{ key: { a: 'text' }, name: 'x' }, 67],
  [{ key: { a: true }, name: 'x' }, 67],
  [{ key: { '': 1 }, name: 'x' }, 67],
  [{ key: { 'a..b': 1 }, name: 'x' }, 67],
  [{ key: { $a: 1 }, name: 'x' }, 67],
  [{ key: { a: 1 } }, 9],
  [{ name: 'x' }, 9],
  [{ key: 'a', name: 'x' }, 14],
  [{ key: { a: 1 }, name: 5 }, 14],
  [{ key: { a: 1 }, name: 'x', nonsense: 1 }, 197],
  [{ key: { a: 1 }, name: 'x', collation: { locale: 'xx' } }, 2],
  [{ key: { a: 1 }, name: 'x', sparse: true, partialFilterExpression: { a: 1 } }, 67],
  [{ key: { a: 1 }, name: 'other' }, 85],
  [{ key: { b: 1 }, name: 'a_1' }, 86],
  [{ key: { a: 1 }, name: 'a_1', unique: true }, 86],
]

test('Invalid indexes are refused', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1 })
  for (const [spec, code] of badIndexes) {
    const { code: answered } = await failure(collection.db.command({ createIndexes: 'items', indexes: [spec] }))
    assert.equal(answered, code, JSON.stringify(spec))
  }
  assert.equal((await failure(collection.db.command({ createIndexes: 'items', indexes: [] }))).code, 2)
  assert.equal((await failure(collection.dropIndex('nonsense'))).code, 27)
  assert.equal((await failure(collection.dropIndex('_id_'))).code, 72)
  assert.equal((await failure(collection.db.command({ listIndexes: 'nothing' }))).code, 26)
})

test('An index whose filter or options cannot work is refused, also on an empty collection', async () => {
  const collection = newCollection()
  const refusals: readonly (readonly [options: Document, code: number, text: string, key?: Document])[] = [
    [{ partialFilterExpression: { $nonsense: 1 } }, 2, 'unknown top level operator: $nonsense'],
    [{ partialFilterExpression: { a: { $nonsense: 1 } } }, 2, 'unknown operator: $nonsense'],
    [{ partialFilterExpression: { a: { $in: 5 } } }, 2, '$in needs an array'],
    [{ partialFilterExpression: { a: { $near: [1, 2] } } }, 2, 'not allowed in this context'],
    [{ partialFilterExpression: { $expr: { $eq: ['$a', 1] } } }, 224, '$expr is not allowed in this context'],
    [{ partialFilterExpression: 5 }, 14, "The field 'partialFilterExpression' must be an object, but got int"],
    [
      { partialFilterExpression: { a: { $ne: null } } },
      67,
      'Expression not supported in partial index: $not\n    a $eq null\n',
    ],
    [{ partialFilterExpression: { a: { $exists: false } } }, 67, 'partial index: $not\n    a exists\n'],
    [{ partialFilterExpression: { a: /x/i } }, 67, 'Expression not supported in partial index: a regex /x/i\n'],
    [{ partialFilterExpression: { $nor: [{ a: 1 }] } }, 67, 'partial index: $nor\n    a $eq 1\n'],
    [
      {
        partialFilterExpression: {
          $or: [{ $and: [{ $or: [{ $and: [{ a: 1 }, { b: 1 }] }, { c: 1 }] }, { d: 1 }] }, { e: 1 }],
        },
      },
      67,
      'partialFilterExpression depth may not exceed 4',
    ],
    [{ partialFilterExpression: { a: 1 }, expireAfterSeconds: 5 }, 67, "A TTL index on '_ts'", { _ts: 1 }],
    [{ sparse: true }, 197, "The field 'sparse' is not valid for an _id index specification.", { _id: 1 }],
    [{ partialFilterExpression: { a: 1 } }, 197, 'is not valid for an _id index specification.', { _id: 1 }],
    [{ name: 'a\0b' }, 67, 'index name cannot contain NUL bytes'],
    [{ v: 3 }, 67, 'cannot create an index with v=3'],
    [{ weights: { a: 1 } }, 67, "the field 'weights' can only be specified with text indexes"],
    [{ clustered: true }, 238, "The index option 'clustered' is not supported."],
    [{ prepareUnique: true }, 238, "The index option 'prepareUnique' is not supported."],
    [{ storageEngine: 5 }, 14, "The field 'storageEngine' must be an object"],
    [{ wildcardProjection: { a: 1 } }, 2, "The field 'wildcardProjection' is only allowed in 'wildcard' indexes"],
    [{ wildcardProjection: {} }, 9, "The 'wildcardProjection' field can't be an empty object", { '$**': 1 }],
    [{ wildcardProjection: { a: 1, b: 0 } }, 31254, 'Cannot do exclusion on field b in inclusion', { '$**': 1 }],
    [{ wildcardProjection: { a: 0, 'b.c': 1 } }, 31253, 'Cannot do inclusion on field b.c in exc', { '$**': 1 }],
    [{ wildcardProjection: { a: '$b' } }, 51271, 'cannot use computed fields', { '$**': 1 }],
  ]
  for (const [options, code, text, key = { a: 1 }] of refusals) {
    const spec = { key, name: 'x', ...options }
    const refused = await failure(collection.db.command({ createIndexes: 'items', indexes: [spec] }))
    assert.equal(refused.code, code, JSON.stringify(spec))
    assert.ok(refused.message.includes(text), refused.message)
    assert.match(refused.message, /^Error in specification \{ key: .* :: caused by :: /)
  }
  await collection.insertOne({ a: 1 })
  assert.equal(await collection.countDocuments({ a: 1 }), 1)
  for (const filter of [{ a: { $in: [1, /x/] } }, { a: { $type: 'int' } }, { $or: [{ a: { $gt: 1 } }, { b: 1 }] }]) {
    await collection.createIndex({ a: 1 }, { name: 'partial', partialFilterExpression: filter })
    await collection.dropIndex('partial')
  }
  await collection.createIndex({ '$**': 1 } as never, { wildcardProjection: { _id: 1, a: 0, 'b.c': 0 } })
})

test('A unique index refuses a taken value, whatever the kind of write', async () => {
  const collection = newCollection()
  await collection.createIndex({ mail: 1 }, { unique: true })
  await collection.createIndex({ 'a.b': 1, c: 1 }, { unique: true, sparse: true, name: 'pair' })
  await collection.insertMany([
    { _id: 1 as never, mail: 'x' },
    { _id: 2 as never, mail: 'y', a: { b: 1 }, c: 1 },
  ])
  const taken = await failure(collection.insertOne({ mail: 'x' }))
  assert.equal(taken.code, 11000)
  assert.match(taken.message, /index: mail_1 dup key: \{ mail: "x" \}/)
  assert.match(
    (await failure(collection.insertOne({ mail: 'z', a: { b: 1.0 }, c: Long.fromNumber(1) }))).message,
    /index: pair dup key/,
  )
  assert.equal((await failure(collection.updateOne({ _id: 2 as never }, { $set: { mail: 'x' } }))).code, 11000)
  assert.equal((await failure(collection.replaceOne({ _id: 2 as never }, { mail: 'x' }))).code, 11000)
  assert.equal(
    (await failure(collection.updateOne({ mail: 'x', q: 1 }, { $set: { z: 1 } }, { upsert: true }))).code,
    11000,
  )
  await collection.insertOne({ _id: 3 as never })
  assert.equal((await failure(collection.insertOne({}))).code, 11000, 'nothing is a value too')
  const error = await failure(
    collection.insertMany(
      [
        { _id: 4 as never, mail: '4' },
        { _id: 5 as never, mail: 'x' },
        { _id: 6 as never, mail: '6' },
      ],
      { ordered: false },
    ),
  )
  assert.equal(error.code, 11000)
  assert.deepEqual(idsOf(await collection.find().toArray()), [1, 2, 3, 4, 6])
})

test('A unique index cannot be created if documents have equal values', async () => {
  const collection = newCollection()
  await collection.insertMany([{ a: 1 }, { a: new Double(1) }])
  assert.equal((await failure(collection.createIndex({ a: 1 }, { unique: true }))).code, 11000)
  assert.equal((await collection.indexes()).length, 1)
  await collection.deleteOne({})
  await collection.createIndex({ a: 1 }, { unique: true })
})

test('Collections and their indexes are there after a restart', async () => {
  const data = temporaryDirectory()
  const shown: Document[][] = []
  for (let run = 0; run < 2; run++) {
    await using server = await mayfly({ clock: 'manual', data })
    await using connected = new MongoClient(server.mongoUri!)
    const collection = connected.db('d').collection<Document>('c')
    if (run === 0) {
      await collection.createIndexes([
        { key: { a: 1, b: -1 }, name: 'compound' },
        { key: { u: 1 }, name: 'unique', unique: true, partialFilterExpression: { u: { $gt: 5 } } },
        { key: { s: 1 }, name: 'sparse', sparse: true },
        { key: { '$**': 1 }, name: 'wildcard' },
        { key: { 'x.y': 1 }, name: 'nested', expireAfterSeconds: 100 },
        { key: { h: 'hashed' }, name: 'hashed' },
      ])
      await connected.db('admin').command({ shardCollection: 'd.sharded', key: { tenant: 1 } })
      await connected
        .db('d')
        .collection('sharded')
        .insertOne({ _id: 1 as never, tenant: 'a' })
      await collection.insertOne({ _id: 1 as never, a: [1, 2], u: 7 })
    }
    assert.equal((await failure(collection.insertOne({ u: 7 }))).code, 11000)
    assert.equal(
      (
        await failure(
          connected
            .db('d')
            .collection('sharded')
            .insertOne({ _id: 1 as never, tenant: 'a' }),
        )
      ).code,
      11000,
    )
    assert.deepEqual(idsOf(await collection.find({ a: 2 }).toArray()), [1])
    shown.push(await collection.indexes())
  }
  assert.deepEqual(shown[1], shown[0])
})

test('A document with arrays in two fields of a compound index is refused', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1, b: 1 })
  const { n, writeErrors } = await collection.db.command({
    insert: 'items',
    documents: [{ _id: 1 }, { _id: 2, a: [1], b: [2] }, { _id: 3 }],
    ordered: false,
  })
  assert.equal(n, 2)
  assert.deepEqual(
    writeErrors.map(({ index, code }: Document) => [index, code]),
    [[1, 171]],
  )
})

test('Statistics count living documents only', async () => {
  const collection = newCollection()
  await collection.insertMany(Array.from({ length: 10 }, () => ({ text: 'x'.repeat(100) })))
  const stats = await collection.db.command({ collStats: 'items' })
  assert.equal(stats.count, 10)
  assert.ok(stats.size > 1000)
  assert.equal(stats.nindexes, 1)
  const whole = await collection.db.stats()
  assert.equal(Number(whole.objects), 10)
  assert.equal(Number(whole.collections), 1)
  const { valid, nrecords } = await collection.db.command({ validate: 'items' })
  assert.deepEqual([valid, nrecords], [true, 10])
  assert.equal((await failure(collection.db.command({ validate: 'nothing' }))).code, 26)
})

test('Cosmos’s own commands create databases and sharded collections with throughput', async () => {
  const database = newDatabase()
  const action = (customAction: string, rest: Document = {}) => database.command({ customAction, ...rest })
  assert.equal((await action('CreateDatabase', { offerThroughput: 1000 })).ok, 1)
  assert.equal((await failure(action('CreateDatabase'))).code, 48)
  assert.equal((await action('GetDatabase')).provisionedThroughput, 1000)
  await action('UpdateDatabase', { autoScaleSettings: { maxThroughput: 4000 } })
  const database4000 = await action('GetDatabase')
  assert.deepEqual(database4000.autoScaleSettings, { maxThroughput: 4000 })
  assert.equal(database4000.provisionedThroughput, 400)
  await action('CreateCollection', {
    collection: 'c',
    shardKey: 'tenant',
    offerThroughput: 500,
    indexes: [{ key: { a: 1 }, name: 'a_1' }],
  })
  const shown = await action('GetCollection', { collection: 'c' })
  assert.deepEqual(shown.shardKeyDefinition, { tenant: 'hashed' })
  assert.equal(shown.provisionedThroughput, 500)
  assert.deepEqual(
    shown.indexes.map(({ name }: Document) => name),
    ['_id_', 'a_1'],
  )
  await action('UpdateCollection', { collection: 'c', offerThroughput: 600 })
  const id = { key: { _id: 1 }, name: '_id_1' }
  const [ttl, b] = [
    { key: { _ts: 1 }, name: 'ttl', expireAfterSeconds: 5 },
    { key: { b: 1 }, name: 'b_1' },
  ]
  const namesWith = async (indexes: Document[]) => {
    await action('UpdateCollection', { collection: 'c', indexes })
    return (await action('GetCollection', { collection: 'c' })).indexes.map(({ name }: Document) => name)
  }
  assert.deepEqual(await namesWith([id, ttl, b]), ['_id_', 'ttl', 'b_1'])
  assert.deepEqual(await namesWith([id, { ...ttl, expireAfterSeconds: 9 }]), ['_id_', 'ttl'])
  assert.equal((await database.collection('c').indexes())[1]!.expireAfterSeconds, 9)
  assert.deepEqual(await namesWith([id, { ...b, unique: true }]), ['_id_', 'b_1'])
  assert.equal((await failure(namesWith([b]))).code, 2)
  assert.equal((await failure(action('GetCollection', { collection: 'none' }))).code, 26)
  assert.equal((await failure(action('CreateCollection', { collection: 'd', offerThroughput: 5 }))).code, 2)
  assert.equal((await failure(action('Nonsense'))).code, 115)
})

test('In a sharded collection an _id is unique within its shard key', async () => {
  const collection = newCollection()
  await client.db('admin').command({ shardCollection: collection.namespace, key: { tenant: 'hashed' } })
  await collection.insertMany([
    { _id: 1 as never, tenant: 'a', n: 1 },
    { _id: 1 as never, tenant: 'b', n: 2 },
    { _id: 2 as never, tenant: 5 },
    { _id: 3 as never },
  ])
  assert.equal((await failure(collection.insertOne({ _id: 1 as never, tenant: 'a' }))).code, 11000)
  assert.equal((await failure(collection.insertOne({ _id: 2 as never, tenant: Long.fromNumber(5) }))).code, 11000)
  assert.equal((await collection.find({ _id: 1 as never }).toArray()).length, 2)
  assert.deepEqual(
    await collection
      .find({ _id: 1 as never, tenant: 'b' })
      .project({ n: 1, _id: 0 })
      .toArray(),
    [{ n: 2 }],
  )
  await collection.updateOne({ _id: 1 as never, tenant: 'b' }, { $set: { n: 3 } })
  assert.equal(
    (await failure(collection.updateOne({ _id: 1 as never, tenant: 'b' }, { $set: { tenant: 'c' } }))).code,
    66,
  )
  assert.equal((await collection.deleteMany({ tenant: { $exists: true } })).deletedCount, 3)
  assert.equal(
    (await failure(client.db('admin').command({ shardCollection: collection.namespace, key: { other: 1 } }))).code,
    20,
  )
})

test('listIndexes shows the option background as it was given', async () => {
  const collection = newCollection()
  await collection.createIndex({ a: 1 }, { background: true } as never)
  await collection.createIndex({ a: 1 }, { background: false } as never)
  await collection.createIndex({ b: 1 })
  const [, first, second] = await collection.indexes()
  assert.deepEqual(first, { v: 2, key: { a: 1 }, name: 'a_1', background: true })
  assert.deepEqual(second, { v: 2, key: { b: 1 }, name: 'b_1' })
})

test('A time of expiry with a fraction is refused', async () => {
  const collection = newCollection()
  for (const expireAfterSeconds of [1.5, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const field of ['at', '_ts']) {
      const { code } = await failure(collection.createIndex({ [field]: 1 }, { expireAfterSeconds }))
      assert.equal(code, 67, `${field} ${expireAfterSeconds}`)
    }
  }
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: new Double(2) as never })
  const index = { keyPattern: { at: 1 }, expireAfterSeconds: 1.5 }
  assert.equal((await failure(collection.db.command({ collMod: 'items', index }))).code, 72)
  assert.equal((await collection.indexes())[1]!.expireAfterSeconds, 2)
})
