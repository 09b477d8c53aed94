/** Makes a data directory from a backup. It checks the backup first, and never replaces data. */

import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeDataDirectory } from '../adapters/sqlite/file/directory.ts'
import { removeMark } from '../adapters/sqlite/file/end-mark.ts'
import { lockBriefly } from '../adapters/sqlite/file/lock.ts'
import { dataFile } from '../adapters/sqlite/file/schema.ts'
import { RequestError } from '../base/error.ts'
import { copyBackup } from './backup-file.ts'
import { checkData, type DataReport } from './check.ts'
import { inNewFolder } from './new-folder.ts'

/** `source`: a file that `mayfly backup` made, or a folder with `mayfly.db` in it. */
export async function restoreData(source: string, directory: string): Promise<DataReport> {
  const inFolder = join(source, dataFile)
  const file = existsSync(inFolder) ? inFolder : source
  if (!existsSync(file) || statSync(file).isDirectory()) {
    throw new RequestError('not_found', `There is no backup at ${source}.`)
  }
  if (existsSync(`${file}-wal`)) {
    throw new RequestError(
      'malformed',
      `${source} is the data of a server, not a backup. Copy it with "mayfly backup".`,
    )
  }
  return inNewFolder(directory, async () => {
    makeDataDirectory(directory, [])
    return restoredInto(directory, { file, source })
  })
}

async function restoredInto(
  directory: string,
  { file, source }: { readonly file: string; readonly source: string },
): Promise<DataReport> {
  using _lock = lockBriefly(directory)
  const target = join(directory, dataFile)
  if (existsSync(target)) {
    throw new RequestError(
      'already_exists',
      `There is data in ${directory}, which is not replaced. Name another folder.`,
    )
  }
  const folder = mkdtempSync(join(directory, 'restore-'))
  try {
    const copy = join(folder, 'copy.db')
    await copyBackup(file, copy)
    chmodSync(copy, 0o600)
    const report = await checkData(copy, { name: source })
    if (report.problems.length > 0) {
      throw new RequestError('malformed', `${source} is damaged, and was not restored. ${report.problems[0]}`)
    }
    // The mark of a data file that was removed would refuse this one.
    removeMark(directory)
    renameSync(copy, target)
    return report
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
