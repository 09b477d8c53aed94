/**
 * The aggregation language by cases: every expression and every stage over a few documents, compared byte by
 * byte.
 *
 * The cases in `mql/expressions-*.ts` and `mql/stages-*.ts` do not depend on Mayfly. An expression runs as
 * the stage `{ $replaceWith: { v: expression } }` over one document.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EJSON } from 'bson'
import { accumulators } from '../../src/mql/accumulators/statement.ts'
import { MongoError } from '../../src/mql/errors/mongo-error.ts'
import { operatorFamilies } from '../../src/mql/expressions/operators/table.ts'
import { stages } from '../../src/mql/stages/table.ts'
import { windowFunctions } from '../../src/mql/windows/functions.ts'
import { aggregate, bytesOf, shown } from '../support/aggregate.ts'
import {
  caseNow,
  type ExpressionCase,
  Failure,
  missing,
  type StageCase,
  type StageCases,
} from './mql/aggregate-case.ts'
import { expressionFamilies as families, stageFamilies } from './mql/families.ts'

async function refused(code: number, run: () => Promise<unknown>): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof MongoError, error instanceof Error ? error.stack : String(error))
    assert.equal(error.code, code, error.message)
    return true
  })
}

async function checkExpression([expression, is, document = {}]: ExpressionCase): Promise<void> {
  const run = () =>
    aggregate([{ $replaceWith: { v: expression } }], { documents: [document], nowMs: caseNow.getTime() })
  if (is instanceof Failure) return refused(is.code, run)
  const { results } = await run()
  const wanted = is === missing ? {} : { v: is }
  assert.deepEqual(results.map(shown), [shown(bytesOf(wanted))])
}

for (const [family, operators] of Object.entries(families)) {
  describe(family, () => {
    for (const [operator, cases] of Object.entries(operators)) {
      test(operator, async t => {
        for (const each of cases) {
          const name = EJSON.stringify(each[0], { relaxed: true })
          const of = each[2] === undefined ? '' : ` of ${EJSON.stringify(each[2], { relaxed: true })}`
          await t.test(`${name}${of}`.slice(0, 250), () => checkExpression(each))
        }
      })
    }
  })
}

test('every operator has at least three cases', () => {
  const counts = new Map(
    Object.values(families).flatMap(operators =>
      Object.entries(operators).map(([name, cases]) => [name, cases.length]),
    ),
  )
  const few: string[] = []
  for (const [family, operators] of Object.entries(operatorFamilies)) {
    if (family === 'not supported') continue
    for (const name of Object.keys(operators)) if ((counts.get(name) ?? 0) < 3) few.push(name)
  }
  assert.deepEqual(few, [])
})

async function checkStage({
  pipeline,
  error,
  results = [],
  isUnordered,
  writes = {},
  ...options
}: StageCase): Promise<void> {
  const run = () => aggregate(pipeline, { ...options, nowMs: caseNow.getTime() })
  if (error !== undefined) return refused(error.code, run)
  const aggregated = await run()
  const [is, wanted] = [aggregated.results.map(shown), results.map(bytesOf).map(shown)]
  assert.deepEqual(isUnordered ? is.toSorted() : is, isUnordered ? wanted.toSorted() : wanted)
  for (const [name, documents] of Object.entries(writes)) {
    assert.deepEqual(aggregated.collections.documents(name).map(shown), documents.map(bytesOf).map(shown))
  }
}

for (const [family, cases] of Object.entries(stageFamilies)) {
  describe(family, () => {
    for (const [name, each] of Object.entries(cases)) {
      test(name, async t => {
        for (const stageCase of each) await t.test(stageCase.name, () => checkStage(stageCase))
      })
    }
  })
}

test('every stage and every accumulator has at least three cases', () => {
  const few = (names: readonly string[], cases: StageCases) => names.filter(name => (cases[name]?.length ?? 0) < 3)
  const { accumulators: ofAccumulators, 'window functions': ofWindows, ...ofStages } = stageFamilies
  const allStages: StageCases = Object.assign({}, ...Object.values(ofStages))
  assert.deepEqual([few(Object.keys(stages), allStages), few(Object.keys(accumulators), ofAccumulators!)], [[], []])
  assert.deepEqual(Object.keys(ofWindows!).sort(), Object.keys(windowFunctions).sort())
})
