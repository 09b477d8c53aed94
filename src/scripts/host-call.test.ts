import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toHostCall } from './host-call.ts'

test('invalid calls are refused', () => {
  const cases: readonly [kind: string, payload: string][] = [
    ['drop', '{}'],
    ['constructor', '{}'],
    ['__proto__', '{}'],
    ['create', ''],
    ['create', 'null'],
    ['create', '5'],
    ['create', '[]'],
    ['create', '{"body":{"id":"1"}}'],
    ['read', '{}'],
    ['read', '{"document":{"rid":5}}'],
    ['read', '{"document":{"id":"1"},"ifNoneMatch":5}'],
    ['replace', '{"document":{"id":"1"}}'],
    ['delete', '{"document":{"id":"1"},"etag":{}}'],
    ['query', '{"spec":{}}'],
    ['query', '{"spec":"{}","continuation":5}'],
    ['patch', '{"document":{"id":"1"},"operations":[]}'],
  ]
  for (const [kind, payload] of cases) assert.equal(toHostCall(kind, payload), undefined, `${kind} ${payload}`)
})

test('a page size is clamped to its limits', () => {
  const sizes: readonly [given: string, size: number][] = [
    ['1', 1],
    ['2.9', 2],
    ['1e9', 1000],
    ['0', 100],
    ['-1', 100],
    ['"7"', 100],
    ['null', 100],
  ]
  for (const [given, pageSize] of sizes) {
    assert.deepEqual(toHostCall('readFeed', `{"pageSize":${given}}`), {
      kind: 'readFeed',
      pageSize,
      continuation: undefined,
    })
  }
})
