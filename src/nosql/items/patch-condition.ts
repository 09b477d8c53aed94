/** The condition of a patch: `from c where …`, a filter in the query language that the item must match. */

import type { EpochSeconds } from '../../base/clock.ts'
import { PreparedQueries, type PreparedQuery } from '../../sql/prepare.ts'
import { runQueryOver } from '../../sql/run.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import { malformed } from '../definitions/definition-input.ts'
import type { ShortWork } from '../http/short-work.ts'

const conditions = new PreparedQueries()

const selection = 'SELECT * '

export function prepareCondition(condition: string): PreparedQuery {
  const prepared = conditions.prepare(selection + condition)
  const { where, groupBy, orderBy, offset, limit } = prepared.query
  const isFilter = where !== undefined && [groupBy, orderBy, offset, limit].every(clause => clause === undefined)
  // INFERRED: the service does not document this text.
  if (!isFilter) malformed("The condition of a patch must have the form 'from c where ...'.")
  return prepared
}

/** Judged within the transaction. */
export function meetsCondition(
  condition: PreparedQuery,
  item: SqlValue,
  { moment, work }: { readonly moment: EpochSeconds; readonly work: ShortWork },
): boolean {
  const rows = () => runQueryOver(condition, { momentMs: moment * 1000 }, [item])
  return work.do('The condition of the patch', rows).length > 0
}
