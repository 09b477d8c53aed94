/** Checks a data directory or a backup without changing it, as the store and both APIs know it. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checkFile, type FileReport } from '../adapters/sqlite/check.ts'
import { lockDirectory } from '../adapters/sqlite/lock.ts'
import { dataFile } from '../adapters/sqlite/schema.ts'
import { refuseLostWrites } from '../adapters/sqlite/wal-damage.ts'
import { RequestError } from '../base/error.ts'
import { indexKeysOf } from '../engine/index-keys.ts'
import { systemDatabase } from '../engine/system-items.ts'
import { wrongWithDocument } from '../mongo/collections/check-document.ts'
import { wrongWithItem } from '../nosql/items/check-item.ts'

export type DataReport = FileReport

/** A data directory must not be in use. */
export function checkData(place: string, onProgress: (rows: number) => void = () => {}): DataReport {
  if (!existsSync(place)) throw new RequestError('not_found', `There is nothing at ${place}.`)
  if (!statSync(place).isDirectory()) return checked(place, onProgress)
  if (!existsSync(join(place, dataFile))) throw new RequestError('not_found', `There is no data of Mayfly in ${place}.`)
  using _lock = lockDirectory(place)
  refuseLostWrites(place)
  return checked(join(place, dataFile), onProgress)
}

function checked(file: string, onProgress: (rows: number) => void): FileReport {
  return checkFile(file, {
    keysOf: indexKeysOf,
    onProgress,
    wrongWith: (container, item) => {
      // What Mayfly stores for itself has no stamps in its bodies.
      if (container.database.id === systemDatabase) return undefined
      return container.encoding === 'json' ? wrongWithItem(container, item) : wrongWithDocument(container, item)
    },
  })
}
