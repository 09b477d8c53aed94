/** Tests of which programs accept items in any order. test/query tests the results of programs. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareQuery } from './prepare.ts'
import { createProgram } from './program.ts'

const cases: readonly [isOrderFree: boolean, text: string][] = [
  [true, 'SELECT VALUE COUNT(1) FROM c WHERE c.a > 1'],
  [true, 'SELECT MIN(c.a) AS least, MAX(c.a) AS most, COUNTIF(c.b) AS some FROM c'],
  [true, 'SELECT * FROM c ORDER BY c.a'],
  [true, 'SELECT TOP 5 * FROM c ORDER BY c.a DESC, c.b'],
  [true, 'SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k'],
  [false, 'SELECT * FROM c WHERE c.a > 1'],
  [false, 'SELECT TOP 5 * FROM c'],
  // Rows, groups and elements keep the order in which they were found.
  [false, 'SELECT DISTINCT VALUE c.k FROM c'],
  [false, 'SELECT c.k, COUNT(1) AS count FROM c GROUP BY c.k'],
  [false, 'SELECT VALUE MAKELIST(c.a) FROM c'],
  [false, 'SELECT VALUE MAKESET(c.a) FROM c'],
  // The last digit depends on the order.
  [false, 'SELECT VALUE SUM(c.a) FROM c'],
  [false, 'SELECT VALUE AVG(c.a) FROM c'],
  [false, 'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.a FROM c) AS c'],
]

for (const [isOrderFree, text] of cases) {
  test(`${isOrderFree ? 'any order' : 'one order'}: ${text}`, () => {
    assert.equal(createProgram(prepareQuery(text), { momentMs: 0 }).isOrderFree ?? false, isOrderFree)
  })
}
