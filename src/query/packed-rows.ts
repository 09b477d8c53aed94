/**
 * The rows of a page in one piece of memory, which moves to another thread without being copied. Receiving
 * thousands of small pieces would take milliseconds.
 */

import { largeBuffer } from '../base/large-buffer.ts'
import type { Body } from '../document/body.ts'
import type { PageStatistics } from './execute.ts'
import type { EarliestLives } from './row-origins.ts'

export interface PackedRows {
  readonly bytes: Uint8Array
  /** Where each row ends. */
  readonly ends: Uint32Array
  /**
   * The items that the rows come from, if asked for. A page has two numbers for each row (`row-origins.ts`).
   * Collected rows have, for each row, the number of its marks and then the marks.
   */
  readonly marks: Float64Array | undefined
}

/** Rows that were collected elsewhere (`collect-rows.ts`). */
export interface CollectedRows {
  readonly pieces: readonly PackedRows[]
  readonly statistics: PageStatistics
  /** The rows are void (`Program.hasLostOrder`). */
  readonly hasLostOrder: boolean
  /** There are more rows than can be held. The caller makes them one by one. */
  readonly isTooLarge?: true
  /** Undefined: the rows have marks. Otherwise the earliest lives of all items that were found. */
  readonly untraced: EarliestLives | undefined
}

/** Undefined if there are no rows, or if they are text. */
export function packRows(rows: readonly Body[], marks?: ArrayLike<number>): PackedRows | undefined {
  if (rows.length === 0) return undefined
  const ends = new Uint32Array(rows.length)
  let end = 0
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    if (!(row instanceof Uint8Array)) return undefined
    end += row.length
    ends[at] = end
  }
  const bytes = largeBuffer(end)
  for (let at = 0; at < rows.length; at++) bytes.set(rows[at] as Uint8Array, at === 0 ? 0 : ends[at - 1]!)
  return { bytes, ends, marks: marks && Float64Array.from(marks) }
}

export function unpackRows({ bytes, ends }: PackedRows): Uint8Array[] {
  const rows: Uint8Array[] = []
  let start = 0
  for (const end of ends) {
    rows.push(bytes.subarray(start, end))
    start = end
  }
  return rows
}

export function buffersOfRows({ bytes, ends, marks }: PackedRows): ArrayBuffer[] {
  const buffers = [bytes.buffer as ArrayBuffer, ends.buffer as ArrayBuffer]
  if (marks !== undefined) buffers.push(marks.buffer as ArrayBuffer)
  return buffers
}
