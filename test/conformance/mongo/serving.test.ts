/**
 * Where the Mongo port is, and how clients find it: flags, the JSON line, the environment of a command, the
 * library.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { parseConfig, settings } from '../../../src/server/config.ts'
import { runCli, serveCli, startCli } from '../../support/run-cli.ts'

const quick = ['--memory', '--port', '0', '--json']
const ownKey = Buffer.from('a key of our own / with + in it').toString('base64')

async function ping(uri: string): Promise<number> {
  await using client = new MongoClient(uri, { serverSelectionTimeoutMS: 3000 })
  return (await client.db('admin').command({ ping: 1 })).ok
}

test('The JSON line contains a URI that works; a key of one’s own must be put into it', async () => {
  await using server = await serveCli(quick)
  const { mongoUri } = server.ready as { mongoUri: string }
  assert.match(mongoUri, /^mongodb:\/\/localhost:[^@]+@127\.0\.0\.1:\d+\/\?directConnection=true$/)
  assert.equal(await ping(mongoUri), 1)
  await using own = await serveCli([...quick, '--key', ownKey])
  const shown = (own.ready as { mongoUri: string }).mongoUri
  assert.match(shown, /^mongodb:\/\/localhost@127\.0\.0\.1:\d+\/\?directConnection=true$/)
  assert.equal(await ping(shown.replace('@', `:${encodeURIComponent(ownKey)}@`)), 1)
})

test('Without Mongo there is no URI', async () => {
  await using server = await serveCli([...quick, '--no-mongo'])
  assert.equal((server.ready as { mongoUri: unknown }).mongoUri, null)
  await using db = await mayfly({ mongoPort: null })
  assert.equal(db.mongoUri, null)
})

test('The start-up text shows the URI, but not a secret key', async () => {
  const running = startCli(['--memory', '--port', '0', '--key', ownKey])
  const [line] = await running.said(/MONGODB_URI=.*\n/)
  assert.ok(!line.includes(encodeURIComponent(ownKey)))
  running.process.kill('SIGTERM')
  await running.ended
})

test('A command run by mayfly exec finds the URI in its environment', async () => {
  const { code, stdout } = await runCli(['exec', '--', process.execPath, '-p', 'process.env.MONGODB_URI'])
  assert.equal(code, 0)
  assert.match(stdout, /^mongodb:\/\/localhost:.*@127\.0\.0\.1:\d+\//)
})

test('If the port is taken, the error says so and names the option that helps', async () => {
  await using db = await mayfly()
  const { port } = new URL(db.mongoUri!)
  await assert.rejects(
    mayfly({ mongoPort: Number(port) }),
    /Choose another with mayfly\(\{ mongoPort \}\); 0 takes any/,
  )
})

test('The flags have defaults, variables and limits', () => {
  const config = parseConfig(settings({}, {}))
  assert.deepEqual([config.mongoPort, config.mongoDocumentTtl], [10255, true])
  const given = parseConfig(settings({}, { MAYFLY_MONGO_PORT: '5', MAYFLY_MONGO_DOCUMENT_TTL: 'off' }))
  assert.deepEqual([given.mongoPort, given.mongoDocumentTtl], [5, false])
  assert.equal(parseConfig(settings({ noMongo: true }, {})).mongoPort, undefined)
  assert.throws(() => parseConfig(settings({ mongoPort: '70000' }, {})), /--mongo-port takes a whole number/)
  assert.throws(() => parseConfig(settings({ mongoDocumentTtl: 'perhaps' }, {})), /--mongo-document-ttl takes on, off/)
})

test('With --mongo-document-ttl off, a ttl in a document is only data', async () => {
  await using db = await mayfly({ clock: 'manual', mongoDocumentTtl: false })
  await using client = new MongoClient(db.mongoUri!)
  const collection = client.db('d').collection('c')
  await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 })
  await collection.insertOne({ _id: 1 as never, ttl: 5 })
  await db.clock.advance('9s')
  assert.equal(await collection.estimatedDocumentCount(), 1)
  await db.clock.advance('1s')
  assert.equal(await collection.estimatedDocumentCount(), 0)
})

test('Closing a server disconnects its clients at once', async () => {
  const db = await mayfly()
  await using client = new MongoClient(db.mongoUri!)
  await client.db('admin').command({ ping: 1 })
  await db.close()
  await assert.rejects(ping(db.mongoUri!))
})
