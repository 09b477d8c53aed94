/**
 * Work ends when its client leaves, whichever way the request came in: the fast lane, node:http, TLS, and
 * HTTP/2 by its connection or by one stream.
 */

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import test from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../support/server-with-time.ts'
import { call, signature } from '../support/signed-request.ts'
import { pathOf, startServer } from '../support/start-server.ts'

const server = await startServer()
const port = Number(new URL(server.db.endpoint).port)
const ca = (await call(server.db.endpoint, 'GET', '/_explorer/emulator.pem')).text

/** Minutes for all items, and too little for each to be refused. */
const container = await server.newContainer()
const list = Array.from({ length: 3000 }, (_, n) => n)
for (let n = 0; n < 300; n++) await container.items.create({ id: `i${n}`, pk: 'a', list })
const path = pathOf(container, 'docs')
const body = JSON.stringify({
  query: 'SELECT VALUE COUNT(1) FROM c JOIN x IN c.list WHERE ARRAY_CONTAINS(c.list, x + 3000)',
})

function headers(): Record<string, string> {
  const date = new Date().toUTCString()
  return {
    authorization: signature(server.db.key, 'POST', path, date),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
    'x-ms-documentdb-isquery': 'True',
    'x-ms-documentdb-partitionkey': '["a"]',
    'content-type': 'application/query+json',
  }
}

function http1Request(more: readonly string[], payload: string): string {
  const lines = Object.entries({ host: 'localhost', ...headers() }).map(([name, value]) => `${name}: ${value}`)
  return [`POST ${path} HTTP/1.1`, ...lines, ...more, '', payload].join('\r\n')
}

const plain = () => http1Request([`content-length: ${body.length}`], body)
/** The fast lane leaves these to node:http. */
const chunked = () =>
  http1Request(['transfer-encoding: chunked'], `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)

type Leave = () => void

/** Each begins the query, and returns how its client leaves. */
const frontEnds: Readonly<Record<string, () => Leave>> = {
  'the fast lane': () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(plain())
    return () => socket.destroy()
  },
  'the fast lane, by a client that will send nothing more': () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(plain())
    return () => {}
  },
  'node:http': () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(chunked())
    return () => socket.destroy()
  },
  TLS: () => {
    const socket = connectTls({ host: 'localhost', port, ca })
    socket.write(plain())
    return () => socket.destroy()
  },
  'HTTP/2, by its connection': () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers() })
    stream.on('error', () => {})
    stream.end(body)
    return () => session.destroy()
  },
  'HTTP/2 over TLS, by one stream': () => {
    const session = connectHttp2(`https://localhost:${port}`, { ca })
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers() })
    stream.on('error', () => {})
    stream.on('close', () => session.close())
    stream.end(body)
    return () => stream.close(8)
  },
}

/** Queries that were answered with 408: to nobody, if their client has left. */
async function ended(): Promise<number> {
  const { text } = await call(server.db.endpoint, 'GET', '/metrics')
  return Number(/^mayfly_requests_total\{[^}]*"408"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

async function running(): Promise<number> {
  const { json } = await call(server.db.endpoint, 'GET', '/status')
  return json.memory.held.work + json.memory.held.threads
}

for (const [name, begin] of Object.entries(frontEnds)) {
  test(`a query ends when its client leaves: ${name}`, async () => {
    const before = await ended()
    const leave = begin()
    await eventually(async () => (await running()) > 0)
    assert.equal(await ended(), before)
    leave()
    await eventually(async () => (await ended()) === before + 1 && (await running()) === 0)
  })
}
