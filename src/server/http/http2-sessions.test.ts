/** Tests the time limits of HTTP/2 connections, with limits short enough to wait for. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net'
import test, { after } from 'node:test'
import { MemoryAccount } from '../../base/memory-account.ts'
import type { HttpHead, HttpRequest, Reply } from '../../nosql/http/transport.ts'
import { type Http2Options, Http2Sessions } from './http2-sessions.ts'

const never = 2 ** 30
const handled: HttpRequest[] = []
let delayMs = 0
const body = 'x'.repeat(1_000_000)
const nosql = {
  handle(request: HttpRequest, reply: Reply) {
    handled.push(request)
    const answer = () => reply({ status: 200, headers: 'Content-Type: text/plain\r\n', body, bodyBytes: body.length })
    setTimeout(answer, delayMs)
  },
  receive(head: HttpHead, reply: Reply, takeBody: () => Promise<Buffer>) {
    takeBody().then(
      arrived => this.handle({ ...head, body: arrived }, reply),
      error => reply({ status: 408, headers: '', body: error.kind, bodyBytes: error.kind.length }),
    )
  },
  refuse: () => assert.fail('nothing is too large here'),
  [Symbol.asyncDispose]: async () => {},
}

const memory = new MemoryAccount(1e6)

type Limits = Pick<Http2Options, 'requestMsMax' | 'prefaceMsMax' | 'idleMsMax' | 'unreadMsMax'>

async function listen(given: Partial<Limits>): Promise<string> {
  const limits = { requestMsMax: never, prefaceMsMax: never, idleMsMax: never, unreadMsMax: never, ...given }
  const handler = () => assert.fail('every path belongs to the protocol')
  const sessions = new Http2Sessions({ nosql, memory, isProtocolPath: () => true, handler, ...limits })
  const gate = createServer(socket => sessions.serve(socket))
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  after(() => {
    sessions.close()
    gate.close()
  })
  return `http://127.0.0.1:${(gate.address() as AddressInfo).port}`
}

test('a request whose body does not arrive is refused, and never handled', async () => {
  const session = connect(await listen({ requestMsMax: 50 }))
  const stream = session.request({ ':method': 'POST', ':path': '/late' })
  stream.on('error', () => {})
  stream.write('{')
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 408)
  stream.resume()
  await once(stream, 'close')
  assert.equal(memory.heldBytes, 0)
  assert.ok(!handled.some(({ url }) => url === '/late'))
  assert.equal(session.closed, false)
  session.close()
})

test('a connection with half a preface is closed, and one with a whole preface is not', async () => {
  const endpoint = await listen({ prefaceMsMax: 100 })
  const whole = connect(endpoint)
  await once(whole, 'remoteSettings')
  const half = connectSocket(Number(new URL(endpoint).port), '127.0.0.1')
  half.on('error', () => {})
  half.resume().write('PRI * HT')
  await once(half, 'close')
  assert.ok(!whole.destroyed)
  whole.close()
})

test('a connection without requests is closed with GOAWAY, and not while a request is being answered', async () => {
  const session = connect(await listen({ idleMsMax: 100 }))
  delayMs = 400
  const stream = session.request({ ':path': '/slow' })
  const goaway = once(session, 'goaway')
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 200)
  stream.resume()
  delayMs = 0
  const [code] = await goaway
  assert.equal(code, constants.NGHTTP2_NO_ERROR)
  assert.equal(handled.at(-1)!.url, '/slow')
  await once(session, 'close')
})

test('an answer that its client does not take is dropped', async () => {
  const session = connect(await listen({ unreadMsMax: 100 }), { settings: { initialWindowSize: 0 } })
  const stream = session.request({ ':path': '/untaken' })
  stream.on('error', () => {})
  await once(stream, 'close')
  assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
  session.close()
})
