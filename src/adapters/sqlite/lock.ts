/**
 * A data directory belongs to one process at a time.
 *
 * The lock is a write transaction on a small SQLite file: there can be only one. The operating system
 * releases it when the process ends, however it ends, so no stale lock is left. The process number beside it
 * is only for the error message.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../base/error.ts'
import { isBusy } from './errors.ts'

export const lockFile = 'mayfly.lock'

export function lockDirectory(directory: string): Disposable {
  const pidFile = join(directory, 'mayfly.pid')
  const db = new DatabaseSync(join(directory, lockFile), { timeout: 0 })
  try {
    db.exec('BEGIN IMMEDIATE')
  } catch (error) {
    db.close()
    if (!isBusy(error)) throw error
    const sentence = `The data directory ${directory} is in use by another Mayfly${holder(pidFile)}.`
    throw new RequestError('already_exists', `${sentence} Stop it, or choose another directory with --data.`)
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  return { [Symbol.dispose]: () => db.close() }
}

function holder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {
    // The other process has not written its number yet.
    return ''
  }
}
