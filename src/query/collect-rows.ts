/**
 * Rows that cannot come before the last item was read: a language makes them of everything that its program
 * finds, at one moment. They are kept in pieces, and whoever asked takes them at leisure.
 */

import { MiB } from '../base/limits.ts'
import type { Body } from '../document/body.ts'
import type { ContainerReader } from '../store/reading.ts'
import type { PageStatistics } from './execute.ts'
import { type CollectedRows, type PackedRows, packRows } from './packed-rows.ts'
import { makePage, type PageTask } from './page-task.ts'
import type { Program } from './program.ts'

type RowBatches = AsyncIterable<readonly Uint8Array[]>

/** One run of a query that collects. */
export interface Collector {
  /** Finds the items; called once for each page of them. */
  program(): Program
  /** Makes the rows of what was found. */
  run(found: RowBatches, signal: AbortSignal): RowBatches
}

/** So that the thread that takes them out is never busy for long. */
const pieceBytes = MiB
const pieceRowsMax = 1000

export async function collectRows(
  reader: ContainerReader,
  collector: Collector,
  task: PageTask,
  signal: AbortSignal,
): Promise<CollectedRows> {
  const statistics = { itemsRead: 0, bytesRead: 0, rowsOut: 0, bytesOut: 0, elapsedMs: 0 }
  let hasLostOrder = false
  async function* found(): AsyncGenerator<readonly Uint8Array[]> {
    let { position } = task
    do {
      const page = await makePage(reader, collector.program(), { ...task, position }, { signal: () => signal })
      for (const [name, value] of Object.entries(page.statistics)) statistics[name as keyof PageStatistics] += value
      hasLostOrder = page.hasLostOrder === true
      signal.throwIfAborted()
      if (page.rows.length > 0 && !hasLostOrder) yield page.rows as readonly Uint8Array[]
      position = page.next
    } while (position !== undefined && !hasLostOrder)
  }
  const pieces: PackedRows[] = []
  let rows: Body[] = []
  let bytes = 0
  const finishPiece = () => {
    if (rows.length > 0) pieces.push(packRows(rows)!)
    rows = []
    bytes = 0
  }
  for await (const batch of collector.run(found(), signal)) {
    for (const row of batch) {
      rows.push(row)
      bytes += row.length
      if (bytes >= pieceBytes || rows.length >= pieceRowsMax) finishPiece()
    }
  }
  finishPiece()
  return { pieces, statistics, hasLostOrder }
}
