/** Opens the embedded store, in memory or in a directory that then belongs to this process. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../../store/port.ts'
import { makeDataDirectory } from './file/directory.ts'
import { removeMark } from './file/end-mark.ts'
import { translate } from './file/errors.ts'
import { lockDirectory, lockFile } from './file/lock.ts'
import { dataFile } from './file/schema.ts'
import { refuseLostWrites } from './file/wal-damage.ts'
import { type SqliteOptions, SqliteStore } from './store.ts'

export function openSqlite(options: SqliteOptions): Store {
  const { directory } = options
  if (directory === undefined) return new SqliteStore(new DatabaseSync(':memory:'), undefined, options)
  let lock: Disposable | undefined
  try {
    makeDataDirectory(directory, [dataFile, lockFile])
    lock = lockDirectory(directory)
    if (options.acceptLostWrites === true) removeMark(directory)
    else refuseLostWrites(directory)
    return new SqliteStore(new DatabaseSync(join(directory, dataFile)), lock, options)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw translate(error)
  }
}
