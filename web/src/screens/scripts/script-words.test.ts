import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  firstBody,
  functionQuery,
  readArguments,
  readPartitionKey,
  resultText,
  scriptIdProblem,
} from './script-words.ts'

test('the arguments of a run are one array', () => {
  assert.deepEqual(readArguments('["a", 1]'), { value: ['a', 1] })
  assert.deepEqual(readArguments(' '), { value: [] })
  for (const text of ['1', '{}', 'a', '[']) assert.match(readArguments(text).problem!, /^Write one JSON array/, text)
})

test('the partition key has one value for each level', () => {
  assert.deepEqual(readPartitionKey('"u171"', 1), { value: ['u171'] })
  assert.deepEqual(readPartitionKey('["u171"]', 1), { value: ['u171'] })
  assert.deepEqual(readPartitionKey(' u171 ', 1), { value: ['u171'] })
  assert.deepEqual(readPartitionKey('null', 1), { value: [null] })
  assert.deepEqual(readPartitionKey('["a", 2]', 2), { value: ['a', 2] })
  for (const text of ['', '{{', '["a"', '["a","b"]'])
    assert.match(readPartitionKey(text, 1).problem!, /^Write one value/, text)
  assert.match(readPartitionKey('"a"', 2).problem!, /2 values/)
})

test('a new script carries its name, if it is one in JavaScript', () => {
  assert.match(firstBody('procedures', 'closeIdle'), /^function closeIdle\(/)
  assert.match(firstBody('functions', 'with space'), /^function script\(/)
  assert.match(firstBody('triggers', 'a'), /setBody/)
})

test('a name is new and may be one', () => {
  assert.equal(scriptIdProblem('a', [{ id: 'b' }]), undefined)
  assert.match(scriptIdProblem('a', [{ id: 'a' }])!, /^There is/)
  assert.ok(scriptIdProblem('', []))
})

test('a run shows its result, or why it failed', () => {
  const run = { status: 200, chargeRu: 1, elapsedMs: 1, log: '' }
  assert.equal(resultText({ ...run, result: { a: 1 } }), '{\n  "a": 1\n}')
  assert.equal(resultText({ ...run, status: 400, message: 'Bad' }), 'Bad')
  assert.equal(resultText(run), '')
})

test('a function is called by a query with its arguments as parameters', () => {
  const { text, parameters } = functionQuery('minutesLeft', [{ ttl: 90 }, null])
  assert.equal(text, 'SELECT VALUE udf.minutesLeft(@p0, @p1)')
  assert.deepEqual(parameters, [
    { name: '@p0', value: { ttl: 90 } },
    { name: '@p1', value: null },
  ])
  assert.equal(functionQuery('now', []).text, 'SELECT VALUE udf.now()')
})
