/**
 * The items of one container in the order of their last change.
 *
 * Two streams are merged. Items that never changed since they were created come in row order, because their
 * row number is their version. The others come from an index of their versions.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { KiB } from '../../base/limits.ts'
import type { Body } from '../../document/body.ts'
import type { ScannedItem } from '../../store/item.ts'
import type { Living } from '../../store/policy.ts'
import type { ScanRange } from '../../store/reading.ts'
import { itemTable } from './file/schema.ts'
import { type ArrayStatement, prepareArrays } from './file/statements.ts'
import type { Room } from './row-batches.ts'

/** Bytes that end a slice: less than a millisecond, and at most one large item more. */
const sliceBytesMax = 512 * KiB

/** An item. Its body is null if it is dead or in another partition. */
type Row = Omit<ScannedItem, 'body'> & { readonly body: Body | null }

type Cells = [
  ...[epk: string, pk: string, id: string],
  ...[sequence: number, version: number, ts: EpochSeconds, deadline: number | null, body: Body | null],
]

function rowOf([epk, pk, id, sequence, version, ts, deadline, body]: Cells): Row {
  return { key: { epk, pk, id }, sequence, version, ts, deadline, body }
}

export interface ChangeSlice {
  readonly items: readonly ScannedItem[]
  readonly bytes: number
  /** Reading continues after this version; undefined: nothing is left. */
  readonly last: number | undefined
  /** More may fit on the page: the slice ended because of its bytes. */
  readonly isCut: boolean
}

export class ContainerChanges {
  readonly #unchanged: ArrayStatement<Cells>
  readonly #changed: ArrayStatement<Cells>
  readonly #secondBehind: readonly StatementSync[]

  constructor(db: DatabaseSync, container: number) {
    const table = itemTable(container)
    const columns = `epk, pk, id, sequence, version, ts, deadline,
      CASE WHEN epk >= :min AND epk < :maxExclusive AND (:only IS NULL OR pk = :only)
        AND CASE WHEN deadline IS NULL THEN ts > :inheritedAfter ELSE deadline > :ownAfter END
      THEN body END AS body`
    // Rows that were changed since are read here too, and skipped: they count as rows that were read.
    this.#unchanged = prepareArrays(
      db,
      `SELECT ${columns} FROM ${table} WHERE sequence > :after AND sequence <= :upTo ORDER BY sequence LIMIT :rowsMax`,
    )
    this.#changed = prepareArrays(
      db,
      `SELECT ${columns} FROM ${table}
      WHERE version > :after AND version <= :upTo AND version <> sequence ORDER BY version LIMIT :rowsMax`,
    )
    this.#secondBehind = ['sequence > ? ORDER BY sequence', 'version > ? AND version <> sequence ORDER BY version'].map(
      where => db.prepare(`SELECT ts FROM ${table} WHERE ${where} LIMIT 1`),
    )
  }

  /** Reads at most about twice `rowsMax` rows, so that many dead ones cannot block the event loop. */
  read(
    within: ScanRange,
    { after, upTo }: { readonly after: number; readonly upTo: number },
    living: Living,
    room: Room,
    rowsMax: number,
  ): ChangeSlice {
    const bind = {
      min: within.min,
      maxExclusive: within.maxExclusive,
      only: within.pk ?? null,
      inheritedAfter: living.inheritedAfter,
      ownAfter: living.ownAfter,
      after,
      upTo,
      rowsMax,
    }
    const streams = [this.#unchanged, this.#changed].map(statement => statement.iterate(bind))
    const next = (from: number): Row | undefined => {
      const { done, value } = streams[from]!.next()
      return done === true ? undefined : rowOf(value)
    }
    let unchanged = next(0)
    let changed = next(1)
    const items: ScannedItem[] = []
    let bytes = 0
    let looked = 0
    let last = after
    let isCut = false
    try {
      while (looked < rowsMax) {
        const isUnchanged = unchanged !== undefined && (changed === undefined || unchanged.sequence < changed.version)
        const row = isUnchanged ? unchanged : changed
        if (row === undefined) return { items, bytes, last: undefined, isCut }
        const { sequence, version, body } = row
        if (body !== null && (!isUnchanged || version === sequence)) {
          const isFirst = room.isEmpty && items.length === 0
          if (items.length === room.itemsMax || (!isFirst && bytes + body.length > room.bytesMax)) break
          items.push(row as ScannedItem)
          bytes += body.length
        }
        last = isUnchanged ? sequence : version
        looked++
        isCut = bytes >= sliceBytesMax
        if (isCut) break
        if (isUnchanged) unchanged = next(0)
        else changed = next(1)
      }
    } finally {
      for (const stream of streams) stream.return?.()
    }
    return { items, bytes, last, isCut }
  }

  /**
   * The highest version that is known to lie before all changes of this second and later. Found by binary
   * search, because versions and seconds grow together. A changed row hides the second in which it was
   * created. That can make the answer lower than it could be, never higher.
   */
  lastBefore(second: EpochSeconds, newest: number): number {
    let low = 0
    let high = newest
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#hasChangeBefore(second, middle)) low = middle + 1
      else high = middle
    }
    return low
  }

  #hasChangeBefore(second: EpochSeconds, version: number): boolean {
    return this.#secondBehind.some(statement => {
      const row = statement.get(version) as { ts: number } | undefined
      return row !== undefined && row.ts < second
    })
  }
}
