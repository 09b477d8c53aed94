/**
 * The filter of a list that the server itself makes: of databases, collections, users, operations. What it
 * computes from one entry must be short, because it is not moved to another thread.
 */

import { ShortWork } from '../../base/short-work.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { compileFilter } from '../../mql/filter/match.ts'
import { PipelineSlice } from '../../mql/stages/stage.ts'
import type { CommandCall } from '../service/command.ts'

/** The entries that a filter lets through. When a slice is over, other requests get a turn. */
export async function filterList<Entry extends Uint8Array | { readonly shown: Uint8Array }>(
  call: CommandCall,
  filter: BsonDocument | undefined,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  if (filter === undefined) return entries
  const work = new ShortWork()
  const matcher = work.do('The filter', () => compileFilter(filter))
  const slice = new PipelineSlice({ check: () => call.operation.check() })
  const matching: Entry[] = []
  for (const entry of entries) {
    if (work.do('The filter', () => matcher.matches(entry instanceof Uint8Array ? entry : entry.shown)))
      matching.push(entry)
    if (slice.isOver) await slice.turn()
  }
  return matching
}
