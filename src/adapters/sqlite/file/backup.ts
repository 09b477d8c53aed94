/**
 * Copies a store into a new file, as of one moment, while it is used.
 *
 * A store in a directory is copied over a connection of its own, in Node's thread pool, so requests go on;
 * the WAL grows meanwhile. The copy is made in one step: SQLite restarts a copy of many steps after every
 * write between two of them. A store in memory has only one connection, which cannot be used by another
 * thread, so requests wait for the copy (measured: 80 ms for 30 MB).
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { translate } from './errors.ts'
import { dataFile } from './schema.ts'

/** More pages than a file can have. */
const allPages = 2 ** 31 - 1

export async function copyDirectory(directory: string, path: string): Promise<void> {
  try {
    using source = new DatabaseSync(join(directory, dataFile), { readOnly: true })
    await backup(source, path, { rate: allPages })
  } catch (error) {
    throw failed(path, error)
  }
}

/** No transaction may be open. */
export function copyMemory(db: DatabaseSync, path: string): void {
  try {
    db.prepare('VACUUM INTO ?').run(path)
  } catch (error) {
    throw failed(path, error)
  }
}

function failed(path: string, error: unknown): Error {
  rmSync(path, { force: true })
  return translate(error)
}
