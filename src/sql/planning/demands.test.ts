import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../syntax/parser.ts'
import { demandsOf } from './demands.ts'

test('no index is used for a computed property: it would have the stored values', () => {
  const query = parseQuery('SELECT * FROM c WHERE c.low = 1 AND c.a = 2 ORDER BY c.low')
  const computed = [{ name: 'low', query: 'SELECT VALUE LOWER(c.name) FROM c' }]
  assert.deepEqual(demandsOf(query, new Map(), computed), {
    demands: [{ path: ['a'], bounds: [{ equals: 2 }] }],
    order: [],
    isWholeFilter: false,
  })
  assert.equal(demandsOf(query, new Map()).demands.length, 2)
})
