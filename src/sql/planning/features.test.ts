/** Tests of what a query requires from the client, and which partition its filter names. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseQuery } from '../syntax/parser.ts'
import type { SqlValue } from '../values/value.ts'
import { featuresOf, isSplittable } from './features.ts'
import { partitionKeyFilter } from './partition-key-filter.ts'

describe('features', () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    'SELECT * FROM c WHERE c.a = 1': [],
    'SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.y) FROM c': [],
    'SELECT TOP 1 * FROM c': ['Top'],
    'SELECT DISTINCT c.a FROM c': ['Distinct'],
    'SELECT * FROM c ORDER BY c.a': ['OrderBy'],
    'SELECT * FROM c ORDER BY c.a, c.b OFFSET 1 LIMIT 1': ['MultipleOrderBy', 'OffsetAndLimit', 'OrderBy'],
    'SELECT VALUE COUNT(1) FROM c': ['Aggregate'],
    'SELECT AVG(c.a), COUNTIF(c.b) FROM c': [
      ...['Aggregate', 'CompositeAggregate', 'CountIf', 'MultipleAggregates', 'NonValueAggregate'],
    ],
    'SELECT c.a, MAKELIST(c.b) AS l FROM c GROUP BY c.a': [
      ...['Aggregate', 'GroupBy', 'ListAndSetAggregate', 'NonValueAggregate'],
    ],
    'SELECT * FROM c ORDER BY RANK RRF(c.a)': ['HybridSearch', 'OrderBy'],
  }
  for (const [text, expected] of Object.entries(cases)) {
    test(text, () => assert.deepEqual([...featuresOf(parseQuery(text))], expected))
  }
})

test('a count of distinct values cannot be split over partitions', () => {
  assert.ok(!isSplittable(parseQuery('SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.a FROM c)')))
  assert.ok(!isSplittable(parseQuery('SELECT * FROM (SELECT VALUE x FROM (SELECT VALUE COUNT(1) FROM c) AS x)')))
  assert.ok(isSplittable(parseQuery('SELECT VALUE COUNT(1) FROM (SELECT c.a FROM c)')))
  assert.ok(
    isSplittable(parseQuery('SELECT VALUE COUNT(1) FROM c JOIN (SELECT DISTINCT VALUE t FROM t IN c.tags) AS s')),
  )
})

describe('the partition keys of a filter', () => {
  const parameters = new Map<string, SqlValue>([
    ['@p', 'x'],
    ['@list', [true, 5]],
  ])
  const one = [['tenant']]
  const nested = [['a', 'b c']]
  const three = [['t'], ['u'], ['v']]
  const cases: readonly (readonly [string, string[][], SqlValue[][] | undefined])[] = [
    ['SELECT * FROM c WHERE c.tenant = "a"', one, [['a']]],
    ['SELECT * FROM c WHERE "a" = c["tenant"] AND c.b > 1', one, [['a']]],
    ['SELECT * FROM c WHERE c.b > 1 AND (c.tenant = @p)', one, [['x']]],
    ['SELECT * FROM c WHERE c.tenant = -1.5', one, [[-1.5]]],
    ['SELECT * FROM c WHERE c.tenant = null', one, [[null]]],
    ['SELECT * FROM c WHERE c.a["b c"] = 1', nested, [[1]]],
    ['SELECT * FROM c JOIN d IN c.d WHERE c.t = 1 AND c.u = 2 AND d.v = 3', three, [[1, 2]]],
    ['SELECT * FROM c WHERE c.u = 2', three, undefined],
    ['SELECT * FROM c WHERE c.tenant = "a" OR c.b = 1', one, undefined],
    ['SELECT * FROM c WHERE NOT (c.tenant = "a")', one, undefined],
    ['SELECT * FROM c WHERE c.tenant = c.other', one, undefined],
    ['SELECT * FROM c WHERE c.tenant = undefined', one, undefined],
    ['SELECT * FROM c WHERE c.tenant = @missing', one, undefined],
    ['SELECT * FROM c WHERE c.tenant > 1', one, undefined],
    ['SELECT * FROM c WHERE c.tenant.x = 1', one, undefined],
    ['SELECT * FROM x IN c.list WHERE x.tenant = 1', one, undefined],
    ['SELECT * FROM c.list AS x WHERE x.tenant = 1', one, undefined],
    ['SELECT * FROM c', one, undefined],
    ['SELECT * FROM c WHERE c.tenant IN ("a", "b", @p, "a")', one, [['a'], ['b'], ['x']]],
    ['SELECT * FROM c WHERE c.tenant NOT IN ("a")', one, undefined],
    ['SELECT * FROM c WHERE c.tenant IN ("a", c.b)', one, undefined],
    ['SELECT * FROM c WHERE (c.tenant = 1 AND c.x) OR c.tenant = 2 OR IS_NULL(c.tenant)', one, [[1], [2], [null]]],
    ['SELECT * FROM c WHERE c.tenant IN (1, 2, 3) AND c.tenant = 2', one, [[2]]],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS(["a", 1], c.tenant)', one, [['a'], [1]]],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS(@list, c.tenant)', one, [[true], [5]]],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS(["a"], c.tenant, true)', one, undefined],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS([], c.tenant)', one, undefined],
    ['SELECT * FROM c WHERE c.tenant', one, [[true]]],
    ['SELECT * FROM c WHERE NOT c.tenant AND c.b', one, [[false]]],
    ['SELECT * FROM c WHERE NOT IS_NULL(c.tenant)', one, undefined],
    [
      'SELECT * FROM c WHERE c.t IN (1, 2) AND (c.u = 3 OR c.u = 4)',
      three,
      [
        [1, 3],
        [1, 4],
        [2, 3],
        [2, 4],
      ],
    ],
    [`SELECT * FROM c WHERE c.tenant IN (${Array.from({ length: 1001 }, (_, at) => at)})`, one, undefined],
    ['SELECT 1', one, undefined],
  ]
  for (const [text, paths, expected] of cases) {
    test(text, () => assert.deepEqual(partitionKeyFilter(parseQuery(text), paths, parameters), expected))
  }
})
