/** One command: how it is called, what it may do, and its entry in the table of commands. */

import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Access } from '../access/authorize.ts'
import type { Fields } from '../answers/fields.ts'
import type { Arguments } from '../requests/arguments.ts'
import type { Client } from '../session/client.ts'
import type { ClientSession } from '../session/sessions.ts'
import type { DocumentSequence } from '../wire/op-msg.ts'
import type { Operation } from './operations.ts'
import type { MongoService } from './service.ts'
import type { TimedSnapshot } from './snapshot-reads.ts'

export interface CommandCall {
  readonly service: MongoService
  readonly client: Client
  readonly command: Command
  readonly args: Arguments
  readonly sequences: readonly DocumentSequence[]
  readonly database: string
  readonly operation: Operation
  readonly session: ClientSession | undefined
  /** Undefined: the account runs the command, or a client without a login. */
  readonly access: Access | undefined
  /** The session's number for this retryable write or transaction. */
  readonly txnNumber: bigint | undefined
  readonly isInTransaction: boolean
  /** What a command outside of transactions reads, if it has asked for a snapshot. */
  readonly snapshot: TimedSnapshot | undefined
  /** Part of the answer of a write that cannot be as durable as it should be. The write is done. */
  readonly writeConcernError?: Fields | undefined
  /** What the command has cost so far. */
  chargeRu: number
  documentsRead: number
}

export type CommandHandler = (call: CommandCall) => MaybePromise<Fields>

export interface Command {
  readonly name: string
  /** Allowed before login. */
  readonly isPublic?: boolean
  /** The command is always refused, so it needs no privilege. */
  readonly isRefused?: boolean
  /** Only allowed on the database `admin`. */
  readonly isForAdmin?: boolean
  /** Its fields beside the generic ones. Without a list any field is accepted. */
  readonly fields?: readonly string[]
  /** May be part of a transaction. */
  readonly isTransactional?: boolean
  /** May have a transaction number outside of a transaction, so that a driver can retry it. */
  readonly isRetryable?: boolean
  readonly run: CommandHandler
}

/** Fields that any command may have. */
export const genericFields: ReadonlySet<string> = new Set([
  '$db',
  '$clusterTime',
  '$readPreference',
  '$audit',
  '$client',
  '$configServerState',
  '$configTime',
  '$topologyTime',
  '$oplogQueryData',
  '$queryOptions',
  '$replData',
  '$tenant',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
  'autocommit',
  'comment',
  'coordinator',
  'databaseVersion',
  'help',
  'lsid',
  'maxTimeMS',
  'maxTimeMSOpOnly',
  'mayBypassWriteBlocking',
  'readConcern',
  'shardVersion',
  'startTransaction',
  'stmtId',
  'stmtIds',
  'tracking_info',
  'traceCtx',
  'txnNumber',
  'writeConcern',
])
