/**
 * Reads a data file that nobody writes, and leaves its folder as it was.
 *
 * A file in WAL mode gets a -wal and a -shm as soon as it is read, and a connection that cannot write leaves
 * them behind. `immutable` makes none, but does not see a WAL that is there. With a WAL only the -shm can be
 * new.
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
    // A connection that cannot write leaves the WAL as it is when it is closed.
    using db = new DatabaseSync(file, { readOnly: true })
    return read(db)
  } finally {
    if (!hadMemory) rmSync(`${file}-shm`, { force: true })
  }
}
