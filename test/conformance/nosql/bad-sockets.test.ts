/** Bytes that are not a request, requests that never end, clients that leave: others notice nothing. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { signature } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const container = await server.newContainer()
await container.items.create({ id: 'one', pk: 'a' })
const port = Number(new URL(server.db.endpoint).port)

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Sends bytes and collects the answer until the server closes the connection. */
async function talk(bytes: string | Buffer): Promise<string> {
  const socket = await open()
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk.toString('latin1')
  })
  socket.write(bytes)
  await once(socket, 'close')
  return heard
}

async function assertAnswers(): Promise<void> {
  assert.equal((await container.item('one', 'a').read()).statusCode, 200)
}

const garbage: Readonly<Record<string, string | Buffer>> = {
  words: 'this is not http\r\n\r\n',
  'a broken request line': 'GET\r\n\r\n',
  'another protocol': 'GET / FTP/9.9\r\n\r\n',
  'zero bytes': Buffer.alloc(64),
  'random bytes': Buffer.concat([Buffer.from([0x01]), randomBytes(2000)]),
  'a header without a colon': 'GET / HTTP/1.1\r\nhost: x\r\nbroken header\r\n\r\n',
  'two lengths': 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
  'a length and chunks':
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'a length that is no number': 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n',
  'headers of 100 KB': `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
}

for (const [name, bytes] of Object.entries(garbage)) {
  test(`A connection that sends ${name} gets an error and is closed`, async () => {
    assert.match(await talk(bytes), /^HTTP\/1\.1 (400|431) /)
    await assertAnswers()
  })
}

test('A connection that starts like TLS and continues with garbage is closed', async () => {
  const bytes = Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]), randomBytes(600)])
  assert.doesNotMatch(await talk(bytes), /HTTP/)
  await assertAnswers()
})

/** The head of a signed write of 1,000 bytes, of which only a few follow. */
function beginningOfWrite(): string {
  const date = new Date().toUTCString()
  const path = pathOf(container, 'docs')
  return [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: ${signature(server.db.key, 'POST', path, date)}`,
    `x-ms-date: ${date}`,
    'x-ms-documentdb-partitionkey: ["a"]',
    'content-length: 1000',
    '',
    '{"id":"slow","pk":"a"',
  ].join('\r\n')
}

test('Requests that never end do not delay other clients', async () => {
  const slow = await Promise.all(Array.from({ length: 50 }, open))
  for (const socket of slow) socket.write(beginningOfWrite())
  const silent = await Promise.all(Array.from({ length: 50 }, open))
  for (let at = 0; at < 20; at++) await assertAnswers()
  assert.equal((await container.items.create({ id: 'two', pk: 'a' })).statusCode, 201)
  for (const socket of [...slow, ...silent]) socket.destroy()
  await assertAnswers()
})

test('A client that disconnects in the middle of its request writes nothing', async () => {
  for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
    const socket = await open()
    socket.write(beginningOfWrite())
    await assertAnswers()
    const closed = once(socket, 'close')
    socket[leave]()
    socket.resume()
    await closed
  }
  await assertAnswers()
  assert.equal((await container.item('slow', 'a').read()).statusCode, 404)
})

test('A client that disconnects before its answer does no harm', async () => {
  for (let at = 0; at < 20; at++) {
    const socket = await open()
    socket.write(beginningOfWrite().replace('content-length: 1000', 'content-length: 21'))
    socket.resetAndDestroy()
  }
  await assertAnswers()
})

