/**
 * Names by which clients may call a server. With the well-known key, which every page knows, a name of
 * somebody else is refused for every operation: it is how DNS rebinding looks.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { HostNames } from '../../../src/base/host-names.ts'
import { parseConfig, settings } from '../../../src/server/config.ts'
import { serveCli } from '../../support/run-cli.ts'
import { send } from '../../support/signed-request.ts'
import { startServer } from '../../support/start-server.ts'

const ownKey = Buffer.from('a key of our own, long enough').toString('base64')
const open = await startServer()
const guarded = await startServer({ key: ownKey })
await open.client.databases.createIfNotExists({ id: 'shop' })

const requests = [
  { method: 'POST', path: '/dbs', body: { id: 'made' } },
  { method: 'DELETE', path: '/dbs/shop' },
  { method: 'GET', path: '/dbs/shop' },
  { method: 'GET', path: '/' },
]

test('With the well-known key, a foreign Host or Origin can neither read, create nor delete', async () => {
  const { port } = new URL(open.db.endpoint)
  for (const headers of [
    { host: 'evil.example' },
    { host: `evil.example:${port}` },
    { host: 'localhost.evil.example' },
    { host: '10.0.0.1' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    for (const request of requests) {
      const { status, json } = await send(open.db, { ...request, headers })
      assert.equal(status, 403, `${request.method} ${request.path} with ${JSON.stringify(headers)}`)
      assert.match(json.message, 'host' in headers ? /does not answer to the name/ : /other origins/)
    }
  }
  const { resources } = await open.client.databases.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['shop'],
  )
})

test('Local names and the own origin are accepted', async () => {
  const { port, host } = new URL(open.db.endpoint)
  for (const headers of [
    { host: `localhost:${port}` },
    { host: 'LOCALHOST' },
    { host: `[::1]:${port}` },
    { host: `host.docker.internal:${port}` },
    { origin: `http://${host}` },
  ]) {
    assert.equal((await send(open.db, { path: '/dbs/shop', headers })).status, 200, JSON.stringify(headers))
  }
})

test('A request signed with a key of one’s own may use any name', async () => {
  const headers = { host: 'mayfly.default.svc.cluster.local:8081' }
  assert.equal((await send(guarded.db, { path: '/dbs', headers })).status, 200)
})

test('--allowed-hosts adds names', async () => {
  await using server = await serveCli(['--memory', '--port', '0', '--json', '--allowed-hosts', 'mayfly, db.test'])
  const account = { endpoint: server.endpoint, key: open.db.key }
  const status = async (host: string) => (await send(account, { path: '/dbs', headers: { host } })).status
  assert.equal(await status('mayfly:8081'), 200)
  assert.equal(await status('DB.test'), 200)
  assert.equal(await status('other.test'), 403)
  assert.equal(await status('127.0.0.1'), 200)
})

test('A server on all addresses accepts each of them; * accepts every name', () => {
  const everywhere = new HostNames('0.0.0.0', [])
  for (const host of ['192.168.1.7:8081', '[fe80::1]:8081', 'localhost']) everywhere.check(host, undefined)
  assert.throws(() => everywhere.check('evil.example', undefined), { kind: 'forbidden' })
  const any = new HostNames('127.0.0.1', ['*'])
  any.check('whatever.example', undefined)
  assert.throws(() => any.check('whatever.example', 'https://evil.example'), { kind: 'forbidden' })
  // A name that was accepted does not excuse the next one.
  assert.throws(() => everywhere.check(undefined, undefined), { kind: 'forbidden' })
})

test('--allowed-hosts refuses what is not a name', () => {
  for (const allowedHosts of ['', 'a,,b', 'http://a', 'a:8081', 'a b']) {
    assert.throws(() => parseConfig(settings({ allowedHosts }, {})), { message: /--allowed-hosts takes names/ })
  }
})
