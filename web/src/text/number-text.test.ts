import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesText, count, ruText, shortCount } from './number-text.ts'

test('numbers are grouped, from a million on shortened, and never lose their unit', () => {
  assert.deepEqual([count(18_204), shortCount(999_999), shortCount(1_000_000)], ['18,204', '999,999', '1.0 M'])
  assert.deepEqual([271, 999, 1100, 4_100_000, 999_960].map(bytesText), [
    '271 B',
    '999 B',
    '1.1 KB',
    '4.1 MB',
    '1.0 MB',
  ])
  assert.deepEqual([0, 2.118, 99.999, 184.31].map(ruText), ['0', '2.12', '100', '184'])
})
