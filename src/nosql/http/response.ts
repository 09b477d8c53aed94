/** Turns a result and its charge into status, headers and body. */

import { InvariantError } from '../../base/error.ts'
import { heavyAnswerBytesMin } from '../../base/heavy-turns.ts'
import { KiB } from '../../base/limits.ts'
import type { MemoryLease } from '../../base/memory-account.ts'
import { ownText } from '../../base/own-text.ts'
import { withoutTurns } from '../../base/steps.ts'
import { errorBody, type PublicError } from './error-map.ts'
import { bytesInSteps, charsOf, joined, longChars, type TextList } from './list-body.ts'
import type { Reply } from './transport.ts'

export interface NosqlResponse {
  readonly status: number
  /** JSON, unless `isBinary`; undefined for no body. */
  readonly body?: string | Buffer | TextList | undefined
  readonly isBinary?: boolean
  readonly chargeRu: number
  /** Additional header lines, each made by `header`. */
  readonly headers?: string
}

/**
 * Everything but printable ASCII. CR and LF would end the line. Heads are written in latin1, so U+010D and
 * U+010A would become CR and LF as well.
 */
const unprintable = /[^\x20-\x7e]/

/**
 * A line of the head of an answer. Values that clients choose, such as names, must be encoded before: a value
 * that could break out of its line is refused.
 */
export function header(name: string, value: string | number): string {
  if (typeof value === 'string' && unprintable.test(value)) {
    throw new InvariantError(`The value of the header ${name} must be printable ASCII.`)
  }
  return `${name}: ${value}\r\n`
}

/** The same in every answer; clients log them. */
const constantHeaders = ownText(
  header('x-ms-gatewayversion', 'version=2.14.0') +
    header('x-ms-serviceversion', 'version=2.14.0.0') +
    header('x-ms-schemaversion', '1.19'),
)

const jsonType = ownText(header('content-type', 'application/json'))
const binaryType = ownText(header('content-type', 'application/octet-stream'))

/** Answers from this size on count as held memory until the client has taken them. */
const largeAnswerBytes = 16 * KiB

/** The body as it is sent, or a list that is so large that it should be written in steps. */
export function lightBody(body: NosqlResponse['body']): string | Buffer | TextList {
  if (body === undefined) return ''
  if (Buffer.isBuffer(body) || (typeof body === 'string' && body.length <= longChars)) return body
  const list = typeof body === 'string' ? { before: body, elements: [], after: '' } : body
  const chars = charsOf(list)
  if (chars >= heavyAnswerBytesMin) return list
  return chars > longChars ? withoutTurns(bytesInSteps(list)) : joined(list)
}

/** Takes memory for a body. Throws if there is none. */
type HoldAnswer = (bytes: number) => MemoryLease

export function send(
  reply: Reply,
  activityId: string,
  { status, chargeRu, headers = '', isBinary = false }: Omit<NosqlResponse, 'body'>,
  body: string | Buffer,
  hold?: HoldAnswer,
): void {
  const bodyBytes = Buffer.byteLength(body)
  const ofBody = hasNoBody(status) ? '' : (isBinary ? binaryType : jsonType) + header('content-length', bodyBytes)
  const lease = bodyBytes < largeAnswerBytes ? undefined : hold?.(bodyBytes)
  const ofRequest = header('x-ms-request-charge', chargeRu) + header('x-ms-activity-id', activityId)
  reply({ status, headers: ofBody + ofRequest + constantHeaders + headers, body, bodyBytes, lease })
}

/** These statuses must not have a body. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304
}

/** The header with a script's log. */
export function logHeader(log: string): string {
  return header('x-ms-documentdb-script-log-results', encodeURIComponent(log.toWellFormed()))
}

export function sendError(reply: Reply, activityId: string, uri: string, error: PublicError): void {
  let headers = ''
  if (error.substatus !== undefined) headers += header('x-ms-substatus', error.substatus)
  if (error.log) headers += logHeader(error.log)
  if (error.retryAfterMs !== undefined) headers += header('x-ms-retry-after-ms', error.retryAfterMs)
  const { status, chargeRu } = error
  send(reply, activityId, { status, chargeRu, headers }, errorBody(error, activityId, uri))
}
