/** The indexes of a container as the file has them. */

import type { DatabaseSync } from 'node:sqlite'
import { type IndexComponent, parseIndexPath, type Uniqueness } from '../../document/index-definition.ts'
import type { IndexRecord } from '../../store/catalog.ts'

interface IndexRow {
  number: number
  components: string
  is_declared: number
  is_ready: number
  has_cut_keys: number
  has_gaps: number
  has_several_keys: number
  uniqueness: Uniqueness
  options: string | null
}

export function loadIndexes(db: DatabaseSync, container: number): IndexRecord[] {
  const rows = db.prepare('SELECT * FROM indexes WHERE container = ? ORDER BY number').all(container)
  return (rows as unknown as IndexRow[]).map(row => ({
    definition: {
      number: row.number,
      components: parseComponents(row.components),
      uniqueness: row.uniqueness,
      ...(row.options !== null && { options: JSON.parse(row.options) }),
    },
    isDeclared: row.is_declared === 1,
    isReady: row.is_ready === 1,
    hasCutKeys: row.has_cut_keys === 1,
    hasGaps: row.has_gaps === 1,
    hasSeveralKeys: row.has_several_keys === 1,
  }))
}

function parseComponents(text: string): IndexComponent[] {
  const stored = JSON.parse(text) as { path: string; isDescending: boolean }[]
  return stored.map(({ path, isDescending }) => ({ path: parseIndexPath(path), isDescending }))
}
