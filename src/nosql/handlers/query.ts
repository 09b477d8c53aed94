/** Queries: over definitions in memory, and over items. */

import { RequestError } from '../../base/error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { PreparedQueries, type PreparedQuery, toParameters } from '../../sql/prepare.ts'
import { runQueryOver } from '../../sql/run.ts'
import type { Value } from '../../sql/value.ts'
import type { ContainerRecord } from '../../storage/port.ts'
import { readObject, readString } from '../definition-input.ts'
import { jsonBody, type NosqlRequest } from '../request.ts'
import type { NosqlResponse } from '../response.ts'
import { feedOfItems } from './item-feed.ts'

type Definitions = readonly { readonly number: number; readonly resource: object }[]

const prepared = new PreparedQueries()

function parseQueryRequest(request: NosqlRequest): { query: PreparedQuery; parameters: ReadonlyMap<string, Value> } {
  const body = readObject(jsonBody(request), 'query')
  return { query: prepared.prepare(readString(body.query, 'query')), parameters: toParameters(body.parameters) }
}

/** Definitions are few and already in memory. Rows keep their order and are numbered anew for the pages of the feed. */
export async function queryDefinitions(request: NosqlRequest, definitions: Definitions): Promise<Definitions> {
  const { query, parameters } = parseQueryRequest(request)
  const momentMs = (await request.service.engine.store.moment()) * 1000
  const items = definitions.map(({ resource }) => resource as Value)
  const rows = runQueryOver(query, { parameters, momentMs }, items)
  return rows.map((row, number) => ({ number, resource: row as object }))
}

export function queryItems(request: NosqlRequest, container: ContainerRecord): MaybePromise<NosqlResponse> {
  const { query } = parseQueryRequest(request)
  if (isWholeFeed(query)) return feedOfItems(request, container)
  throw new RequestError('unsupported', 'Queries with clauses beyond "SELECT * FROM c" are not supported yet.')
}

export function planQuery(_request: NosqlRequest): NosqlResponse {
  throw new RequestError('unsupported', 'Query plans are not supported yet.')
}

/** `SELECT * FROM c` and nothing else: what the SDKs send to read a whole container. Bodies go out as they are stored. */
function isWholeFeed({ query }: PreparedQuery): boolean {
  const { selection, sources, where, groupBy, orderBy, offset, limit, top, distinct } = query
  const [source] = sources
  const isPlain = [where, groupBy, orderBy, offset, limit, top].every(clause => clause === undefined) && !distinct
  const isContainer =
    sources.length === 1 &&
    source!.collection.kind === 'path' &&
    source!.collection.expression.kind === 'identifier' &&
    !source!.iterates
  return selection.kind === 'star' && isPlain && isContainer
}
