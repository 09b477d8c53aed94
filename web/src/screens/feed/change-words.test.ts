import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../../api/shapes.ts'
import { differencesOf, differenceText, whatHappened } from './change-words.ts'

const time = (seconds: number) => `t${seconds}`
const change: Change = {
  kind: 'create',
  lsn: 1,
  ts: 1000,
  id: 'a',
  key: 'k',
  partitionKey: ['p'],
  ttl: null,
  rule: 'inherited',
  deadline: 4600,
  bytes: 239,
  text: '{"id":"a","cart":[{"qty":1}]}',
}

const words = (before: object, after: object) =>
  differencesOf(JSON.stringify(before), JSON.stringify(after)).map(differenceText)

test('a create says its size and when it dies', () => {
  assert.equal(whatHappened(change, time), '239 B, inherits 1 h, dies t4600')
  assert.equal(whatHappened({ ...change, ttl: 60, rule: 'own', deadline: 1060 }, time), '239 B, ttl 60, dies t1060')
  assert.equal(whatHappened({ ...change, ttl: -1, rule: 'never', deadline: null }, time), '239 B, ttl -1, never dies')
})

test('a replace says what differs', () => {
  assert.deepEqual(words({ cart: [{ qty: 1 }] }, { cart: [{ qty: 2 }] }), ['cart.0.qty 1 → 2'])
  assert.deepEqual(words({ cart: ['a'] }, { cart: ['a', 'b'], ttl: 1800 }), ['cart.1 added', 'ttl 1800 added'])
  assert.deepEqual(words({ locale: 'en-GB', x: 1 }, { locale: 'en-IE' }), ['locale "en-GB" → "en-IE"', 'x removed'])
  assert.deepEqual(words({ a: { b: 1 } }, { a: [1] }), ['a {"b":1} → [1]'])
  assert.deepEqual(words({ _ts: 1, _etag: 'x' }, { _ts: 2, _etag: 'y' }), [])
  assert.deepEqual(words({ long: '' }, { long: 'x'.repeat(99) }), [`long "" → "${'x'.repeat(22)}…`])
})

test('a replace with many differences names the first ones', () => {
  const many = { ...change, kind: 'replace', previousText: '{"a":1,"b":1,"c":1,"d":1,"e":1}', text: '{}' } as const
  assert.equal(whatHappened(many, time), 'a removed, b removed, c removed, 2 more')
})

test('a text that was cut is not compared', () => {
  assert.deepEqual(differencesOf('{"a":1', '{"a":2}'), [])
})

test('a death says which lifespan was over', () => {
  const died = { ...change, kind: 'died', text: '', previousText: '{"id":"a","_ts":940}' } as const
  assert.equal(whatHappened({ ...died, ttl: 60, rule: 'own', deadline: 1000 }, time), 'own ttl of 60 s, written t940')
  assert.equal(whatHappened({ ...died, deadline: 4540 }, time), 'inherited 3600 s, written t940')
  assert.equal(whatHappened({ ...died, rule: 'own', ttl: null }, time), 'at the date that it names, written t940')
  assert.equal(whatHappened({ ...change, kind: 'delete' }, time), 'deleted by a request')
})
