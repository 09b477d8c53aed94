/** From a statement to a program, by the statement's language. */

import type { EpochSeconds } from '../../base/clock.ts'
import { prepareStatement } from '../../mql/prepare.ts'
import type { Program } from '../../query/program.ts'
import type { QueryLanguage, QueryStatement } from '../../query/statement.ts'
import { PreparedQueries } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import type { SqlValue } from '../../sql/values/value.ts'

type StatementOf<Language extends QueryLanguage> = Extract<QueryStatement, { language: Language }>

type Languages = {
  readonly [Language in QueryLanguage]: (statement: StatementOf<Language>, moment: EpochSeconds) => Program
}

const queries = new PreparedQueries()

const languages: Languages = {
  sql: ({ text, parameters }, moment) => {
    const values = parameters as ReadonlyMap<string, SqlValue>
    return createProgram(queries.prepare(text), { parameters: values, momentMs: moment * 1000 })
  },
  mql: statement => prepareStatement(statement),
}

export function programOf<Language extends QueryLanguage>(
  statement: StatementOf<Language>,
  moment: EpochSeconds,
): Program {
  return languages[statement.language as Language](statement, moment)
}
