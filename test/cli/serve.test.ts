/** mayfly serve: its output, the sources of its settings, and what it refuses. */

import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { placeOf } from '../../src/cli/serve.ts'
import { parseConfig, settings } from '../../src/server/config.ts'
import { runCli, serveCli, startCli } from '../support/run-cli.ts'
import { failureOf } from '../support/service-error.ts'
import { call } from '../support/signed-request.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

const ownKey = Buffer.from('a key of our own, long enough').toString('base64')
const quick = ['--memory', '--port', '0', '--json']

const clockOf = async (endpoint: string) => (await call(endpoint, 'GET', '/_mayfly/clock')).json

test('With --json the server prints one JSON line when it is ready, and stops cleanly on a signal', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    await using server = await serveCli(quick)
    assert.deepEqual(Object.keys(server.ready), ['ready', 'endpoint', 'mongoUri', 'explorer'])
    assert.equal(server.ready.ready, true)
    assert.match(server.endpoint, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.equal((await call(server.endpoint, 'GET', '/ready')).status, 200)
    const { code, stdout } = await server.stop(signal)
    assert.equal(code, 0)
    assert.equal(stdout, `${JSON.stringify(server.ready)}\n`)
  }
})

test('Without --json the server prints its address, its key and its data directory', async () => {
  const server = startCli(['--memory', '--port', '0'])
  const [endpoint] = await server.said(/http:\/\/127\.0\.0\.1:\d+/)
  assert.equal((await call(endpoint, 'GET', '/ready')).status, 200)
  server.process.kill('SIGTERM')
  const { code, stdout } = await server.ended
  assert.equal(code, 0)
  assert.match(stdout, /ready/)
  assert.ok(stdout.includes(wellKnownKey))
  assert.match(stdout, /in memory/)
})

test('A key other than the well-known one is not shown', async () => {
  const server = startCli(['--memory', '--port', '0', '--key', ownKey])
  await server.said(/AccountKey=.*\n/)
  server.process.kill('SIGTERM')
  const { stdout, stderr } = await server.ended
  assert.ok(!stdout.includes(ownKey) && !stderr.includes(ownKey))
})

test('An unknown flag is refused, with a suggestion', async () => {
  for (const [flag, meant] of [
    ['--prot', '--port'],
    ['--clok', '--clock'],
    ['--ratelimit', '--rate-limit'],
  ]) {
    const { code, stderr, stdout } = await runCli([flag!, '1'])
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`unknown option '${flag}'`))
    assert.match(stderr, new RegExp(`Did you mean ${meant}\\?`))
    assert.equal(stdout, '')
  }
})

test('An unknown command is refused, with a suggestion', async () => {
  const { code, stderr, stdout } = await runCli(['clok', 'advance', '1d'])
  assert.equal(code, 1)
  assert.equal(stderr, "mayfly: unknown command 'clok'\n(Did you mean clock?)\n")
  assert.equal(stdout, '')
})

test('Invalid values are refused in a sentence and without a stack', async () => {
  for (const [args, text] of [
    [['--port', 'x'], /^mayfly: --port takes a whole number from 0 to 65535, not 'x'\.\n$/],
    [['--key-file', '/no/such/file'], /^mayfly: The key file \/no\/such\/file cannot be read\.\n$/],
    [
      ['--host', '192.0.2.1', '--key', ownKey, ...quick],
      /^mayfly: 192\.0\.2\.1 is not an address of this machine\.\n$/,
    ],
  ] as const) {
    const { code, stderr } = await runCli(args)
    assert.equal(code, 1, stderr)
    assert.match(stderr, text)
  }
})

test('The refusal of a flag says which values it takes', () => {
  for (const [flags, text] of [
    [{ port: '65536' }, /--port takes a whole number/],
    [{ port: '-1' }, /--port takes a whole number/],
    [{ port: '80 ' }, /--port takes a whole number/],
    [{ mongoPort: 'x' }, /--mongo-port takes a whole number/],
    [{ clock: 'lunar' }, /--clock takes system, manual, not 'lunar'/],
    [{ rateLimit: 'perhaps' }, /--rate-limit takes on, off/],
    [{ maxClockStep: '59s' }, /--max-clock-step takes a duration from 60s to 1d/],
    [{ maxClockStep: 'five minutes' }, /is not a duration/],
    [{ partitions: '0' }, /--partitions takes a whole number from 1 to 100/],
    [{ partitions: '101' }, /--partitions takes a whole number from 1 to 100/],
    [{ logLevel: 'loud' }, /--log-level takes silent/],
    [{ key: 'short' }, /at least 16 bytes/],
    [{ key: 'not base64 at all, but long' }, /base64/],
    [{ key: ownKey, keyFile: 'x' }, /not with both/],
    [{ memory: 'maybe' }, /--memory takes true, 1, on, yes/],
  ] as const) {
    assert.throws(() => parseConfig(settings(flags, {})), { message: text })
  }
})

