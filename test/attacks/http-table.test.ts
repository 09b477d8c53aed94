/**
 * Attacks over raw sockets on the HTTP port, as a table: what is sent, what comes back, and why that is
 * right. After each of them the server answers others, and nothing has changed.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { PermissionMode } from '@azure/cosmos'
import { machine } from '../../src/base/clock.ts'
import { lingerMs } from '../../src/server/http/collect-body.ts'
import { signature } from '../support/signed-request.ts'
import { pathOf, startServer } from '../support/start-server.ts'

const server = await startServer()
const container = await server.newContainer()
await container.items.create({ id: 'one', pk: 'a', v: 1 })
const docs = `${pathOf(container)}/docs`
const item = `${docs}/one`
const { key } = server.db
const otherKey = Buffer.from('another key, long enough').toString('base64')
const port = Number(new URL(server.db.endpoint).port)
const now = () => new Date().toUTCString()
const minutesAway = (minutes: number) => new Date(Date.now() + minutes * 60_000).toUTCString()

interface Parts {
  readonly method?: string
  readonly path?: string
  readonly date?: string
  readonly authorization?: string | undefined
  readonly lines?: readonly string[]
  readonly body?: string | Buffer
  readonly length?: string
  readonly host?: string
}

/** A request that is right but for the parts that an attack replaces. */
function request(parts: Parts = {}): Buffer {
  const { method = 'GET', path = item, date = now(), lines = [], body = '', host = 'localhost' } = parts
  const authorization = 'authorization' in parts ? parts.authorization : signature(key, method, path, date)
  const length = parts.length ?? (body.length > 0 ? String(Buffer.byteLength(body)) : undefined)
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...(host === '' ? [] : [`host: ${host}`]),
    ...(date === '' ? [] : [`x-ms-date: ${date}`]),
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    ...(lines.some(line => line.startsWith('x-ms-documentdb-partitionkey'))
      ? []
      : ['x-ms-documentdb-partitionkey: ["a"]']),
    ...(length === undefined ? [] : [`content-length: ${length}`]),
    'connection: close',
    ...lines,
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), Buffer.from(body)])
}

const create = (body: string | Buffer, parts: Parts = {}) => request({ method: 'POST', path: docs, body, ...parts })
const query = (text: string, lines: readonly string[] = []) =>
  create(JSON.stringify({ query: text }), {
    lines: ['x-ms-documentdb-isquery: true', 'content-type: application/query+json', ...lines],
  })
const signed = (parts: Parts) => signature(key, parts.method ?? 'GET', parts.path ?? item, now())
const raw = (text: string) => Buffer.from(text, 'latin1')

/** What is sent; the status that comes back, or `closed` without an answer; why. */
type Attack = readonly [name: string, bytes: Buffer, answer: number | 'closed', reason: string]

