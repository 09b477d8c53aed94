import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newDefaultTtl, readJson } from './definition-form.ts'

test('the JSON of a form is one object', () => {
  assert.deepEqual(readJson('{"a": [1]}'), { value: { a: [1] } })
  for (const text of ['1', '[]', 'null', '"a"']) assert.equal(readJson(text).problem, 'Write one JSON object: {…}.')
})

test('a mistake is told with its line', () => {
  assert.match(readJson('{\n  "a": 1\n  "b": 2\n}').problem!, /^This is not JSON: look at line 3\.$/)
  assert.match(readJson('{').problem!, /^This is not JSON: /)
})

test('a changed default ttl is one that the server takes', () => {
  assert.equal(newDefaultTtl({ defaultTtl: 60 }, { defaultTtl: 60, id: 'b' }), undefined)
  assert.equal(newDefaultTtl({ defaultTtl: 60 }, {}), null)
  assert.equal(newDefaultTtl({}, { defaultTtl: -1 }), -1)
  for (const bad of [0, -2, 1.5, '60', 2_147_483_648]) assert.equal(newDefaultTtl({}, { defaultTtl: bad }), undefined)
})