test('Two places for the data are refused; a flag for one counts more than a variable for another', async () => {
  const store = 'postgres://127.0.0.1:1/none'
  const place = (flags: object, environment: Record<string, string> = {}) => {
    const { directory, storeUrl } = parseConfig(settings(flags, environment))
    return storeUrl ?? directory ?? 'memory'
  }
  assert.throws(() => place({ memory: true, data: 'x' }), {
    kind: 'malformed',
    message: /^Give --memory or --data, not/,
  })
  assert.throws(() => place({ data: 'x' }, { MAYFLY_STORE: store }), { message: /not clear where the data is/ })
  assert.equal(place({ memory: true }, { MAYFLY_STORE: store, MAYFLY_DATA: 'x' }), 'memory')
  assert.equal(place({ store, data: 'x' }, { MAYFLY_MEMORY: 'on' }), store)
  // The data is in PostgreSQL, and the certificate is in memory.
  assert.equal(place({ store, memory: true }), store)
  assert.equal(place({}, { MAYFLY_MEMORY: 'on', MAYFLY_STORE: store }), store)
  assert.equal(parseConfig(settings({ store, memory: true }, {})).directory, undefined)
  assert.equal(place({ data: 'x' }, { MAYFLY_MEMORY: 'on' }), 'x')
  // The image sets MAYFLY_DATA.
  assert.equal(place({}, { MAYFLY_MEMORY: 'on', MAYFLY_DATA: '/data' }), 'memory')
  assert.equal(place({}, { MAYFLY_STORE: store, MAYFLY_DATA: '/data' }), store)

  const cwd = temporaryDirectory()
  const { code, stderr } = await runCli(['--memory', '--data', 'x'], { cwd })
  assert.deepEqual([code, readdirSync(cwd)], [1, []])
  assert.match(stderr, /^mayfly: Give --memory or --data/)
})

test('Every setting can come from a variable', async () => {
  const data = temporaryDirectory()
  const env = {
    MAYFLY_PORT: '0',
    MAYFLY_JSON: 'true',
    MAYFLY_DATA: data,
    MAYFLY_CLOCK: 'manual',
    MAYFLY_KEY: ownKey,
    MAYFLY_RATE_LIMIT: 'on',
    MAYFLY_STRICT: 'yes',
    MAYFLY_PARTITIONS: '3',
    MAYFLY_LOG_LEVEL: 'silent',
  }
  await using server = await serveCli([], { env })
  const headers = { authorization: `Bearer ${ownKey}` }
  const { json } = await call(server.endpoint, 'GET', '/status', { headers })
  assert.equal(json.clock.mode, 'manual')
  assert.equal(json.rateLimit, true)
  assert.equal(json.store, 'sqlite')
  const { database } = await newClient({ endpoint: server.endpoint, key: ownKey }).databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk' })
  assert.equal((await container.readPartitionKeyRanges().fetchAll()).resources.length, 3)
  assert.equal(await failureOf(container.items.create({ id: '1', pk: 'a', ttl: null } as never)), 400, 'strict')
  assert.equal((await server.stop()).stderr, '')
})

test('A flag overrides a variable, and a MAYFLY variable overrides one of the emulator', async () => {
  const env = { MAYFLY_CLOCK: 'system', PORT: '1', MAYFLY_PORT: '0', LOG_LEVEL: 'quiet' }
  await using server = await serveCli(['--memory', '--json', '--clock', 'manual'], { env })
  assert.equal((await clockOf(server.endpoint)).mode, 'manual')
})

test('The variables of the emulator work, and an empty variable counts as unset', async () => {
  const data = temporaryDirectory()
  const keyFile = join(data, 'key')
  writeFileSync(keyFile, `${ownKey}\n`)
  const env = { PORT: '0', DATA_PATH: data, KEY_FILE: keyFile, LOG_LEVEL: 'quiet', MAYFLY_CLOCK: '' }
  await using server = await serveCli(['--json'], { env })
  assert.equal(
    (await newClient({ endpoint: server.endpoint, key: ownKey }).databases.create({ id: 'x' })).statusCode,
    201,
  )
})

