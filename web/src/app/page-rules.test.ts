import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idProblem, keyProblem, readTtlField, ttlProblem } from './new-container-rules.ts'
import { markMatches, matchPalette, type PaletteEntry } from './palette-match.ts'
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

test('a field is refused with its reason', () => {
  assert.equal(readTtlField('on', '7 d').defaultTtl, 604_800)
  for (const text of ['0', '-5', '2147483648', 'soon', ''])
    assert.equal(readTtlField('on', text).problem, ttlProblem, text)
  assert.deepEqual([readTtlField('off', 'x').defaultTtl, readTtlField('no default', 'x').defaultTtl], [null, -1])
  for (const id of ['', ' ', 'a/b', 'a?', 'a#', 'x'.repeat(256), 'a ']) assert.ok(idProblem(id), id)
  assert.equal(idProblem('sessions'), undefined)
  for (const path of ['', 'userId', '/', '/a,/b,/c,/d']) assert.ok(keyProblem('nosql', path), path)
  assert.equal(keyProblem('nosql', '/tenant, /user/id'), undefined)
  assert.equal(keyProblem('mongo', ''), undefined)
})

test('the palette marks what matches, and puts first what begins with it', () => {
  assert.deepEqual(markMatches('sessions, Settings', 'se'), [
    { text: 'se', isMatch: true },
    { text: 'ssions, ', isMatch: false },
    { text: 'Se', isMatch: true },
    { text: 'ttings', isMatch: false },
  ])
  assert.equal(markMatches('carts', 'se'), undefined)
  const entry = (label: string, weight = 0): PaletteEntry => ({
    id: label,
    group: 'Go to',
    label,
    icon: 'item',
    weight,
  })
  const [group] = matchPalette([entry('Use it'), entry('My sessions'), entry('sessions')], 'se', [])
  assert.deepEqual(
    group?.entries.map(({ label }) => label),
    ['sessions', 'My sessions', 'Use it'],
  )
})
