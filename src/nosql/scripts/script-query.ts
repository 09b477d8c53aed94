/**
 * Queries within a script, over the items as the script sees them.
 *
 * If the script has written nothing and one page holds the whole answer, the query runs like any other, with
 * indexes. Otherwise it walks the items in order of id, so that later writes and deletes of the script do not
 * shift its pages. Rows in item order continue after an item; all other rows are computed again and skipped
 * by number.
 */

import { pageBytesMax, scanItemsMax } from '../../base/limits.ts'
import { textOf } from '../../document/body.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ComputedDefinition } from '../../query/statement.ts'
import { demandsOf } from '../../sql/planning/demands.ts'
import { PreparedQueries, type PreparedQuery, toParameters } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import { QueryRun } from '../../sql/run.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import { pageRu } from '../../units/cost.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { malformed, readObject, readString } from '../definitions/definition-input.ts'
import { isPathIndexed } from '../definitions/indexed-paths.ts'
import { parseJson } from '../json/parse-json.ts'
import type { ScriptTransaction } from './script-transaction.ts'

const queries = new PreparedQueries()

export interface ScriptPage {
  /** Rows as JSON texts. */
  readonly rows: readonly string[]
  readonly continuation: string | undefined
}

/** Where a query continues: after an item and `skip` rows of the next one, or at a row number. */
type Bookmark = { readonly after: string; readonly skip: number } | { readonly offset: number }

export interface ScriptQueryOptions {
  readonly pageSize: number
  readonly continuation: string | undefined
  readonly callUserDefined?: ((name: string, values: readonly SqlValue[]) => SqlValue) | undefined
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
  engine: Engine,
  transaction: ScriptTransaction,
  query: Query,
  options: ScriptQueryOptions,
): Promise<ScriptPage> {
  if (options.continuation === undefined && !transaction.hasWritten) {
    const page = await onePage(engine, transaction, query, options)
    if (page !== undefined) return page
  }
  return isInItemOrder(query.prepared)
    ? rowsOfItems(transaction, query, options)
    : collectedRows(transaction, query, options)
}

async function onePage(
  engine: Engine,
  transaction: ScriptTransaction,
  { prepared, parameters }: Query,
  { pageSize, callUserDefined, signal }: ScriptQueryOptions,
): Promise<ScriptPage | undefined> {
  const { record } = transaction.view
  const { indexingPolicy } = record.definition as ContainerDefinition
  const hasFunctions = callUserDefined !== undefined
  const runOptions = (moment: number) => ({
    parameters,
    momentMs: moment * 1000,
    ...(hasFunctions ? { callUserDefined } : {}),
  })
  const { text, computed } = prepared
  const statement = () => ({ language: 'sql', text, parameters, computed }) as const
  const page = await engine.queryPage(
    record,
    {
      range: transaction.range,
      demands: demandsOf(prepared.query, parameters, computed),
      program: moment => createProgram(prepared, runOptions(moment)),
      statement: hasFunctions ? undefined : statement,
      mayIndex: path => isPathIndexed(indexingPolicy, path),
    },
    { position: undefined, rowsMax: pageSize, bytesMax: pageBytesMax, signal: () => signal },
  )
  if (page.next !== undefined) return undefined
  transaction.charge(page.chargeRu)
  return { rows: page.rows.map(textOf), continuation: undefined }
}

function isInItemOrder({ query, select }: PreparedQuery): boolean {
  const { top, offset, limit, distinct, sources } = query
  const isWhole = [top, offset, limit].every(clause => clause === undefined) && !distinct
  const isPlain = select.groups === undefined && select.derived === undefined && select.orderKeys.length === 0
  return isWhole && isPlain && sources.length > 0
}

async function rowsOfItems(
  transaction: ScriptTransaction,
  query: Query,
  { pageSize, continuation, callUserDefined, signal }: ScriptQueryOptions,
): Promise<ScriptPage> {
  const bookmark = readBookmark(continuation) ?? { after: '', skip: 0 }
  if (!('after' in bookmark)) malformed(invalidContinuation)
  const run = newRun(transaction, query, callUserDefined)
  const meter = new Meter(transaction)
  const rows: string[] = []
  let { after, skip } = bookmark
  for await (const items of transaction.all(after, scanItemsMax, signal)) {
    for (const { id, text } of items) {
      meter.read()
      const rest = run.accept(JSON.parse(text)).slice(skip)
      const taken = rest.slice(0, pageSize - rows.length)
      rows.push(...taken.map(row => JSON.stringify(row)))
      const isThrough = taken.length === rest.length
      if (isThrough) after = id
      skip = isThrough ? 0 : skip + taken.length
      if (rows.length < pageSize) continue
      meter.end(rows)
      return { rows, continuation: print({ after, skip }) }
    }
  }
  meter.end(rows)
  return { rows, continuation: undefined }
}

async function collectedRows(
  transaction: ScriptTransaction,
  query: Query,
  { pageSize, continuation, callUserDefined, signal }: ScriptQueryOptions,
): Promise<ScriptPage> {
  const bookmark = readBookmark(continuation) ?? { offset: 0 }
  if (!('offset' in bookmark)) malformed(invalidContinuation)
  const run = newRun(transaction, query, callUserDefined)
  const meter = new Meter(transaction)
  const all: SqlValue[] = []
  for await (const items of transaction.all('', scanItemsMax, signal)) {
    if (run.isDone) break
    for (const { text } of items) {
      all.push(...run.accept(JSON.parse(text)))
      meter.read()
    }
  }
  all.push(...run.finish())
  const end = bookmark.offset + pageSize
  const rows = all.slice(bookmark.offset, end).map(row => JSON.stringify(row))
  meter.end(rows)
  return { rows, continuation: end < all.length ? print({ offset: end }) : undefined }
}

function newRun(
  { at }: ScriptTransaction,
  { prepared, parameters }: Query,
  callUserDefined: ScriptQueryOptions['callUserDefined'],
): QueryRun {
  const momentMs = at.moment * 1000
  return new QueryRun(prepared, { parameters, momentMs, ...(callUserDefined === undefined ? {} : { callUserDefined }) })
}

class Meter {
  readonly #transaction: ScriptTransaction
  #items = 0

  constructor(transaction: ScriptTransaction) {
    this.#transaction = transaction
  }

  read(): void {
    this.#items++
  }

  end(rows: readonly string[]): void {
    this.#transaction.charge(
      pageRu(
        this.#items,
        rows.reduce((sum, row) => sum + row.length, 0),
      ),
    )
  }
}

const invalidContinuation = 'Invalid Continuation Token'

function print(bookmark: Bookmark): string {
  return JSON.stringify(bookmark)
}

/** Untrusted: scripts pass continuations to clients and get them back. */
function readBookmark(text: string | undefined): Bookmark | undefined {
  if (text === undefined) return undefined
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    malformed(invalidContinuation)
  }
  const { after, skip, offset } = (input ?? {}) as Record<string, unknown>
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
  if (isCount(offset)) return { offset }
  if (typeof after === 'string' && isCount(skip)) return { after, skip }
  malformed(invalidContinuation)
}
