/** Checks a data directory or a backup without changing it, by the rules of the store and of both APIs. */

import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { checkFile, type FileReport } from '../adapters/sqlite/check.ts'
import { lockBriefly } from '../adapters/sqlite/file/lock.ts'
import { dataFile } from '../adapters/sqlite/file/schema.ts'
import { refuseLostWrites } from '../adapters/sqlite/file/wal-damage.ts'
import { RequestError } from '../base/error.ts'
import { indexKeysOf } from '../engine/index-keys.ts'
import { systemDatabase } from '../engine/system-items.ts'
import { wrongWithDocument } from '../mongo/collections/check-document.ts'
import { wrongWithItem } from '../nosql/items/check-item.ts'
import { copyBackup, isCompressed } from './backup-file.ts'

export type DataReport = FileReport

export interface CheckOptions {
  readonly onProgress?: (rows: number) => void
  /** The name of the place in messages (default: as it is given). */
  readonly name?: string
}

/** `place`: a data directory, which must not be in use, or a backup, also a compressed one. */
export async function checkData(place: string, options: CheckOptions = {}): Promise<DataReport> {
  if (!existsSync(place)) throw new RequestError('not_found', `There is no file or directory ${place}.`)
  const name = options.name ?? place
  if (statSync(place).isDirectory()) return checkedDirectory(place, { ...options, name })
  // The data file of a directory is checked like its directory: a server that uses it has its lock there.
  if (basename(place) === dataFile) return checkedDirectory(dirname(place), { ...options, name })
  if (!isCompressed(place)) return checked(place, { ...options, name })
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-check-'))
  try {
    const copy = join(folder, dataFile)
    await copyBackup(place, copy)
    return checked(copy, { ...options, name })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type NamedOptions = CheckOptions & { readonly name: string }

function checkedDirectory(directory: string, options: NamedOptions): FileReport {
  const file = join(directory, dataFile)
  if (!existsSync(file)) throw new RequestError('not_found', `There is no Mayfly data in ${directory}.`)
  using _lock = lockBriefly(directory)
  refuseLostWrites(directory)
  return checked(file, options)
}

function checked(file: string, { onProgress = () => {}, name }: NamedOptions): FileReport {
  return checkFile(file, {
    name,
    keysOf: indexKeysOf,
    onProgress,
    wrongWith: (container, item) => {
      // What Mayfly stores for itself has no stamps in its bodies.
      if (container.database.id === systemDatabase) return undefined
      return container.encoding === 'json' ? wrongWithItem(container, item) : wrongWithDocument(container, item)
    },
  })
}
