/** Makes a data directory of a backup: checks the backup first, and never replaces data. */

import { copyFileSync, createReadStream, createWriteStream, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { makeDataDirectory } from '../adapters/sqlite/directory.ts'
import { lockDirectory, lockFile } from '../adapters/sqlite/lock.ts'
import { dataFile } from '../adapters/sqlite/schema.ts'
import { RequestError } from '../base/error.ts'
import { checkData, type DataReport } from './check.ts'

/** `source`: a file that `mayfly backup` made, or a folder with `mayfly.db` in it. */
export async function restoreData(source: string, directory: string): Promise<DataReport> {
  const inFolder = join(source, dataFile)
  const file = existsSync(inFolder) ? inFolder : source
  if (!existsSync(file)) throw new RequestError('not_found', `There is no backup at ${source}.`)
  if (existsSync(`${file}-wal`)) {
    throw new RequestError('malformed', `${source} is the data of a server, no backup. Copy it with "mayfly backup".`)
  }
  makeDataDirectory(directory, [lockFile])
  using _lock = lockDirectory(directory)
  const target = join(directory, dataFile)
  if (existsSync(target)) {
    throw new RequestError('already_exists', `There is data in ${directory}. It is not replaced: name another folder.`)
  }
  const folder = mkdtempSync(join(directory, 'restore-'))
  try {
    const copy = join(folder, dataFile)
    if (/\.gz$/i.test(file)) await pipeline(createReadStream(file), createGunzip(), createWriteStream(copy))
    else copyFileSync(file, copy)
    const report = checkData(copy)
    if (report.problems.length > 0) {
      throw new RequestError('malformed', `${source} is damaged, and was not restored. ${report.problems[0]}`)
    }
    renameSync(copy, target)
    return report
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
