/** What all connections share: the engine, users, sessions, cursors and running commands. */

import type { AccountKeys } from '../../base/account-keys.ts'
import type { OnAnswer } from '../../base/answered.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Users } from '../access/users.ts'
import type { PastDocuments } from '../session/past-documents.ts'
import type { Logins } from '../session/scram.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Transaction } from '../session/transaction.ts'
import type { WriteIntents } from '../session/write-intents.ts'
import type { ChangeOrigins } from './change-origins.ts'
import type { ClusterTime } from './cluster-time.ts'
import type { CursorRegistry } from './cursors.ts'
import type { FailPoints } from './fail-points.ts'
import type { Operations } from './operations.ts'
import type { SnapshotReads } from './snapshot-reads.ts'
import type { Streams } from './streams.ts'

export interface MongoSettings {
  /** Whether `ttl` at the root of a document counts. In Cosmos this is a feature of the account. */
  isDocumentTtlOn: boolean
  /** Whether commands can be made to fail, for tests of drivers. */
  readonly areTestCommandsOn: boolean
  /** Whether change streams report deaths. In Cosmos they do not. */
  areExpiryEventsOn: boolean
}

export interface MongoService {
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Logger
  readonly memory: MemoryAccount
  readonly settings: MongoSettings
  readonly users: Users
  readonly keys: AccountKeys
  readonly logins: Logins
  readonly sessions: Sessions
  readonly cursors: CursorRegistry
  readonly operations: Operations
  readonly clusterTime: ClusterTime
  readonly streams: Streams
  readonly origins: ChangeOrigins
  readonly failPoints: FailPoints
  readonly past: PastDocuments
  readonly snapshots: SnapshotReads
  readonly intents: WriteIntents<Transaction>
  readonly version: string
  readonly uptimeMs: () => number
  readonly onAnswer: OnAnswer
  connectionCount(): number
}
