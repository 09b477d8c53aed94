import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, readRoute, titleOf } from './routes.ts'

test('every address comes back as its route, whatever the names hold', () => {
  for (const [database, container] of [
    ['shop', 'sessions'],
    ['api', 'assets'],
    ['a b%', 'ü&?#'],
    ['..', 'x.y'],
  ] as const) {
    const address = addressOf({
      name: 'container',
      database,
      container,
      screen: 'expiry',
      params: { query: 'a=b&c d', no: undefined },
    })
    const { pathname, search } = new URL(address, 'http://x')
    // Browsers take /../ out of a path; such names are refused by the server.
    if (database === '..') continue
    assert.deepEqual(readRoute(pathname, search), {
      name: 'container',
      database,
      container,
      screen: 'expiry',
      params: { query: 'a=b&c d' },
    })
  }
})

test('addresses that are none of ours are unknown, the shortest is the landing page', () => {
  assert.equal(readRoute('/_explorer/').name, 'landing')
  assert.equal(readRoute('/_explorer/load').name, 'load')
  assert.equal(readRoute('/_explorer/data/shop/sessions').name, 'container')
  for (const path of [
    '/_explorer/x',
    '/_explorer/data/shop',
    '/_explorer/data/a/b/nothing',
    '/_explorer/data/a/b/items/c',
  ]) {
    assert.equal(readRoute(path).name, 'unknown', path)
  }
  assert.equal(readRoute('/_explorer/data/%E0%A4%A/x').name, 'container')
})

test('the tab says what is shown, and where', () => {
  assert.equal(titleOf(readRoute('/_explorer/data/shop/sessions'), '127.0.0.1:8081'), 'sessions - mayfly :8081')
  assert.equal(
    titleOf(readRoute('/_explorer/data/shop/sessions/query'), 'db.internal'),
    'sessions, query - mayfly db.internal',
  )
})
