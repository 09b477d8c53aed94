import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { AccountKeys } from '../../src/base/account-keys.ts'
import { KeyAttempts } from '../../src/explorer/access/attempts.ts'
import { callerOf } from '../../src/explorer/access/guard.ts'
import { LoginSessions } from '../../src/explorer/access/sessions.ts'
import { PageFiles } from '../../src/explorer/files/page-files.ts'
import { pageInFolder } from '../../src/explorer/files/page-source.ts'
import { mayfly } from '../../src/index.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { apiClient } from './api-client.ts'

const open = await mayfly({ clock: 'manual' })
const key = Buffer.alloc(64, 7).toString('base64')
const closed = await mayfly({ clock: 'manual', key })
after(() => Promise.all([open.close(), closed.close()]))

test('with the well-known key on loopback nobody logs in, and the key is shown', async () => {
  const { status, json } = await apiClient(open.endpoint)('GET', 'api/session')
  assert.equal(status, 200)
  assert.deepEqual([json.needsLogin, json.mayWrite, json.key, json.endpoint], [false, true, open.key, open.endpoint])
  assert.ok(json.mongoUri.startsWith('mongodb://localhost:') && json.connectionString.includes(open.key))
})

test('with a key of one’s own a login is needed, and the key never goes to the page', async () => {
  const ask = apiClient(closed.endpoint)
  const before = await ask('GET', 'api/session')
  assert.deepEqual(before.json, { product: 'mayfly', needsLogin: true, isLoggedIn: false, mayWrite: false })
  for (const path of ['api/tree', 'api/live', 'api/clock']) assert.equal((await ask('GET', path)).status, 401, path)
  assert.equal((await ask('POST', 'api/login', { body: { key: 'wrong' } })).status, 401)
  // A header of a proxy says nothing about who is there.
  const forwarded = await ask('GET', 'api/tree', {
    headers: { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' },
  })
  assert.equal(forwarded.status, 401)
  const login = await ask('POST', 'api/login', { body: { key } })
  assert.equal(login.status, 200)
  assert.ok(!login.text.includes(key) && !login.text.includes(encodeURIComponent(key)))
  assert.deepEqual([login.json.isLoggedIn, login.json.key], [true, null])
  assert.ok(login.json.mongoUri.includes('<key>'))
  const [cookie = ''] = login.headers['set-cookie'] as string[]
  for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/_explorer']) assert.ok(cookie.includes(part), cookie)
  assert.ok(!cookie.includes('Secure'))
  const asked = apiClient(closed.endpoint, { cookie: cookie.split(';')[0]! })
  assert.equal((await asked('GET', 'api/tree')).status, 200)
  assert.equal((await asked('POST', 'api/databases', { body: { id: 'd' } })).status, 201)
  const elsewhere = { headers: { origin: 'http://evil.example' } }
  assert.equal((await asked('GET', 'api/tree', elsewhere)).status, 403, 'a page of others has the cookie')
  assert.equal((await asked('POST', 'api/logout')).status, 204)
  assert.equal((await asked('GET', 'api/tree')).status, 401)
})

test('wrong keys that come at once are counted like those that come one after the other', async () => {
  await using server = await mayfly({ clock: 'manual', key })
  const body = JSON.stringify({ key: 'wrong' })
  const headers = { 'x-mayfly-explorer': '1', 'content-type': 'application/json', 'content-length': body.length }
  const tries = Array.from({ length: 30 }, () => {
    const req = request(`${server.endpoint}/_explorer/api/login`, { method: 'POST', headers })
    req.write(body.slice(0, 5))
    const status = new Promise<number>((resolve, reject) => {
      req.on('response', res => resolve(res.resume().statusCode!)).on('error', reject)
    })
    return { req, status }
  })
  for (let asked = 0; asked < 5; asked++) await apiClient(server.endpoint)('GET', 'api/session')
  for (const { req } of tries) req.end(body.slice(5))
  const statuses = await Promise.all(tries.map(({ status }) => status))
  assert.deepEqual(
    [statuses.filter(each => each === 401).length, statuses.filter(each => each === 429).length],
    [10, 20],
  )
})

test('every call that changes something needs the header, Host and Origin are checked', async () => {
  const ask = apiClient(open.endpoint)
  const body = { id: 'no' }
  for (const headers of [
    { 'x-mayfly-explorer': undefined },
    { origin: 'http://evil.example' },
    { host: 'evil.example' },
    { host: 'evil.example', origin: 'http://evil.example' },
  ]) {
    const { status } = await ask('POST', 'api/databases', { body, headers })
    assert.equal(status, 403, JSON.stringify(headers))
  }
  assert.equal((await ask('GET', '', { headers: { host: 'evil.example' } })).status, 403)
  assert.equal((await ask('GET', 'api/tree', { headers: { origin: 'null' } })).status, 403)
  const { json } = await ask('GET', 'api/tree')
  assert.deepEqual(json.databases, [])
  // A form of another page can send neither JSON nor our header.
  const form = await ask('POST', 'api/databases', { rawBody: 'id=no', headers: { 'content-type': 'text/plain' } })
  assert.equal(form.status, 400)
})

test('keys can be tried ten times a minute from one address', () => {
  let nowMs = 0
  const attempts = new KeyAttempts(() => nowMs)
  const tryAll = (address: string, times: number) => {
    for (let at = 0; at < times; at++) {
      attempts.check(address)
      attempts.failed(address)
    }
  }
  tryAll('a', 10)
  assert.throws(() => attempts.check('a'), /Too many wrong keys/)
  attempts.check('b')
  nowMs += 60_001
  attempts.check('a')
  for (let at = 0; at < 10; at++) tryAll(`address ${at}`, 10)
  assert.throws(() => attempts.check('new'), /Too many wrong keys/)
})

test('a session ends by age, by idleness and with its key; a read-only one may not write', () => {
  let nowMs = 0
  const keys = new AccountKeys([
    { text: 'one', isReadOnly: false },
    { text: 'two', isReadOnly: true },
  ])
  const sessions = new LoginSessions(keys, () => nowMs)
  const token = sessions.begin(keys.all[0]!)
  const reader = sessions.begin(keys.all[1]!)
  assert.equal(sessions.find(reader)?.isReadOnly, true)
  const visitor = (cookie: string) => {
    const headers = { cookie: `mayfly_session=${cookie}` }
    const hostNames = undefined as never
    return callerOf({ headers, socket: { remoteAddress: '127.0.0.1' } } as never, { keys, sessions, hostNames })
  }
  for (const [cookie, mayWrite] of [
    [token, true],
    [reader, false],
  ] as const) {
    assert.deepEqual([visitor(cookie).mayRead, visitor(cookie).mayWrite], [true, mayWrite])
  }
  assert.equal(sessions.find('other'), undefined)
  for (let hour = 1; hour <= 12; hour++) {
    nowMs = hour * 3600_000
    assert.ok(sessions.find(token))
  }
  assert.equal(sessions.find(reader), undefined)
  nowMs += 1
  assert.equal(sessions.find(token), undefined)
  const again = sessions.begin(keys.all[0]!)
  keys.replace([{ text: 'three', isReadOnly: false }])
  assert.equal(sessions.find(again), undefined)
  for (let at = 0; at < 3000; at++) sessions.begin(keys.all[0]!)
  assert.ok(sessions.size <= 1000)
})

test('the page is served with its policy, compressed and cached; other paths are the page', async () => {
  const folder = temporaryDirectory()
  const files = new PageFiles(pageInFolder(folder))
  const { createServer } = await import('node:http')
  const server = createServer((req, res) => {
    const path = decodeURIComponent(new URL(req.url!, 'http://x').pathname.slice('/_explorer/'.length))
    files.serve(req, res, path).catch(error => {
      res.statusCode = error.kind === 'not_found' ? 404 : 405
      res.end(error.message)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const ask = apiClient(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
  const notBuilt = await ask('GET', '')
  assert.match(notBuilt.text, /not built/)
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), `<!doctype html><title>page</title>${' '.repeat(3000)}`)
  writeFileSync(join(folder, 'assets', 'app-1a2b.js'), `console.log(1)//${'x'.repeat(3000)}`)
  writeFileSync(join(folder, 'assets', 'app-1a2b.js.br'), 'compressed before')
  writeFileSync(join(folder, '..', 'secret.txt'), 'hidden words')
  const index = await ask('GET', 'shop/sessions/items?x=1')
  assert.match(index.text, /<title>page/)
  assert.equal(index.headers['cache-control'], 'no-cache')
  assert.match(String(index.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
  for (const name of ['x-content-type-options', 'referrer-policy', 'permissions-policy']) assert.ok(index.headers[name])
  const known = await ask('GET', '', { headers: { 'if-none-match': String(index.headers.etag) } })
  assert.equal(known.status, 304)
  const asset = await ask('GET', 'assets/app-1a2b.js', { headers: { 'accept-encoding': 'gzip, br' } })
  assert.deepEqual([asset.headers['content-encoding'], asset.text], ['br', 'compressed before'])
  assert.match(String(asset.headers['cache-control']), /immutable/)
  const plain = await ask('GET', 'assets/app-1a2b.js', { headers: { 'accept-encoding': 'br;q=0, gzip;q=0.5' } })
  assert.equal(plain.headers['content-encoding'], 'gzip')
  const head = await ask('HEAD', 'assets/app-1a2b.js')
  assert.deepEqual([head.status, head.text, Number(head.headers['content-length']) > 3000], [200, '', true])
  assert.equal((await ask('GET', 'assets/none.js')).status, 404)
  assert.equal((await ask('POST', '')).status, 405)
  for (const path of ['..%2fsecret.txt', '%2e%2e/secret.txt', 'assets/..%2f..%2fsecret.txt', '/etc/passwd']) {
    assert.ok(!(await ask('GET', path)).text.includes('hidden words'), path)
  }
})

test('the certificate is still there, and the folder leads to the page', async () => {
  const ask = apiClient(open.endpoint)
  assert.match((await ask('GET', 'emulator.pem')).text, /BEGIN CERTIFICATE/)
  const redirect = await new Promise<number | undefined>(resolve => {
    request(`${open.endpoint}/_explorer`, res => resolve(res.resume().statusCode)).end()
  })
  assert.equal(redirect, 308)
  assert.equal((await ask('GET', 'deep/link')).status, 200)
})

test('answers are compressed and carry the time; HEAD has no body', async () => {
  const ask = apiClient(open.endpoint)
  const { headers } = await ask('GET', 'api/clock')
  assert.equal(Number(headers['x-mayfly-now']), open.clock.now() * 1000)
  assert.equal(headers['cache-control'], 'no-store')
  const head = await ask('HEAD', 'api/clock')
  assert.deepEqual([head.status, head.text], [200, ''])
  await ask('POST', 'api/demo')
  const long = await ask('GET', 'api/databases/demo/containers/sessions/items', {
    headers: { 'accept-encoding': 'gzip' },
  })
  assert.equal(long.headers['content-encoding'], 'gzip')
})

test('a body that breaks off, and one that is too long, do no harm', async () => {
  const { port } = new URL(open.endpoint)
  const head = (length: number) =>
    `POST /_explorer/api/databases HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-mayfly-explorer: 1\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  await new Promise<void>(resolve => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(`${head(100)}{"id"`)
      setImmediate(() => socket.destroy())
    })
    socket.once('close', () => resolve())
  })
  const ask = apiClient(open.endpoint)
  const long = await ask('POST', 'api/databases', { body: { id: 'x'.repeat(3e6) } })
  assert.equal(long.status, 413)
  assert.equal((await ask('GET', 'api/tree')).status, 200)
})
