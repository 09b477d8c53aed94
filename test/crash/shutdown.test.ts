/** How a server stops, and how it starts on a directory or port that another one uses or used. */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { Client, signed } from './client.ts'
import { runCycles } from './cycles.ts'
import { Running, serverArguments } from './server-process.ts'

let directory: string
let started: Running[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'mayfly-shutdown-'))
  started = []
})

afterEach(async () => {
  for (const running of started) await running.end('SIGKILL')
  rmSync(directory, { recursive: true })
})

function launch(args = serverArguments(directory)): Running {
  const running = new Running(args)
  started.push(running)
  return running
}

async function furnish(client: Client): Promise<void> {
  await client.json('POST', '/dbs', { body: '{"id":"d"}' })
  await client.json('POST', '/dbs/d/colls', { body: '{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}' })
}

const feed = '/dbs/d/colls/c/docs'
const partition = { 'x-ms-documentdb-partitionkey': '["p"]' }

test('a server that is told to stop under load exits with 0 and loses nothing acknowledged', async () => {
  const { writes } = await runCycles({ seed: 2, cycles: 3, signal: 'SIGTERM' })
  assert.ok(writes > 0)
})

test('a server that is told to stop executes no request that it cannot answer', async () => {
  const { survivors, underWay } = await runCycles({ seed: 3, cycles: 3, signal: 'SIGTERM' })
  assert.equal(survivors, 0, `of ${underWay} writes that were cut off`)
})

test('a request under way when the server is told to stop gets its answer', async () => {
  const running = launch()
  const endpoint = await running.ready()
  using client = new Client(endpoint)
  await furnish(client)
  const body = '{"id":"late","pk":"p"}'
  const socket = connect(Number(new URL(endpoint).port), '127.0.0.1')
  const headers = { host: '127.0.0.1', ...signed('POST', feed), ...partition, 'content-length': String(body.length) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${feed} HTTP/1.1\r\n${lines.join('')}\r\n${body.slice(0, 5)}`)
  // A later request on another connection was answered, so the first half has arrived.
  await client.json('GET', '/alive')

  running.child.kill('SIGTERM')
  await refused(endpoint)
  socket.write(body.slice(5))
  assert.match(await textOf(socket), /^HTTP\/1\.1 201 /)
  assert.deepEqual(await running.exited, { code: 0, signal: null })

  const next = launch()
  using nextClient = new Client(await next.ready())
  const { id } = await nextClient.json('GET', `${feed}/late`, { headers: partition })
  assert.equal(id, 'late')
})

test('a second process on a data directory is refused and told who holds it; the first one continues', async () => {
  const first = launch()
  using client = new Client(await first.ready())
  const second = launch()
  assert.deepEqual(await second.exited, { code: 1, signal: null })
  assert.equal(second.stdout, '')
  assert.match(
    second.stderr,
    /^mayfly: The data directory .* is in use by another Mayfly \(process \d+\)\..*choose another directory\.\n$/,
  )
  assert.ok(second.stderr.includes(directory) && second.stderr.includes(`process ${first.child.pid}`))
  assert.deepEqual(await client.json('GET', '/alive'), { alive: true })
})

test('of two processes that start at the same time on one data directory exactly one serves', async () => {
  for (let round = 0; round < 3; round++) {
    const both = [launch(), launch()]
    const outcomes = await Promise.all(both.map(each => Promise.race([each.ready(), each.exited]).catch(() => 'ended')))
    assert.equal(outcomes.filter(outcome => String(outcome).startsWith('http')).length, 1, `round ${round}`)
    await Promise.all(both.map(each => each.end('SIGKILL')))
  }
})

test('a taken port is reported in one line, and the data directory is free again', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  const refused = launch([...serverArguments(directory), '--port', String(port)])
  assert.deepEqual(await refused.exited, { code: 1, signal: null })
  assert.equal(refused.stdout, '')
  assert.match(
    refused.stderr,
    new RegExp(`^mayfly: Port ${port} on 127\\.0\\.0\\.1 is taken by another program\\..*\n$`),
  )
  other.close()
  await launch().ready()
})

test('after a kill the next start needs no clean-up, even if another process has the same pid now', async () => {
  const first = launch()
  await first.ready()
  await first.end('SIGKILL')
  const pidFile = join(directory, 'mayfly.pid')
  assert.equal(readFileSync(pidFile, 'utf8').trim(), String(first.child.pid))
  writeFileSync(pidFile, `${process.pid}\n`)
  const second = launch()
  using client = new Client(await second.ready())
  await furnish(client)
  assert.equal(readFileSync(pidFile, 'utf8').trim(), String(second.child.pid))
})

test('the server keeps running if the reader of stdout leaves after the first line', async () => {
  const running = launch()
  using client = new Client(await running.ready())
  running.child.stdout!.destroy()
  await furnish(client)
  assert.deepEqual(await running.end('SIGTERM'), { code: 0, signal: null })
})

test('the server keeps running if nobody reads its log any more', async () => {
  const running = launch([...serverArguments(directory), '--log-level', 'trace'])
  using client = new Client(await running.ready())
  running.child.stderr!.destroy()
  await furnish(client)
  // Stopping is logged; the second line meets the closed pipe.
  assert.deepEqual(await running.end('SIGTERM'), { code: 0, signal: null })
})

test('the server keeps running if stdout is closed before it is ready', async () => {
  const { port } = await freePort()
  const running = launch([...serverArguments(directory), '--port', String(port)])
  running.child.stdout!.destroy()
  using client = new Client(`http://127.0.0.1:${port}`)
  await answers(client, running)
  await furnish(client)
  assert.deepEqual(await running.end('SIGTERM'), { code: 0, signal: null })
})

async function freePort(): Promise<{ port: number }> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return { port }
}

/** Asks until there is an answer, or the server is gone. */
async function answers(client: Client, running: Running): Promise<void> {
  while (running.child.exitCode === null) {
    const isThere = await client.send('GET', '/alive').then(
      () => true,
      () => false,
    )
    if (isThere) return
  }
  assert.fail(`the server ended: ${running.stderr}`)
}

/** Resolves when the port is closed. */
async function refused(endpoint: string): Promise<void> {
  const port = Number(new URL(endpoint).port)
  while (true) {
    const socket = connect(port, '127.0.0.1')
    const isConnected = await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (!isConnected) return
  }
}

async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