const framing: readonly Attack[] = [
  ['words that are not HTTP', raw('hello\r\n\r\n'), 400, 'not HTTP'],
  ['HTTP/0.9', raw('GET /\r\n\r\n'), 401, 'nobody has signed'],
  ['another version', raw('GET / HTTP/3.7\r\nhost: x\r\n\r\n'), 400, 'there is no such version'],
  ['zero bytes', Buffer.alloc(1000), 400, 'no method'],
  ['no Host', request({ host: '' }), 400, 'RFC 9112 demands one'],
  ['two Hosts', request({ lines: ['host: evil.example'] }), 400, 'a proxy may have looked at the other'],
  ['two lengths', create('{}', { lines: ['content-length: 3'] }), 400, 'request smuggling'],
  ['a length and chunks', create('{}', { lines: ['transfer-encoding: chunked'] }), 400, 'request smuggling'],
  ['a length with a sign', create('{}', { length: '+2' }), 400, 'not a number of RFC 9110'],
  ['a negative length', create('{}', { length: '-1' }), 400, 'not a number'],
  ['a length in hexadecimal', create('{}', { length: '0x2' }), 400, 'not a number'],
  ['a length with a list', create('{}', { length: '2, 2' }), 400, 'request smuggling'],
  ['a length beyond the limit', create('{}', { length: '99999999' }), 413, 'refused before a byte of it is taken'],
  ['a length beyond 2^64', create('{}', { length: '99999999999999999999' }), 400, 'an overflow'],
  [
    'chunks without a size',
    Buffer.concat([request({ method: 'POST', path: docs, lines: ['transfer-encoding: chunked'] }), raw('xyz\r\n')]),
    400,
    'broken chunks',
  ],
  [
    'a chunk size that overflows',
    Buffer.concat([
      request({ method: 'POST', path: docs, lines: ['transfer-encoding: chunked'] }),
      raw('ffffffffffffffffff\r\n'),
    ]),
    400,
    'an overflow',
  ],
  [
    'an unknown transfer encoding',
    Buffer.concat([request({ method: 'POST', path: docs, lines: ['transfer-encoding: sloth'] })]),
    400,
    'the length of the body is unknown',
  ],
  ['a folded header', request({ lines: ['x-a: 1', ' folded: 2'] }), 400, 'obsolete, and read differently by proxies'],
  ['a space before the colon', request({ lines: ['x-a : 1'] }), 400, 'request smuggling'],
  ['a header without a name', request({ lines: [': 1'] }), 400, 'not a header'],
  ['a NUL in a header', request({ lines: ['x-a: \0'] }), 400, 'not text'],
  ['a lone line feed', raw(request().toString('latin1').replace('\r\nhost', '\nhost')), 400, 'lines end with CRLF'],
  ['headers of 100 KB', request({ lines: [`x-a: ${'y'.repeat(100_000)}`] }), 431, 'over 16 KiB'],
  ['3,000 headers', request({ lines: Array.from({ length: 3000 }, (_, at) => `x-${at}: 1`) }), 431, 'over 16 KiB'],
  ['a method in lower case', raw(request().toString('latin1').replace('GET', 'get')), 400, 'methods have upper case'],
  ['CONNECT', raw('CONNECT evil.example:80 HTTP/1.1\r\nhost: evil.example:80\r\n\r\n'), 'closed', 'this is no proxy'],
  [
    'TRACE',
    request({ method: 'TRACE', path: '/', authorization: signature(key, 'TRACE', '/', now()) }),
    405,
    'it would show headers',
  ],
  ['an upgrade to a WebSocket', request({ lines: ['upgrade: websocket'] }), 200, 'the upgrade is ignored'],
  [
    'a TLS record with garbage',
    Buffer.concat([Buffer.from([22, 3, 1, 2, 0]), Buffer.alloc(600, 'x')]),
    'closed',
    'a broken handshake',
  ],
  ['half a preface of HTTP/2', raw('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'), 'closed', 'not HTTP/2'],
]

