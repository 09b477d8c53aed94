/**
 * Parses computed properties: each has a name, and a query that gives its value.
 *
 * Names and queries are checked with the service's texts (azure-cosmos-dotnet-v3,
 * ContainerNegativeComputedPropertyTest) as far as they are known.
 */

import { RequestError } from '../../base/error.ts'
import { spatialFunctions } from '../../sql/functions/spatial.ts'
import { prepareQuery } from '../../sql/prepare.ts'
import type { Expression, Query } from '../../sql/syntax/ast.ts'
import { QueryError } from '../../sql/syntax/diagnostic.ts'
import { isAggregateCall } from '../../sql/syntax/select-list.ts'
import { isExpression, visit } from '../../sql/syntax/walk.ts'
import { fieldOf, invalidInputText, isJsonObject, malformed } from './definition-input.ts'
import { scanPolicyPath } from './policy-path.ts'
import type { SpatialIndex } from './spatial-index.ts'

/** The service's limit (its page on computed properties). */
const computedPropertiesMax = 20

export interface ComputedProperty {
  name: string
  query: string
}

const systemNames: ReadonlySet<string> = new Set(['id', '_rid', '_self', '_etag', '_ts', '_attachments'])

export function parseComputedProperties(input: unknown, spatialIndexes: readonly SpatialIndex[]): ComputedProperty[] {
  // Here the service adds no details to its texts, and an SDK's test compares them up to the closing quote.
  if (!Array.isArray(input)) malformed(invalidInputText)
  if (input.length > computedPropertiesMax) {
    // INFERRED: the service documents the limit, but not this text.
    malformed(`The number of computed properties ${input.length} exceeds the maximum of ${computedPropertiesMax}.`)
  }
  const spatialNames = new Set(spatialIndexes.map(({ path }) => topLevelName(path)))
  const seen = new Set<string>()
  return input.map((element: unknown, at) => {
    const { name, query } = readComputedProperty(element)
    if (name === '') malformed("Computed property 'name' is either empty or unspecified.")
    if (query === '') malformed("Computed property 'query' is either empty or unspecified.")
    if (systemNames.has(name))
      malformed(`The system property name '${name}' cannot be used as a computed property name.`)
    if (seen.has(name)) malformed(`Computed property name '${name}' cannot be used in multiple definitions.`)
    if (spatialNames.has(name)) {
      malformed(
        `Computed property '${name}' at index (${at}) has a spatial index. Remove the spatial index on this path.`,
      )
    }
    checkQuery(query, at)
    seen.add(name)
    return { name, query }
  })
}

function readComputedProperty(element: unknown): ComputedProperty {
  if (!isJsonObject(element)) malformed(invalidInputText)
  const name = fieldOf(element, 'name')
  const query = fieldOf(element, 'query')
  if (typeof name !== 'string' || typeof query !== 'string') malformed(invalidInputText)
  return { name, query }
}

function checkQuery(text: string, at: number): void {
  const { query, parameters } = prepare(text, at)
  const refuse = (reason: string): never => malformed(`${reason} computed property query '${text}' at index (${at}).`)
  if (parameters[0] !== undefined) throw malformedQuery(text, at, [unresolved(parameters[0].name)])
  if (query.selection.kind !== 'value') refuse('Required VALUE expression missing from')
  const [source] = query.sources
  const isRoot = source?.collection.kind === 'path' && source.collection.expression.kind === 'identifier'
  // INFERRED: the service documents what a query may have, but not the texts of what follows.
  if (!isRoot || source.iterates || query.sources.length > 1) {
    refuse('FROM with nothing but the item itself is required in')
  }
  const { where, groupBy, orderBy, top, offset, distinct } = query
  const clauses = { WHERE: where, 'GROUP BY': groupBy, 'ORDER BY': orderBy, TOP: top, 'OFFSET LIMIT': offset }
  const present = Object.entries(clauses).find(([, clause]) => clause !== undefined)?.[0]
  if (present !== undefined || distinct) refuse(`${present ?? 'DISTINCT'} is not allowed in`)
  visit(query, node => {
    const reason = whyRefused(node)
    if (reason !== undefined && node !== query) refuse(`${reason} is not allowed in`)
    return true
  })
}

function whyRefused(node: Expression | Query): string | undefined {
  if (!isExpression(node)) return 'A subquery'
  if (node.kind !== 'call') return undefined
  if (node.isUserDefined) return 'A user-defined function'
  const name = node.name.toUpperCase()
  if (isAggregateCall(node)) return 'An aggregate function'
  return changingFunctions.has(name) || Object.hasOwn(spatialFunctions, name) ? `The function ${name}` : undefined
}

/** Functions that may return another value each time. */
const changingFunctions: ReadonlySet<string> = new Set([
  ...['RAND', 'NOW'],
  ...['DATETIME', 'TICKS', 'TIMESTAMP'].flatMap(unit => [`GETCURRENT${unit}`, `GETCURRENT${unit}STATIC`]),
])

function prepare(text: string, at: number): ReturnType<typeof prepareQuery> {
  try {
    return prepareQuery(text)
  } catch (error) {
    if (error instanceof QueryError) throw malformedQuery(text, at, error.diagnostics)
    throw error
  }
}

function unresolved(name: string) {
  return { code: 'SC2001', message: `Identifier '${name}' could not be resolved.` }
}

/** Here the service's codes are numbers, without positions. */
function malformedQuery(text: string, at: number, diagnostics: QueryError['diagnostics']): RequestError {
  const errors = diagnostics.map(({ code, message }) => {
    return { severity: 'Error', code: Number(String(code).replace('SC', '')), message }
  })
  const details = JSON.stringify({ errors })
  const what = `Computed property at index (${at}) has a malformed query: '${text}'`
  return new RequestError('malformed', `${what} Error details: '${details}'`)
}

/** The top-level property of an index path, if it begins with one. */
function topLevelName(path: string): string | undefined {
  const parsed = scanPolicyPath(path)
  const first = typeof parsed === 'number' ? undefined : parsed.steps[0]
  return typeof first === 'string' ? first : undefined
}
