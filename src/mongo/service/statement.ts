/** The transaction that a command belongs to: it begins one, continues one, or stands alone. */

import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'
import { isPlanned } from '../collections/planned-collection.ts'
import type { Arguments } from '../requests/arguments.ts'
import { apiParameters, requireSameApi } from '../requests/stable-api.ts'
import type { TransactionOverlay } from '../session/overlay.ts'
import type { ClientSession } from '../session/sessions.ts'
import { Transaction } from '../session/transaction.ts'
import type { Command, CommandCall } from './command.ts'

/**
 * The overlay of a collection in the call's transaction. It is created when the transaction first uses the
 * collection.
 */
export async function requireOverlay(call: CommandCall, collection: Collection): Promise<TransactionOverlay> {
  const transaction = call.session?.transaction
  // A cursor may ask when its transaction has ended.
  if (transaction === undefined || transaction.number !== call.txnNumber || !transaction.isActive) {
    throw noSuchTransaction(call.txnNumber ?? -1n)
  }
  await transaction.snapshot.ready
  const found = transaction.overlay(collection)
  if (found !== undefined) return found
  const version = isPlanned(collection) ? 0 : await call.service.engine.reports.newestVersion(collection.container)
  return transaction.overlay(collection) ?? transaction.begin(collection, version)
}

export interface TransactionState {
  readonly txnNumber: bigint | undefined
  readonly isInTransaction: boolean
}

const plain: TransactionState = { txnNumber: undefined, isInTransaction: false }

/** Reads a command's transaction fields. */
export function readTransactionFields(
  command: Command,
  args: Arguments,
  session: ClientSession | undefined,
): TransactionState {
  const txnNumber = args.int64('txnNumber')
  const autocommit = args.boolean('autocommit')
  const isStart = args.boolean('startTransaction')
  if (txnNumber === undefined) {
    if (autocommit !== undefined || isStart !== undefined) {
      throw new CommandError('InvalidOptions', "'autocommit' field requires a transaction number to also be specified")
    }
    return plain
  }
  if (session === undefined) {
    throw new CommandError('InvalidOptions', 'Transaction number requires a session ID to also be specified')
  }
  if (txnNumber < 0n) throw new CommandError('InvalidOptions', 'Transaction number cannot be negative')
  if (autocommit === undefined) {
    if (isStart !== undefined) {
      throw new CommandError(
        'InvalidOptions',
        "'startTransaction' field requires 'autocommit' field to also be specified",
      )
    }
    if (command.isRetryable !== true) {
      throw new CommandError(
        50768,
        'txnNumber may only be provided for multi-document transactions and retryable write commands.',
      )
    }
    return { txnNumber, isInTransaction: false }
  }
  if (autocommit) throw new CommandError('InvalidOptions', 'autocommit must be false')
  if (isStart === false) throw new CommandError('InvalidOptions', 'startTransaction must be true')
  if (command.isTransactional !== true) {
    const advice =
      command.name === 'count'
        ? ' Please see http://dochub.mongodb.org/core/transaction-count for a recommended alternative.'
        : ''
    throw notInTransaction(`Cannot run '${args.name}' in a multi-document transaction.${advice}`)
  }
  return { txnNumber, isInTransaction: true }
}

export function endsTransaction({ command }: Pick<CommandCall, 'command'>): boolean {
  return command.name === 'commitTransaction' || command.name === 'abortTransaction'
}

/** Begins a transaction, or finds the one that the command continues. */
export function enterTransaction(call: CommandCall): void {
  const { command, args, session, txnNumber, client, database } = call
  if (!endsTransaction({ command })) checkStatement({ command, args, database })
  if (args.boolean('startTransaction') === true) {
    startTransaction(call, session!, txnNumber!)
    session!.transaction!.api = apiParameters(args)
    client.transaction = session!.transaction
    return
  }
  if (!endsTransaction({ command })) goOn(session!, txnNumber!)
  const { transaction } = session!
  client.transaction = transaction
  if (transaction?.number === txnNumber) requireSameApi(args, transaction!.api, "transaction's first command")
}

const otherDatabases: ReadonlySet<string> = new Set(['admin', 'local'])

function checkStatement({ command, args, database }: Pick<CommandCall, 'command' | 'args' | 'database'>): void {
  if (database === 'config') throw notInTransaction('Cannot run command against the config database in a transaction.')
  if (otherDatabases.has(database)) {
    throw notInTransaction(`Cannot run command against the '${database}' database in a transaction.`)
  }
  const isFirst = args.boolean('startTransaction') === true
  if (isFirst && command.name === 'killCursors') {
    throw notInTransaction('Cannot run killCursors as the first operation in a multi-document transaction.')
  }
  if (!isFirst && args.has('readConcern')) {
    throw new CommandError('InvalidOptions', 'Only the first command in a transaction may specify a readConcern')
  }
}

export function notInTransaction(message: string): CommandError {
  return new CommandError('OperationNotSupportedInTransaction', message)
}

function startTransaction({ service, client }: CommandCall, session: ClientSession, txnNumber: bigint): void {
  if (txnNumber < session.txnNumber) {
    throw new CommandError(
      'TransactionTooOld',
      `Cannot start transaction ${txnNumber} on session because a newer transaction ${session.txnNumber} has ` +
        'already started.',
    )
  }
  if (txnNumber === session.txnNumber) {
    throw new CommandError('ConflictingOperationInProgress', `Given transaction number ${txnNumber} was already used`)
  }
  session.transaction?.abort()
  session.txnNumber = txnNumber
  session.transaction = new Transaction(txnNumber, { ...service, lease: client.share.hold('transactions') })
}

function goOn(session: ClientSession, txnNumber: bigint): void {
  const { transaction } = session
  if (transaction?.number === txnNumber && transaction.isActive) return
  if (transaction?.number === txnNumber && transaction.isCommitted) {
    throw new CommandError('TransactionCommitted', `Transaction with { txnNumber: ${txnNumber} } has been committed.`)
  }
  if (transaction?.number === txnNumber) {
    throw new CommandError('NoSuchTransaction', `Transaction with { txnNumber: ${txnNumber} } has been aborted.`)
  }
  throw noSuchTransaction(txnNumber)
}

export function noSuchTransaction(txnNumber: bigint): CommandError {
  return new CommandError(
    'NoSuchTransaction',
    `Given transaction number ${txnNumber} does not match any in-progress transactions.`,
  )
}
