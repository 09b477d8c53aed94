/**
 * Where imported rows go. There are two kinds: `ImportWriter` writes into the engine of this process, and
 * `RemoteTarget` sends rows to a server.
 */

import type { InputRow } from './input.ts'

export const importModes = ['create', 'upsert', 'skip'] as const

/**
 * What happens if there is a living item with the key of a row. `create`: the row is refused. `upsert`: it
 * replaces the item. `skip`: the item stays.
 */
export type ImportMode = (typeof importModes)[number]

export interface RefusedRow {
  readonly line: number
  readonly reason: string
  /** There is an item with its key: with another mode it would not be refused. */
  readonly isTaken?: boolean
}

export interface ImportCounts {
  created: number
  replaced: number
  /** There was an item, and it stayed. */
  skipped: number
  /** The deadline that was to be kept has passed. */
  dead: number
  refused: number
}

export interface ImportAnswer {
  readonly counts: Readonly<ImportCounts>
  readonly refused: readonly RefusedRow[]
}

export interface ImportTarget {
  /**
   * Prepares rows while earlier rows are still being stored. `from`: the number of rows of the import before
   * these. The returned function stores the rows; when its promise resolves, they are durable.
   */
  prepare(rows: readonly InputRow[], from: number): () => Promise<ImportAnswer>
}

export function noCounts(): ImportCounts {
  return { created: 0, replaced: 0, skipped: 0, dead: 0, refused: 0 }
}

export function addCounts(sum: ImportCounts, more: Readonly<ImportCounts>): void {
  for (const name of Object.keys(sum) as (keyof ImportCounts)[]) sum[name] += more[name]
}
