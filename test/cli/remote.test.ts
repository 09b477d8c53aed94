/** mayfly clock, ttl, purge and cert, against a running server. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { runCli } from '../support/run-cli.ts'
import { call } from '../support/signed-request.ts'
import { startServer, temporaryDirectory } from '../support/start-server.ts'

const server = await startServer()
const { endpoint, clock } = server.db
const env = { COSMOS_ENDPOINT: endpoint }

/** The JSON that a command prints; it must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: commands print answers of every shape.
async function printed(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await runCli(args, { env })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

async function refused(args: string[], variables: Record<string, string> = env): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { env: variables })
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /^mayfly: /)
  assert.doesNotMatch(stderr, /\n\s+at /, 'a person is told, not shown a stack')
  return stderr
}

test('The clock is shown, advanced and set', async () => {
  const before = clock.now()
  assert.deepEqual(await printed('clock'), { now: before, mode: 'manual' })
  assert.deepEqual(await printed('clock', 'advance', '90d'), { now: before + 7_776_000, mode: 'manual' })
  assert.deepEqual(await printed('clock', 'advance', '1'), { now: before + 7_776_001, mode: 'manual' })
  assert.deepEqual(await printed('clock', 'advance', '1w'), { now: before + 8_380_801, mode: 'manual' })
  const later = before + 9_000_000
  assert.deepEqual(await printed('clock', 'set', String(later)), { now: later, mode: 'manual' })
  assert.equal(clock.now(), later)
})

test('The time is trusted', async () => {
  const before = clock.now()
  assert.deepEqual(await printed('clock', 'trust'), { now: before, mode: 'manual' })
})

test('An invalid move of the clock is refused with the server’s text', async () => {
  const before = clock.now()
  assert.match(await refused(['clock', 'advance', 'soon']), /'soon' is not a duration/)
  assert.match(await refused(['clock', 'set', '5']), /never goes back/)
  assert.match(await refused(['clock', 'set', 'noon']), /whole seconds since 1970, not "noon"\./)
  assert.equal(clock.now(), before)
})

test('ttl shows status, forecast, explanation and preview of a container', async () => {
  const container = await server.newContainer({ defaultTtl: 60 })
  const database = container.database.id
  await container.items.create({ id: 'one', pk: 'a' })
  await container.items.create({ id: 'own', pk: 'a', ttl: 7200 })
  const status = await printed('ttl', 'status', database, 'items')
  assert.deepEqual([status.defaultTtl, status.living, status.backlog], [60, 2, 0])
  const forecast = await printed('ttl', 'forecast', database, 'items', '--window', '2m', '--buckets', '2')
  assert.equal(forecast.buckets.length, 2)
  assert.equal(forecast.buckets[0].inherited, 1)
  assert.equal(forecast.later, 1)
  assert.equal((await printed('ttl', 'explain', database, 'items', 'own', 'a')).rule, 'own')
  assert.equal((await printed('ttl', 'explain', database, 'items', 'own', '["a"]')).rule, 'own')
  assert.equal((await printed('ttl', 'preview', database, 'items', 'off')).never, 2)
  // A number that starts with a dash is not taken for a flag.
  assert.equal((await printed('ttl', 'preview', database, 'items', '--', '-1')).never, 1)
  assert.equal((await printed('ttl', 'preview', database, 'items', '-1')).never, 1)
  const inAnHour = await printed('ttl', 'preview', database, 'items', '1h')
  assert.deepEqual(inAnHour, await printed('ttl', 'preview', database, 'items', '3600'))
  assert.equal(inAnHour.never, 0)
  assert.deepEqual(inAnHour, await printed('ttl', 'preview', database, 'items', '1 hour'))
  for (const wrong of ['1 y', 'never', '', 'null', '1.5', '1e3']) {
    assert.match(
      await refused(['ttl', 'preview', database, 'items', wrong]),
      /is not a time to live\. Write a duration/,
    )
  }
  assert.match(await refused(['ttl', 'status', database, 'none']), /does not exist/)
  assert.match(await refused(['ttl', 'preview', database, 'items', '0']), /The input ttl/)
})

test('a document is explained by its _id alone, and ls knows that it dies by a date', async () => {
  const mongo = new MongoClient(server.db.mongoUri!)
  const documents = mongo.db('explained').collection<{ _id: ObjectId | string; at: Date }>('dated')
  await documents.createIndex({ at: 1 }, { expireAfterSeconds: 60 })
  const [id, text] = [new ObjectId(), new ObjectId().toHexString()]
  await documents.insertMany([
    { _id: id, at: new Date(clock.now() * 1000) },
    { _id: text, at: new Date((clock.now() + 60) * 1000) },
    // The string comes first.
    { _id: new ObjectId(text), at: new Date((clock.now() + 120) * 1000) },
  ])
  await mongo.close()
  const expiresAt = async (...item: string[]) =>
    (await printed('ttl', 'explain', 'explained', 'dated', ...item)).expiresAt
  const now = clock.now()
  assert.equal(await expiresAt(id.toHexString()), now + 60)
  assert.equal(await expiresAt(id.toHexString().toUpperCase()), now + 60)
  assert.equal(await expiresAt(text), now + 120)
  assert.equal(await expiresAt(`{"$oid":"${text}"}`), now + 180)
  assert.equal((await printed('ttl', 'explain', 'explained', 'dated', new ObjectId().toHexString())).state, 'unknown')
  assert.equal((await printed('ls', 'explained')).containers[0].diesByDates, true)
  const table = await runCli(['ls', 'explained', '--output', 'table'], { env })
  assert.match(table.stdout, /\nexplained {2}dated +mongo +date +3 /)
  const container = await server.newContainer()
  assert.match(
    await refused(['ttl', 'explain', container.database.id, 'items', 'one']),
    /Name the item by its id and its partition key/,
  )
})

test('Names with special characters reach the server unchanged', async () => {
  const { database } = await server.client.databases.create({ id: 'a b%2F&?'.replace('?', 'ö') })
  await database.containers.create({ id: '日本 +', partitionKey: '/pk' })
  assert.equal((await printed('ttl', 'status', database.id, '日本 +')).living, 0)
})

test('purge removes dead items everywhere or in one container, and pauses and resumes the purger', async () => {
  assert.deepEqual(await printed('purge', '--pause'), { paused: true })
  const container = await server.newContainer({ defaultTtl: 60 })
  await container.items.create({ id: 'one', pk: 'a' })
  await clock.advance('60s')
  assert.deepEqual(await printed('purge', container.database.id, 'items'), { removed: 1, remaining: 0 })
  assert.equal((await printed('purge')).remaining, 0)
  assert.deepEqual(await printed('purge', '--resume'), { paused: false })
  assert.match(await refused(['purge', 'none']), /does not exist/)
  assert.match(await refused(['purge', '--pause', '--resume']), /Give either --pause or --resume\./)
  assert.match(await refused(['purge', 'none', '--pause']), /for the whole server: name no database\./)
})

test('A server with another key is reached with that key, by flag or variable', async () => {
  const key = Buffer.from('a key of our own, long enough').toString('base64')
  await using db = await mayfly({ clock: 'manual', key })
  const own = { COSMOS_ENDPOINT: db.endpoint }
  assert.match(await refused(['clock'], own), /needs the header/)
  assert.equal((await runCli(['clock', '--key', key], { env: own })).code, 0)
  assert.equal((await runCli(['clock'], { env: { ...own, COSMOS_KEY: key } })).code, 0)
  assert.equal((await runCli(['clock', '--endpoint', `${db.endpoint}/`, '--key', key])).code, 0)
})

test('The system clock is not moved', async () => {
  await using db = await mayfly()
  assert.match(await refused(['clock', 'advance', '1s'], { COSMOS_ENDPOINT: db.endpoint }), /--clock manual/)
})

/** Where a server was. */
async function unusedEndpoint(): Promise<string> {
  const db = await mayfly()
  await db.close()
  return db.endpoint
}

