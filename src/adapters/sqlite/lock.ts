/**
 * A data directory belongs to one process at a time.
 *
 * The lock is a write transaction on a small SQLite file, which there can be only one of: the operating
 * system gives it back when the process ends, however it ends, so no stale lock is ever left. The process
 * number beside it only serves the error message.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../base/error.ts'
import { isBusy } from './errors.ts'

export function lockDirectory(directory: string): Disposable {
  const pidFile = join(directory, 'mayfly.pid')
  const db = new DatabaseSync(join(directory, 'mayfly.lock'), { timeout: 0 })
  try {
    db.exec('BEGIN IMMEDIATE')
  } catch (error) {
    db.close()
    if (!isBusy(error)) throw error
    throw new RequestError(
      'already_exists',
      `The data directory ${directory} is in use by another Mayfly${holder(pidFile)}. Stop it, or choose another directory with --data.`,
    )
  }
  writeFileSync(pidFile, `${process.pid}\n`)
  return { [Symbol.dispose]: () => db.close() }
}

function holder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    // The other process has not come as far as writing its number.
    return ''
  }
}
