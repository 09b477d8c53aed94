/**
 * Who may use the admin API: with the well-known key, callers on this machine that use a name of the server;
 * with another key, only its holders.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { call } from '../../support/signed-request.ts'
import { startServer } from '../../support/start-server.ts'

const key = Buffer.from('a key of our own, long enough').toString('base64')
const open = await startServer()
const guarded = await startServer({ key })

const guardedPages = ['/_mayfly/clock', '/status', '/metrics']
const pages = [...guardedPages, '/_explorer/emulator.pem']

async function statusOf(server: typeof open, page: string, headers: Record<string, string>, method = 'GET') {
  return (await call(server.db.endpoint, method, page, { headers })).status
}

test('A Host that is not a name of the server is refused, which stops DNS rebinding', async () => {
  const { port } = new URL(open.db.endpoint)
  for (const page of pages) {
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '10.0.0.1',
      'localhost.evil.example',
      '127.0.0.1.nip.io',
    ]) {
      assert.equal(await statusOf(open, page, { host }), 403, `${page} by ${host}`)
    }
    for (const host of ['localhost', `localhost:${port}`, 'LOCALHOST', `127.0.0.1:${port}`, `[::1]:${port}`]) {
      assert.equal(await statusOf(open, page, { host }), 200, `${page} by ${host}`)
    }
  }
})

test('A request with a foreign Origin is refused, one with the server’s own Origin is not', async () => {
  const { host } = new URL(open.db.endpoint)
  for (const page of pages) {
    for (const origin of [
      'https://evil.example',
      'null',
      'http://localhost:1',
      `http://${host}.evil.example`,
      'file://',
    ]) {
      assert.equal(await statusOf(open, page, { origin }), 403, `${page} from ${origin}`)
    }
    for (const origin of [`http://${host}`, `https://${host}`]) {
      assert.equal(await statusOf(open, page, { origin }), 200, `${page} from ${origin}`)
    }
  }
})

test('A request with a foreign Origin cannot move the clock or purge', async () => {
  const before = open.db.clock.now()
  const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' }
  for (const page of ['/_mayfly/clock', '/_mayfly/purge']) {
    const body = '{"advance":"1d","pause":true}'
    assert.equal((await call(open.db.endpoint, 'POST', page, { headers, body })).status, 403)
  }
  assert.equal(open.db.clock.now(), before)
})

test('If the key is not the well-known one, every call needs it', async () => {
  for (const page of guardedPages) {
    assert.equal(await statusOf(guarded, page, {}), 401)
    for (const authorization of [
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      key,
      `Basic ${key}`,
      `Bearer ${open.db.key}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}x`,
    ]) {
      assert.equal(await statusOf(guarded, page, { authorization }), 401, authorization)
    }
    assert.equal(await statusOf(guarded, page, { authorization: `Bearer ${key}` }), 200)
  }
})

test('With the well-known key a call needs no key, but one that is given must be right', async () => {
  for (const page of guardedPages) {
    for (const authorization of ['Bearer', 'Bearer wrong', 'bearer wrong', `Bearer ${key}`, `Bearer ${open.db.key}x`]) {
      assert.equal(await statusOf(open, page, { authorization }), 401, authorization)
    }
    for (const authorization of [`Bearer ${open.db.key}`, `bearer ${open.db.key}`, 'Basic eDp5']) {
      assert.equal(await statusOf(open, page, { authorization }), 200, authorization)
    }
    assert.equal(await statusOf(open, page, {}), 200)
  }
  const headers = { authorization: 'Bearer wrong' }
  const before = open.db.clock.now()
  const { json } = await call(open.db.endpoint, 'POST', '/_mayfly/clock', { headers, body: { advance: '1d' } })
  assert.deepEqual(json, { code: 'unauthenticated', message: 'The given key is not a key of this server.' })
  assert.equal(open.db.clock.now(), before)
})

test('With the right key any Host may call, as Prometheus in a cluster does; a foreign Origin may not', async () => {
  const authorization = `Bearer ${key}`
  for (const page of guardedPages) {
    assert.equal(await statusOf(guarded, page, { authorization, host: 'mayfly.monitoring.svc:8081' }), 200)
    assert.equal(await statusOf(guarded, page, { authorization: 'Bearer x', host: 'evil.example' }), 403)
    assert.equal(await statusOf(guarded, page, { authorization, origin: 'https://evil.example' }), 403)
    // Everybody knows the well-known key.
    const wellKnown = { authorization: `Bearer ${open.db.key}`, host: 'evil.example' }
    assert.equal(await statusOf(open, page, wellKnown), 403)
  }
})

test('A refused call changes nothing', async () => {
  const before = guarded.db.clock.now()
  const { status, json } = await call(guarded.db.endpoint, 'POST', '/_mayfly/clock', { body: { advance: '1d' } })
  assert.equal(status, 401)
  assert.deepEqual(Object.keys(json), ['code', 'message'])
  assert.equal(guarded.db.clock.now(), before)
})

test('If the key is not the well-known one, the health pages and the certificate stay open', async () => {
  for (const page of ['/alive', '/ready', '/_explorer/emulator.pem'])
    assert.equal(await statusOf(guarded, page, {}), 200)
})

test('Answers forbid content sniffing and caching', async () => {
  const { headers } = await call(open.db.endpoint, 'GET', '/_mayfly/clock')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['access-control-allow-origin'], undefined)
})

test('Unusual forms of a path do not get past the guard', async () => {
  for (const page of [
    '/_mayfly/../status',
    '/_mayfly/%2e%2e/status',
    '/_mayfly/./clock',
    '/_mayfly/clock?x=1',
    '/status?x',
  ]) {
    assert.equal(await statusOf(guarded, page, {}), 401, page)
  }
  for (const page of ['//_mayfly/clock', '/_MAYFLY/clock', `${guarded.db.endpoint}/_mayfly/clock`]) {
    assert.equal(await statusOf(guarded, page, {}), 401, page)
  }
})

test('A body that is too large for a call is refused', async () => {
  const body = JSON.stringify({ advance: 'x'.repeat(1_000_000) })
  assert.equal((await call(open.db.endpoint, 'POST', '/_mayfly/clock', { body })).status, 413)
  assert.equal(await statusOf(open, '/_mayfly/clock', {}), 200)
})
