/** What run.ts needs to know about a workload. */

import type { Load } from './processes.ts'
import type { Report } from './report.ts'

export interface Context {
  readonly load: Load
  /** Shortens everything: shows that the benchmark works, not how fast anything is. */
  readonly quick: boolean
  /** Why there is no peer to compare with; undefined if there is one. */
  readonly peerMissing: string | undefined
}

export interface Workload {
  readonly name: string
  run(context: Context): Promise<Report>
}
