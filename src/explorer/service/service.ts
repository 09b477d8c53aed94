/** The parts of the server that all calls of the explorer share. */

import type { AccountKeys } from '../../base/account-keys.ts'
import type { Clock } from '../../base/clock.ts'
import type { HostNames } from '../../base/host-names.ts'
import type { Logger } from '../../base/log.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { PageSource } from '../files/page-source.ts'
import type { Backlogs } from './backlogs.ts'
import type { CountCache } from './count-cache.ts'
import type { ImportDoors } from './import-doors.ts'
import type { Jobs } from './jobs.ts'
import type { RunningQueries } from './running-queries.ts'
import type { MongoSide, MongoSwitches, NosqlSide, RowsQuery } from './sides.ts'

export interface ExplorerOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly keys: AccountKeys
  readonly hostNames: HostNames
  readonly memory: MemoryAccount
  readonly log: Logger
  readonly version: string
  readonly storeName: string
  /** Whether the data outlives the process. */
  readonly keepsData: boolean
  readonly strict: boolean
  readonly startedMs: number
  readonly nosql: NosqlSide
  /** Loaded when it is needed. */
  readonly mongo: () => Promise<MongoSide>
  readonly mongoSwitches: MongoSwitches
  /** The port of the Mongo protocol; undefined: not served. */
  readonly mongoPort: () => number | undefined
  readonly imports: ImportDoors
  /** All rows of a query as JSON texts, page by page: SQL, or a filter or pipeline of a collection. */
  readonly queryRows: (
    container: ContainerRecord,
    query: RowsQuery,
    signal: AbortSignal,
  ) => AsyncIterableIterator<readonly string[]>
  readonly page: PageSource
}

export interface ExplorerService extends ExplorerOptions {
  readonly counts: CountCache
  readonly backlogs: Backlogs
  readonly jobs: Jobs
  readonly queries: RunningQueries
  /** Signs positions that the page gets and sends back. */
  readonly secret: Buffer
}
