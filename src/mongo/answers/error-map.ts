/** Maps error kinds to MongoDB's codes, and an error to the fields of an answer. */

import { CapacityError, type ErrorKind, MayflyError } from '../../base/error.ts'
import { ParallelArrays } from '../../document/bson/key-tuples.ts'
import { MalformedBson } from '../../document/bson/validate.ts'
import { double } from '../../document/bson/value.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { CommandError, type ErrorLabel } from './command-error.ts'
import { type ErrorCodeName, errorCodeName, errorCodes } from './error-codes.ts'
import type { Fields } from './fields.ts'

export const errorMap = {
  malformed: 'BadValue',
  syntax: 'FailedToParse',
  unsupported: 'NotImplemented',
  too_large: 'BSONObjectTooLarge',
  over_memory: 'QueryExceededMemoryLimitNoDiskUseAllowed',
  not_found: 'NamespaceNotFound',
  namespace_not_found: 'NamespaceNotFound',
  already_exists: 'NamespaceExists',
  precondition_failed: 'WriteConflict',
  partition_key_mismatch: 'ShardKeyNotFound',
  method_not_allowed: 'IllegalOperation',
  unauthenticated: 'AuthenticationFailed',
  forbidden: 'Unauthorized',
  position_gone: 'CursorNotFound',
  throttled: 'TooManyRequests',
  timed_out: 'MaxTimeMSExpired',
  unavailable: 'ShutdownInProgress',
  internal: 'InternalError',
} satisfies Record<ErrorKind, ErrorCodeName>

/** Codes after which a driver may send the same write again (retryable writes specification). */
const retryableCodes: ReadonlySet<number> = new Set([
  6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
])

export function isRetryableCode(code: number): boolean {
  return retryableCodes.has(code)
}

/** Codes of errors that end a command wherever it is: killed, too late, or the server stops. */
const interruptions: ReadonlySet<number> = new Set([50, 237, 262, 279, 290, 11600, 11601, 11602])

export function isInterruption(code: number): boolean {
  return interruptions.has(code)
}

/** Codes after which a driver may retry the whole transaction. */
const transientCodes: ReadonlySet<number> = new Set([
  errorCodes.WriteConflict,
  errorCodes.LockTimeout,
  errorCodes.SnapshotTooOld,
  errorCodes.SnapshotUnavailable,
  250, // StaleChunkHistory
  267, // PreparedTransactionInProgress
  272, // MigrationConflict
  errorCodes.NoSuchTransaction,
  errorCodes.TooManyRequests,
])

/** Codes after which a driver may resume a change stream, besides those after which it may retry a write. */
const resumableCodes: ReadonlySet<number> = new Set([63, 133, 150, errorCodes.QueryPlanKilled, 234, 249, 13388])

/** Codes after which no change stream can be resumed where it was. */
const nonResumableCodes: ReadonlySet<number> = new Set([
  errorCodes.ChangeStreamFatalError,
  errorCodes.ChangeStreamHistoryLost,
])

/** What a client may know of an error: never the cause, never the stack. */
export function asMongoError(error: unknown): MongoError {
  if (error instanceof MongoError) return error
  if (error instanceof MalformedBson) return new CommandError('InvalidBSON', error.message)
  if (error instanceof ParallelArrays) return new CommandError('CannotIndexParallelArrays', error.message)
  if (!(error instanceof MayflyError) || error.kind === 'internal') {
    return new CommandError('InternalError', 'The server failed. Its log says why.')
  }
  const code = errorMap[error.kind]
  if (error instanceof CapacityError && error.kind === 'throttled') {
    // Old clients read the wait from the text. New drivers back off because of the labels.
    return new CommandError(code, `${error.message} RetryAfterMs=${Math.ceil(error.retryAfterMs)}`, {
      labels: ['SystemOverloadedError', 'RetryableError'],
    })
  }
  return new CommandError(code, error.message)
}

export interface ErrorContext {
  readonly isRetryableWrite: boolean
  readonly isInTransaction: boolean
  /** A commit or an abort. */
  readonly endsTransaction: boolean
  /** Whether the command opens a change stream or reads from one. */
  readonly isOnStream: boolean
}

export const plainErrorContext: ErrorContext = {
  isRetryableWrite: false,
  isInTransaction: false,
  endsTransaction: false,
  isOnStream: false,
}

export function errorAnswer(error: MongoError, circumstances: ErrorContext): Fields {
  const labels = labelsOf(error, circumstances)
  return {
    ok: double(0),
    errmsg: error.message,
    code: error.code,
    codeName: errorCodeName(error.code),
    errorLabels: labels.length > 0 ? labels : undefined,
    ...(error instanceof CommandError ? error.fields : {}),
  }
}

function labelsOf(error: MongoError, context: ErrorContext): ErrorLabel[] {
  const { isRetryableWrite, isInTransaction, endsTransaction, isOnStream } = context
  const labels = new Set<ErrorLabel>(error instanceof CommandError ? error.labels : [])
  if (error instanceof CommandError && error.areLabelsFinal) return [...labels]
  const isRetryable = isRetryableCode(error.code)
  if (isRetryable && (isRetryableWrite || endsTransaction)) labels.add('RetryableWriteError')
  const isTransient = transientCodes.has(error.code) || (isRetryable && !endsTransaction)
  if (isInTransaction && isTransient) labels.add('TransientTransactionError')
  if (isOnStream && (isRetryable || resumableCodes.has(error.code))) labels.add('ResumableChangeStreamError')
  if (nonResumableCodes.has(error.code)) labels.add('NonResumableChangeStreamError')
  return [...labels]
}
