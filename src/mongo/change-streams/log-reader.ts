/** Reads the change logs of several collections as one, in the order of time. */

import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import type { Engine } from '../../engine/engine.ts'
import { type ChangePosition, type LogEntry, wholeRange } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'

/** Events read at a time from one log. */
const mongoEventsMax = 500

export interface FoundEntry {
  readonly collection: Collection
  readonly entry: LogEntry
}

export interface ReadLogs {
  readonly found: readonly FoundEntry[]
  /** The position in each log after all found entries. */
  readonly positions: ReadonlyMap<number, ChangePosition>
  readonly chargeRu: number
}

export async function readLogs(
  engine: Engine,
  collections: readonly Collection[],
  after: ReadonlyMap<number, ChangePosition>,
): Promise<ReadLogs> {
  const found: FoundEntry[] = []
  const positions = new Map(after)
  let horizon: FoundEntry | undefined
  let chargeRu = 0
  for (const collection of collections) {
    const { container } = collection
    const answer = await readOne(
      engine,
      collection,
      after.get(container.number) ?? collection.definition.logStart ?? '0',
    )
    if (answer === undefined) continue
    chargeRu += answer.chargeRu
    if (answer.isForgotten) {
      throw new CommandError(
        'ChangeStreamHistoryLost',
        'Resume of change stream was not possible, as the resume point may no longer be remembered.',
      )
    }
    for (const entry of answer.entries) found.push({ collection, entry })
    const last = answer.entries.at(-1)
    if (answer.isEnd) positions.set(container.number, answer.position)
    else if (last !== undefined && (horizon === undefined || compare({ collection, entry: last }, horizon) < 0)) {
      horizon = { collection, entry: last }
    }
  }
  found.sort(compare)
  if (horizon === undefined) return { found, positions, chargeRu }
  // If a log has more pages, its unread entries may be older than entries of other logs. Give only what is
  // surely in order.
  const sure = found.filter(each => compare(each, horizon) <= 0)
  const reached = new Map(after)
  for (const { collection, entry } of sure) reached.set(collection.container.number, entry.position)
  return { found: sure, positions: reached, chargeRu }
}

/** A collection that was dropped meanwhile has no entries. */
async function readOne(engine: Engine, { container }: Collection, after: ChangePosition) {
  try {
    return await engine.readLog(
      container,
      { within: wholeRange, after },
      { itemsMax: mongoEventsMax, bytesMax: pageBytesMax },
    )
  } catch (error) {
    if (error instanceof RequestError && error.kind === 'namespace_not_found') return undefined
    throw error
  }
}

/** Positions are comparable numbers if the store has one order. Otherwise compare by second. */
function compare(left: FoundEntry, right: FoundEntry): number {
  const [a, b] = [left.entry, right.entry]
  if (a.ts !== b.ts) return a.ts - b.ts
  const [one, other] = [Number(a.position), Number(b.position)]
  if (Number.isSafeInteger(one) && Number.isSafeInteger(other)) return one - other
  return 0
}
