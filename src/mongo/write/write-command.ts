/**
 * What insert, update and delete have in common: statements one after the other, their errors, and being sent
 * again.
 *
 * A write command has many statements. In an ordered one the first that fails ends it; in an unordered one
 * the others go on. Statement errors are part of an answer that is `ok`.
 */

import { MayflyError } from '../../base/error.ts'
import { bsonType } from '../../document/bson/types.ts'
import { CommandError } from '../answers/command-error.ts'
import { asMongoError } from '../answers/error-map.ts'
import type { Fields, FieldValue } from '../answers/fields.ts'
import { sequenceDocuments } from '../requests/arguments.ts'
import type { CommandCall } from '../service/command.ts'
import { AlreadyDone, RetryRecord, readRecord } from '../session/retry-record.ts'

export const mongoWriteBatchMax = 100_000

/** How often a document is looked for that others keep changing before it can be written. */
export const mongoRacesMax = 20

export interface StatementError {
  readonly index: number
  readonly error: unknown
}

/** Whether it is an error of one statement, which the command can tell of, and not of the whole command. */
export function isStatementError(error: unknown): error is MayflyError {
  return error instanceof MayflyError && error.kind !== 'internal' && !(error instanceof AlreadyDone)
}

/** The documents of a statement list, which comes as a sequence or as an array in the body. */
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

/** The number of each statement, under which it is sent again. */
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

/**
 * The session's record of this number, when the command is a retryable write. Must be called within the
 * session's turn.
 */
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
      `Retryable write with txnNumber ${txnNumber} is prohibited on session because a newer retryable write with txnNumber ${session.txnNumber} has already started on this session.`,
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
 * Runs a write in its session's turn when it may be sent again, and as it is otherwise. Where another server
 * has done it meanwhile, it begins anew, and finds that.
 */
export function inTurn<T>(call: CommandCall, work: () => Promise<T>): Promise<T> {
  const { session, txnNumber } = call
  if (session === undefined || txnNumber === undefined) return work()
  return session.exclusively(async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        // What is stored of the session is no longer known.
        session.isLoaded = false
        if (!(error instanceof AlreadyDone) || attempt === mongoRacesMax) throw error
      }
    }
  })
}

/** `writeErrors`, or nothing. In a transaction an error ends the command, and the transaction with it. */
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
  // What is not ours to know of is a failure of the whole command.
  if (!isStatementError(error)) throw error
  const shown = asMongoError(error)
  return {
    index,
    code: shown.code,
    errmsg: shown.message,
    ...(shown instanceof CommandError ? shown.fields : {}),
  }
}
