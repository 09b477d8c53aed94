/** The parts of the store that its operations share, and transactions that change the catalog. */

import type { DatabaseSync } from 'node:sqlite'
import type { Clock, EpochSeconds } from '../../base/clock.ts'
import type { OpenViews } from '../open-views.ts'
import type { SqliteCatalog } from './catalog.ts'
import type { DiskHealth } from './file/disk-health.ts'
import type { SqliteChangeLog } from './log.ts'
import type { Turns } from './turns.ts'

export interface StoreParts {
  readonly db: DatabaseSync
  readonly clock: Clock
  readonly catalog: SqliteCatalog
  readonly turns: Turns
  readonly views: OpenViews
  readonly log: SqliteChangeLog
  /** undefined: in memory. */
  readonly disk: DiskHealth | undefined
}

/** Changes databases, containers or indexes, in a transaction of the writer. */
export function changeCatalog<T>({ turns, catalog, log }: StoreParts, work: (moment: EpochSeconds) => T): Promise<T> {
  return turns.write(moment => {
    turns.join(catalog)
    // The change may leave a note.
    turns.join(log)
    return work(moment)
  })
}
