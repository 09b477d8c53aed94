/** Tests of query plans: the rewritten texts, and that a client following them gets the right result. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { RequestError } from '../../base/error.ts'
import { rowOrder } from '../compile/row-sorter.ts'
import { prepareQuery } from '../prepare.ts'
import { runQueryOver } from '../run.ts'
import { compareValues } from '../values/compare.ts'
import type { SqlValue } from '../values/value.ts'
import { makeQueryPlan, type PlanOptions, type QueryInfo, wholeRange } from './query-plan.ts'

function plan(text: string, options: Partial<PlanOptions> = {}): QueryInfo {
  return makeQueryPlan(prepareQuery(text).query, { parameters: new Map(), ...options }).queryInfo
}

const nothing: QueryInfo = {
  distinctType: 'None',
  top: null,
  offset: null,
  limit: null,
  orderBy: [],
  orderByExpressions: [],
  groupByExpressions: [],
  groupByAliases: [],
  aggregates: [],
  groupByAliasToAggregateType: {},
  rewrittenQuery: '',
  hasSelectValue: false,
  dCountInfo: null,
  hasNonStreamingOrderBy: false,
}

const filter = '({documentdb-formattableorderbyquery-filter})'

describe('a plan says what the client has to do', () => {
  const cases: readonly (readonly [string, Partial<QueryInfo>, Partial<PlanOptions>?])[] = [
    ['SELECT * FROM c WHERE c.a = 1', {}],
    ['SELECT VALUE c.a FROM c', { hasSelectValue: true }],
    ['SELECT TOP 5 * FROM c', { top: 5 }],
    ['SELECT TOP @n * FROM c', { top: 7 }, { parameters: new Map([['@n', 7]]) }],
    ['SELECT TOP 2 5', {}],
    ['SELECT DISTINCT c.a FROM c', { distinctType: 'Unordered' }],
    [
      'SELECT DISTINCT TOP 5 VALUE c.a FROM c',
      { distinctType: 'Unordered', top: 5, hasSelectValue: true, rewrittenQuery: 'SELECT DISTINCT VALUE c.a\nFROM c' },
    ],
    [
      'SELECT DISTINCT * FROM c WHERE c.k = 5 OFFSET 1 LIMIT 2',
      {
        distinctType: 'Unordered',
        offset: 1,
        limit: 2,
        rewrittenQuery: 'SELECT DISTINCT *\nFROM c\nWHERE (c.k = 5)',
      },
      { isSinglePartition: true },
    ],
    ['SELECT * FROM c OFFSET 1 LIMIT 2', { offset: 1, limit: 2, rewrittenQuery: 'SELECT *\nFROM c\nOFFSET 0 LIMIT 3' }],
    ['SELECT * FROM c WHERE c.k = 5 OFFSET 1 LIMIT 2', {}, { isSinglePartition: true }],
    [
      'SELECT * FROM Root r ORDER BY r.a DESC',
      {
        orderBy: ['Descending'],
        orderByExpressions: ['r.a'],
        rewrittenQuery:
          `SELECT r._rid, [{"item": r.a}] AS orderByItems, r AS payload\nFROM Root AS r\nWHERE ${filter}\nORDER ` +
          'BY r.a DESC',
      },
    ],
    [
      "SELECT TOP 9 c.x, c['y'], c[0] FROM c WHERE c.p = 'q' AND c.r ORDER BY c.a, c.b ASC",
      {
        top: 9,
        orderBy: ['Ascending', 'Ascending'],
        orderByExpressions: ['c.a', 'c.b'],
        rewrittenQuery:
          `SELECT TOP 9 c._rid, [{"item": c.a}, {"item": c.b}] AS orderByItems, {"x": c.x, "y": c["y"], "$1": ` +
          `c[0]} AS payload\nFROM c\nWHERE (((c.p = "q") AND c.r) AND ${filter})\nORDER BY c.a, c.b ASC`,
      },
    ],
    [
      'SELECT VALUE c.x FROM c WHERE c.d = true ORDER BY c.a OFFSET 3 LIMIT 4',
      {
        hasSelectValue: true,
        offset: 3,
        limit: 4,
        orderBy: ['Ascending'],
        orderByExpressions: ['c.a'],
        rewrittenQuery:
          `SELECT c._rid, [{"item": c.a}] AS orderByItems, c.x AS payload\nFROM c\nWHERE (((c.d = true) AND ` +
          `${filter}) AND IS_DEFINED(c.x))\nORDER BY c.a\nOFFSET 0 LIMIT 7`,
      },
    ],
    [
      'SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a',
      {
        distinctType: 'Ordered',
        hasSelectValue: true,
        orderBy: ['Ascending'],
        orderByExpressions: ['c.a'],
        rewrittenQuery:
          `SELECT c._rid, [{"item": c.a}] AS orderByItems, c.a AS payload\nFROM c\nWHERE (${filter} AND ` +
          `IS_DEFINED(c.a))\nORDER BY c.a`,
      },
    ],
    [
      'SELECT VALUE COUNT(1) FROM c',
      {
        hasSelectValue: true,
        aggregates: ['Count'],
        rewrittenQuery: 'SELECT VALUE [{"item": COUNT(1)}]\nFROM c',
      },
    ],
    [
      'SELECT TOP 3 VALUE AVG(c.a + 1) FROM c ORDER BY c.b',
      {
        hasSelectValue: true,
        top: 3,
        aggregates: ['Average'],
        rewrittenQuery:
          'SELECT VALUE [{"item": {"sum": SUM((c.a + 1)), "count": COUNT((c.a + 1))}}]\nFROM c\nORDER BY c.b',
      },
    ],
    [
      'SELECT VALUE MIN(c.a) FROM c',
      {
        hasSelectValue: true,
        aggregates: ['Min'],
        rewrittenQuery: 'SELECT VALUE [{"item": MIN(c.a), "item2": {"min": MIN(c.a), "count": COUNT(c.a)}}]\nFROM c',
      },
    ],
    [
      'SELECT SUM(c.a), MAKESET(c.b) AS set, COUNTIF(c.c) FROM c',
      {
        groupByAliases: ['$1', 'set', '$2'],
        groupByAliasToAggregateType: { $1: 'Sum', set: 'MakeSet', $2: 'CountIf' },
        rewrittenQuery:
          'SELECT {"$1": {"item": SUM(c.a)}, "set": {"item": MAKESET(c.b)}, "$2": {"item": COUNTIF(c.c)}} AS ' +
          'payload\nFROM c',
      },
    ],
    [
      'SELECT c.k, Max(c.a) AS m FROM c GROUP BY c.k',
      {
        groupByExpressions: ['c.k'],
        groupByAliases: ['k', 'm'],
        groupByAliasToAggregateType: { k: null, m: 'Max' },
        rewrittenQuery:
          'SELECT [{"item": c.k}] AS groupByItems, {"k": c.k, "m": {"item": Max(c.a), "item2": {"max": ' +
          'MAX(c.a), "count": COUNT(c.a)}}} AS payload\nFROM c\nGROUP BY c.k',
      },
    ],
    [
      'SELECT TOP 5 VALUE COUNT(1) FROM c GROUP BY c.k',
      {
        top: 5,
        hasSelectValue: true,
        aggregates: ['Count'],
        groupByExpressions: ['c.k'],
        rewrittenQuery: 'SELECT [{"item": c.k}] AS groupByItems, [{"item": COUNT(1)}] AS payload\nFROM c\nGROUP BY c.k',
      },
    ],
  ]
  for (const [text, expected, options] of cases) {
    test(text, () => assert.deepEqual(plan(text, options), { ...nothing, ...expected }))
  }
})

test('a rewritten query can be prepared after the client has inserted its filter', () => {
  const { rewrittenQuery } = plan('SELECT VALUE c.x FROM c WHERE c.y = 1 ORDER BY c.a')
  prepareQuery(rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true'))
})

test('aggregates inside other expressions have no plan', () => {
  for (const text of [
    'SELECT MIN(c.a) / 2 FROM c',
    'SELECT VALUE {"s": SUM(c.a)} FROM c',
    'SELECT VALUE [SUM(c.a)] FROM c',
    'SELECT MIN(c.a), MAX(c.a) / 2 FROM c',
  ]) {
    assert.throws(
      () => plan(text),
      (error: unknown) => error instanceof RequestError && error.message.includes('Compositions of aggregates'),
    )
  }
})

test('the ranges are the whole container by default', () => {
  const { query } = prepareQuery('SELECT * FROM c')
  const range = { min: '05', max: '06', isMinInclusive: true, isMaxInclusive: false }
  assert.deepEqual(makeQueryPlan(query, { parameters: new Map() }).queryRanges, [wholeRange])
  assert.deepEqual(makeQueryPlan(query, { parameters: new Map(), queryRanges: [range] }).queryRanges, [range])
})

describe('following the plan over several partitions gives the result of a single partition', () => {
  const item = fc.record(
    { _rid: fc.string(), k: fc.constantFrom('a', 'b', null, 1), n: fc.integer({ min: -9, max: 9 }) },
    { requiredKeys: ['_rid', 'n'] },
  ) as fc.Arbitrary<SqlValue>
  const partitions = fc.array(fc.array(item, { maxLength: 12 }), { minLength: 1, maxLength: 4 })

  function runOn(text: string, items: readonly SqlValue[]): SqlValue[] {
    return runQueryOver(prepareQuery(text), { momentMs: 0 }, items)
  }

  test('for an order with a window', () => {
    const text = 'SELECT c.k, c.n FROM c WHERE c.n > -5 ORDER BY c.n DESC, c.k ASC OFFSET 2 LIMIT 5'
    const { rewrittenQuery, offset, limit, orderBy } = plan(text)
    const order = rowOrder(orderBy.map(direction => ({ isDescending: direction === 'Descending' })))
    const sent = rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true')
    type Row = { orderByItems: { item?: SqlValue }[]; payload: SqlValue }
    fc.assert(
      fc.property(partitions, lists => {
        const merged = lists
          .flatMap(list => runOn(sent, list) as unknown as Row[])
          .sort((left, right) =>
            order(
              left.orderByItems.map(({ item }) => item),
              right.orderByItems.map(({ item }) => item),
            ),
          )
          .slice(offset!, offset! + limit!)
          .map(({ payload }) => payload)
        assert.deepEqual(merged, runOn(text, lists.flat()))
      }),
      { numRuns: 300 },
    )
  })

  test('for groups', () => {
    const text = 'SELECT c.k, COUNT(1) AS count, AVG(c.n) AS mean, MIN(c.n) AS least FROM c GROUP BY c.k'
    const { rewrittenQuery } = plan(text)
    type Partial = {
      k?: SqlValue
      count: { item: number }
      mean: { item: { sum: number; count: number } }
      least: { item: number }
    }
    type Row = { groupByItems: SqlValue; payload: Partial }
    fc.assert(
      fc.property(partitions, lists => {
        const groups = new Map<
          string,
          { k?: SqlValue; count: number; mean: { sum: number; count: number }; least: number }
        >()
        for (const { groupByItems, payload } of lists.flatMap(
          list => runOn(rewrittenQuery, list) as unknown as Row[],
        )) {
          const key = JSON.stringify(groupByItems)
          const known = groups.get(key) ?? { count: 0, mean: { sum: 0, count: 0 }, least: Number.POSITIVE_INFINITY }
          groups.set(key, {
            ...('k' in payload ? { k: payload.k } : {}),
            count: known.count + payload.count.item,
            mean: { sum: known.mean.sum + payload.mean.item.sum, count: known.mean.count + payload.mean.item.count },
            least: Math.min(known.least, payload.least.item),
          })
        }
        const merged = [...groups.values()].map(group => ({ ...group, mean: group.mean.sum / group.mean.count }))
        // The client returns groups in the order in which it meets them.
        const sorted = merged.sort((a, b) => compareValues(a.k, b.k))
        assert.deepEqual(sorted, runOn(text, lists.flat()))
      }),
      { numRuns: 300 },
    )
  })
})
