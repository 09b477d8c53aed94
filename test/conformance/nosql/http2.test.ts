/** HTTP/2 on the same port: by ALPN over TLS, and with prior knowledge without TLS. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { connect as connectSocket } from 'node:net'
import test from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type Mayfly, mayfly } from '../../../src/index.ts'
import { fields, frame, http2Start } from '../../support/http2-frames.ts'
import { call, signature } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const authority = (await call(server.db.endpoint, 'GET', '/_explorer/emulator.pem')).text

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

function open({ endpoint }: { endpoint: string }, { isTls = false } = {}): ClientHttp2Session {
  const { port } = new URL(endpoint)
  return isTls ? connect(`https://localhost:${port}`, { ca: authority }) : connect(`http://127.0.0.1:${port}`)
}

interface Request {
  readonly method?: string
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: unknown
}

/** Begins a signed request. The body is left to the caller. */
function begin(session: ClientHttp2Session, { method = 'GET', path, headers }: Request): ClientHttp2Stream {
  const date = new Date().toUTCString()
  const authorization = signature(server.db.key, method, path, date)
  return session.request({ ':method': method, ':path': path, authorization, 'x-ms-date': date, ...headers })
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const headers = await new Promise<IncomingHttpHeaders & { ':status'?: number }>((resolve, reject) => {
    stream.on('response', resolve)
    stream.on('error', reject)
    stream.on('close', () => reject(new Error(`closed with ${stream.rstCode}`)))
  })
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return { status: headers[':status']!, headers, text }
}

function send(session: ClientHttp2Session, request: Request): Promise<Answer> {
  const stream = begin(session, request)
  stream.end(request.body === undefined ? undefined : JSON.stringify(request.body))
  return answerOf(stream)
}

