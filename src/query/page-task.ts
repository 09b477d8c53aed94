/**
 * One page of a query as plain data, and the function that makes the page from any reader of the container.
 *
 * The main thread plans the page. It makes the page itself, or a `PageRunner` makes it in a separate thread.
 * Both run the code in this file.
 */

import type { IndexRecord } from '../store/catalog.ts'
import type { Viewpoint } from '../store/policy.ts'
import type { ContainerReader, IndexRange, ScanRange } from '../store/reading.ts'
import { hasDead } from '../ttl/any-dead.ts'
import { livingAt } from '../ttl/living.ts'
import { describeIndex } from './choose-index.ts'
import { executePage, type Page, type PagePosition, type PageRequest } from './execute.ts'
import type { HostedTask, StreamHost } from './hosted-stream.ts'
import type { CollectedRows } from './packed-rows.ts'
import type { Program } from './program.ts'
import { batchSource, type ItemSource, type SourcePlan, sourceOf } from './source.ts'
import type { QueryStatement } from './statement.ts'

export interface PagePlan {
  readonly source: SourcePlan
  /** The part of an index whose entries can be counted instead, if no dead item is still present. */
  readonly count: Pick<IndexRange, 'index' | 'keys'> | undefined
}

export interface PageTask {
  readonly plan: PagePlan
  readonly range: ScanRange
  readonly at: Viewpoint
  readonly position: PagePosition | undefined
  /** Rows before this one are skipped, even if the program itself skips fewer. */
  readonly first?: number | undefined
  readonly rowsMax: number
  readonly bytesMax: number
  readonly keepsOrigins?: boolean | undefined
}

export interface MadePage extends Page {
  /** Index entries were counted; no item was read. */
  readonly isCounted: boolean
}

/** A task for another thread: the container, the statement, and the indexes that the plan relies on. */
export interface RemotePageTask extends PageTask {
  /** The container's number. */
  readonly container: number
  /** `describeIndexes` of the container when the page was planned. */
  readonly indexes: string
  readonly statement: QueryStatement
}

export interface RemoteWork {
  /** Ends the work, with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Reads the container for a thread that cannot. If it fails, the work fails with the same error. */
  readonly reader?: ContainerReader | undefined
  /** The reader shows items that the store does not have, so every thread must read through it. */
  readonly mustRead?: boolean
}

export interface PageRunner {
  /** `stale`: the container's indexes have changed since the plan was made. */
  run(task: RemotePageTask, work?: RemoteWork): Promise<MadePage | 'stale'>
  /** The same for rows that exist only after the last item was read (`collect-rows.ts`). */
  collect?(task: RemotePageTask, work?: RemoteWork): Promise<CollectedRows | 'stale'>
  /** Holds a pipeline for a cursor. Resolves when its last result was taken. */
  hold?(task: HostedTask, host: StreamHost, signal: AbortSignal): Promise<void>
}

/** Everything about indexes that a plan depends on. */
export function describeIndexes(indexes: readonly IndexRecord[]): string {
  return JSON.stringify(
    indexes.map(({ definition: { components, ...definition }, ...record }) => [
      describeIndex(components),
      Object.entries(definition).sort(),
      Object.entries(record).sort(),
    ]),
  )
}

export async function makePage(
  reader: ContainerReader,
  made: Program,
  task: PageTask,
  { source, ...limits }: { source?: ItemSource | undefined } & Pick<PageRequest, 'slicesMax' | 'signal'> = {},
): Promise<MadePage> {
  const { plan, range, first = 0 } = task
  const program = first > made.first ? { ...made, first } : made
  const counted = plan.count === undefined ? undefined : await countLiving(reader, task.at, plan.count)
  if (counted !== undefined) {
    program.countItems!(counted.count)
    const page = await executePage({ ...task, program, source: nothing })
    return { ...page, version: counted.version, isCounted: true }
  }
  const items = source ?? sourceOf(plan.source, reader, range, { isOrderFree: program.isOrderFree === true })
  return { ...(await executePage({ ...task, ...limits, program, source: items })), isCounted: false }
}

const nothing: ItemSource = batchSource({ version: 0, items: [], positionOf: () => [], next: undefined })

/** Counts index entries, if no item is dead: dead items keep their entries until they are removed. */
async function countLiving(
  reader: ContainerReader,
  { policy, moment }: Viewpoint,
  range: Pick<IndexRange, 'index' | 'keys'>,
): Promise<{ count: number; version: number } | undefined> {
  const census = await reader.census()
  if (hasDead(census, livingAt(policy, moment))) return undefined
  return { count: await reader.countEntries(range), version: census.version }
}