/** A signed request as its bytes. */
function requestText(method: string, path: string, { body = '', connection = 'keep-alive' } = {}): string {
  const date = new Date().toUTCString()
  return [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: ${signature(server.db.key, method, path, date)}`,
    `x-ms-date: ${date}`,
    'x-ms-documentdb-partitionkey: ["a"]',
    `connection: ${connection}`,
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n')
}

const statusesIn = (heard: string) => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
const docs = pathOf(container, 'docs')

test('Pipelined requests are answered in order, those of the protocol and of the admin API', async () => {
  const requests = [
    requestText('GET', '/'),
    requestText('GET', '/dbs/none'),
    `GET /_mayfly/nothing/here HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`,
    requestText('POST', docs, { body: '{"id":"one","pk":"a"}' }),
    requestText('GET', '/dbs', { connection: 'close' }),
  ]
  assert.deepEqual(statusesIn(await talk(requests.join(''))), ['200', '404', '404', '409', '200'])
})

test('A request may arrive in pieces of any size', async () => {
  const text = requestText('POST', docs, { body: '{"id":"pieces","pk":"a","s":"日本語"}', connection: 'close' })
  const bytes = Buffer.from(text)
  for (const [size, status] of [
    [7, '201'],
    [64, '409'],
    [bytes.length - 1, '409'],
  ] as const) {
    const socket = await open()
    socket.setNoDelay(true)
    let heard = ''
    socket.on('data', chunk => {
      heard += chunk
    })
    for (let at = 0; at < bytes.length; at += size) {
      socket.write(bytes.subarray(at, at + size))
      // One turn of the event loop, which the server shares: it reads what was sent.
      await new Promise(resolve => setImmediate(resolve))
    }
    await once(socket, 'close')
    assert.deepEqual(statusesIn(heard), [status])
  }
  assert.equal((await container.item('pieces', 'a').read()).resource?.s, '日本語')
})

test('A body may arrive in pieces, and the next request with the last of them', async () => {
  const bytes = Buffer.from(requestText('POST', docs, { body: `{"id":"long","pk":"a","s":"${'é'.repeat(100_000)}"}` }))
  const behind = Buffer.from(requestText('GET', '/dbs', { connection: 'close' }))
  for (const [last, statuses] of [
    [Buffer.alloc(0), ['201', '200']],
    [behind, ['409', '200']],
  ] as const) {
    const socket = await open()
    let heard = ''
    socket.on('data', chunk => {
      heard += chunk
    })
    const middle = bytes.length - 100_000
    for (const piece of [bytes.subarray(0, 1000), bytes.subarray(1000, middle)]) {
      socket.write(piece)
      await new Promise(resolve => setImmediate(resolve))
    }
    socket.write(Buffer.concat([bytes.subarray(middle), last]))
    if (last.length === 0) {
      await once(socket, 'data')
      socket.write(behind)
    }
    await once(socket, 'close')
    assert.deepEqual(statusesIn(heard), statuses)
  }
  assert.equal((await container.item('long', 'a').read()).resource?.s, 'é'.repeat(100_000))
})

test('A body that arrives slowly is accepted', async () => {
  const bytes = Buffer.from(requestText('POST', docs, { body: '{"id":"slow","pk":"a"}' }))
  const socket = await open()
  socket.setNoDelay(true)
  const answer = Promise.race([once(socket, 'data'), once(socket, 'close')])
  for (let at = 0; at < bytes.length; at++) {
    if (at === 0) at = bytes.length - 10
    socket.write(at === bytes.length - 10 ? bytes.subarray(0, at + 1) : bytes.subarray(at, at + 1))
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  assert.deepEqual(statusesIn(String((await answer)[0])), ['201'])
  socket.destroy()
})

/** A create that the fast lane leaves to node:http. */
function oddRequest(body: string): string {
  const chunked = `transfer-encoding: chunked\r\n\r\n${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
  return requestText('POST', docs).replace(/\r\n\r\n$/, `\r\n${chunked}`)
}

test('A connection serves requests of the fast lane and of node:http in turn', async () => {
  const socket = await open()
  const odd = oddRequest('{"id":"odd","pk":"a"}')
  const admin = `GET /_mayfly/clock HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`
  const statuses: string[] = []
  for (const text of [requestText('GET', '/dbs'), odd, requestText('GET', '/'), requestText('HEAD', '/'), admin, odd]) {
    socket.write(text)
    const [answer] = await once(socket, 'data')
    statuses.push(...(statusesIn(String(answer)) as string[]))
  }
  assert.deepEqual(statuses, ['200', '201', '200', '200', '200', '409'])
  socket.destroy()
})

test('A request for node:http does not overtake one in the fast lane', async () => {
  for (let at = 0; at < 30; at++) {
    const socket = await open()
    socket.setNoDelay(true)
    let heard = ''
    socket.on('data', chunk => {
      heard += chunk
    })
    socket.write(requestText('POST', docs, { body: `{"id":"plain ${at}","pk":"a"}` }))
    // Long enough for the server, which shares the event loop, to read the first and not yet answer it.
    for (let turn = 0; turn < at % 3; turn++) await new Promise(resolve => setImmediate(resolve))
    socket.write(`GET /_mayfly/nothing/here HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
    await once(socket, 'close')
    assert.deepEqual(statusesIn(heard), ['201', '404'])
  }
})

test('A long request for node:http behind one in the fast lane arrives complete', async () => {
  const socket = await open()
  socket.write(requestText('GET', '/dbs'))
  await once(socket, 'data')
  const text = 'é'.repeat(400_000)
  socket.write(oddRequest(`{"id":"long and odd","pk":"a","s":"${text}"}`))
  assert.deepEqual(statusesIn(String((await once(socket, 'data'))[0])), ['201'])
  assert.equal((await container.item('long and odd', 'a').read()).resource?.s, text)
  socket.destroy()
})

test('Of thousands of pipelined requests few are read before they are answered', async () => {
  let begun = 0
  let most = 0
  const begin = () => {
    most = Math.max(most, ++begun)
  }
  const finish = () => {
    begun--
  }
  diagnostics.subscribe('http.server.request.start', begin)
  diagnostics.subscribe('http.server.response.finish', finish)
  const count = 3000
  const socket = await open()
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk.toString('latin1')
  })
  const end = requestText('GET', '/dbs').replace(/\r\n\r\n$/, '\r\nconnection: close\r\n\r\n')
  socket.write(requestText('GET', '/dbs').repeat(count - 1) + end)
  await once(socket, 'close')
  diagnostics.unsubscribe('http.server.request.start', begin)
  diagnostics.unsubscribe('http.server.response.finish', finish)
  assert.equal(statusesIn(heard).length, count)
  // Those of the first chunk and of the next.
  assert.ok(most < 1000, `${most} requests wait`)
})

test('Requests that several clients send in pieces at the same time are not mixed up', async () => {
  const clients = await Promise.all(
    Array.from({ length: 20 }, async (_, client) => {
      const body = `{"id":"mixed ${client}","pk":"a","s":"${String.fromCharCode(97 + client).repeat(50_000)}"}`
      return { socket: await open(), bytes: Buffer.from(requestText('POST', docs, { body })) }
    }),
  )
  const answers = clients.map(({ socket }) => once(socket, 'data'))
  for (let at = 0; at < 60_000; at += 7_000) {
    for (const { socket, bytes } of clients) socket.write(bytes.subarray(at, at + 7_000))
    await new Promise(resolve => setImmediate(resolve))
  }
  for (const [answer] of await Promise.all(answers)) assert.deepEqual(statusesIn(String(answer)), ['201'])
  for (const [client, { socket }] of clients.entries()) {
    const { resource } = await container.item(`mixed ${client}`, 'a').read()
    assert.equal(resource?.s, String.fromCharCode(97 + client).repeat(50_000))
    socket.destroy()
  }
})

test('A client that aborts does no harm, in the fast lane and in node:http', async () => {
  const odd = oddRequest('{"id":"odd","pk":"a"}')
  for (const texts of [[requestText('GET', '/dbs')], [odd], [requestText('GET', '/dbs'), odd]]) {
    const socket = await open()
    for (const text of texts) {
      socket.write(text)
      await once(socket, 'data')
    }
    socket.resetAndDestroy()
    await assertAnswers()
  }
})

test('A client that half-closes its connection still gets its answer', async () => {
  const socket = await open()
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk
  })
  socket.end(requestText('POST', docs, { body: '{"id":"last words","pk":"a"}' }))
  await once(socket, 'close')
  assert.deepEqual(statusesIn(heard), ['201'])
})