function ofKey(pk: string): OutgoingHttpHeaders {
  return { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
}

for (const isTls of [false, true]) {
  test(`${isTls ? 'With' : 'Without'} TLS: create, read, replace, query and delete`, async () => {
    const container = await server.newContainer({ defaultTtl: -1 })
    const session = open(server.db, { isTls })
    const docs = pathOf(container, 'docs')
    const item = pathOf(container, 'docs', 'é')
    const headers = ofKey('a')
    const body = { id: 'é', pk: 'a', n: 1, text: 'ünï😀' }
    const created = await send(session, { method: 'POST', path: docs, headers, body })
    assert.equal(created.status, 201, created.text)
    assert.equal(created.headers['content-type'], 'application/json')
    assert.equal(Number(created.headers['content-length']), Buffer.byteLength(created.text))
    assert.equal(JSON.parse(created.text).text, body.text)
    const read = await send(session, { path: item, headers })
    assert.deepEqual([read.status, read.text], [200, created.text])
    assert.equal(
      (await send(session, { path: item, headers: { ...headers, 'if-none-match': read.headers.etag } })).status,
      304,
    )
    const replaced = await send(session, { method: 'PUT', path: item, headers, body: { ...body, n: 2, ttl: 10 } })
    assert.equal(replaced.status, 200)
    const query = { query: 'SELECT VALUE c.n FROM c' }
    const asQuery = { ...headers, 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' }
    const found = await send(session, { method: 'POST', path: docs, headers: asQuery, body: query })
    assert.deepEqual(JSON.parse(found.text).Documents, [2])
    await server.db.clock.advance('10s')
    assert.equal((await send(session, { path: item, headers })).status, 404)
    await send(session, { method: 'POST', path: docs, headers, body })
    const deleted = await send(session, { method: 'DELETE', path: item, headers })
    assert.deepEqual([deleted.status, deleted.text], [204, ''])
    assert.equal((await send(session, { path: item, headers: { ...headers, authorization: 'x' } })).status, 401)
    session.close()
  })

  test(`${isTls ? 'With' : 'Without'} TLS: the account leads back to this address; admin pages answer`, async () => {
    const session = open(server.db, { isTls })
    const { port } = new URL(server.db.endpoint)
    const account = JSON.parse((await send(session, { path: '/' })).text)
    const origin = isTls ? `https://localhost:${port}/` : `http://127.0.0.1:${port}/`
    assert.equal(account.writableLocations[0].databaseAccountEndpoint, origin)
    assert.equal((await send(session, { path: '/alive' })).status, 200)
    const head = await send(session, { method: 'HEAD', path: '/alive' })
    assert.deepEqual([head.status, head.text], [200, ''])
    const clock = await send(session, { path: '/_mayfly/clock' })
    assert.equal(clock.status, 200, clock.text)
    const moved = await send(session, { method: 'POST', path: '/_mayfly/clock', body: { advance: '1s' } })
    assert.equal(moved.status, 200, moved.text)
    const foreign = await send(session, { path: '/_mayfly/clock', headers: { ':authority': 'evil.example' } })
    assert.equal(foreign.status, 403)
    session.close()
  })
}

test('A client that offers both gets HTTP/2, and one that offers HTTP/1.1 or nothing gets that', async () => {
  const port = Number(new URL(server.db.endpoint).port)
  const agreed = async (ALPNProtocols: string[] | undefined) => {
    const socket = connectTls({ host: 'localhost', port, ca: authority, ...(ALPNProtocols && { ALPNProtocols }) })
    await once(socket, 'secureConnect')
    const { alpnProtocol } = socket
    if (alpnProtocol !== 'h2') {
      socket.write('GET /alive HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
      assert.match(String(await once(socket, 'data')), /^HTTP\/1\.1 200/)
    }
    socket.destroy()
    return alpnProtocol
  }
  assert.equal(await agreed(['http/1.1', 'h2']), 'h2')
  assert.equal(await agreed(['http/1.1']), 'http/1.1')
  assert.equal(await agreed(undefined), false)
  await assert.rejects(agreed(['spdy/3']))
})

test('The preface may arrive byte by byte; other methods that begin like it are HTTP/1', async () => {
  const port = Number(new URL(server.db.endpoint).port)
  const socket = connectSocket({ host: '127.0.0.1', port, noDelay: true })
  const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.of(0, 0, 0, 4, 0, 0, 0, 0, 0)])
  for (const byte of preface) {
    socket.write(Buffer.of(byte))
    await new Promise(resolve => setImmediate(resolve))
  }
  const [settings] = (await once(socket, 'data')) as [Buffer]
  assert.equal(settings[3], 4, 'a frame of settings')
  socket.destroy()
  for (const first of ['PROPFIND /x HTTP/1.1\r\nhost: a\r\n\r\n', 'PRX', 'PRI* / HTTP/1.1\r\n\r\n']) {
    const other = connectSocket({ host: '127.0.0.1', port })
    other.end(first)
    assert.match(String(await once(other, 'data')), /^HTTP\/1\.1 40\d/)
    other.destroy()
  }
})

test('Bytes that are not HTTP/2 after the preface, and clients that end it, close the connection only', async () => {
  const port = Number(new URL(server.db.endpoint).port)
  const start = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  for (const bytes of [`${start}nonsense and more of it`, 'PRI ', start, 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n']) {
    const socket = connectSocket({ host: '127.0.0.1', port })
    socket.on('error', () => {})
    socket.end(bytes)
    socket.resume()
    await once(socket, 'close')
  }
  assert.equal((await call(server.db.endpoint, 'GET', '/alive')).status, 200)
})

test('A hundred requests at once on one connection are all answered, each with its own item', async () => {
  const container = await server.newContainer()
  for (const isTls of [false, true]) {
    const session = open(server.db, { isTls })
    const ids = Array.from({ length: 300 }, (_, at) => `${isTls}-${at}`)
    const create = (id: string) =>
      send(session, { method: 'POST', path: pathOf(container, 'docs'), headers: ofKey(id), body: { id, pk: id } })
    assert.deepEqual([...new Set((await Promise.all(ids.map(create))).map(({ status }) => status))], [201])
    const read = (id: string) => send(session, { path: pathOf(container, 'docs', id), headers: ofKey(id) })
    const answers = await Promise.all(ids.map(read))
    assert.deepEqual(
      answers.map(({ text }) => JSON.parse(text).id),
      ids,
    )
    session.close()
  }
})

test('More large answers than requests at a time go through one connection', async () => {
  const container = await server.newContainer()
  const session = open(server.db)
  const path = pathOf(container, 'docs')
  const body = { id: 'large', pk: 'a', text: 'x'.repeat(1_000_000) }
  assert.equal((await send(session, { method: 'POST', path, headers: ofKey('a'), body })).status, 201)
  const read = async () => {
    const answer = await send(session, { path: pathOf(container, 'docs', 'large'), headers: ofKey('a') })
    return [answer.status, answer.text.length > body.text.length]
  }
  const answers = await Promise.all(Array.from({ length: 150 }, read))
  for (const answer of answers) assert.deepEqual(answer, [200, true])
  session.close()
})

test('The limits are told to the client', async () => {
  const session = open(server.db)
  await once(session, 'remoteSettings')
  assert.equal(session.remoteSettings.maxConcurrentStreams, 100)
  // Node resets larger ones without an answer. From 16 KiB on the answer is 431.
  assert.equal(session.remoteSettings.maxHeaderListSize, 64 * 1024)
  session.close()
})

test('A body that is too large is refused, and the connection goes on', async () => {
  const container = await server.newContainer()
  const session = open(server.db)
  const path = pathOf(container, 'docs')
  const body = { id: 'large', pk: 'a', text: 'x'.repeat(4 * 1024 * 1024) }
  const { status, text } = await send(session, { method: 'POST', path, headers: ofKey('a'), body })
  assert.equal(status, 413, text)
  assert.equal(JSON.parse(text).code, 'RequestEntityTooLarge')
  const largest = { id: 'large', pk: 'a', text: 'x'.repeat(2 * 1024 * 1024 - 100) }
  assert.equal((await send(session, { method: 'POST', path, headers: ofKey('a'), body: largest })).status, 201)
  const read = await send(session, { path: pathOf(container, 'docs', 'large'), headers: ofKey('a') })
  assert.equal(JSON.parse(read.text).text, largest.text)
  session.close()
})

test('Headers that are too large are refused, and the connection goes on', async () => {
  for (const isTls of [false, true]) {
    const session = open(server.db, { isTls })
    await once(session, 'remoteSettings')
    const numbered = (count: number, value: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, value]))
    const large = { 'some of 20 KB': numbered(20, 'x'.repeat(1000)), 'one of 60 KB': { x: 'x'.repeat(60_000) } }
    for (const [name, headers] of Object.entries({ ...large, 'many small ones': numbered(500, '1') })) {
      for (const request of [{ path: '/' }, { path: '/_mayfly/clock' }, { path: '/dbs', method: 'POST', body: {} }]) {
        const { status, text } = await send(session, { ...request, headers })
        assert.equal(status, 431, `${name}: ${text}`)
        assert.equal(JSON.parse(text).code, 'RequestHeaderFieldsTooLarge')
      }
    }
    assert.equal((await send(session, { path: '/', headers: numbered(100, 'x'.repeat(100)) })).status, 200)
    await assert.rejects(send(session, { path: '/', headers: numbered(70, 'x'.repeat(1000)) }))
    assert.equal((await send(session, { path: '/' })).status, 200)
    session.close()
  }
})

