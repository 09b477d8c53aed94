/**
 * The entry to the SQL folder: makes a prepared query from a text, and values from a request's parameters.
 *
 * A prepared query depends only on its text and on the container's computed properties. Parameters, moment
 * and items come with each run (run.ts).
 */

import { RequestError } from '../base/error.ts'
import { KiB } from '../base/limits.ts'
import type { ComputedDefinition } from '../query/statement.ts'
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
  /** The computed properties of the container. */
  readonly computed: readonly ComputedDefinition[]
}

const noneComputed: readonly ComputedDefinition[] = []

export function prepareQuery(text: string, computed = noneComputed): PreparedQuery {
  const query = parseQuery(text)
  const parameters: Parameter[] = []
  visit(query, node => {
    if (isExpression(node) && node.kind === 'parameter') parameters.push(node)
    return true
  })
  return { text, query, select: compileSelect(query, text, computed), parameters, computed }
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

/** A cache of prepared queries by text and computed properties. The least recently used one is evicted. */
export class PreparedQueries {
  readonly #known = new Map<string, PreparedQuery>()

  prepare(text: string, computed = noneComputed): PreparedQuery {
    const key = computed.length === 0 ? text : JSON.stringify([text, computed])
    const known = this.#known.get(key)
    if (known !== undefined) {
      // A Map keeps insertion order, so inserting it again makes it the most recent.
      this.#known.delete(key)
      this.#known.set(key, known)
      return known
    }
    const prepared = prepareQuery(text, computed)
    if (key.length <= preparedQueryCharsMax) this.#keep(key, prepared)
    return prepared
  }

  get size(): number {
    return this.#known.size
  }

  #keep(key: string, prepared: PreparedQuery): void {
    if (this.#known.size >= preparedQueriesMax) {
      const [oldest] = this.#known.keys()
      this.#known.delete(oldest as string)
    }
    this.#known.set(key, prepared)
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
