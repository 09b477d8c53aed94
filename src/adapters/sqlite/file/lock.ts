/**
 * A data directory belongs to one process at a time.
 *
 * The lock is a write transaction on a small SQLite file: there can be only one. The operating system
 * releases it when the process ends, however it ends, so no stale lock is left. The process number beside it
 * is only for the error message.
 */

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../../base/error.ts'
import { isBusy } from './errors.ts'

export const lockFile = 'mayfly.lock'
const pidFile = 'mayfly.pid'
const ownerOnly = 0o600

export function lockDirectory(directory: string): Disposable {
  const db = lockedFile(directory)
  writeFileSync(join(directory, pidFile), `${process.pid}\n`, { mode: ownerOnly })
  return { [Symbol.dispose]: () => db.close() }
}

/**
 * Opens the lock file and locks it. A command that ends may remove the file while this one opens it. Then it
 * is opened again, because a lock on a removed file would stop no other process.
 *
 * Only SQLite may open the file: when a process closes a file in another way, it loses its locks on it.
 */
function lockedFile(directory: string): DatabaseSync {
  const file = join(directory, lockFile)
  for (;;) {
    const before = identity(file)
    const db = new DatabaseSync(file, { timeout: 0 })
    try {
      db.exec('BEGIN IMMEDIATE')
      if (before !== undefined && identity(file) === before) return db
    } catch (error) {
      db.close()
      if (!isBusy(error)) throw error
      const sentence = `The data directory ${directory} is in use by another Mayfly${holder(directory)}.`
      throw new RequestError('already_exists', `${sentence} Stop it, or choose another directory.`)
    }
    db.close()
  }
}

/** The inode of the file that has this name now; undefined: there is none. */
function identity(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}

/** Locks for a short command. Disposing removes the files that the lock has added to the directory. */
export function lockBriefly(directory: string): Disposable {
  const file = join(directory, lockFile)
  const holderFile = join(directory, pidFile)
  const hadLock = existsSync(file)
  const holderBefore = existsSync(holderFile) ? readFileSync(holderFile) : undefined
  const lock = lockDirectory(directory)
  return {
    [Symbol.dispose]: () => {
      if (holderBefore === undefined) rmSync(holderFile, { force: true })
      else writeFileSync(holderFile, holderBefore)
      // Elsewhere the file is removed before it is unlocked. Windows cannot remove a file that is open.
      const isRemovedOpen = process.platform !== 'win32'
      if (!hadLock && isRemovedOpen) rmSync(file, { force: true })
      lock[Symbol.dispose]()
      if (!hadLock && !isRemovedOpen) rmSync(file, { force: true })
    },
  }
}

function holder(directory: string): string {
  try {
    return ` (process ${readFileSync(join(directory, pidFile), 'utf8').trim()})`
  } catch {
    // The other process has not written its number yet.
    return ''
  }
}
