/** Tests of the parser of plain requests: what it accepts, it reads as node:http does. */

import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { requestBytesMax } from '../../base/limits.ts'
import { parsePlainRequest } from './request-parser.ts'

const get =
  'GET /dbs/a/colls/b/docs/c HTTP/1.1\r\nHost: localhost:8081\r\nx-ms-date: Sun, 15 Nov 2026 10:00:00 GMT\r\n\r\n'
const post = 'POST /dbs HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\nConnection: Keep-Alive\r\n\r\n{"id":1}'

function parse(text: string) {
  return parsePlainRequest(Buffer.from(text, 'latin1'))
}

test('a plain request is read whole', () => {
  assert.deepEqual(parse(get), {
    method: 'GET',
    url: '/dbs/a/colls/b/docs/c',
    headers: { host: 'localhost:8081', 'x-ms-date': 'Sun, 15 Nov 2026 10:00:00 GMT' },
    body: Buffer.alloc(0),
    missingBytes: 0,
  })
  assert.equal(parse(post)?.body.toString(), '{"id":1}')
  assert.equal(parse(post)?.missingBytes, 0)
})

test('a plain request says how much of its body is missing', () => {
  const begun = parse(post.slice(0, -3))
  assert.equal(begun?.body.toString(), '{"id"')
  assert.equal(begun?.missingBytes, 3)
})

const declined: readonly [why: string, text: string][] = [
  ['the head is not complete', get.slice(0, -2)],
  ['the body is too large', post.replace(': 8', `: ${requestBytesMax + 1}`)],
  ['there are bytes behind the request', `${post}x`],
  ['a GET is followed by another', get + get],
  ['the body ends like a head', post.replace('{"id":1}', '{}  \r\n\r\n')],
  ['the length is not a number', post.replace(': 8', ': 8a')],
  ['the length is signed', post.replace(': 8', ': +8')],
  ['there are two lengths', post.replace('Connection', 'Content-Length: 8\r\nConnection')],
  ['there are two lengths in one', post.replace(': 8', ': 8, 8')],
  ['the body comes in chunks', post.replace('Connection: Keep-Alive', 'Transfer-Encoding: chunked')],
  ['the client expects something', post.replace('Connection: Keep-Alive', 'Expect: 100-continue')],
  ['the connection is to be closed', post.replace('Keep-Alive', 'close')],
  ['the connection is to be upgraded', get.replace('x-ms-date', 'Upgrade')],
  ['there is no host', get.replace('Host', 'Hust')],
  ['a header is repeated', get.replace('x-ms-date: ', 'x-a: 1\r\nX-A: 2\r\nx-ms-date: ')],
  ['a header is called __proto__', get.replace('x-ms-date', '__proto__')],
  ['a header is folded', get.replace('Sun,', 'Sun,\r\n ')],
  ['a name has a space before its colon', get.replace('x-ms-date:', 'x-ms-date :')],
  ['a line ends with LF alone', get.replace('\r\nx-ms', '\nx-ms')],
  ['a value holds a CR', get.replace('Nov', 'N\rv')],
  ['a value holds a NUL', get.replace('Nov', 'N\0v')],
  ['a value is not ASCII', get.replace('Nov', 'Növ')],
  ['the method is not known', get.replace('GET', 'BREW')],
  ['the method is in lower case', get.replace('GET', 'get')],
  ['the target is absolute', get.replace('/dbs', 'http://x/dbs')],
  ['the version is 1.0', get.replace('1.1', '1.0')],
  ['the target holds a space', get.replace('/a/', '/ /')],
  ['there is an empty line first', `\r\n${get}`],
  ['the head is too long', get.replace('Nov', 'N'.repeat(20_000))],
]

for (const [why, text] of declined) {
  test(`declined because ${why}`, () => assert.equal(parse(text), undefined))
}

/** How node:http reads the bytes; undefined if it refuses them. */
async function nodeReading(port: number, bytes: Buffer): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.end(bytes)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const answer = Buffer.concat(chunks).toString('latin1')
    return answer.startsWith('HTTP/1.1 200') ? answer.slice(answer.indexOf('\r\n\r\n') + 4) : undefined
  } finally {
    socket.destroy()
  }
}

function shown(method: string, url: string, headers: IncomingHttpHeaders, body: Buffer): string {
  const sorted = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([method, url, sorted, body.toString('latin1')])
}

test('whatever is accepted, node:http reads in the same way', async () => {
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const text = shown(req.method!, req.url!, req.headers, Buffer.concat(chunks))
    res.writeHead(200, { 'content-length': Buffer.byteLength(text, 'latin1'), connection: 'close' })
    res.end(text, 'latin1')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const pieces = [
    '\r\n',
    '\n',
    '\r',
    ' ',
    ':',
    '\t',
    'Content-Length: 1',
    'Host: x',
    '8',
    '\0',
    'é',
    'a',
    '/',
    '?',
    '%',
    'HTTP/1.1',
    ',',
  ]
  const edit = fc.record({
    at: fc.nat(200),
    remove: fc.nat(3),
    insert: fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 2 })),
  })
  let accepted = 0
  try {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(get, post), fc.array(edit, { maxLength: 3 }), async (base, edits) => {
        let text = base
        for (const { at, remove, insert } of edits) text = text.slice(0, at) + insert + text.slice(at + remove)
        const bytes = Buffer.from(text, 'latin1')
        const plain = parsePlainRequest(bytes)
        if (plain === undefined || plain.missingBytes > 0) return
        accepted++
        assert.equal(await nodeReading(port, bytes), shown(plain.method, plain.url, plain.headers, plain.body))
      }),
      { numRuns: 5000 },
    )
  } finally {
    server.close()
  }
  assert.ok(accepted > 200, `${accepted} requests were plain enough to compare`)
})