test('If no server runs, the error says how to start one', async () => {
  const said = await refused(['clock'], { COSMOS_ENDPOINT: await unusedEndpoint() })
  assert.match(said, /There is no server at http:\/\/127\.0\.0\.1:\d+\. Start one with "mayfly"/)
})

test('A wrong key is refused, also if no key is needed', async () => {
  assert.match(await refused(['clock', '--key', 'd3Jvbmc=']), /The given key is not a key of this server/)
  assert.match(await refused(['purge'], { ...env, COSMOS_KEY: 'd3Jvbmc=' }), /not a key of this server/)
  assert.equal((await runCli(['clock', '--key', server.db.key], { env })).code, 0)
})

test('An invalid endpoint is refused with a sentence', async () => {
  await refused(['clock', '--endpoint', 'nonsense'], {})
})

test('The authority is that of the running server, wherever the command runs', async () => {
  const data = temporaryDirectory()
  const cwd = temporaryDirectory()
  const out = join(data, 'ca.pem')
  let authority: string
  {
    await using db = await mayfly({ data })
    const env = { COSMOS_ENDPOINT: db.endpoint }
    const first = await runCli(['cert'], { env, cwd })
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stdout, /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/)
    authority = first.stdout
    assert.equal((await call(db.endpoint, 'GET', '/_explorer/emulator.pem')).text, authority)
    assert.equal((await runCli(['cert', '--endpoint', db.endpoint], { cwd })).stdout, authority)
    const second = await runCli(['cert', '--out', out], { env, cwd })
    assert.equal(second.code, 0, second.stderr)
    assert.equal(second.stdout, '')
    assert.match(second.stderr, /the authority of the server at http:.*\n.*NODE_EXTRA_CA_CERTS=/)
    assert.equal(readFileSync(out, 'utf8'), authority)
    assert.match(await refused(['cert'], { COSMOS_ENDPOINT: db.endpoint.replace('http:', 'https:') }), /with http:/)
  }
  const nobody = await unusedEndpoint()
  assert.equal((await runCli(['cert', '--data', data], { cwd })).stdout, authority)
  for (const place of [{ DATA_PATH: data }, { MAYFLY_DATA: '', DATA_PATH: data }]) {
    assert.equal((await runCli(['cert'], { env: { ...place, COSMOS_ENDPOINT: nobody }, cwd })).stdout, authority)
  }
  assert.deepEqual(readdirSync(cwd), [])
})

