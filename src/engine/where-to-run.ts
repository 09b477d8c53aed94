/**
 * Decides where a page is made: in the main thread, or in the query thread, which does nothing else.
 *
 * The query thread costs 0.03 to 0.07 ms more and makes no page faster, but a long page in the main thread
 * delays all other requests. So a page that is surely short stays, and one that is surely long goes. If it
 * is not known (how much of an index range passes the filter, how large a partition is), the page starts in
 * the main thread. If its first slices were not enough, it moves, and the work of those slices is lost.
 */

import { sliceRowsMax } from '../base/limits.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Demands } from '../query/demands.ts'
import type { PagePlan } from '../query/page-task.ts'
import type { Program } from '../query/program.ts'

/** Most rows of a container for a scan in the main thread: about a millisecond. */
export const inlineRowsMax = 500

export interface Work {
  readonly plan: PagePlan
  readonly program: Program
  readonly demands: Demands
  /** Whether every item passes the filter, if the demands do not tell. */
  readonly isUnfiltered?: boolean | undefined
  /** Rows of the container. */
  readonly rows: () => MaybePromise<number>
  /** Set if the page reads one partition key: whether that is known to be large. */
  readonly partition: 'large' | 'unknown' | undefined
}

export async function isSurelyLong({ plan, program, demands, rows, partition, ...work }: Work): Promise<boolean> {
  // Entries are counted in slices, much faster than items are read.
  if (plan.count !== undefined) return (await rows()) > sliceRowsMax
  if (plan.source.kind !== 'scan' || program.isDone?.() === true) return false
  // Without a filter every item is a row, so a page is full soon.
  const isUnfiltered = work.isUnfiltered ?? (demands.isWholeFilter && demands.demands.length === 0)
  if (isUnfiltered && program.order === 'source') return false
  return partition === undefined ? (await rows()) > inlineRowsMax : partition === 'large'
}
