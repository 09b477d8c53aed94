/** mayfly clock, ttl, purge and cert, against a running server. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { mayfly } from '../../src/index.ts'
import { runCli } from '../support/run-cli.ts'
import { call } from '../support/signed-request.ts'
import { startServer, temporaryDirectory, testServer } from '../support/start-server.ts'

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
  const later = before + 8_000_000
  assert.deepEqual(await printed('clock', 'set', String(later)), { now: later, mode: 'manual' })
  assert.equal(clock.now(), later)
})

test('The time is trusted', async () => {
  const before = clock.now()
  assert.deepEqual(await printed('clock', 'trust'), { now: before, mode: 'manual' })
})

test('An invalid move of the clock is refused with the server’s text', async () => {
  const before = clock.now()
  assert.match(await refused(['clock', 'advance', '1w']), /is not a duration/)
  assert.match(await refused(['clock', 'set', '5']), /never goes back/)
  assert.match(await refused(['clock', 'set', 'noon']), /whole seconds/)
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
  for (const wrong of ['1 hour', '1w', 'never', '', 'null', '1.5', '1e3']) {
    assert.match(await refused(['ttl', 'preview', database, 'items', wrong]), /is no time to live\. Write a duration/)
  }
  assert.match(await refused(['ttl', 'status', database, 'none']), /does not exist/)
  assert.match(await refused(['ttl', 'preview', database, 'items', '0']), /The input ttl/)
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

test('If no server runs, the error says how to start one', async () => {
  const db = await mayfly()
  await db.close()
  const said = await refused(['clock'], { COSMOS_ENDPOINT: db.endpoint })
  assert.match(said, /There is no server at http:\/\/127\.0\.0\.1:\d+\. Start one with "mayfly"/)
})

test('An invalid endpoint is refused with a sentence', async () => {
  await refused(['clock', '--endpoint', 'nonsense'], {})
})

test('The certificate is written once and is the one the server of that directory uses', async () => {
  const data = temporaryDirectory()
  const first = await runCli(['cert', '--data', data])
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/)
  const out = join(data, 'ca.pem')
  const second = await runCli(['cert', '--out', out], { env: { MAYFLY_DATA: data } })
  assert.equal(second.code, 0)
  assert.equal(second.stdout, '')
  assert.match(second.stderr, /NODE_EXTRA_CA_CERTS=/)
  assert.equal(readFileSync(out, 'utf8'), first.stdout)
  await using db = await mayfly({ data })
  assert.equal((await call(db.endpoint, 'GET', '/_explorer/emulator.pem')).text, first.stdout)
  assert.equal((await testServer(db).client.databases.create({ id: 'x' })).statusCode, 201)
})
