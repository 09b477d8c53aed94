/**
 * Clients that announce much and send little, or ask for much and read nothing: each is refused or closed,
 * and others are served.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { wellKnownKey } from '../../../src/base/account-keys.ts'
import { machine } from '../../../src/base/clock.ts'
import { requestBytesMax } from '../../../src/base/limits.ts'
import { lingerMs, requestMsMax } from '../../../src/server/http/collect-body.ts'
import { serveCli } from '../../support/run-cli.ts'
import { signature } from '../../support/signed-request.ts'
import { newClient, pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const container = await server.newContainer()
const docs = `${pathOf(container)}/docs`

async function open(endpoint: string): Promise<Socket> {
  const socket = connect(Number(new URL(endpoint).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The head of a signed request, with these lines behind it. */
function head(method: string, path: string, lines: readonly string[], key = wellKnownKey): string {
  const date = new Date().toUTCString()
  return [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    `x-ms-date: ${date}`,
    `authorization: ${signature(key, method, path, date)}`,
    'x-ms-documentdb-partitionkey: ["a"]',
    ...lines,
    '',
    '',
  ].join('\r\n')
}

/** `once` would fail if the connection is reset. */
const closeOf = (socket: Socket) => new Promise(resolve => socket.on('close', resolve))

/** What the server answers until it closes the connection. */
async function answerOf(socket: Socket): Promise<string> {
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk
  })
  await closeOf(socket)
  return heard
}

/** Lets timers with these times end soon. */
function shorten(t: TestContext, ...times: readonly number[]): void {
  const { setTimeout } = machine
  t.mock.method(machine, 'setTimeout', (work: () => void, ms: number) => setTimeout(work, times.includes(ms) ? 50 : ms))
}

const half = 'x'.repeat(500_000)
const otherKey = Buffer.from('another key, long enough').toString('base64')

test('A stranger is refused before the body is taken', async t => {
  shorten(t, lingerMs)
  for (const transfer of ['content-length: 1000000', 'transfer-encoding: chunked']) {
    const socket = await open(server.db.endpoint)
    const answer = answerOf(socket)
    socket.write(head('POST', docs, [transfer], otherKey))
    socket.write(transfer.startsWith('content') ? half : `${half.length.toString(16)}\r\n${half.slice(1)}`)
    assert.match(await answer, /^HTTP\/1\.1 401 /, transfer)
  }
})

test('A body whose announced length is too large is refused at once', async t => {
  shorten(t, lingerMs)
  for (const length of [requestBytesMax + 1, 10 ** 12]) {
    const socket = await open(server.db.endpoint)
    const answer = answerOf(socket)
    socket.write(head('POST', docs, [`content-length: ${length}`]))
    assert.match(await answer, /^HTTP\/1\.1 413 /)
  }
})

test('A body that does not arrive in time is answered with 408', async t => {
  shorten(t, requestMsMax, lingerMs)
  for (const transfer of ['content-length: 1000000', 'transfer-encoding: chunked']) {
    const socket = await open(server.db.endpoint)
    const answer = answerOf(socket)
    socket.write(head('POST', docs, [transfer]))
    socket.write(transfer.startsWith('content') ? half : `${half.length.toString(16)}\r\n${half.slice(1)}`)
    assert.match(await answer, /^HTTP\/1\.1 408 /, transfer)
  }
})

test('The rest of a refused body is not taken for a request', async () => {
  const socket = await open(server.db.endpoint)
  const answer = answerOf(socket)
  const create = head('POST', docs, ['content-length: 21'])
  socket.write(head('POST', docs, ['content-length: 100000'], otherKey))
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  socket.write(`${create}{"id":"no","pk":"a"}`)
  socket.end()
  assert.equal((await answer).match(/HTTP\/1\.1 /g)?.length, 1)
  assert.equal((await container.item('no', 'a').read()).statusCode, 404)
})

test('If clients do not read, further pages are refused, small reads go on, and all is given back', async () => {
  await using small = await serveCli(['--memory', '--port', '0', '--json', '--memory-budget', '64'])
  const client = newClient({ endpoint: small.endpoint, key: wellKnownKey })
  const { database } = await client.databases.create({ id: 'd' })
  const made = await database.containers.create({ id: 'c', partitionKey: '/pk' })
  for (let id = 0; id < 4; id++)
    await made.container.items.create({ id: String(id), pk: 'a', s: 'x'.repeat(1_000_000) })
  const request = async (path: string, ...lines: string[]) => {
    const socket = await open(small.endpoint)
    const answer = answerOf(socket)
    socket.write(head('GET', path, ['connection: close', ...lines]))
    return answer
  }
  const page = () => request('/dbs/d/colls/c/docs', 'x-ms-max-item-count: 100')
  const greedy: Socket[] = []
  let answer = await page()
  while (answer.startsWith('HTTP/1.1 200 ')) {
    assert.ok(greedy.length < 40, 'nothing was refused')
    const socket = await open(small.endpoint)
    socket.pause()
    // The kernel takes the first answer, the server keeps the second one.
    for (let pages = 0; pages < 2; pages++) {
      socket.write(head('GET', '/dbs/d/colls/c/docs', ['x-ms-max-item-count: 100']))
      assert.match(await request('/dbs/d'), /^HTTP\/1\.1 200 /)
    }
    greedy.push(socket)
    answer = await page()
  }
  assert.match(answer, /^HTTP\/1\.1 429 /)
  assert.match(answer, /x-ms-retry-after-ms: 1000/i)
  assert.match(answer, /--memory-budget/)
  for (const socket of greedy) socket.destroy()
  while (!(await page()).startsWith('HTTP/1.1 200 '));
  const { memory } = (await (await fetch(`${small.endpoint}/status`)).json()) as { memory: { heldBytes: number } }
  assert.equal(memory.heldBytes, 0)
})

test('A port accepts as many connections as it may', async () => {
  await using small = await serveCli(['--memory', '--port', '0', '--json', '--max-connections', '2'])
  const served = async () => {
    const socket = await open(small.endpoint)
    socket.write(head('GET', '/', []))
    await Promise.race([new Promise(resolve => socket.once('data', resolve)), closeOf(socket)])
    return socket
  }
  const [first, second, third] = [await served(), await served(), await served()]
  assert.deepEqual([first.closed, second.closed, third.closed], [false, false, true])
  first.destroy()
  let next = await served()
  while (next.closed) next = await served()
  for (const socket of [second, next]) socket.destroy()
})
