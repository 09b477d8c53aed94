/**
 * Collects rows that exist only after the last item was read, such as those of a $group or a $sort. The
 * language makes them from all items that its program finds, at one moment. They are packed in pieces, which
 * the caller unpacks one by one.
 */

import { MiB } from '../base/limits.ts'
import { leaseHere } from '../base/memory-account.ts'
import type { Body } from '../document/body.ts'
import { isExpiryOn } from '../store/policy.ts'
import type { ContainerReader } from '../store/reading.ts'
import type { PageStatistics } from './execute.ts'
import { type CollectedRows, type PackedRows, packRows } from './packed-rows.ts'
import { makePage, type PageTask } from './page-task.ts'
import type { Program } from './program.ts'
import { earlierOf, earliestIn, noLives, type RowOrigins } from './row-origins.ts'

/** Documents that were found, and the items that they come from. */
export interface FoundRows {
  readonly rows: readonly Uint8Array[]
  readonly origins: RowOrigins
}

/**
 * A row, and the items that it comes from, as numbers. There are no marks if none of the items can die while
 * the row is held.
 */
export interface CollectedRow {
  readonly row: Uint8Array
  readonly marks: readonly number[] | undefined
}

/** One run of a query that collects. */
export interface Collector {
  /** Finds the items; called once for each page of them. */
  program(): Program
  /** Makes rows from the items that were found. */
  run(found: AsyncIterable<FoundRows>, run: CollectorRun): AsyncIterable<readonly CollectedRow[]>
}

export interface CollectorRun {
  /** The number of the container, if the rows are to have marks. */
  readonly container: number | undefined
}

/** The size of a piece. Unpacking one must not hold the caller's thread for long. */
const pieceBytes = MiB
const pieceRowsMax = 1000

/**
 * Most bytes of rows that are held: half of a connection's share of the default memory budget. A stage holds
 * at most 100 MiB of documents, but some stages make more of them: windows may show each document many
 * times.
 */
const collectedBytesMax = 64 * MiB

export async function collectRows(
  reader: ContainerReader,
  collector: Collector,
  { container, ...task }: PageTask & { readonly container: number },
): Promise<CollectedRows> {
  const isTraced = isExpiryOn(task.at.policy)
  let earliest = noLives
  const statistics = { itemsRead: 0, bytesRead: 0, rowsOut: 0, bytesOut: 0, elapsedMs: 0 }
  let hasLostOrder = false
  async function* found(): AsyncGenerator<FoundRows> {
    let { position } = task
    do {
      const wanted = { ...task, position, keepsOrigins: true }
      const page = await makePage(reader, collector.program(), wanted)
      const { rows, origins = [] } = page
      if (!isTraced) earliest = earlierOf(earliest, earliestIn(origins))
      for (const [name, value] of Object.entries(page.statistics)) statistics[name as keyof PageStatistics] += value
      hasLostOrder = page.hasLostOrder === true
      if (rows.length > 0 && !hasLostOrder) {
        // Counts these rows until the collector has used them.
        using lease = leaseHere('work')
        lease?.add(page.statistics.bytesOut)
        yield { rows: rows as readonly Uint8Array[], origins }
      }
      position = page.next
    } while (position !== undefined && !hasLostOrder)
  }
  using held = leaseHere('work')
  const pieces: PackedRows[] = []
  let rows: Body[] = []
  let marks: number[] = []
  let bytes = 0
  const finishPiece = () => {
    if (rows.length > 0) pieces.push(packRows(rows, isTraced ? marks : undefined)!)
    rows = []
    marks = []
    bytes = 0
  }
  let bytesInAll = 0
  for await (const batch of collector.run(found(), { container: isTraced ? container : undefined })) {
    const bytesBefore = bytesInAll
    for (const { row, marks: some = [] } of batch) bytesInAll += row.length + 8 * some.length
    held?.add(bytesInAll - bytesBefore)
    if (bytesInAll > collectedBytesMax) {
      return { pieces: [], statistics, hasLostOrder, untraced: noLives, isTooLarge: true }
    }
    for (const { row, marks: some = [] } of batch) {
      rows.push(row)
      if (isTraced) marks.push(some.length)
      for (const mark of some) marks.push(mark)
      bytes += row.length + 8 * some.length
      if (bytes >= pieceBytes || rows.length >= pieceRowsMax) finishPiece()
    }
  }
  finishPiece()
  return { pieces, statistics, hasLostOrder, untraced: isTraced ? undefined : earliest }
}
