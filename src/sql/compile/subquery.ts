/** Makes a value from the rows of a subquery, depending on its form (EXISTS, ARRAY, ALL and so on). */

import { RequestError } from '../../base/error.ts'
import type { SubqueryForm } from '../syntax/ast.ts'
import type { SqlValue } from '../values/value.ts'
import type { Evaluator, SubqueryRunner } from './scope.ts'

export function consumeSubquery(form: SubqueryForm, run: SubqueryRunner): Evaluator {
  return consumers[form](run)
}

const consumers: Readonly<Record<SubqueryForm, (run: SubqueryRunner) => Evaluator>> = {
  SCALAR: run => frame => {
    let result: SqlValue
    let isTaken = false
    run(frame, row => {
      if (isTaken) {
        throw new RequestError(
          'malformed',
          'The cardinality of a scalar subquery result set cannot be greater than one.',
        )
      }
      isTaken = true
      result = row
      return true
    })
    return result
  },
  EXISTS: run => frame => hasRow(run, frame),
  ALL: run => frame => !hasRow(run, frame),
  ARRAY: run => frame => {
    const rows: SqlValue[] = []
    run(frame, row => {
      rows.push(row)
      return true
    })
    return rows
  },
  FIRST: run => frame => {
    let result: SqlValue
    run(frame, row => {
      result = row
      return false
    })
    return result
  },
  LAST: run => frame => {
    let result: SqlValue
    run(frame, row => {
      result = row
      return true
    })
    return result
  },
}

function hasRow(run: SubqueryRunner, frame: Parameters<Evaluator>[0]): boolean {
  let found = false
  run(frame, () => {
    found = true
    return false
  })
  return found
}
