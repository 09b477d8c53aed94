/**
 * Popular clients, each through a full round: documents, indexes, pipelines, a transaction, with and without
 * TLS.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Document } from 'mongodb'
import mongoose from 'mongoose'
import { temporaryDirectory } from '../../support/start-server.ts'
import { idsOf, startMongo } from './support/fixture.ts'

const { db, uri, connect } = await startMongo()

const run = promisify(execFile)
const directory = temporaryDirectory()
const authority = join(directory, 'authority.pem')
writeFileSync(authority, await (await fetch(`${db.endpoint}/_explorer/emulator.pem`)).text())
const secureUri = `${uri}&tls=true&tlsCAFile=${encodeURIComponent(authority)}`

for (const [name, address] of [
  ['plain', uri],
  ['TLS', secureUri],
  ['compressed by zlib', `${uri}&compressors=zlib`],
  ['compressed by zstd', `${uri}&compressors=zstd`],
  ['found by the replica set', uri.replace('directConnection=true', 'replicaSet=globaldb')],
] as const) {
  test(`The driver goes a full round, ${name}`, async () => {
    const client = connect({}, address)
    const collection = client.db(`driver ${name}`.replaceAll(' ', '-')).collection<Document>('items')
    await collection.insertMany([
      { _id: 1 as never, n: 1, text: 'x'.repeat(100_000) },
      { _id: 2 as never, n: 2 },
    ])
    await collection.createIndex({ n: 1 })
    await collection.updateOne({ _id: 1 as never }, { $inc: { n: 10 } })
    assert.deepEqual(
      idsOf(
        await collection
          .find({ n: { $gt: 1 } })
          .sort({ n: 1 })
          .toArray(),
      ),
      [2, 1],
    )
    assert.deepEqual(await collection.aggregate([{ $group: { _id: null, n: { $sum: '$n' } } }]).toArray(), [
      { _id: null, n: 13 },
    ])
    const session = client.startSession()
    await session.withTransaction(async () => {
      await collection.insertOne({ _id: 3 as never }, { session })
      await collection.deleteOne({ _id: 2 as never }, { session })
    })
    await session.endSession()
    assert.deepEqual(await collection.distinct('_id'), [1, 3])
    await collection.drop()
  })
}

test('mongoose goes a full round, with expires in a schema', async () => {
  const connection = await mongoose.createConnection(uri, { dbName: 'mongoose' }).asPromise()
  try {
    const schema = new mongoose.Schema({
      mail: { type: String, unique: true },
      visits: { type: Number, default: 0 },
      at: { type: Date, expires: 60 },
      tags: [String],
    })
    const User = connection.model('User', schema)
    await User.init()
    const now = new Date(db.clock.now() * 1000)
    const user = await User.create({ mail: 'a@example.org', at: now, tags: ['x'] })
    await assert.rejects(User.create({ mail: 'a@example.org' }), /E11000/)
    user.visits += 1
    user.tags.push('y')
    await user.save()
    await User.updateOne({ mail: 'a@example.org' }, { $inc: { visits: 1 } })
    const found = await User.findOne({ mail: 'a@example.org' }).lean()
    assert.deepEqual([found?.visits, found?.tags], [2, ['x', 'y']])
    assert.equal(await User.countDocuments(), 1)
    const [grouped] = await User.aggregate([{ $group: { _id: null, visits: { $sum: '$visits' } } }])
    assert.equal(grouped.visits, 2)
    await connection.transaction(async session => {
      await User.create([{ mail: 'b@example.org' }], { session })
    })
    assert.equal(await User.countDocuments(), 2)
    await db.clock.advance('59s')
    assert.ok(await User.exists({ mail: 'a@example.org' }))
    await db.clock.advance('1s')
    assert.equal(await User.exists({ mail: 'a@example.org' }), null)
    await User.create({ mail: 'a@example.org' })
    await User.syncIndexes()
  } finally {
    await connection.close()
  }
})

async function hasPymongo(): Promise<boolean> {
  return run('python3', ['-c', 'import pymongo']).then(
    () => true,
    () => false,
  )
}

test('pymongo goes a full round', { skip: (await hasPymongo()) ? false : 'pymongo is not here' }, async () => {
  const script = `
import sys, json, pymongo
client = pymongo.MongoClient(sys.argv[1])
c = client.python.items
c.insert_many([{'_id': 1, 'n': 1}, {'_id': 2, 'n': 2}])
c.create_index('n')
c.update_one({'_id': 1}, {'$inc': {'n': 10}})
with client.start_session() as s:
    with s.start_transaction():
        c.insert_one({'_id': 3, 'n': 3}, session=s)
total = list(c.aggregate([{'$group': {'_id': None, 'n': {'$sum': '$n'}}}]))[0]['n']
print(json.dumps({'ids': [d['_id'] for d in c.find().sort('n', -1)], 'total': total}))
`
  for (const address of [uri, secureUri]) {
    const { stdout } = await run('python3', ['-c', script, address])
    assert.deepEqual(JSON.parse(stdout), { ids: [1, 3, 2], total: 16 })
    await connect({}, uri).db('python').dropDatabase()
  }
})
