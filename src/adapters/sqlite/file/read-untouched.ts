/**
 * Reads a data file that no process writes, and leaves its folder as it was.
 *
 * Reading a file in WAL mode creates a -wal and a -shm file, and a read-only connection leaves them behind.
 * With `immutable`, SQLite creates neither, but does not read a WAL that exists. So a file with a WAL is
 * read in the ordinary way, and only the -shm can be new.
 */

import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

export function readUntouched<T>(file: string, read: (db: DatabaseSync) => T): T {
  if (!existsSync(`${file}-wal`)) {
    const url = pathToFileURL(file)
    url.search = 'immutable=1'
    using db = new DatabaseSync(url, { readOnly: true })
    return read(db)
  }
  const hadMemory = existsSync(`${file}-shm`)
  try {
    // Closing a read-only connection runs no checkpoint.
    using db = new DatabaseSync(file, { readOnly: true })
    return read(db)
  } finally {
    if (!hadMemory) rmSync(`${file}-shm`, { force: true })
  }
}
