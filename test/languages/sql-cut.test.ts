/**
 * A query that is cut and done again gives what it would have given at once: rows and their sort keys, with
 * the same prepared query, cut at every place where a watch looks, or at random ones.
 *
 * MAYFLY_SEED and MAYFLY_PATH work as in the other property tests.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PreparedQuery, prepareQuery } from '../../src/sql/prepare.ts'
import { createProgram } from '../../src/sql/program.ts'
import { parameters, printQuery, properties, queries } from '../query/random-query.ts'
import { outcome, someSteps, untilDone, untilLook } from '../support/cut-work.ts'
import { fc } from '../support/property.ts'

/** Large enough that a watch looks several times. */
const items = Array.from({ length: 20 }, (_, n) => ({
  id: `i${n}`,
  pk: `p${n % 3}`,
  n,
  list: Array.from({ length: 40 }, (__, at) => (at * n) % 17),
  tags: ['a', 'b', `t${n}`],
  text: 'ab'.repeat(200 + n),
  place: { type: 'Point', coordinates: [n, n] },
}))

type Row = readonly [value: unknown, sortKey: string | undefined]

function run(prepared: PreparedQuery, documents: readonly object[]): Row[] {
  const program = createProgram(prepared, { parameters, momentMs: 1_700_000_000_000, random: () => 0.5 })
  const rows: Row[] = []
  const emit = (value: unknown, sortKey: Uint8Array | undefined) => {
    rows.push([value, sortKey && Buffer.from(sortKey).toString('hex')])
    return true
  }
  for (const [sequence, document] of documents.entries()) {
    if (program.isDone?.() === true) break
    program.accept({ sequence, document }, emit)
  }
  program.finish(emit)
  return rows
}

const polygon = '{"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]]}'

/** All families of what takes long for one item. */
const heavy: readonly string[] = [
  'SELECT x, COUNT(1) AS n, SUM(y) AS s FROM c JOIN x IN c.list JOIN y IN c.list GROUP BY x',
  'SELECT DISTINCT VALUE x * 1000 + y FROM c JOIN x IN c.list JOIN y IN c.list',
  'SELECT VALUE x FROM c JOIN x IN c.list ORDER BY x DESC',
  'SELECT VALUE ARRAY(SELECT VALUE (SELECT VALUE COUNT(1) FROM y IN c.list WHERE y > x) FROM x IN c.list) FROM c',
  'SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.list JOIN y IN c.list WHERE x + y = 5)',
  'SELECT VALUE [SetUnion(c.list, c.tags), SetIntersect(c.list, [1, 2])] FROM c',
  'SELECT VALUE c.n FROM c JOIN x IN c.list WHERE ARRAY_CONTAINS_ALL(c.list, x, 1, 2)',
  'SELECT VALUE RegexExtractAll(c.text, "(a|b)*?b|a") FROM c',
  'SELECT VALUE c.n FROM c WHERE RegexMatch(c.text, "(a+b+)+(a|b)*d$") OR c.text LIKE "%abab_b%"',
  'SELECT VALUE LENGTH(REPLACE(REPLACE(REVERSE(c.text), "a", "bb"), "bb", "a")) FROM c',
  'SELECT VALUE StringJoin(StringSplit(c.text, "a"), "-") FROM c',
  `SELECT VALUE ST_DISTANCE(c.place, ${polygon}) FROM c WHERE ST_WITHIN(c.place, ${polygon})`,
  'SELECT MAX(r.m) AS m FROM (SELECT x, MAX(y) AS m FROM c JOIN x IN c.list JOIN y IN c.list GROUP BY x) AS r',
  `SELECT VALUE c.n FROM c WHERE c.n IN (${Array.from({ length: 300 }, (_, n) => `c.n + ${n + 1}`)}, c.n)`,
]

test('queries that are cut and done again give what they give at once', async () => {
  for (const text of heavy) {
    const expected = run(prepareQuery(text), items)
    assert.ok(expected.length > 0, text)
    const prepared = prepareQuery(text)
    const { result, cuts } = await untilDone(() => run(prepared, items), [1, 7, 60, 400])
    assert.deepEqual(result, expected, text)
    assert.ok(cuts > 0, `${cuts} cuts: ${text}`)
  }
})

test('after a cut at any place the same prepared query gives the same', () => {
  for (const text of heavy) {
    const prepared = prepareQuery(text)
    const some = items.slice(-2)
    const expected = run(prepared, some)
    for (let look = 0; look < 12; look++) {
      const done = untilLook(look, () => run(prepared, some))
      if (done !== undefined) assert.deepEqual(done, expected, text)
      assert.deepEqual(run(prepared, some), expected, `${text}, after a cut at look ${look}`)
    }
  }
})

test('random queries that are cut and done again give what they give at once', async () => {
  let cuts = 0
  const documents = fc.array(properties, { minLength: 60, maxLength: 100, size: 'max' })
  const property = fc.asyncProperty(documents, queries, someSteps, async (some, query, steps) => {
    const all = some.map((each, n) => ({ id: `i${n}`, pk: n % 4, ...each }))
    const text = printQuery(query)
    const expected = await outcome(() => run(prepareQuery(text), all))
    const prepared = await outcome(() => prepareQuery(text))
    if (typeof prepared === 'string') return
    const done = await untilDone(() => run(prepared, all), steps)
    assert.deepEqual(done.result, expected, text)
    cuts += done.cuts
  })
  await fc.assert(property, { numRuns: 200 })
  assert.ok(cuts > 100, `${cuts} cuts`)
})
