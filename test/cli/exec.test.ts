/** mayfly exec: a server that lives as long as one command. */

import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { runCli, startCli } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const exec = (script: string, flags: string[] = [], env: Record<string, string> = {}) =>
  runCli(['exec', ...flags, '--', process.execPath, '-e', script], { env })

test('The command finds the server in its environment, and the server is gone afterwards', async () => {
  const script = `
    const { COSMOS_ENDPOINT, COSMOS_KEY, COSMOS_CONNECTION_STRING } = process.env
    fetch(COSMOS_ENDPOINT + '/_mayfly/clock').then(async response => {
      const clock = await response.json()
      console.log(JSON.stringify({ COSMOS_ENDPOINT, COSMOS_KEY, COSMOS_CONNECTION_STRING, clock }))
    })`
  const { code, stdout, stderr } = await exec(script, ['--clock', 'manual'])
  assert.equal(code, 0, stderr)
  const { COSMOS_ENDPOINT, COSMOS_KEY, COSMOS_CONNECTION_STRING, clock } = JSON.parse(stdout)
  assert.match(COSMOS_ENDPOINT, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(COSMOS_CONNECTION_STRING, `AccountEndpoint=${COSMOS_ENDPOINT}/;AccountKey=${COSMOS_KEY};`)
  assert.equal(clock.mode, 'manual')
  await assert.rejects(fetch(`${COSMOS_ENDPOINT}/alive`))
})

test('The SDK works with the endpoint and the key from the environment', async () => {
  const path = join(temporaryDirectory(), 'sdk.mjs')
  writeFileSync(
    path,
    `import { CosmosClient } from ${JSON.stringify(import.meta.resolve('@azure/cosmos'))}
const client = new CosmosClient(process.env.COSMOS_CONNECTION_STRING)
console.log((await client.databases.create({ id: 'shop' })).statusCode)
`,
  )
  const { code, stdout, stderr } = await runCli(['exec', '--', process.execPath, path])
  assert.equal(code, 0, stderr)
  assert.equal(stdout, '201\n')
})

test('The exit code of the command is passed on', async () => {
  for (const wanted of [0, 7]) assert.equal((await exec(`process.exit(${wanted})`)).code, wanted)
})

test('A command that is ended by a signal does not count as a success', async () => {
  assert.notEqual((await exec(`process.kill(process.pid, 'SIGKILL')`)).code, 0)
})

test('Arguments and streams are passed to the command unchanged', async () => {
  const script = 'console.log(JSON.stringify(process.argv.slice(1))); console.error("to stderr")'
  const args = ['exec', '--', process.execPath, '-e', script, '--', '--port', '5', '', 'a b', '--help']
  const { stdout, stderr } = await runCli(args)
  assert.equal(stdout, `${JSON.stringify(['--port', '5', '', 'a b', '--help'])}\n`)
  assert.match(stderr, /to stderr/)
})

test('A command that cannot be started is reported, and the exit code is 1', async () => {
  const { code, stderr } = await runCli(['exec', '--', 'no-such-command-anywhere'])
  assert.equal(code, 1)
  assert.match(stderr, /no-such-command-anywhere cannot be started/)
  const none = await runCli(['exec'])
  assert.equal(none.code, 1)
  assert.match(none.stderr, /missing required argument/)
})

/** Prints the address and the store of the server, and what lies in the working directory. */
const lookAround = `
  const { COSMOS_ENDPOINT, MONGODB_URI } = process.env
  fetch(COSMOS_ENDPOINT + '/status').then(answer => answer.json()).then(({ store }) => {
    const files = require('node:fs').readdirSync('.')
    console.log(JSON.stringify({ COSMOS_ENDPOINT, MONGODB_URI, store, files }))
  })`

test('exec uses a free port and memory, whatever the variables for servers say', async () => {
  const data = temporaryDirectory()
  for (const env of [
    { MAYFLY_PORT: '1', MAYFLY_MONGO_PORT: '1' },
    { PORT: '1' },
    { MAYFLY_DATA: data },
    { DATA_PATH: data },
    // Nobody listens there: a server that obeyed would not start.
    { MAYFLY_STORE: 'postgres://127.0.0.1:1/shared' },
    { MAYFLY_MEMORY: 'off', MAYFLY_DATA: data },
  ] as readonly Record<string, string>[]) {
    const cwd = temporaryDirectory()
    const { code, stdout, stderr } = await runCli(['exec', '--', process.execPath, '-e', lookAround], { cwd, env })
    assert.equal(code, 0, stderr)
    const { COSMOS_ENDPOINT, store, files } = JSON.parse(stdout)
    assert.notEqual(new URL(COSMOS_ENDPOINT).port, '1')
    assert.equal(store, 'sqlite (memory)')
    assert.deepEqual([files, readdirSync(data)], [[], []], JSON.stringify(env))
  }
})

test('A flag says where exec keeps the data, also where variables name other places', async () => {
  const data = temporaryDirectory()
  const env = { MAYFLY_STORE: 'postgres://127.0.0.1:1/shared', MAYFLY_MEMORY: 'on' }
  const { stdout, stderr } = await exec(lookAround, ['--data', data], env)
  assert.equal(JSON.parse(stdout).store, 'sqlite', stderr)
  assert.ok(readdirSync(data).length > 0)
  const refused = await exec(lookAround, ['--store', 'postgres://127.0.0.1:1/none'], env)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /PostgreSQL/)
})

test('A command never finds the address of another MongoDB', async () => {
  const env = { MONGODB_URI: 'mongodb://production.example/' }
  const script = 'console.log(String(process.env.MONGODB_URI))'
  assert.match((await exec(script, [], env)).stdout, /^mongodb:\/\/.*127\.0\.0\.1:/)
  assert.equal((await exec(script, ['--no-mongo'], env)).stdout, 'undefined\n')
})

test('With --data a command finds what an earlier one wrote', async () => {
  const data = temporaryDirectory()
  const path = join(data, 'step.mjs')
  writeFileSync(
    path,
    `import { CosmosClient } from ${JSON.stringify(import.meta.resolve('@azure/cosmos'))}
const client = new CosmosClient(process.env.COSMOS_CONNECTION_STRING)
console.log((await client.databases.createIfNotExists({ id: 'shop' })).statusCode)
`,
  )
  const step = () => runCli(['exec', '--data', data, '--', process.execPath, path])
  assert.equal((await step()).stdout, '201\n')
  assert.equal((await step()).stdout, '200\n')
})

test('A signal to stop is passed to the command, whose exit code counts', async () => {
  const script = `
    process.on('SIGTERM', () => { console.log('told'); process.exit(5) })
    setInterval(() => {}, 1000)
    console.log('waiting')`
  const running = startCli(['exec', '--', process.execPath, '-e', script])
  await running.said(/^waiting\n/)
  running.process.kill('SIGTERM')
  const { code, stdout } = await running.ended
  assert.equal(stdout, 'waiting\ntold\n')
  assert.equal(code, 5)
})
