/** A result and its charge to status, headers and body. */

import { errorBody, type PublicError } from './error-map.ts'
import { textBody } from './list-body.ts'
import type { Reply } from './transport.ts'

export interface NosqlResponse {
  readonly status: number
  /** JSON, as text or as its bytes, unless it is binary; undefined for none. */
  readonly body?: string | Buffer | undefined
  readonly isBinary?: boolean
  readonly chargeRu: number
  /** Further headers: name, value, name, value… */
  readonly headers?: readonly string[]
}

/** The same in every answer; clients log them. */
const constantHeaders = [
  'x-ms-gatewayversion',
  'version=2.14.0',
  'x-ms-serviceversion',
  'version=2.14.0.0',
  'x-ms-schemaversion',
  '1.19',
]

export function send(reply: Reply, activityId: string, response: NosqlResponse): void {
  const { status, chargeRu, headers, isBinary = false } = response
  const body = typeof response.body === 'string' ? textBody(response.body) : (response.body ?? '')
  const bodyBytes = Buffer.byteLength(body)
  const type = isBinary ? 'application/octet-stream' : 'application/json'
  const list = [
    ...(hasNoBody(status) ? [] : ['content-type', type, 'content-length', String(bodyBytes)]),
    'x-ms-request-charge',
    String(chargeRu),
    'x-ms-activity-id',
    activityId,
    ...constantHeaders,
  ]
  if (headers !== undefined) list.push(...headers)
  reply({ status, headers: list, body, bodyBytes })
}

/** These statuses say so themselves. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304
}

export function sendError(reply: Reply, activityId: string, uri: string, error: PublicError): void {
  const headers: string[] = []
  if (error.substatus !== undefined) headers.push('x-ms-substatus', String(error.substatus))
  if (error.log) headers.push('x-ms-documentdb-script-log-results', encodeURIComponent(error.log.toWellFormed()))
  if (error.retryAfterMs !== undefined) headers.push('x-ms-retry-after-ms', String(error.retryAfterMs))
  send(reply, activityId, {
    status: error.status,
    body: errorBody(error, activityId, uri),
    chargeRu: error.chargeRu,
    headers,
  })
}
