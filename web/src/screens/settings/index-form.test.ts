import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endText, fieldProblem, indexKeyText, readAfter, readKey } from './index-form.ts'

test('the time after a date may be nothing at all', () => {
  assert.deepEqual(readAfter(''), { seconds: 0 })
  assert.deepEqual(readAfter('0'), { seconds: 0 })
  assert.deepEqual(readAfter('7 d'), { seconds: 604_800 })
  assert.match(readAfter('-1').problem!, /^Use 0 seconds/)
  assert.match(readAfter('2147483648').problem!, /^Use 0 seconds/)
})

test('a date index needs a field that may end documents', () => {
  assert.equal(fieldProblem('closedAt'), undefined)
  assert.equal(fieldProblem('review.dueAt'), undefined)
  for (const field of ['', '  ', '$x', '_ts', '_id']) assert.ok(fieldProblem(field), field)
})

test('a key is a field or JSON', () => {
  assert.deepEqual(readKey('status'), { key: { status: 1 } })
  assert.deepEqual(readKey('review.dueAt'), { key: { 'review.dueAt': 1 } })
  assert.deepEqual(readKey('{"a": 1, "b": -1}'), { key: { a: 1, b: -1 } })
  for (const text of ['', '{}', '[]', 'a: 1', '{a: 1}', '1']) {
    if (text === '1') assert.deepEqual(readKey(text), { key: { 1: 1 } })
    else assert.ok(readKey(text).problem, text)
  }
})

test('an index says how documents end by it', () => {
  assert.equal(endText('modification', 2_592_000), '30 d after the last modification')
  assert.equal(endText('modification', -1), 'by a ttl of its own only')
  assert.equal(endText('date', 0), 'at the date')
  assert.equal(indexKeyText({ 'review.dueAt': 1 }), '{ "review.dueAt": 1 }')
})
