/** A request as handlers see it: path, headers and body; and how a path is split into names. */

import type { IncomingHttpHeaders } from 'node:http'
import type { AccountKeys } from '../../base/account-keys.ts'
import type { Caller } from '../../base/caller.ts'
import { RequestError } from '../../base/error.ts'
import { definitionBytesMax } from '../../base/limits.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ScriptRunner } from '../../scripts/script-runner.ts'
import type { UserDefinedFunctions } from '../../scripts/user-defined-functions.ts'
import { decodeJson, parseJson } from '../json/parse-json.ts'

/** What the handlers share. */
export interface Service {
  readonly engine: Engine
  /** The primary key signs continuation tokens and resource tokens. */
  readonly keys: AccountKeys
  /** Answer as Azure does today where it differs from its documentation. */
  readonly strict: boolean
  readonly scripts: ScriptRunner
  readonly functions: UserDefinedFunctions
}

export interface NosqlRequest {
  readonly service: Service
  readonly headers: IncomingHttpHeaders
  /** The address that the client used: `http://127.0.0.1:8081`. */
  readonly origin: string
  readonly caller: Caller
  /** The decoded path: `['dbs', 'shop', 'colls', 'carts']`. */
  readonly path: readonly string[]
  readonly body: Buffer
  /** What the client may do, if it has a resource token instead of the account key. */
  readonly grant?: { readonly path: readonly string[] } | undefined
}

/**
 * Splits a path into names. This protocol has no query strings: an unescaped `?` belongs to an item's id, and
 * SDKs do send it. An escaped slash belongs to a name.
 */
export function parsePath(url: string): string[] {
  const path: string[] = []
  let start = url.charCodeAt(0) === 0x2f ? 1 : 0
  while (start < url.length) {
    let end = url.indexOf('/', start)
    if (end === -1) end = url.length
    if (end > start) path.push(decode(url.slice(start, end)))
    start = end + 1
  }
  return path
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    throw new RequestError('malformed', 'The path is not encoded properly.', { cause: error })
  }
}

export const partitionKeyHeader = 'x-ms-documentdb-partitionkey'

/** The value of a header that may occur once. */
export function headerOf(request: Pick<NosqlRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name]
  const text = Array.isArray(value) ? value[0] : value
  // The Java SDK sends an empty continuation to say that it has none.
  return text === '' ? undefined : text
}

export function hasFlag(request: Pick<NosqlRequest, 'headers'>, name: string): boolean {
  return headerOf(request, name)?.toLowerCase() === 'true'
}

/** Whether a POST to a feed is a query. */
export function isQuery(request: Pick<NosqlRequest, 'headers'>): boolean {
  return hasFlag(request, 'x-ms-documentdb-isquery') || request.headers['content-type'] === 'application/query+json'
}

/** Whether a request for items asks for the change feed. */
export function isChangeFeed(request: NosqlRequest): boolean {
  return headerOf(request, 'a-im') !== undefined
}

export const triggerHeaders = {
  pre: 'x-ms-documentdb-pre-trigger-include',
  post: 'x-ms-documentdb-post-trigger-include',
} as const

export function hasTriggers(request: Pick<NosqlRequest, 'headers'>): boolean {
  return headerOf(request, triggerHeaders.pre) !== undefined || headerOf(request, triggerHeaders.post) !== undefined
}

/** Parses the body of a request that is not an item. */
export function jsonBody(request: NosqlRequest, bytesMax = definitionBytesMax): unknown {
  if (request.body.length > bytesMax) throw new RequestError('too_large', 'Request size is too large')
  return parseJson(decodeJson(request.body))
}
