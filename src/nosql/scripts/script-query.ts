/**
 * Queries within a script, over the items as the script sees them.
 *
 * If the script has written nothing and one page holds the whole answer, the query runs like any other, with
 * indexes. Otherwise it reads the items in order of id, so that later writes and deletes of the script do
 * not shift its pages. Both begin in this thread, and move to the query thread if they take long. A query
 * with user-defined functions runs in the query thread from the start.
 */

import { hash } from 'node:crypto'
import { pageBytesMax } from '../../base/limits.ts'
import { textOf } from '../../document/body.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { ComputedDefinition, StatementFunctions } from '../../query/statement.ts'
import { demandsOf } from '../../sql/planning/demands.ts'
import { PreparedQueries, type PreparedQuery, toParameters } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import { pageRu } from '../../units/cost.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { readObject, readString } from '../definitions/definition-input.ts'
import { isPathIndexed } from '../definitions/indexed-paths.ts'
import { decodeContinuation, encodeContinuation } from '../http/continuation.ts'
import type { Service } from '../http/request.ts'
import { parseJson } from '../json/parse-json.ts'
import { callsElsewhere } from './query-functions.ts'
import type { ScriptTransaction } from './script-transaction.ts'

const queries = new PreparedQueries()

export interface ScriptPage {
  /** Rows as JSON texts. */
  readonly rows: readonly string[]
  readonly continuation: string | undefined
}

export interface ScriptQueryOptions {
  readonly pageSize: number
  readonly continuation: string | undefined
  /** The functions that the query calls. */
  readonly functions: StatementFunctions | undefined
  /** Ends the query. */
  readonly signal: AbortSignal
}

interface Query {
  readonly prepared: PreparedQuery
  readonly parameters: ReadonlyMap<string, SqlValue>
}

export function prepareScriptQuery(spec: string, computed: readonly ComputedDefinition[]): Query {
  const body = readObject(parseJson(spec), 'query')
  return {
    prepared: queries.prepare(readString(body.query, 'query'), computed),
    parameters: toParameters(body.parameters),
  }
}

export async function queryInScript(
  { engine, keys }: Service,
  transaction: ScriptTransaction,
  query: Query,
  { pageSize, continuation, functions, signal }: ScriptQueryOptions,
): Promise<ScriptPage> {
  const { record } = transaction.view
  const { prepared, parameters } = query
  const { text, computed } = prepared
  const calls = functions === undefined ? {} : { callUserDefined: callsElsewhere }
  const asked = {
    range: transaction.range,
    program: (moment: number) => createProgram(prepared, { parameters, momentMs: moment * 1000, ...calls }),
    mustTravel: functions !== undefined,
  }
  const statement = { language: 'sql', text, parameters, computed, functions } as const
  const size = { rowsMax: pageSize, bytesMax: pageBytesMax, signal: () => signal }
  if (continuation === undefined && !transaction.hasWritten) {
    const { indexingPolicy } = record.definition as ContainerDefinition
    const demands = demandsOf(prepared.query, parameters, computed)
    const mayIndex = (path: IndexPath) => isPathIndexed(indexingPolicy, path)
    const stored = { ...asked, demands, mayIndex, statement: () => statement }
    const page = await engine.queryPage(record, stored, { position: undefined, ...size })
    if (page.next === undefined) {
      transaction.charge(page.chargeRu)
      return { rows: page.rows.map(textOf), continuation: undefined }
    }
  }
  const scope = scopeOf(transaction, query)
  const position =
    continuation === undefined ? undefined : (decodeContinuation(keys, scope, continuation) as PagePosition)
  const { reader, at } = transaction
  const page = await engine.queryShown({ ...asked, statement, reader, at }, { position, ...size })
  transaction.charge(pageRu(page.statistics.itemsRead, page.statistics.bytesOut))
  const next = page.next === undefined ? undefined : encodeContinuation(keys, scope, page.next)
  return { rows: page.rows.map(textOf), continuation: next }
}

/** A continuation belongs to one query over one partition key: scripts pass it to clients and get it back. */
function scopeOf({ view, range }: ScriptTransaction, { prepared, parameters }: Query): string {
  const query = hash('sha256', JSON.stringify([prepared.text, [...parameters], range.pk]), 'base64')
  return `script ${view.rid} ${query}`
}
