import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterClause } from './filter-clause.ts'

test('a condition needs no WHERE, and a clause stays as it is', () => {
  assert.deepEqual(filterClause('c.total > 10'), { clause: 'WHERE c.total > 10', added: 6 })
  assert.deepEqual(filterClause('NOT IS_DEFINED(c.ttl)').clause, 'WHERE NOT IS_DEFINED(c.ttl)')
  assert.deepEqual(filterClause('c.whereabouts').clause, 'WHERE c.whereabouts')
  assert.deepEqual(filterClause('wherever.a = 1').clause, 'WHERE wherever.a = 1')
  for (const clause of ['WHERE c.a = 1', ' where(c.a = 1)', 'ORDER BY c.a', '/* all */ WHERE c.a', 'WHERE'])
    assert.deepEqual(filterClause(clause), { clause, added: 0 })
})

test('one word is no condition, and a whole query no clause', () => {
  for (const [text, id] of [
    ['k1', '"k1"'],
    [' 4711 ', '"4711"'],
    ['a-b', '"a-b"'],
    ['"k1"', '"k1"'],
    ["'k1'", "'k1'"],
  ] as const)
    assert.throws(() => filterClause(text), {
      field: 'query',
      message: `${text.trim()} is one word, and no condition. To look for an id: c.id = ${id}.`,
    })
  assert.throws(() => filterClause('SELECT * FROM c WHERE c.a = 1'), { message: /^Write only the condition/ })
})
