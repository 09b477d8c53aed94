/**
 * The entry to the SQL folder: makes a prepared query from a text, and values from a request's parameters.
 *
 * A prepared query depends only on its text. Parameters, moment and items come with each run (run.ts).
 */

import { RequestError } from '../base/error.ts'
import { KiB } from '../base/limits.ts'
import type { CompiledSelect } from './compile/compiled.ts'
import { compileSelect } from './compile/select.ts'
import type { Parameter, Query } from './syntax/ast.ts'
import { QueryError } from './syntax/diagnostic.ts'
import { parseQuery } from './syntax/parser.ts'
import { isExpression, visit } from './syntax/walk.ts'
import { checkNesting, type SqlValue } from './values/value.ts'

/** Prepared queries cached by text. Applications use few texts and many parameters. */
export const preparedQueriesMax = 256

/** Longer texts are not cached, so the cache never holds more than a few megabytes. */
export const preparedQueryCharsMax = 16 * KiB

export interface PreparedQuery {
  readonly text: string
  readonly query: Query
  readonly select: CompiledSelect
  /** All mentions of parameters in the query. */
  readonly parameters: readonly Parameter[]
}

export function prepareQuery(text: string): PreparedQuery {
  const query = parseQuery(text)
  const parameters: Parameter[] = []
  visit(query, node => {
    if (isExpression(node) && node.kind === 'parameter') parameters.push(node)
    return true
  })
  return { text, query, select: compileSelect(query, text), parameters }
}

/** Refuses a run without all its parameters, also if no item needs them. */
export function checkParameters({ text, parameters }: PreparedQuery, given: ReadonlyMap<string, SqlValue>): void {
  const missing = parameters.filter(({ name }) => !given.has(name))
  if (missing.length === 0) return
  throw new QueryError(
    'malformed',
    text,
    missing.map(({ name, span }) => ({ code: 'SC2001', message: `Identifier '${name}' could not be resolved.`, span })),
  )
}

/** A cache of prepared queries by text. The least recently used one is evicted. */
export class PreparedQueries {
  readonly #byText = new Map<string, PreparedQuery>()

  prepare(text: string): PreparedQuery {
    const known = this.#byText.get(text)
    if (known !== undefined) {
      // A Map keeps insertion order, so inserting it again makes it the most recent.
      this.#byText.delete(text)
      this.#byText.set(text, known)
      return known
    }
    const prepared = prepareQuery(text)
    if (text.length <= preparedQueryCharsMax) this.#keep(prepared)
    return prepared
  }

  get size(): number {
    return this.#byText.size
  }

  #keep(prepared: PreparedQuery): void {
    if (this.#byText.size >= preparedQueriesMax) {
      const [oldest] = this.#byText.keys()
      this.#byText.delete(oldest as string)
    }
    this.#byText.set(prepared.text, prepared)
  }
}

/** The `parameters` of a request body, `[{"name": "@id", "value": 1}]`, by name. */
export function toParameters(list: unknown): ReadonlyMap<string, SqlValue> {
  const parameters = new Map<string, SqlValue>()
  if (list === undefined || list === null) return parameters
  if (!Array.isArray(list)) throw new RequestError('malformed', 'The parameters of a query must be an array.')
  for (const entry of list as unknown[]) {
    const name = isRecord(entry) && Object.hasOwn(entry, 'name') ? entry.name : undefined
    if (typeof name !== 'string' || !name.startsWith('@')) {
      throw new RequestError('malformed', 'Every parameter of a query needs a name that begins with @.')
    }
    const value = isRecord(entry) && Object.hasOwn(entry, 'value') ? (entry.value as SqlValue) : undefined
    checkNesting(value, `The parameter ${name}`)
    parameters.set(name, value)
  }
  return parameters
}

function isRecord(value: unknown): value is { name?: unknown; value?: unknown } {
  return typeof value === 'object' && value !== null
}