const authorization: readonly Attack[] = [
  ['no authorization', request({ authorization: undefined }), 401, 'nobody has signed'],
  ['an empty authorization', request({ authorization: '' }), 401, 'nobody has signed'],
  [
    'the signature of another key',
    request({ authorization: signature(otherKey, 'GET', item, now()) }),
    401,
    'wrong key',
  ],
  ['a shortened signature', request({ authorization: signed({}).slice(0, -4) }), 401, 'not the signature'],
  ['a longer signature', request({ authorization: `${signed({})}AA` }), 401, 'not the signature'],
  [
    'a signature with a changed letter',
    request({ authorization: signed({}).replace(/sig%3D./, 'sig%3D-') }),
    401,
    'not base64',
  ],
  [
    'an empty signature',
    request({ authorization: encodeURIComponent('type=master&ver=1.0&sig=') }),
    401,
    'no signature',
  ],
  ['another version', request({ authorization: signed({}).replace('1.0', '2.0') }), 401, 'no such version'],
  [
    'a token that is escaped twice',
    request({ authorization: encodeURIComponent(signed({})) }),
    401,
    'one spelling only',
  ],
  ['broken escapes', request({ authorization: '%E0%A4%A' }), 401, 'cannot be decoded'],
  [
    'a forged resource token',
    request({ authorization: encodeURIComponent('type=resource&ver=1&sig=AAAA;e30=;') }),
    401,
    'not signed by us',
  ],
  [
    'a resource token without a grant',
    request({ authorization: encodeURIComponent('type=resource&ver=1&sig=;;') }),
    401,
    'not signed by us',
  ],
  ['an Entra token', request({ authorization: 'type=aad&ver=1.0&sig=eyJ0eXAi' }), 401, 'not a JSON Web Token'],
  ['the key itself as bearer', request({ authorization: `Bearer ${key}` }), 401, 'requests of the protocol are signed'],
  [
    'the signature of another method',
    request({ authorization: signature(key, 'DELETE', item, now()) }),
    401,
    'covers the method',
  ],
  [
    'the signature of another item',
    request({ authorization: signature(key, 'GET', `${docs}/two`, now()) }),
    401,
    'covers the link',
  ],
  [
    'the signature in other letters',
    request({ authorization: signature(key, 'GET', item.toUpperCase(), now()) }),
    401,
    'links have cases',
  ],
  ['a signature of 20 minutes ago', request({ date: minutesAway(-20) }), 403, 'replayed'],
  ['a signature of tomorrow', request({ date: minutesAway(24 * 60) }), 403, 'made for later'],
  ['no date', request({ date: '', authorization: signature(key, 'GET', item, '') }), 401, 'a signature needs a date'],
  [
    'a date that is none',
    request({ date: 'yesterday', authorization: signature(key, 'GET', item, 'yesterday') }),
    401,
    'cannot be read',
  ],
  [
    'two authorizations',
    request({ lines: [`authorization: ${signature(otherKey, 'GET', item, now())}`] }),
    400,
    'a proxy may have looked at the other',
  ],
  ['a foreign Host', request({ host: 'evil.example' }), 403, 'DNS rebinding with the well-known key'],
  ['a foreign Origin', request({ lines: ['origin: https://evil.example'] }), 403, 'a page elsewhere'],
  ['the Origin null', request({ lines: ['origin: null'] }), 403, 'a page without an origin'],
  [
    'the admin API from a foreign Origin',
    request({ path: '/_mayfly/clock', lines: ['origin: https://evil.example'] }),
    403,
    'a page elsewhere',
  ],
  [
    'a write to the admin API from a foreign Host',
    request({ method: 'POST', path: '/_mayfly/purge', host: 'evil.example', body: '{"pause":true}' }),
    403,
    'DNS rebinding',
  ],
]

const paths: readonly Attack[] = [
  ['a path that climbs', request({ path: '/dbs/../status' }), 404, 'names are not directories'],
  ['an escaped path that climbs', request({ path: '/dbs/%2e%2e/%2e%2e/etc/passwd' }), 404, 'names are not directories'],
  ['a NUL in a name', request({ path: '/dbs/a%00b' }), 404, 'there is no such name'],
  ['broken escapes', request({ path: '/dbs/%ZZ' }), 400, 'cannot be decoded'],
  ['bytes that are not UTF-8', request({ path: '/dbs/%C0%AE' }), 400, 'cannot be decoded'],
  ['a name of 10,000 letters', request({ path: `/dbs/${'a'.repeat(10_000)}` }), 404, 'no such database'],
  ['a path of 1,000 parts', request({ path: `/dbs${'/x'.repeat(1000)}` }), 404, 'no such resource'],
  ['a resource that does not exist', request({ path: '/nothing/here' }), 404, 'no such resource'],
  ['the prototype of objects', request({ path: '/__proto__/constructor' }), 404, 'no such resource'],
  ['the admin API by a detour', request({ path: '/dbs/../_mayfly/clock' }), 404, 'names are not directories'],
]

