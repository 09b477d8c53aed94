/** Tests of which pages the query thread makes at once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sliceRowsMax } from '../base/limits.ts'
import { demandsOf } from '../sql/planning/demands.ts'
import { prepareQuery } from '../sql/prepare.ts'
import { createProgram } from '../sql/program.ts'
import { inlineRowsMax, isSurelyLong, type Work } from './where-to-run.ts'

const scan: Work['plan'] = { source: { kind: 'scan' }, count: undefined }
const index: Work['plan'] = {
  source: { kind: 'index', index: 1, keys: [], isReverse: false, isOrdered: false, prefix: new Uint8Array() },
  count: undefined,
}
const points: Work['plan'] = { source: { kind: 'points', keys: [] }, count: undefined }
const count: Work['plan'] = { ...index, count: { index: 1, keys: [] } }

const filtered = 'SELECT * FROM c WHERE c.n > 1'
const many = 1_000_000

type Case = Partial<Omit<Work, 'rows'>> & { readonly rows?: number }

const cases: readonly [isLong: boolean, text: string, work: Case][] = [
  [false, filtered, { rows: inlineRowsMax }],
  [true, filtered, { rows: inlineRowsMax + 1 }],
  [true, 'SELECT * FROM c WHERE ABS(c.n) > 1', {}],
  [true, 'SELECT TOP 1 * FROM c ORDER BY c.n', {}],
  [true, 'SELECT VALUE COUNT(1) FROM c', {}],
  // Full after a few items, or without any item.
  [false, 'SELECT TOP 10 c.id FROM c', {}],
  [false, 'SELECT * FROM c', {}],
  [false, 'SELECT VALUE 1', {}],
  // One partition key.
  [false, filtered, { partition: 'unknown' }],
  [true, filtered, { partition: 'large' }],
  // Sources other than a scan.
  [false, filtered, { plan: points }],
  [false, filtered, { plan: index }],
  [false, 'SELECT VALUE COUNT(1) FROM c WHERE c.n > 1', { plan: count, rows: sliceRowsMax }],
  [true, 'SELECT VALUE COUNT(1) FROM c WHERE c.n > 1', { plan: count, rows: sliceRowsMax + 1 }],
]

for (const [isLong, text, work] of cases) {
  const { plan = scan, rows = many, partition } = work
  const kind = plan.count === undefined ? plan.source.kind : 'count'
  const about = `${kind}, ${rows} rows${partition === undefined ? '' : `, ${partition} partition`}`
  test(`${isLong ? 'long' : 'not surely long'}: ${text} (${about})`, async () => {
    const prepared = prepareQuery(text)
    const program = createProgram(prepared, { momentMs: 0 })
    const demands = demandsOf(prepared.query, new Map())
    assert.equal(await isSurelyLong({ plan, program, demands, rows: () => rows, partition }), isLong)
  })
}