test('A request with two Authorization headers is refused', async () => {
  const date = new Date().toUTCString()
  const authorization = signature(server.db.key, 'GET', '/dbs', date)
  const socket = connectSocket({ host: '127.0.0.1', port: Number(new URL(server.db.endpoint).port) })
  socket.write(http2Start)
  let received = Buffer.alloc(0)
  socket.on('data', chunk => {
    received = Buffer.concat([received, chunk])
  })
  /** In raw frames: the client of Node sends a header of this name once. */
  const answered = async (stream: number, authorizations: readonly string[]) => {
    const start = { ':method': 'GET', ':scheme': 'http', ':path': '/dbs', ':authority': 'localhost', 'x-ms-date': date }
    const head = [fields(start), ...authorizations.map(each => fields({ authorization: each }))]
    received = Buffer.alloc(0)
    socket.write(frame(1, 5, stream, Buffer.concat(head)))
    // All answers have a body, which is JSON.
    while (!received.includes('}')) await once(socket, 'data')
    return received.toString('latin1')
  }
  assert.match(await answered(1, [authorization]), /"Databases":/)
  assert.match(await answered(3, [authorization, 'other']), /"BadRequest".*several Authorization headers/)
  assert.match(await answered(5, ['other', authorization]), /"BadRequest".*several Authorization headers/)
  assert.match(await answered(7, [authorization]), /"Databases":/)
  socket.destroy()
})