test('names that would lead to another path are refused', async () => {
  const endpoint = await unusedEndpoint()
  for (const names of [
    ['..', 'carts'],
    ['shop', '.'],
  ]) {
    const { code, stderr } = await runCli(['ttl', 'status', ...names, '--endpoint', endpoint])
    assert.deepEqual([code, /No database or container is named \.\.?\./.test(stderr)], [1, true], stderr)
  }
})

test('Without a server and a certificate the command says what to name, and makes nothing', async () => {
  const cwd = temporaryDirectory()
  const empty = temporaryDirectory()
  const nobody = await unusedEndpoint()
  for (const [args, reason] of [
    [['cert', '--data', 'typo'], /no directory typo\. Name the data directory of the server with --data/],
    [['cert', '--out', 'o.pem'], /no server at http:.*, and no certificate in \.\/mayfly-data\. Start the server, or/],
    [['cert', '--endpoint', nobody, '--data', empty], /--data or --endpoint, not both/],
    [['cert', '--endpoint', nobody], /There is no server at/],
  ] as const) {
    const { code, stderr } = await runCli(args, { env: { COSMOS_ENDPOINT: nobody }, cwd })
    assert.equal(code, 1)
    assert.match(stderr, reason)
  }
  assert.deepEqual([readdirSync(cwd), readdirSync(empty)], [[], []])
})

test('A directory that is there gets its certificate before a server starts in it', async () => {
  const data = temporaryDirectory()
  const first = await runCli(['cert', '--data', data])
  assert.match(first.stdout, /^-----BEGIN CERTIFICATE-----/)
  assert.equal((await runCli(['cert', '--data', data])).stdout, first.stdout)
})
