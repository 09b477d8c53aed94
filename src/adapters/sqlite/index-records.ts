/** Loads the index records of a container from the file. */

import type { DatabaseSync } from 'node:sqlite'
import type { IndexRecord } from '../../store/catalog.ts'
import { type IndexRow, toIndex } from '../catalog-rows.ts'

export function loadIndexes(db: DatabaseSync, container: number): IndexRecord[] {
  const rows = db.prepare('SELECT * FROM indexes WHERE container = ? ORDER BY number').all(container)
  return (rows as unknown as IndexRow[]).map(toIndex)
}
