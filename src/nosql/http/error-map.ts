/** Maps error kinds to the service's status, sub-status and code. */

import { CapacityError, type ErrorKind, MayflyError, RequestError, type RequestErrorKind } from '../../base/error.ts'
import { ScriptError } from '../../scripts/script-error.ts'

interface Mapped {
  readonly status: number
  readonly code: string
  readonly substatus?: number
}

export const errorMap = {
  malformed: { status: 400, code: 'BadRequest' },
  syntax: { status: 400, code: 'BadRequest' },
  unsupported: { status: 400, code: 'BadRequest' },
  partition_key_mismatch: { status: 400, code: 'BadRequest', substatus: 1001 },
  unauthenticated: { status: 401, code: 'Unauthorized' },
  forbidden: { status: 403, code: 'Forbidden' },
  not_found: { status: 404, code: 'NotFound', substatus: 0 },
  namespace_not_found: { status: 404, code: 'NotFound', substatus: 1003 },
  method_not_allowed: { status: 405, code: 'MethodNotAllowed' },
  timed_out: { status: 408, code: 'RequestTimeout' },
  already_exists: { status: 409, code: 'Conflict' },
  position_gone: { status: 410, code: 'Gone', substatus: 1002 },
  precondition_failed: { status: 412, code: 'PreconditionFailed' },
  too_large: { status: 413, code: 'RequestEntityTooLarge' },
  over_memory: { status: 413, code: 'RequestEntityTooLarge' },
  throttled: { status: 429, code: 'TooManyRequests', substatus: 3200 },
  internal: { status: 500, code: 'InternalServerError' },
  unavailable: { status: 503, code: 'ServiceUnavailable' },
} satisfies Record<ErrorKind, Mapped>

/** A refusal by whose sub-status clients decide what to do next. */
export class SubstatusError extends RequestError {
  readonly substatus: number

  constructor(substatus: number, message: string, kind: RequestErrorKind = 'malformed') {
    super(kind, message)
    this.substatus = substatus
  }
}

/** The service's text (azure-cosmos-dotnet-v3#24). Clients without a pipeline for queries show it. */
const notServableText =
  'The provided cross partition query can not be directly served by the gateway. This is a first chance (internal) ' +
  'exception that all newer clients will know how to handle gracefully. This exception is traced, but unless you ' +
  'see it bubble up as an exception (which only happens on older SDK clients), then you can safely ignore this ' +
  'message.'

/** A query that one partition cannot answer: the client takes the plan and runs it over all partitions. */
export class CrossPartitionError extends SubstatusError {
  readonly queryPlan: string

  constructor(queryPlan: object) {
    super(1004, notServableText)
    this.queryPlan = JSON.stringify(queryPlan)
  }
}

/** The parts of an error that a client may see: never the cause, never the stack. */
export interface PublicError extends Mapped {
  readonly message: string
  readonly chargeRu: number
  readonly retryAfterMs?: number
  /** The plan of a query that the client must run on each partition. */
  readonly queryPlan?: string
  /** What a script had logged before it failed. */
  readonly log?: string
}

export function publicError(error: unknown): PublicError {
  if (!(error instanceof MayflyError) || error.kind === 'internal') {
    return { ...errorMap.internal, message: 'The server failed. Its log says why, under the activity id.', chargeRu: 0 }
  }
  const mapped: Mapped = errorMap[error.kind]
  const { message, chargeRu } = error
  if (error instanceof CrossPartitionError)
    return { ...mapped, substatus: error.substatus, message, chargeRu, queryPlan: error.queryPlan }
  if (error instanceof SubstatusError) return { ...mapped, substatus: error.substatus, message, chargeRu }
  if (error instanceof ScriptError)
    return { ...mapped, substatus: error.number ?? 0, message, chargeRu, log: error.log }
  return error instanceof CapacityError
    ? { ...mapped, message, chargeRu, retryAfterMs: error.retryAfterMs }
    : { ...mapped, message, chargeRu }
}

/**
 * The body that SDKs expect: they parse it and read `message`. The service wraps texts of its back end in a
 * list of errors, followed by their origin.
 */
export function errorBody({ code, message, queryPlan }: PublicError, activityId: string, uri: string): string {
  // Errors of the query language are such a list already, with positions.
  const errors = message.startsWith('{"errors":') ? message : JSON.stringify({ Errors: [message] })
  return JSON.stringify({
    code,
    message: `Message: ${errors}\r\nActivityId: ${activityId}, Request URI: ${uri}, RequestStats: , SDK: Mayfly`,
    ...(queryPlan === undefined ? {} : { additionalErrorInfo: queryPlan }),
  })
}
