/** Makes a data directory. */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { RequestError } from '../../base/error.ts'

/**
 * Not `mkdirSync` with `recursive`: that never returns if the file system answers every mkdir with ENOENT,
 * as /proc does.
 */
export function makeDirectory(directory: string): void {
  try {
    const parent = dirname(directory)
    if (!existsSync(parent)) makeDirectory(parent)
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw new RequestError('malformed', `The data directory ${directory} cannot be made.`, { cause: error })
  }
}
