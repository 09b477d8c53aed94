/**
 * MongoDB's shell through a full round: documents, an index, a pipeline, a transaction, with TLS and without.
 *
 * The shell is not among the project's dependencies, because it brings 400 packages. `npm run test:mongosh`
 * installs it into test/clients/mongosh and runs this file. Where it is not installed, the test is skipped.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../../support/start-server.ts'
import { startMongo } from './support/fixture.ts'

const shell = join(import.meta.dirname, '../../clients/mongosh/node_modules/.bin/mongosh')
const skip = !existsSync(shell)
const why = skip ? ' (skipped: mongosh is not installed; run "npm run test:mongosh")' : ''

const { db, uri } = await startMongo()

const run = promisify(execFile)
const directory = temporaryDirectory()
const authority = join(directory, 'authority.pem')
writeFileSync(authority, await (await fetch(`${db.endpoint}/_explorer/emulator.pem`)).text())
const secureUri = `${uri}&tls=true&tlsCAFile=${encodeURIComponent(authority)}`

async function mongosh(address: string, script: string): Promise<string> {
  const { stdout } = await run(process.execPath, [shell, address, '--quiet', '--norc', '--eval', script], {
    env: { ...process.env, HOME: directory, MONGOSH_SKIP_NODE_VERSION_CHECK: '1' },
    timeout: 60_000,
  })
  // The shell may print lines of its own before ours.
  return stdout.trim().split('\n').at(-1)!
}

test(`mongosh goes a full round, with the examples of the documents${why}`, { skip }, async () => {
  const started = `
    db = db.getSiblingDB('shell')
    const answer = db.coll.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
    db.coll.insertMany([
      { _id: 1, location: 'Paris', ttl: 20.0 },
      { _id: 2, location: 'Paris', ttl: NumberInt(20) },
      { _id: 3, location: 'Paris', ttl: NumberLong(20) },
      { _id: 4, location: 'Paris', ttl: 20.5 },
      { _id: 5, location: 'Paris', ttl: NumberLong('2147483649') },
      { _id: 6, location: 'Paris' },
    ])
    db.coll.updateOne({ _id: 6 }, { $set: { seen: true } })
    const session = db.getMongo().startSession()
    session.startTransaction()
    session.getDatabase('shell').coll.insertOne({ _id: 7, ttl: -1 })
    session.commitTransaction()
    print(JSON.stringify({
      answer,
      ids: db.coll.find({}, { _id: 1 }).toArray().map(d => d._id),
      count: db.coll.countDocuments(),
      sum: db.coll.aggregate([{ $group: { _id: '$location', n: { $sum: 1 } } }, { $sort: { n: 1 } }])
        .toArray().map(d => d.n),
      names: db.getCollectionNames(),
      indexes: db.coll.getIndexes().map(d => d.name),
      ping: db.runCommand({ ping: 1 }).ok,
    }))`
  const shown = JSON.parse(await mongosh(uri, started))
  assert.deepEqual(shown, {
    answer: '_ts_1',
    ids: [1, 2, 3, 4, 5, 6, 7],
    count: 7,
    sum: [1, 6],
    names: ['coll'],
    indexes: ['_id_', '_ts_1'],
    ping: 1,
  })
  const ids = `print(JSON.stringify(db.getSiblingDB('shell').coll.find().toArray().map(d => d._id)))`
  await db.clock.advance('10s')
  assert.deepEqual(JSON.parse(await mongosh(uri, ids)), [1, 2, 3, 7])
  await db.clock.advance('10s')
  assert.deepEqual(JSON.parse(await mongosh(secureUri, ids)), [7])
})
