/** The results of the operations of a batch, and their JSON form. */

import { CapacityError, MayflyError } from '../../base/error.ts'
import { errorMap, publicError } from '../http/error-map.ts'
import type { TextList } from '../http/list-body.ts'

export interface BatchResult {
  readonly status: number
  readonly chargeRu: number
  readonly etag?: string
  /** JSON text. */
  readonly body?: string | undefined
  readonly substatus?: number
  readonly message?: string
  readonly retryAfterMs?: number
}

/** Status of an operation that was not done because another one failed. */
export const failedDependency = 424

export function failureResult(error: unknown, chargeRu: number): BatchResult {
  const { status, substatus = 0, message } = publicError(error)
  return {
    status,
    chargeRu,
    message,
    ...(substatus === 0 ? {} : { substatus }),
    ...(error instanceof CapacityError ? { retryAfterMs: error.retryAfterMs } : {}),
  }
}

/** Whether the error fails only one operation. An internal error fails the whole request. */
export function isOperationError(error: unknown): error is MayflyError {
  return error instanceof MayflyError && error.kind !== 'internal' && errorMap[error.kind].status !== 503
}

/** Names and order are the service's (xo/dbimp, cosmos-196). `message` is for the JavaScript SDK. */
export function printResults(results: readonly BatchResult[]): TextList {
  return { before: '[', elements: results.map(printResult), after: ']' }
}

function printResult({ status, chargeRu, etag, body, substatus, message, retryAfterMs }: BatchResult): string {
  let text = `{"statusCode":${status},"requestCharge":${chargeRu}`
  if (substatus !== undefined) text += `,"subStatusCode":${substatus}`
  if (retryAfterMs !== undefined) text += `,"retryAfterMilliseconds":${retryAfterMs}`
  if (etag !== undefined) text += `,"eTag":${JSON.stringify(etag)}`
  if (body !== undefined) text += `,"resourceBody":${body}`
  if (message !== undefined) text += `,"message":${JSON.stringify(message)}`
  return `${text}}`
}