const bodies: readonly Attack[] = [
  ['no JSON', create('hello'), 400, 'not JSON'],
  ['half of a JSON', create('{"id":"x","pk":"a"'), 400, 'not JSON'],
  ['a list', create('[]'), 400, 'an item is an object'],
  ['a number', create('7'), 400, 'an item is an object'],
  ['an item without id', create('{"pk":"a"}'), 400, 'an item has an id'],
  ['an id that is no text', create('{"id":7,"pk":"a"}'), 400, 'an id is a text'],
  ['an id of 1,100 bytes', create(`{"id":"${'x'.repeat(1100)}","pk":"a"}`), 400, 'at most 1,023 bytes'],
  [
    'an item nested 10,000 deep',
    create(`{"id":"x","pk":"a","v":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
    400,
    'at most 128 deep',
  ],
  ['an item of 2.1 MB', create(`{"id":"x","pk":"a","s":"${'x'.repeat(2_150_000)}"}`), 413, 'at most 2 MB'],
  ['bytes that are not UTF-8', create(Buffer.from('{"id":"x\xff","pk":"a"}', 'latin1')), 400, 'JSON is UTF-8'],
  ['NaN', create('{"id":"x","pk":"a","v":NaN}'), 400, 'not JSON'],
  ['a ttl of 0', create('{"id":"x","pk":"a","ttl":0}'), 400, 'Azure’s text'],
  ['a ttl with a fraction', create('{"id":"x","pk":"a","ttl":1.5}'), 400, 'whole seconds'],
  ['a ttl beyond int32', create('{"id":"x","pk":"a","ttl":2147483648}'), 400, 'at most 2147483647'],
  ['another partition key than the header', create('{"id":"x","pk":"b"}'), 400, 'they must agree'],
  ['broken binary JSON', create(Buffer.from([0x80, 0xff, 0xff, 0xff])), 400, 'not binary JSON'],
]

const headers: readonly Attack[] = [
  ['a partition key that is no JSON', request({ lines: ['x-ms-documentdb-partitionkey: a'] }), 400, 'a list in JSON'],
  ['a partition key of objects', request({ lines: ['x-ms-documentdb-partitionkey: [{"a":1}]'] }), 400, 'values only'],
  [
    'a partition key nested deep',
    request({ lines: [`x-ms-documentdb-partitionkey: ${'['.repeat(3000)}`] }),
    400,
    'a list of values',
  ],
  ['a page of -5 items', request({ path: docs, lines: ['x-ms-max-item-count: -5'] }), 400, '-1 or a number'],
  [
    'a page of many items',
    request({ path: docs, lines: ['x-ms-max-item-count: 99999999999999999999'] }),
    200,
    'a page holds what it can',
  ],
  [
    'a forged continuation',
    request({ path: docs, lines: ['x-ms-continuation: eyJhIjoxfQ.AAAA'] }),
    400,
    'not signed by us',
  ],
  [
    'a forged continuation of a query',
    query('SELECT * FROM c', ['x-ms-continuation: {"token":"x","range":{"min":"","max":"FF"}}']),
    400,
    'not signed by us',
  ],
  [
    'a condition that is no etag',
    request({ method: 'DELETE', lines: ['if-match: nonsense'] }),
    412,
    'it never matches',
  ],
  [
    'an unknown consistency',
    request({ lines: ['x-ms-consistency-level: Absurd'] }),
    200,
    'there is one copy: every level is met',
  ],
]

const queries: readonly Attack[] = [
  ['an unfinished query', query('SELECT * FROM'), 400, 'syntax'],
  ['a statement that deletes', query('DELETE FROM c'), 400, 'queries only read'],
  ['two statements', query('SELECT * FROM c; SELECT 1'), 400, 'one statement'],
  [
    'parentheses 20,000 deep',
    query(`SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)} FROM c`),
    400,
    'at most 256 deep',
  ],
  ['a query of 300 KB', query(`SELECT ${'1+'.repeat(150_000)}1 FROM c`), 400, 'at most 256 KB'],
  [
    'a pattern that explodes in other engines',
    query('SELECT RegexMatch("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "(a+)+$") FROM c'),
    200,
    'linear time',
  ],
  ['an unknown function', query('SELECT EVAL("1") FROM c'), 400, 'no such function'],
  ['a user-defined function that is not there', query('SELECT udf.none() FROM c'), 400, 'no such function'],
]

const evil = 'origin: https://evil.example'

/** A token of Entra ID, or of the emulator, whose signature is the account key. */
function entraRequest(header: object, claims: object, end: string, parts: Parts = {}): Buffer {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const authorization = `type=aad&ver=1.0&sig=${encode(header)}.${encode(claims)}.${end}`
  return request({ authorization, ...parts })
}

const emulator = { alg: 'RS256', kid: 'CosmosEmulatorPrimaryMaster' }
const keyAsSignature = (text: string) => Buffer.from(text).toString('base64url')
const inAnHour = { exp: Math.floor(Date.now() / 1000) + 3600 }
const expired = { exp: Math.floor(Date.now() / 1000) - 3600 }

const entraTokens: readonly Attack[] = [
  ['the token of the emulator', entraRequest(emulator, inAnHour, keyAsSignature(key)), 200, 'it is worth the key'],
  ['one with another key', entraRequest(emulator, inAnHour, keyAsSignature(otherKey)), 401, 'not the account key'],
  ['one without signature', entraRequest(emulator, inAnHour, ''), 401, 'not the account key'],
  ['one with half of the key', entraRequest(emulator, inAnHour, keyAsSignature(key.slice(0, 40))), 401, 'not the key'],
  ['one that has expired', entraRequest(emulator, expired, keyAsSignature(key)), 401, 'replayed'],
  ['one that never expires', entraRequest(emulator, {}, keyAsSignature(key)), 401, 'every token has an end'],
  ['one that ends at a text', entraRequest(emulator, { exp: 'never' }, keyAsSignature(key)), 401, 'a time is a number'],
  [
    'one from a foreign Host',
    entraRequest(emulator, inAnHour, keyAsSignature(key), { host: 'evil.example' }),
    403,
    'DNS rebinding with the well-known key',
  ],
  [
    'one that creates a database',
    entraRequest(emulator, inAnHour, keyAsSignature(key), { method: 'POST', path: '/dbs', body: '{"id":"x"}' }),
    403,
    'tokens are for data',
  ],
  ['algorithm none', entraRequest({ alg: 'none', kid: 'one' }, inAnHour, ''), 401, 'no key was configured'],
  [
    'a key that it brings itself',
    entraRequest({ alg: 'HS256', jwk: {} }, inAnHour, 'AAAA'),
    401,
    'keys are configured',
  ],
  ['the prototype as key', entraRequest({ alg: 'RS256', kid: '__proto__' }, inAnHour, 'AAAA'), 401, 'no such key'],
  [
    'a header of 10,000 lists',
    request({
      authorization: `type=aad&ver=1.0&sig=${Buffer.from('['.repeat(10_000)).toString('base64url')}.e30.AAAA`,
    }),
    401,
    'not a JSON Web Token',
  ],
  ['a thousand dots', request({ authorization: `type=aad&ver=1.0&sig=${'.'.repeat(1000)}` }), 401, 'three parts'],
]

const { user } = await container.database.users.create({ id: 'bearer' })
const permission = { id: 'all', permissionMode: PermissionMode.All, resource: container.url }
const resourceToken = encodeURIComponent((await user.permissions.create(permission)).resource!._token)

const resourceTokens: readonly Attack[] = [
  ['one that is right', request({ authorization: resourceToken }), 200, 'it grants everything in the container'],
  [
    'one from a foreign Host',
    request({ authorization: resourceToken, host: 'evil.example' }),
    403,
    'the well-known key signed it, so a page can sign one, too',
  ],
  ['one from a foreign Origin', request({ authorization: resourceToken, lines: [evil] }), 403, 'a page elsewhere'],
  [
    'a write from a foreign Host',
    create('{"id":"two","pk":"a"}', { authorization: resourceToken, host: 'evil.example' }),
    403,
    'DNS rebinding',
  ],
  ['one in a path above its container', request({ path: '/dbs', authorization: resourceToken }), 403, 'not granted'],
]

/** A call of the explorer or the admin API, not signed: on loopback the well-known key needs no proof. */
function page(method: string, path: string, parts: Parts = {}): Buffer {
  return request({ method, path, authorization: undefined, date: '', ...parts })
}

const ownHeader = 'x-mayfly-explorer: 1'
const json = 'content-type: application/json'
const bytes = 'content-type: application/octet-stream'
const [, , database, , collection] = pathOf(container).split('/')
const upload = `/_explorer/api/databases/${database}/containers/${collection}/import`
const rows = `/_mayfly/import/${database}/${collection}`
const row = '{"id":"two","pk":"a"}'

const explorerCalls: readonly Attack[] = [
  [
    'a login with a wrong key',
    page('POST', '/_explorer/api/login', { lines: [ownHeader, json], body: '{"key":"x"}' }),
    401,
    'not a key',
  ],
  [
    'a login with a list as key',
    page('POST', '/_explorer/api/login', { lines: [ownHeader, json], body: '{"key":["x"]}' }),
    400,
    'a key is a text',
  ],
  ['a login by GET', page('GET', '/_explorer/api/login?key=x'), 405, 'keys do not belong into addresses'],
  [
    'a login from a foreign Origin',
    page('POST', '/_explorer/api/login', { lines: [ownHeader, json, evil], body: JSON.stringify({ key }) }),
    403,
    'a page elsewhere',
  ],
  [
    'a login that a form sends',
    page('POST', '/_explorer/api/login', { lines: [json], body: JSON.stringify({ key }) }),
    403,
    'a form cannot send our header',
  ],
  [
    'a login of 10 MB',
    page('POST', '/_explorer/api/login', { lines: [ownHeader, json], length: '10000000' }),
    413,
    'a key is short',
  ],
  [
    'a login of 9 KB',
    page('POST', '/_explorer/api/login', { lines: [ownHeader, json], length: '9216' }),
    413,
    'strangers hold little',
  ],
  [
    'the explorer from a foreign Host',
    page('GET', '/_explorer/api/tree', { host: 'evil.example' }),
    403,
    'DNS rebinding',
  ],
  ['its page from a foreign Host', page('GET', '/_explorer/', { host: 'evil.example' }), 403, 'DNS rebinding'],
  ['its files by a detour', page('GET', '/_explorer/assets/%2e%2e/%2e%2e/package.json'), 200, 'it is the page again'],
  [
    'an import from a foreign Origin',
    page('POST', upload, { lines: [ownHeader, bytes, evil], body: row }),
    403,
    'a page elsewhere',
  ],
  [
    'an import that a form sends',
    page('POST', upload, { lines: [bytes], body: row }),
    403,
    'a form cannot send our header',
  ],
  [
    'an import of a form',
    page('POST', upload, { lines: [ownHeader, 'content-type: text/plain'], body: row }),
    400,
    'not a file',
  ],
  [
    'an import of an unknown format',
    page('POST', `${upload}?format=exe`, { lines: [ownHeader, bytes], body: row }),
    400,
    'there is no such format',
  ],
  [
    'an import that skips -1 rows',
    page('POST', `${upload}?skip=-1`, { lines: [ownHeader, bytes], body: row }),
    400,
    'a number of rows',
  ],
  [
    'an import into nothing',
    page('POST', `/_explorer/api/databases/${database}/containers/none/import`, {
      lines: [ownHeader, bytes],
      body: row,
    }),
    404,
    'no such container',
  ],
  [
    'rows for the admin API from a foreign Origin',
    page('POST', rows, { lines: [evil], body: row }),
    403,
    'a page elsewhere',
  ],
  [
    'rows for the admin API from a foreign Host',
    page('POST', rows, { host: 'evil.example', body: row }),
    403,
    'DNS rebinding',
  ],
  ['rows for the admin API by GET', page('GET', rows), 405, 'rows are sent with POST'],
  ['rows that are not framed', page('POST', rows, { body: row }), 400, 'not rows of an import'],
  [
    'rows whose length is a lie',
    page('POST', rows, { body: Buffer.from([255, 255, 255, 255, 1]) }),
    400,
    'an overflow',
  ],
  ['rows of 1 GB', page('POST', rows, { length: '1000000000' }), 413, 'refused before a byte of it is taken'],
  [
    'rows for a container that is not there',
    page('POST', `/_mayfly/import/${database}/none`),
    404,
    'no such container',
  ],
]

async function answerTo(bytes: Buffer): Promise<number | 'closed'> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk.toString('latin1')
  })
  const closed = new Promise(resolve => socket.on('close', resolve))
  socket.write(bytes)
  await closed
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(heard)?.[1]
  return status === undefined ? 'closed' : Number(status)
}

const before = await container.item('one', 'a').read()

for (const [group, attacks] of Object.entries({
  framing,
  authorization,
  paths,
  bodies,
  headers,
  queries,
  entraTokens,
  resourceTokens,
  explorerCalls,
})) {
  for (const [name, bytes, answer, reason] of attacks) {
    test(`${group}: ${name} (${reason})`, async t => {
      // The rest of a refused body is read for a moment.
      const { setTimeout } = machine
      t.mock.method(machine, 'setTimeout', (work: () => void, ms: number) =>
        setTimeout(work, ms === lingerMs ? 50 : ms),
      )
      assert.equal(await answerTo(bytes), answer)
      const after = await container.item('one', 'a').read()
      assert.deepEqual([after.statusCode, after.etag], [200, before.etag])
    })
  }
}

test('Nothing was written', async () => {
  const { resources } = await container.items.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['one'],
  )
})
