/** Makes the program of a statement, by the statement's language. */

import type { EpochSeconds } from '../../base/clock.ts'
import { assert } from '../../base/error.ts'
import { runHosted } from '../../mql/pipeline/hosted-run.ts'
import { hostedPipeline, prepareCollector, prepareStatement } from '../../mql/prepare.ts'
import type { Collector } from '../../query/collect-rows.ts'
import type { HostedTask, StreamHost } from '../../query/hosted-stream.ts'
import type { Program } from '../../query/program.ts'
import type { QueryLanguage, QueryStatement } from '../../query/statement.ts'
import type { FunctionSession } from '../../scripts/user-defined-functions.ts'
import { PreparedQueries } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import type { RunOptions } from '../../sql/values/run-context.ts'
import type { SqlValue } from '../../sql/values/value.ts'

type StatementOf<Language extends QueryLanguage> = Extract<QueryStatement, { language: Language }>

interface Prepare<Statement> {
  program(statement: Statement, moment: EpochSeconds, functions?: FunctionSession): Program
  /** For rows that cannot come before the last item was read. */
  collector?(statement: Statement): Collector
}

type Languages = { readonly [Language in QueryLanguage]: Prepare<StatementOf<Language>> }

const queries = new PreparedQueries()

const languages: Languages = {
  sql: {
    program: ({ text, parameters, computed }, moment, functions) => {
      const options: RunOptions = {
        parameters: parameters as ReadonlyMap<string, SqlValue>,
        momentMs: moment * 1000,
        ...(functions && { callUserDefined: (name, values) => functions.call(name, values as never) as SqlValue }),
      }
      return createProgram(queries.prepare(text, computed), options)
    },
  },
  mql: { program: statement => prepareStatement(statement), collector: prepareCollector },
}

export function programOf<Language extends QueryLanguage>(
  statement: StatementOf<Language>,
  moment: EpochSeconds,
  functions?: FunctionSession,
): Program {
  return languages[statement.language as Language].program(statement, moment, functions)
}

/** Runs a pipeline for a cursor, as far as its results are asked for. */
export async function holdPipeline({ statement, passed }: HostedTask, host: StreamHost): Promise<void> {
  assert(statement.language === 'mql', 'only MongoDB has pipelines')
  await runHosted(hostedPipeline(statement), passed, host)
}

export function collectorOf<Language extends QueryLanguage>(statement: StatementOf<Language>): Collector {
  const { collector } = languages[statement.language as Language]
  assert(collector !== undefined, `${statement.language} collects nothing`)
  return collector(statement)
}
