import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketVersions, printPosition } from './positions.ts'

test('a position comes back as it was, and a plain number stands in every bucket', () => {
  const versions = Array.from({ length: 64 }, (_, bucket) => (bucket % 3 === 0 ? 0 : bucket ** 8))
  assert.deepEqual(bucketVersions(printPosition(versions)), versions)
  assert.deepEqual(bucketVersions('0'), new Array(64).fill(0))
  assert.deepEqual(bucketVersions('17'), new Array(64).fill(17))
})

test('what is no position is refused', () => {
  for (const text of [
    '',
    'b',
    'b1',
    '-1',
    '1.5',
    'x',
    `b${'.'.repeat(64)}`,
    `bG${'.'.repeat(63)}`,
    `b-1${'.'.repeat(63)}`,
    '9'.repeat(17),
  ]) {
    assert.throws(() => bucketVersions(text), { kind: 'malformed' }, text)
  }
})