test('A variable for a switch accepts several words for on', async () => {
  await using server = await serveCli([], { env: { MAYFLY_PORT: '0', MAYFLY_MEMORY: '1', MAYFLY_JSON: '1' } })
  assert.equal(server.ready.ready, true)
})

test('An invalid variable is refused with the name of its flag', async () => {
  const { code, stderr } = await runCli([], { env: { MAYFLY_PORT: 'zero' } })
  assert.equal(code, 1)
  assert.match(stderr, /--port takes a whole number/)
})

test('The well-known key is refused beyond loopback unless a flag allows it', async () => {
  const { code, stderr } = await runCli(['--host', '0.0.0.0', ...quick])
  assert.equal(code, 1)
  assert.match(stderr, /The well-known key protects nothing/)
  assert.match(stderr, /--key-file/)
  for (const host of ['0.0.0.0', '::', '192.168.0.1', 'example.com', '127.example.com']) {
    for (const key of [{}, { key: wellKnownKey }]) {
      assert.throws(() => parseConfig(settings({ host, ...key }, {})), { message: /well-known key protects nothing/ })
    }
    assert.equal(parseConfig(settings({ host, key: ownKey }, {})).host, host)
  }
  for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1']) {
    assert.equal(parseConfig(settings({ host }, {})).host, host)
  }
  await using own = await serveCli(['--host', '0.0.0.0', '--key', ownKey, ...quick])
  assert.equal((await call(own.endpoint, 'GET', '/ready')).status, 200)
  await using allowed = await serveCli(['--host', '0.0.0.0', '--insecure-allow-well-known-key', ...quick])
  assert.equal((await call(allowed.endpoint, 'GET', '/ready')).status, 200)
})

test('A taken port is reported', async () => {
  await using server = await serveCli(quick)
  const { code, stderr } = await runCli(['--memory', '--port', new URL(server.endpoint).port])
  assert.equal(code, 1)
  assert.match(stderr, /is taken by another program\. Choose another with --port/)
})

test('Data is stored in the given directory, or else in ./mayfly-data', async () => {
  const cwd = temporaryDirectory()
  for (const args of [['--data', 'elsewhere'], []]) {
    const start = () => serveCli(['--port', '0', '--json', '--log-level', 'silent', ...args], { cwd })
    const client = ({ endpoint }: { endpoint: string }) => newClient({ endpoint, key: wellKnownKey })
    {
      await using server = await start()
      await client(server).databases.create({ id: 'kept' })
    }
    await using server = await start()
    assert.equal((await client(server).database('kept').read()).statusCode, 200)
  }
})

test('A second server on the same data is refused', async () => {
  const data = temporaryDirectory()
  await using _server = await serveCli(['--data', data, '--port', '0', '--json'])
  const { code, stderr } = await runCli(['--data', data, '--port', '0'])
  assert.equal(code, 1)
  assert.match(stderr, /is in use by another Mayfly/)
})

test('The version and the help are shown', async () => {
  const version = await runCli(['--version'])
  assert.equal(version.code, 0)
  assert.match(version.stdout, /^\d+\.\d+\.\d+/)
  const help = await runCli(['serve', '--help'])
  assert.equal(help.code, 0)
  for (const flag of [
    '--port',
    '--data',
    '--memory',
    '--clock',
    '--rate-limit',
    '--strict',
    '--partitions',
    '--json',
  ]) {
    assert.ok(help.stdout.includes(flag), flag)
  }
})

test('The JSON line names the explorer, which answers there', async () => {
  await using server = await serveCli(['--memory', '--port', '0', '--json'])
  assert.equal(server.ready.explorer, `${server.endpoint}/_explorer/`)
  const answer = await fetch(server.ready.explorer)
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /<!doctype html>/i)
})

test('People are told where the data really is, without the password', () => {
  assert.equal(placeOf({ directory: undefined, storeUrl: undefined }), 'in memory')
  assert.equal(placeOf({ directory: './some-data', storeUrl: undefined }), resolve('some-data'))
  const storeUrl = 'postgres://ann:secret@db.example:6000/shop?sslmode=require'
  assert.equal(placeOf({ directory: './some-data', storeUrl }), 'PostgreSQL, db.example:6000/shop')
})
