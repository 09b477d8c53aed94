/**
 * What insert, update and delete share: a list of statements, their errors, and retries.
 *
 * A write command has many statements. An ordered command stops at the first error. An unordered one goes
 * on. Statement errors are part of an answer with `ok: 1`.
 */

import { machine } from '../../base/clock.ts'
import { MayflyError } from '../../base/error.ts'
import { querySliceMsMax } from '../../base/limits.ts'
import { bsonType } from '../../document/bson/types.ts'
import { bsonCommandDepthMax, validateDocument } from '../../document/bson/validate.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { CommandError } from '../answers/command-error.ts'
import { asMongoError, isInterruption } from '../answers/error-map.ts'
import type { Fields, FieldValue } from '../answers/fields.ts'
import { sequenceDocuments } from '../requests/arguments.ts'
import type { CommandCall } from '../service/command.ts'
import { TooLongHere } from '../service/elsewhere.ts'
import { AlreadyDone, RetryRecord, readRecord } from '../session/retry-record.ts'

export const mongoWriteBatchMax = 100_000

/** How often a write is retried when other clients keep changing the document. */
export const mongoRacesMax = 20

export interface StatementError {
  readonly index: number
  readonly error: unknown
}

/** Whether the error belongs to one statement and not to the whole command. */
export function isStatementError(error: unknown): error is MayflyError {
  if (error instanceof MongoError && isInterruption(error.code)) return false
  if (error instanceof AlreadyDone || error instanceof TooLongHere) return false
  return error instanceof MayflyError && error.kind !== 'internal'
}

/** The statements of a command: a document sequence, or an array in the body. */
export function statementDocuments({ args, sequences, command }: CommandCall, name: string): Uint8Array[] {
  const sequence = sequences.find(candidate => candidate.name === name)
  const documents =
    sequence === undefined
      ? args.requiredArray(name).elements.map(element => {
          if (element.type !== bsonType.document) {
            throw new CommandError(
              'TypeMismatch',
              `BSON field '${command.name}.${name}' holds something that is no object`,
            )
          }
          const { bytes, start, end } = element.raw!
          return bytes.subarray(start, end)
        })
      : sequenceDocuments(sequence)
  if (documents.length === 0 || documents.length > mongoWriteBatchMax) {
    throw new CommandError(
      'InvalidLength',
      `Write batch sizes must be between 1 and ${mongoWriteBatchMax}. Got ${documents.length} operations.`,
    )
  }
  return documents
}

/**
 * Checks the form of all statements before the first one runs: a malformed statement fails the whole command,
 * and nothing is written.
 */
export async function checkStatements(
  statements: readonly Uint8Array[],
  check: (statement: Uint8Array) => void,
): Promise<void> {
  let sliceStartMs = machine.monotonicMs()
  for (const [index, statement] of statements.entries()) {
    validateDocument(statement, { end: statement.length, depthMax: bsonCommandDepthMax })
    check(statement)
    if (index % 100 !== 99 || machine.monotonicMs() - sliceStartMs <= querySliceMsMax) continue
    await new Promise<void>(resolve => machine.setImmediate(resolve))
    sliceStartMs = machine.monotonicMs()
  }
}

/** The number of each statement. A retry uses the same numbers. */
export function statementNumbers({ args }: CommandCall, count: number): (index: number) => number {
  const given = args.array('stmtIds')?.elements
  if (given !== undefined && given.length !== count) {
    throw new CommandError('InvalidLength', 'stmtIds has another length than the statements')
  }
  const first = args.number('stmtId') ?? 0
  return index => {
    const number = given?.[index]
    return number?.type === bsonType.int32 ? number.value : first + index
  }
}

/** The session's record for a retryable write. Call it only inside the session's turn. */
export async function retryRecord(call: CommandCall): Promise<RetryRecord | undefined> {
  const { session, txnNumber, isInTransaction, service } = call
  if (session === undefined || txnNumber === undefined || isInTransaction) return undefined
  if (!session.isLoaded) {
    session.stored = await readRecord(service.engine, session.key)
    session.isLoaded = true
    if (session.stored !== undefined && session.stored.txnNumber >= session.txnNumber) {
      session.txnNumber = session.stored.txnNumber
      session.record = session.stored
    }
  }
  if (txnNumber < session.txnNumber) {
    throw new CommandError(
      'TransactionTooOld',
      `Retryable write with txnNumber ${txnNumber} is prohibited on session because a newer retryable write ` +
        `with txnNumber ${session.txnNumber} has already started on this session.`,
    )
  }
  if (txnNumber > session.txnNumber || session.record?.txnNumber !== txnNumber) {
    session.transaction?.abort()
    session.txnNumber = txnNumber
    session.record = new RetryRecord(txnNumber)
  }
  return session.record
}

/**
 * Runs a retryable write in its session's turn; runs any other write at once. If another server has done the
 * write meanwhile, it starts over and finds that result.
 */
export function inTurn<T>(call: CommandCall, work: () => Promise<T>): Promise<T> {
  const { session, txnNumber } = call
  if (session === undefined || txnNumber === undefined) return work()
  return session.exclusively(async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        // The stored record has changed; read it again.
        session.isLoaded = false
        if (!(error instanceof AlreadyDone) || attempt === mongoRacesMax) throw error
      }
    }
  })
}

/** `writeErrors`, or nothing. In a transaction an error ends the command and the transaction. */
export function writeErrors(call: CommandCall, errors: readonly StatementError[]): Fields {
  const [first] = errors
  if (first === undefined) return {}
  if (call.isInTransaction) {
    call.session?.transaction?.abort()
    throw first.error
  }
  return { writeErrors: errors.map(shownError) }
}

function shownError({ index, error }: StatementError): FieldValue {
  // An unexpected error fails the whole command.
  if (!isStatementError(error)) throw error
  const shown = asMongoError(error)
  return {
    index,
    code: shown.code,
    errmsg: shown.message,
    ...(shown instanceof CommandError ? shown.fields : {}),
  }
}