test('A request that its client resets writes nothing, and the connection goes on', async () => {
  // In raw frames: the client of Node ends the body before it resets a request.
  const container = await server.newContainer()
  const socket = connectSocket({ host: '127.0.0.1', port: Number(new URL(server.db.endpoint).port) })
  socket.write(http2Start)
  const path = pathOf(container, 'docs')
  const date = new Date().toUTCString()
  let stream = 1
  const sendItem = async (id: string, end: () => Buffer) => {
    const head = fields({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': path,
      ':authority': 'localhost',
      authorization: signature(server.db.key, 'POST', path, date),
      'x-ms-date': date,
      'x-ms-documentdb-partitionkey': '["a"]',
    })
    // The body is a whole item already.
    const body = frame(0, 0, stream, Buffer.from(JSON.stringify({ id, pk: 'a' })))
    socket.write(Buffer.concat([frame(1, 4, stream, head), body]))
    // The server has read the body when it answers another request.
    await call(server.db.endpoint, 'GET', '/alive')
    socket.write(end())
    stream += 2
  }
  for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_NO_ERROR]) {
    await sendItem(`reset-${code}`, () => frame(3, 0, stream, Buffer.of(0, 0, 0, code)))
  }
  await sendItem('whole', () => frame(0, 1, stream, Buffer.alloc(0)))
  const isThere = async (id: string) =>
    (await server.send({ path: pathOf(container, 'docs', id), headers: { 'x-ms-documentdb-partitionkey': '["a"]' } }))
      .status
  while ((await isThere('whole')) !== 200) assert.equal(socket.destroyed, false)
  assert.equal(await isThere('reset-8'), 404)
  assert.equal(await isThere('reset-0'), 404)
  socket.destroy()
})

test('A client that resets thousands of requests at once does not disturb others', async () => {
  const session = open(server.db)
  session.on('error', () => {})
  let isClosed = false
  session.on('close', () => {
    isClosed = true
  })
  for (let at = 0; at < 3000 && !isClosed; at++) {
    const stream = begin(session, { path: '/' })
    stream.on('error', () => {})
    stream.close(constants.NGHTTP2_CANCEL)
    if (at % 100 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  session.destroy()
  const other = open(server.db)
  assert.equal((await send(other, { path: '/' })).status, 200)
  other.close()
})

async function stopped(db: Mayfly): Promise<number> {
  const started = performance.now()
  await db[Symbol.asyncDispose]()
  return performance.now() - started
}

test('A stopping server says GOAWAY, answers what it has begun and takes no more', async () => {
  const db = await mayfly()
  const idle = open(db)
  const busy = open(db)
  await Promise.all([once(idle, 'remoteSettings'), once(busy, 'remoteSettings')])
  const stream = begin(busy, { method: 'POST', path: '/dbs' })
  stream.write('{"id":')
  await send(busy, { path: '/alive' })
  const codes = new Map<ClientHttp2Session, number>()
  for (const session of [idle, busy]) session.on('goaway', code => codes.set(session, code))
  const stopping = stopped(db)
  await Promise.all([once(idle, 'close'), once(busy, 'goaway')])
  stream.end('"shop"}')
  assert.equal((await answerOf(stream)).status, 201)
  assert.ok((await stopping) < 5000)
  assert.deepEqual([codes.get(idle), codes.get(busy)], [0, 0])
})

test('A server stops although an HTTP/2 client holds a request open for ever', { timeout: 30_000 }, async () => {
  const db = await mayfly()
  const session = open(db)
  session.on('error', () => {})
  const stream = begin(session, { method: 'POST', path: '/dbs' })
  stream.on('error', () => {})
  stream.write('{')
  await send(session, { path: '/alive' })
  assert.ok((await stopped(db)) < 15_000)
  session.destroy()
})

test('A client that dies with a hundred requests under way leaves the server as it was', async () => {
  const container = await server.newContainer()
  for (const isTls of [false, true]) {
    const socket = connectSocket({ host: '127.0.0.1', port: Number(new URL(server.db.endpoint).port) })
    const createConnection = () =>
      isTls ? connectTls({ socket, servername: 'localhost', ca: authority, ALPNProtocols: ['h2'] }) : socket
    const session = connect(server.db.endpoint, { createConnection })
    session.on('error', () => {})
    await once(session, 'remoteSettings')
    for (let at = 0; at < 100; at++) {
      const stream = begin(session, { method: 'POST', path: pathOf(container, 'docs'), headers: ofKey('a') })
      stream.on('error', () => {})
      if (at % 2 === 0) stream.end(JSON.stringify({ id: `${isTls}-${at}`, pk: 'a' }))
      else stream.write('{"id":')
    }
    await new Promise(resolve => setImmediate(resolve))
    socket.destroy()
    session.destroy()
    await new Promise(resolve => setImmediate(resolve))
  }
  const session = open(server.db)
  const body = { id: 'after', pk: 'a' }
  const { status } = await send(session, { method: 'POST', path: pathOf(container, 'docs'), headers: ofKey('a'), body })
  assert.equal(status, 201)
  session.close()
})
