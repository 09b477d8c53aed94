/**
 * Laws of the language over generated expressions: what must be equal however it is written.
 *
 * The partition law is the strongest: every row is in exactly one of `e`, `NOT e` and "e is not a boolean",
 * and an aggregate over all rows can be computed from the three parts (after "ternary logic partitioning" in
 * SQLancer).
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { functionFamilies } from '../../src/sql/functions/table.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import { compareValues } from '../../src/sql/values/compare.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc } from '../support/property.ts'

const items: readonly SqlValue[] = [
  { id: 0, a: 1, b: 'x', c: [1, 2], d: true },
  { id: 1, a: 2, b: 'y', c: [], d: false },
  { id: 2, a: null, b: '', c: ['x'], d: null },
  { id: 3, a: '1', b: 'x😀', c: [{ e: 1 }] },
  { id: 4, a: [1], b: 5, c: 'no array', d: 0 },
  { id: 5, a: { e: 1 }, c: [[1]] },
  { id: 6, a: -1.5, b: 'X', c: [null, null], d: true },
  { id: 7 },
]

function rows(query: string): SqlValue[] {
  return runQueryOver(prepareQuery(query), { momentMs: 0, random: () => 0.5 }, items)
}

/** The value for each item, wrapped in an array so that undefined differs from null. */
function values(expression: string): SqlValue[] {
  return rows(`SELECT VALUE [${expression}] FROM r`)
}

const families = ['type', 'string', 'array', 'math', 'integer', 'conversion', 'date and time', 'other']
const callable = families.flatMap(family =>
  Object.entries(functionFamilies[family] ?? {}).map(([names, { argumentsMin }]) => ({
    name: names.split(' ')[0] as string,
    argumentsMin,
  })),
)

const { expression } = fc.letrec<{ expression: string }>(tie => {
  const part = tie('expression')
  const leaf = fc.constantFrom(
    ...['r.a', 'r.b', 'r.c', 'r.d', 'r.id', 'r.missing', 'r.c[0]', 'r.a.e', 'undefined', 'null', 'true', 'false'],
    ...['0', '1', '-1', '2.5', "''", "'x'", "'1'", '[]', '[1, 2]', '{e: 1}', 'EXISTS(SELECT VALUE x FROM x IN r.c)'],
  )
  const operators = ['+', '-', '*', '/', '%', '&', '|', '||', '=', '!=', '<', '<=', '>', '>=', 'AND', 'OR', '??', '<<']
  return {
    expression: fc.oneof(
      { depthSize: 'small' },
      { weight: 3, arbitrary: leaf },
      fc.tuple(part, fc.constantFrom(...operators), part).map(([left, sign, right]) => `(${left} ${sign} ${right})`),
      fc.tuple(fc.constantFrom('NOT', '-', '~'), part).map(([sign, operand]) => `(${sign} ${operand})`),
      fc.tuple(part, part, part).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc.tuple(part, part, part).map(([a, b, c]) => `(${a} IN (${b}, ${c}))`),
      fc.tuple(part, part, part).map(([a, b, c]) => `(${a} BETWEEN ${b} AND ${c})`),
      fc.tuple(part, part).map(([a, b]) => `(${a} LIKE ${b})`),
      fc.tuple(part, part).map(([a, b]) => `[${a}, ${b}]`),
      fc.tuple(part, part).map(([a, b]) => `{e: ${a}, f: ${b}}`),
      fc.tuple(part, part).map(([a, b]) => `ARRAY(SELECT VALUE ${a} FROM x IN r.c WHERE ${b})`),
      fc
        .tuple(fc.constantFrom(...callable), fc.array(part, { minLength: 3, maxLength: 3 }))
        .map(([{ name, argumentsMin }, list]) => `${name}(${list.slice(0, argumentsMin).join(', ')})`),
    ),
  }
})

function holds(name: string, law: (e: string, f: string, g: string) => void): void {
  test(name, () => {
    fc.assert(
      fc.property(expression, expression, expression, (e, f, g) => {
        law(e, f, g)
      }),
      { numRuns: 600 },
    )
  })
}

