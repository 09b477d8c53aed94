/**
 * Where a page is made: on the thread that answers everybody, or in one that makes pages and nothing else.
 *
 * Having it made there costs 0.03 to 0.07 ms and makes no page faster; making it here lets everybody else
 * wait. So what is surely short stays and what is surely long goes. What nobody can know beforehand (how much
 * of an index range passes the filter, how large a partition is) begins here, and goes when its first slices
 * were not enough; those are lost then.
 */

import { sliceRowsMax } from '../base/limits.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Demands } from '../query/demands.ts'
import type { PagePlan } from '../query/page-task.ts'
import type { Program } from '../query/program.ts'

/** Rows of a container up to which a scan stays on the thread that answers everybody: about a millisecond. */
export const inlineRowsMax = 500

export interface Work {
  readonly plan: PagePlan
  readonly program: Program
  readonly demands: Demands
  /** Rows of the container. */
  readonly rows: () => MaybePromise<number>
  /** The page is about one partition key, and whether that is known to be a large one. */
  readonly partition: 'large' | 'unknown' | undefined
}

export async function isSurelyLong({ plan, program, demands, rows, partition }: Work): Promise<boolean> {
  // Entries are counted a slice at a time, far faster than items are read.
  if (plan.count !== undefined) return (await rows()) > sliceRowsMax
  if (plan.source.kind !== 'scan' || program.isDone?.() === true) return false
  // Without a filter every item is a row, and a page of them is full soon.
  const isUnfiltered = demands.isWholeFilter && demands.demands.length === 0
  if (isUnfiltered && program.order === 'source') return false
  return partition === undefined ? (await rows()) > inlineRowsMax : partition === 'large'
}
