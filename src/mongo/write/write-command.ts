/**
 * What insert, update and delete share: a list of statements, their errors, and retries.
 *
 * A write command has many statements. An ordered command stops at the first error. An unordered one goes
 * on. Statement errors are part of an answer with `ok: 1`.
 */

import { machine } from '../../base/clock.ts'
import { stepsInHeavyTurns } from '../../base/heavy-turns.ts'
import { querySliceMsMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import { bsonType } from '../../document/bson/types.ts'
import {
  bsonCommandDepthMax,
  bsonStepsBytesMin,
  validateDocument,
  validateInSteps,
} from '../../document/bson/validate.ts'
import { CommandError } from '../answers/command-error.ts'
import { DocumentList } from '../requests/document-list.ts'
import type { CommandCall } from '../service/command.ts'
import { AlreadyDone, RetryRecord, readRecord } from '../session/retry-record.ts'

export const mongoWriteBatchMax = 100_000

/** How often a write is retried when other clients keep changing the document. */
export const mongoRacesMax = 20

/** The statements of a command: a document sequence, or an array in the body. */
export function statementDocuments({ args, sequences, command }: CommandCall, name: string): DocumentList {
  const sequence = sequences.find(candidate => candidate.name === name)
  const refusal = () =>
    new CommandError('TypeMismatch', `BSON field '${command.name}.${name}' holds something that is no object`)
  const documents =
    sequence === undefined ? DocumentList.ofArray(args.requiredArray(name), refusal) : DocumentList.ofSequence(sequence)
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
  { client }: CommandCall,
  statements: DocumentList,
  check: (statement: Uint8Array) => void,
): Promise<void> {
  let sliceStartMs = machine.monotonicMs()
  for (const [index, statement] of statements.entries()) {
    const options = { end: statement.length, depthMax: bsonCommandDepthMax }
    if (statement.length < bsonStepsBytesMin) validateDocument(statement, options)
    else await stepsInHeavyTurns(validateInSteps(statement, options), client.share)
    check(statement)
    if (index % 100 !== 99 || machine.monotonicMs() - sliceStartMs <= querySliceMsMax) continue
    await nextSlice()
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