function areSame(left: string, right: string): void {
  assert.deepEqual(values(left), values(right), `${left}\n${right}`)
}

describe('logic', () => {
  holds('AND and OR do not depend on the order', (e, f) => {
    areSame(`${e} AND ${f}`, `${f} AND ${e}`)
    areSame(`${e} OR ${f}`, `${f} OR ${e}`)
  })
  holds('AND and OR do not depend on parentheses', (e, f, g) => {
    areSame(`(${e} AND ${f}) AND ${g}`, `${e} AND (${f} AND ${g})`)
    areSame(`(${e} OR ${f}) OR ${g}`, `${e} OR (${f} OR ${g})`)
  })
  holds('NOT turns AND into OR', (e, f) => areSame(`NOT (${e} AND ${f})`, `(NOT ${e}) OR (NOT ${f})`))
  holds('NOT IN, NOT LIKE and NOT BETWEEN are the opposite', (e, f, g) => {
    areSame(`${e} NOT IN (${f}, ${g})`, `NOT (${e} IN (${f}, ${g}))`)
    areSame(`${e} NOT LIKE ${f}`, `NOT (${e} LIKE ${f})`)
    areSame(`${e} NOT BETWEEN ${f} AND ${g}`, `NOT (${e} BETWEEN ${f} AND ${g})`)
  })
})

describe('comparison', () => {
  holds('BETWEEN is two comparisons', (e, f, g) => {
    areSame(`${e} BETWEEN ${f} AND ${g}`, `(${e} >= ${f}) AND (${e} <= ${g})`)
  })
  holds('IN asks for any equality', (e, f, g) => {
    areSame(`IIF(${e} IN (${f}, ${g}), 1, 0)`, `IIF((${e} = ${f}) OR (${e} = ${g}), 1, 0)`)
  })
  holds('turning a comparison round turns its sign', (e, f) => {
    areSame(`${e} < ${f}`, `${f} > ${e}`)
    areSame(`${e} <= ${f}`, `NOT (${e} > ${f})`)
    areSame(`${e} = ${f}`, `NOT (${e} != ${f})`)
  })
  holds('?? and ?: are two ways to choose', (e, f) => areSame(`${e} ?? ${f}`, `IS_DEFINED(${e}) ? ${e} : ${f}`))
})

describe('queries', () => {
  holds('every row is in one of three parts', e => {
    const parts = [e, `NOT ${e}`, `NOT IS_BOOL(${e})`].flatMap(filter =>
      rows(`SELECT VALUE r.id FROM r WHERE ${filter}`),
    )
    assert.deepEqual(parts.sort(), [0, 1, 2, 3, 4, 5, 6, 7])
  })
  holds('a count is the sum of the counts of its groups', (e, f) => {
    // The service allows no subquery inside an aggregate.
    fc.pre(!f.includes('SELECT'))
    const groups = rows(`SELECT COUNT(${f}) AS n FROM r GROUP BY ${e}`) as { n: number }[]
    const [total] = rows(`SELECT VALUE COUNT(${f}) FROM r`)
    assert.equal(
      groups.reduce((sum, { n }) => sum + n, 0),
      total,
    )
  })
  holds('groups are the distinct values in order', e => {
    const distinct = rows(`SELECT DISTINCT VALUE [${e}] FROM r`)
    assert.deepEqual(rows(`SELECT VALUE [${e}] FROM r GROUP BY ${e}`), distinct.toSorted(compareValues))
  })
  holds('a filter outside and inside a subquery is the same', (e, f) => {
    assert.deepEqual(
      rows(`SELECT VALUE ${e} FROM r WHERE ${f}`),
      rows(`SELECT VALUE x FROM (SELECT VALUE ${e} FROM r WHERE ${f}) AS x`),
    )
  })
  holds('pages put together are the whole', e => {
    const pages = [0, 3, 6].flatMap(offset => rows(`SELECT VALUE ${e} FROM r OFFSET ${offset} LIMIT 3`))
    assert.deepEqual(pages, rows(`SELECT VALUE ${e} FROM r`))
  })
})
