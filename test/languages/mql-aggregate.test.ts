/**
 * The aggregation language by cases: every expression and every stage over a few documents, compared to the last byte.
 *
 * The cases in `mql/expressions-*.ts` and `mql/stages-*.ts` name nothing of ours; an expression is run as the stage
 * `{ $replaceWith: { v: expression } }` over one document.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EJSON } from 'bson'
import { MongoError } from '../../src/mql/error.ts'
import { operatorFamilies } from '../../src/mql/expressions/table.ts'
import { aggregate, bytesOf, shown } from '../support/aggregate.ts'
import { caseNow, type ExpressionCase, type ExpressionCases, Failure, missing } from './mql/aggregate-case.ts'
import { arithmeticCases, bitwiseCases, timestampCases, trigonometricCases } from './mql/expressions-arithmetic.ts'
import { arrayCases, objectCases, setCases } from './mql/expressions-array.ts'
import { conversionCases, dateCases, unsupportedCases } from './mql/expressions-date.ts'
import { accumulationCases, logicCases, otherCases, pathCases, variableCases } from './mql/expressions-logic.ts'
import { regexCases, stringCases } from './mql/expressions-string.ts'

const families: Readonly<Record<string, ExpressionCases>> = {
  'paths and literals': pathCases,
  logic: logicCases,
  variables: variableCases,
  arithmetic: arithmeticCases,
  trigonometry: trigonometricCases,
  bits: bitwiseCases,
  timestamps: timestampCases,
  strings: stringCases,
  'regular expressions': regexCases,
  arrays: arrayCases,
  sets: setCases,
  objects: objectCases,
  dates: dateCases,
  conversions: conversionCases,
  accumulators: accumulationCases,
  other: otherCases,
  'not supported': unsupportedCases,
}

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
    Object.values(families).flatMap(operators => Object.entries(operators).map(([name, cases]) => [name, cases.length])),
  )
  const few: string[] = []
  for (const [family, operators] of Object.entries(operatorFamilies)) {
    if (family === 'not supported') continue
    for (const name of Object.keys(operators)) if ((counts.get(name) ?? 0) < 3) few.push(name)
  }
  assert.deepEqual(few, [])
})
