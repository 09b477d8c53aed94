/** Translates PostgreSQL's error codes to our error kinds. */

import { CapacityError, MayflyError, RequestError } from '../../../base/error.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import { postgresRetryMs } from './attempts.ts'

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const code = {
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  queryCanceled: '57014',
  lockNotAvailable: '55P03',
  tooManyConnections: '53300',
  diskFull: '53100',
  outOfMemory: '53200',
  undefinedTable: '42P01',
  undefinedFunction: '42883',
  uniqueViolation: '23505',
  characterNotInRepertoire: '22021',
  /** Here: an index row is too large. */
  programLimitExceeded: '54000',
  readOnly: '25006',
  internal: 'XX000',
} as const

const retryAfterMs = 1000

/** Messages of the driver when the socket closes during a query; these errors have no code. */
const lostWords = ['Connection terminated', 'Connection ended', 'Client has encountered a connection error', 'timeout']

/**
 * A worker of Citus that has no connection left. While the coordinator connects to a worker, it learns no
 * code but only this text, and reports a broken connection.
 */
const crowdedWords = /too many (connections|clients)|remaining connection slots are reserved/

/** How Citus names the worker that an error is about; it does not translate its messages. */
const workerWords =
  /connection (?:to the remote node|error:) (?:[^\s@]+@)?(\S+:\d+)|while executing command on (\S+:\d+)/

/** Messages of Citus, as internal errors, when a worker or the coordinator was killed during a statement. */
const brokenWords = ['could not commit transaction', 'postmaster was shut down']

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The transaction was rolled back in favour of another one and can be retried. */
export function isConflict(error: unknown): boolean {
  const found = codeOf(error)
  return found === code.serializationFailure || found === code.deadlockDetected
}

/** A lock was not free within the lock timeout. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === code.lockNotAvailable
}

/** PostgreSQL, or a worker of its cluster, has no connection left at the moment. */
export function isCrowded(error: unknown): boolean {
  return codeOf(error) === code.tooManyConnections || isWorkerCrowded(error)
}

export function isWorkerCrowded(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof MayflyError) return false
  if (codeOf(error) === code.tooManyConnections) return workerOf(error) !== undefined
  return crowdedWords.test(`${error.message} ${textOf(error, 'detail')}`)
}

/** Host and port of the worker of a cluster that an error is about. */
export function workerOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const [, unreached, busy] = workerWords.exec(`${error.message} ${textOf(error, 'where')}`) ?? []
  return unreached ?? busy
}

function textOf(error: Error, field: 'detail' | 'where'): string {
  const text = (error as { detail?: unknown; where?: unknown })[field]
  return typeof text === 'string' ? text : ''
}

/** Whether the connection broke. Then it is not known whether the statement took effect. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof MayflyError) return false
  const found = codeOf(error)
  // 08: connection exceptions. 57P0x: the server shuts down, crashed, or ended the session. 25P03: idle in a
  // transaction.
  if (found.startsWith('08') || found.startsWith('57P') || found === '25P03') return true
  if (found === code.internal) return brokenWords.some(words => error.message.includes(words))
  // The system's own codes begin with E, PostgreSQL's never do.
  if (found !== '') return found.startsWith('E')
  return lostWords.some(words => error.message.includes(words))
}

/** Whether the tables were dropped. Nothing here can bring them back. */
export function isFatal(error: unknown): boolean {
  const found = codeOf(error)
  return found === code.undefinedTable || found === code.undefinedFunction
}

export function gone({ id }: Pick<ContainerRecord, 'id'>): RequestError {
  return new RequestError('namespace_not_found', `The container ${id} does not exist any more.`)
}

export function uncertain(cause: unknown): CapacityError {
  const sentence = 'The connection to PostgreSQL was lost while writing. The write may or may not have happened.'
  return new CapacityError('unavailable', sentence, postgresRetryMs, { cause })
}

export function translate(error: unknown): Error {
  if (error instanceof MayflyError) return error
  const cause = { cause: error }
  // 28: this user may not log in. 3D: there is no such database.
  if (codeOf(error).startsWith('28') || codeOf(error).startsWith('3D')) {
    return new CapacityError('unavailable', 'PostgreSQL refuses the connection.', retryAfterMs, cause)
  }
  if (isWorkerCrowded(error)) {
    return new CapacityError('unavailable', 'A worker of the cluster has no connection left.', retryAfterMs, cause)
  }
  if (isLost(error)) {
    const other = workerOf(error) === undefined ? 'PostgreSQL' : 'a worker of the cluster'
    return new CapacityError('unavailable', `The connection to ${other} was lost.`, retryAfterMs, cause)
  }
  switch (codeOf(error)) {
    case code.queryCanceled:
    case code.lockNotAvailable:
      return new CapacityError('timed_out', 'PostgreSQL took too long.', retryAfterMs, cause)
    case code.serializationFailure:
    case code.deadlockDetected:
      return new CapacityError('unavailable', 'Others changed the same data again and again.', retryAfterMs, cause)
    case code.tooManyConnections:
      return new CapacityError('unavailable', 'PostgreSQL has no connection left.', retryAfterMs, cause)
    case code.diskFull:
    case code.outOfMemory:
      return new CapacityError('unavailable', 'PostgreSQL has no room left. Nothing was written.', retryAfterMs, cause)
    case code.readOnly:
      return new CapacityError('unavailable', 'PostgreSQL accepts no writes here.', retryAfterMs, cause)
    case code.uniqueViolation:
      return new CapacityError('unavailable', 'A random resource id was taken already. Try again.', 0, cause)
    case code.undefinedTable:
    case code.undefinedFunction:
      return new CapacityError('unavailable', 'The tables of Mayfly are gone from PostgreSQL.', retryAfterMs, cause)
    case code.characterNotInRepertoire:
      return new RequestError('malformed', 'PostgreSQL cannot store a NUL character there.', cause)
    case code.programLimitExceeded:
      return new RequestError('too_large', 'The partition key and the id are too long together.', cause)
    default:
      return error instanceof Error ? error : new Error(String(error))
  }
}

/**
 * The SQLSTATE that `mayfly.write` raises when it refuses a call; no code of PostgreSQL begins with MF. The
 * detail says why: `writing/write-answer.ts` parses it.
 */
export const refusedState = 'MF001'

/** The first row; without one the container is gone. */
export function required<Row>(rows: readonly Row[], container: ContainerRecord): Row {
  const [first] = rows
  if (first === undefined) throw gone(container)
  return first
}
