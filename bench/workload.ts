/** What run.ts needs to know about a workload. */

import type { Load } from './processes.ts'
import type { Report } from './report.ts'

/** Flags for single workloads. */
export interface Settings {
  /** Growth: where the data of each size is kept for later runs. */
  readonly folder?: string | undefined
  /** Growth: the numbers of items; and those of them that are measured, if not all. */
  readonly sizes?: readonly number[] | undefined
  readonly measure?: readonly number[] | undefined
  /** Peers: where their programs are. */
  readonly peers?: string | undefined
  /** Soak: how long. */
  readonly minutes?: number | undefined
}

export interface Context {
  readonly load: Load
  /** Shortens everything: shows that the benchmark works, not how fast anything is. */
  readonly quick: boolean
  /** Why there is no peer to compare with; undefined if there is one. */
  readonly peerMissing: string | undefined
  readonly settings: Settings
  /** What the saved result has as `data`. */
  readonly saved: unknown
}

export interface Workload {
  readonly name: string
  run(context: Context): Promise<Report>
}
