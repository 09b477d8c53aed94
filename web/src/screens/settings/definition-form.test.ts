import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readJson } from './definition-form.ts'

test('the JSON of a form is one object', () => {
  assert.deepEqual(readJson('{"a": [1]}'), { value: { a: [1] } })
  for (const text of ['1', '[]', 'null', '"a"']) assert.equal(readJson(text).problem, 'Write one JSON object: {…}.')
})

test('a mistake is told with its line', () => {
  assert.match(readJson('{\n  "a": 1\n  "b": 2\n}').problem!, /^This is not JSON: look at line 3\.$/)
  assert.match(readJson('{').problem!, /^This is not JSON: /)
})
