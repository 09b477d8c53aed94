import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileKind, fileProblem, firstLines } from './file-kind.ts'

test('a file is known by its endings', () => {
  assert.deepEqual(fileKind('wishlists-2026-11.jsonl.gz'), {
    format: 'jsonl',
    packing: 'gzip',
    stem: 'wishlists-2026-11',
  })
  assert.deepEqual(fileKind('a.b.CSV'), { format: 'csv', packing: undefined, stem: 'a.b' })
  assert.deepEqual(fileKind('dump.zst'), { format: undefined, packing: 'zstd', stem: 'dump' })
  assert.deepEqual(fileKind('data'), { format: undefined, packing: undefined, stem: 'data' })
})

test('an empty file and one that nobody can read are refused before they are sent', () => {
  assert.equal(fileProblem({ name: 'a.jsonl', size: 0 }), 'a.jsonl is empty.')
  assert.match(fileProblem({ name: 'a.zip', size: 9 })!, /^a\.zip cannot be read\. Use JSON Lines/)
  assert.equal(fileProblem({ name: 'a.json', size: 9 }), undefined)
  assert.equal(fileProblem({ name: 'data', size: 9 }), undefined)
})

test('the first lines are shown, cut to what fits', () => {
  assert.deepEqual(firstLines('a\n\nb\nc\nd'), ['a', 'b', 'c'])
  assert.deepEqual(firstLines('x'.repeat(9), 1, 4), ['xxx…'])
})
