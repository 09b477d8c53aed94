/** Translates errors to the statuses and bodies of the explorer's API. */

import { CapacityError, MayflyError, RequestError } from '../../base/error.ts'
import { httpStatuses } from '../../base/http-status.ts'
import { QueryCanceled } from '../service/running-queries.ts'

/** Instead of 408: browsers repeat a request after a 408, also one that writes. */
const statuses = { ...httpStatuses, timed_out: 504 }

/** As in the logs of web servers: the client has ended the request. */
const canceledStatus = 499

/** A request that is not possible in the present state: 409. */
export class ConflictError extends RequestError {
  readonly details: Readonly<Record<string, unknown>>

  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super('precondition_failed', message)
    this.details = details
  }
}

/** An error about a field of a form. */
export class FieldError extends RequestError {
  readonly field: string
  readonly place: { readonly line: number; readonly column: number } | undefined

  constructor(field: string, message: string, place?: { readonly line: number; readonly column: number }) {
    super('malformed', message)
    this.field = field
    this.place = place
  }
}

/** The item was written since the page read it. `item` is its present state. */
export class ChangedMeanwhile extends RequestError {
  readonly item: unknown

  constructor(item: unknown) {
    super('precondition_failed', 'Someone else saved this item after you opened it. Nothing of yours was written.')
    this.item = item
  }
}

export interface ShownError {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** Whether it is a bug, which belongs into the log. */
  readonly isOurs: boolean
}

export function showError(error: unknown, activityId: string): ShownError {
  if (error instanceof QueryCanceled) {
    return {
      status: canceledStatus,
      body: { code: 'canceled', message: 'The query was canceled.', activityId },
      isOurs: false,
    }
  }
  if (!(error instanceof MayflyError) || error.kind === 'internal') {
    const message = 'The server failed. Its log says why, under the activity id.'
    return { status: 500, body: { code: 'internal', message, activityId }, isOurs: true }
  }
  const { kind } = error
  const code = kind === 'partition_key_mismatch' ? 'malformed' : kind
  const message = plainMessage(error.message)
  if (error instanceof ConflictError) {
    return { status: 409, body: { code: 'conflict', message, activityId, ...error.details }, isOurs: false }
  }
  const more = {
    ...placeOf(error),
    ...(error instanceof ChangedMeanwhile && { item: error.item }),
    ...(error instanceof CapacityError && kind === 'throttled' && { retryAfterMs: Math.ceil(error.retryAfterMs) }),
  }
  return { status: statuses[kind], body: { code, message, activityId, ...more }, isOurs: false }
}

function placeOf(error: MayflyError): object {
  if (error instanceof FieldError) return { field: error.field, ...error.place }
  const { line, column } = error as Partial<Record<'line' | 'column', unknown>>
  return typeof line === 'number' && line > 0 ? { line, column } : {}
}

/** Errors of the query language are JSON with a list. The page shows only their sentences. */
function plainMessage(message: string): string {
  if (!message.startsWith('{"errors":')) return message
  try {
    const { errors } = JSON.parse(message) as { errors: { message: string }[] }
    return errors.map(each => each.message).join(' ')
  } catch {
    return message
  }
}
