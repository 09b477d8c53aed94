/**
 * Requests that are refused before they reach an item: unknown containers, wrong signatures, dates, paths and
 * methods.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Witness } from '../../support/refusal.ts'
import { type RawRequest, signature } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const witness = await Witness.make(server)
const item = { id: 'one', pk: 'a' }
const itemPath = pathOf(witness.container, 'docs', 'one')
const keyHeader = { 'x-ms-documentdb-partitionkey': '["a"]' }

test('An operation inside an unknown container or database is 404 with sub-status 1003', async () => {
  const { database } = witness.container
  for (const owner of [`/dbs/${database.id}/colls/none`, '/dbs/none/colls/items', '/dbs/none/colls/none']) {
    const requests: RawRequest[] = [
      { path: owner },
      { method: 'DELETE', path: owner },
      { method: 'PUT', path: owner, body: { id: 'none', partitionKey: { paths: ['/pk'] } } },
      { path: `${owner}/docs` },
      { path: `${owner}/pkranges` },
      { method: 'POST', path: `${owner}/docs`, body: item },
      { path: `${owner}/docs/one` },
      { method: 'PUT', path: `${owner}/docs/one`, body: item },
      { method: 'DELETE', path: `${owner}/docs/one` },
    ]
    for (const request of requests) {
      await witness.assertRefused({ headers: keyHeader, ...request }, { status: 404, substatus: 1003 })
    }
  }
  const body = { id: 'items', partitionKey: { paths: ['/pk'] } }
  await witness.assertRefused({ method: 'POST', path: '/dbs/none/colls', body }, { status: 404, substatus: 1003 })
  await witness.assertRefused({ path: '/dbs/none/colls' }, { status: 404, substatus: 1003 })
})

test('An unknown database or item is 404 with sub-status 0', async () => {
  const missing = { status: 404, substatus: 0 }
  await witness.assertRefused({ path: '/dbs/none' }, missing)
  await witness.assertRefused({ method: 'DELETE', path: '/dbs/none' }, missing)
  const path = pathOf(witness.container, 'docs', 'none')
  await witness.assertRefused({ path, headers: keyHeader }, missing)
  await witness.assertRefused({ method: 'DELETE', path, headers: keyHeader }, missing)
  await witness.assertRefused({ method: 'PUT', path, headers: keyHeader, body: { ...item, id: 'none' } }, missing)
  await witness.assertRefused({ path: itemPath, headers: { 'x-ms-documentdb-partitionkey': '["b"]' } }, missing)
})

const otherKey = Buffer.from('another key that is long enough').toString('base64')
const date = new Date().toUTCString()

const wrongTokens: Readonly<Record<string, string | undefined>> = {
  'no authorization': undefined,
  'an empty authorization': '',
  nonsense: 'nonsense',
  'a bad escape': '%E0%A4%A',
  'a token without signature': encodeURIComponent('type=master&ver=1.0&sig='),
  'a token of another version': encodeURIComponent('type=master&ver=2.0&sig=AAAA'),
  'a resource token': encodeURIComponent('type=resource&ver=1&sig=AAAA;BBBB;'),
  'a bearer': 'Bearer AAAA',
  'the signature of another key': signature(otherKey, 'GET', itemPath, date),
  'the signature of another method': signature(server.db.key, 'DELETE', itemPath, date),
  'the signature of another item': signature(server.db.key, 'GET', pathOf(witness.container, 'docs', 'two'), date),
  'the signature of another date': signature(server.db.key, 'GET', itemPath, new Date(0).toUTCString()),
  'the signature of the feed': signature(server.db.key, 'GET', pathOf(witness.container, 'docs'), date),
}

for (const [name, authorization] of Object.entries(wrongTokens)) {
  test(`A request with ${name} is 401`, async () => {
    const headers = { ...keyHeader, authorization }
    await witness.assertRefused({ path: itemPath, headers, date }, { status: 401 })
  })
}

test('Every method needs a signature, and a refused request changes nothing', async () => {
  const headers = { ...keyHeader, authorization: undefined }
  const requests: RawRequest[] = [
    { path: '/' },
    { path: '/dbs' },
    { path: '/offers' },
    { method: 'POST', path: '/dbs', body: { id: 'unsigned' } },
    { method: 'DELETE', path: `/dbs/${witness.container.database.id}` },
    { method: 'DELETE', path: pathOf(witness.container) },
    { method: 'DELETE', path: itemPath },
    witness.write('create', { id: 'two', pk: 'a' }),
    witness.write('upsert', { ...item, v: 2 }),
    witness.write('replace', { ...item, v: 2 }),
    { path: '/no/such/path' },
  ]
  for (const request of requests) {
    await witness.assertRefused({ ...request, headers: { ...request.headers, ...headers } }, { status: 401 })
  }
})

test('A signature may be percent-encoded in lower case, not at all, or more than necessary', async () => {
  const token = signature(server.db.key, 'GET', itemPath, date)
  const small = token.replace(/%[0-9A-F]{2}/g, escaped => escaped.toLowerCase())
  for (const authorization of [token, small, decodeURIComponent(token), `%74${token.slice(1)}`]) {
    const { status, text } = await server.send({ path: itemPath, headers: { ...keyHeader, authorization }, date })
    assert.equal(status, 200, text)
  }
  const twice = { ...keyHeader, authorization: encodeURIComponent(token) }
  await witness.assertRefused({ path: itemPath, headers: twice, date }, { status: 401 })
})

const minutes = (count: number) => new Date(Date.now() + count * 60_000).toUTCString()

test('A date more than 15 minutes in the past or in the future is 403', async () => {
  for (const far of [minutes(-16), minutes(16), minutes(-60 * 24 * 365), new Date(0).toUTCString()]) {
    await witness.assertRefused({ path: itemPath, headers: keyHeader, date: far }, { status: 403 })
  }
})

test('A date less than 15 minutes away is fine, whatever the clock of the items shows', async () => {
  await server.db.clock.advance('1d')
  const headers = { 'x-ms-documentdb-partitionkey': '["gone"]' }
  for (const near of [minutes(-14), minutes(14)]) {
    assert.equal((await server.send({ path: pathOf(witness.container), headers, date: near })).status, 200)
  }
})

test('A missing or malformed date is 401', async () => {
  for (const unreadable of ['yesterday', '', '2026-13-45', 'Mon, 99 Foo 2026 99:99:99 GMT']) {
    await witness.assertRefused({ path: itemPath, headers: keyHeader, date: unreadable }, { status: 401 })
  }
  await witness.assertRefused({ path: itemPath, headers: { ...keyHeader, 'x-ms-date': undefined } }, { status: 401 })
})

test('The standard Date header is used if x-ms-date is missing', async () => {
  const headers = { 'x-ms-date': undefined, date }
  assert.equal((await server.send({ path: pathOf(witness.container), headers, date })).status, 200)
})

const collection = pathOf(witness.container)

for (const path of [
  '/nothing',
  '/dbs/a/b',
  '/colls',
  '/docs',
  '/colls/a/dbs/b',
  '/dbs/a/docs/b',
  '/dbs/a/colls/b/docs/c/nothings',
  '/dbs/a/colls/b/colls/c',
  '/__proto__',
  '/constructor/x',
  '/toString',
  '/dbs/a/hasOwnProperty/b',
  `${collection}/unknown`,
  `/${'x'.repeat(8000)}`,
  `/${'dbs/'.repeat(1500)}`,
]) {
  const shown = path.length > 60 ? `${path.slice(0, 24)}… (${path.length} characters)` : path
  test(`There is nothing at ${shown.replace(witness.container.database.id, '{database}')}`, async () => {
    await witness.assertRefused({ path }, { status: 404, substatus: 0 })
    await witness.assertRefused({ method: 'POST', path, body: item }, { status: 404, substatus: 0 })
  })
}

test('A path that is not encoded properly is 400', async () => {
  for (const path of ['/%', '/dbs/%zz', `${collection}/docs/%E0%A4%A`]) {
    await witness.assertRefused({ path, headers: keyHeader }, { status: 400 })
  }
})

test('Methods that a resource does not have are 405', async () => {
  const requests: [string, string][] = [
    ['PUT', '/dbs'],
    ['DELETE', '/dbs'],
    ['PATCH', '/dbs'],
    ['POST', '/'],
    ['DELETE', '/'],
    ['PUT', `/dbs/${witness.container.database.id}`],
    ['POST', collection],
    ['DELETE', `${collection}/docs`],
    ['POST', itemPath],
    ['POST', `${collection}/pkranges`],
    ['DELETE', '/offers/AAAD'],
    ['OPTIONS', '/dbs'],
    ['TRACE', '/dbs'],
    ['PROPFIND', itemPath],
    ['PURGE', collection],
  ]
  for (const [method, path] of requests) {
    await witness.assertRefused({ method, path, headers: keyHeader }, { status: 405 })
  }
})

test('A malformed page size is 400', async () => {
  for (const count of ['0', '-2', '1.5', 'many', '1e400', 'NaN']) {
    const request = { path: `${collection}/docs`, headers: { 'x-ms-max-item-count': count } }
    await witness.assertRefused(request, { status: 400 })
  }
  for (const count of ['-1', '1', '1000', '999999999']) {
    const request = { path: `${collection}/docs`, headers: { 'x-ms-max-item-count': count } }
    assert.equal((await server.send(request)).status, 200)
  }
})

test('A continuation that was altered, or belongs to another feed, is 400', async () => {
  const other = await Witness.make(server)
  for (const id of ['x', 'y', 'z']) await other.container.items.create({ id, pk: id })
  const path = pathOf(other.container, 'docs')
  const page = await server.send({ path, headers: { 'x-ms-max-item-count': '1' } })
  const token = page.headers['x-ms-continuation'] as string
  const forged = `${Buffer.from('["","",""]').toString('base64url')}.${token.split('.')[1]}`
  const text = /Invalid Continuation Token/
  for (const continuation of ['x', '.', 'e30.e30', `${token}x`, token.slice(1), forged]) {
    await other.assertRefused({ path, headers: { 'x-ms-continuation': continuation } }, { status: 400, text })
  }
  const elsewhere = { path: `${collection}/docs`, headers: { 'x-ms-continuation': token } }
  await witness.assertRefused(elsewhere, { status: 400, text })
  const narrower = { ...keyHeader, 'x-ms-continuation': token }
  await other.assertRefused({ path, headers: narrower }, { status: 400, text })
})

test('An unknown partition key range is 410, so that clients read the ranges again', async () => {
  for (const id of ['1', '-1', 'x', '0.5', '1e9']) {
    const headers = { 'x-ms-documentdb-partitionkeyrangeid': id }
    const { status, headers: given } = await server.send({ path: `${collection}/docs`, headers })
    assert.deepEqual([status, given['x-ms-substatus']], [410, '1002'])
  }
})
