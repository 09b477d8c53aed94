/**
 * Runs the user-defined functions of pages in a thread of their own. The thread that makes the page waits
 * for each call, so pages with functions are made in the threads for long work.
 */

import type { QueryStatement } from '../../query/statement.ts'
import { type FunctionSession, UserDefinedFunctions } from '../../scripts/user-defined-functions.ts'

/** No other work waits for this thread. The time of the whole page is limited too. */
const patienceMs = 250

const functions = new UserDefinedFunctions({ patienceMs })

/** Undefined if the statement calls none. */
export async function openFunctions(statement: QueryStatement): Promise<FunctionSession | undefined> {
  if (!callsFunctions(statement)) return undefined
  return functions.open(statement.functions!)
}

export function callsFunctions(statement: QueryStatement): statement is QueryStatement & { language: 'sql' } {
  return statement.language === 'sql' && statement.functions !== undefined
}
