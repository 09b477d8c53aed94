/**
 * Makes a data directory and keeps its files to their owner.
 *
 * In a directory that everybody may write to, another user could put a link in the place of a file, and the
 * server would write wherever it points.
 */

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { RequestError } from '../../../base/error.ts'

const ownerOnly = 0o600
const writableByOthers = 0o002
/** How the names of Mayfly's files begin. A user may keep others in the directory. */
const ownFiles = 'mayfly.'

/** Makes the directory if there is none, and the files that SQLite would make readable for others. */
export function makeDataDirectory(directory: string, files: readonly string[]): void {
  makeDirectory(directory)
  const stats = lstatSync(directory)
  if (stats.isSymbolicLink()) refuse(`${directory} is a symbolic link`, 'Give the directory that it points to')
  if (!stats.isDirectory()) refuse(`${directory} is not a directory`, 'Choose another')
  // Windows has no such bits.
  if (process.platform !== 'win32' && (stats.mode & writableByOthers) !== 0) {
    refuse(`every user of this machine may write to ${directory}`, `Run chmod o-w ${directory}`)
  }
  for (const name of readdirSync(directory)) if (name.startsWith(ownFiles)) checkFile(join(directory, name))
  for (const name of files) makeFile(directory, name)
}

/** A file that exists is not opened: closing it would release the locks that a store of this process has. */
function makeFile(directory: string, name: string): void {
  const file = join(directory, name)
  try {
    if (existsSync(file)) accessSync(file, constants.W_OK)
    else closeSync(openSync(file, 'ax', ownerOnly))
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error
    refuse(`the disk of ${directory} is read-only`, 'Make it writable, or choose another directory')
  }
}

function checkFile(file: string): void {
  const stats = lstatSync(file)
  if (stats.isSymbolicLink()) refuse(`${file} is a symbolic link`, 'Put the file itself there')
  // A server that was killed may leave the folder of a backup. Without its x bit nobody could remove it.
  if (stats.isDirectory() || (stats.mode & 0o077) === 0) return
  try {
    chmodSync(file, ownerOnly)
  } catch {
    // Some file systems have no permissions. There the directory must protect its files.
  }
}

/**
 * Not `mkdirSync` with `recursive`: that never returns if the file system answers every mkdir with ENOENT,
 * as /proc does.
 */
function makeDirectory(directory: string): void {
  try {
    const parent = dirname(directory)
    if (!existsSync(parent)) makeDirectory(parent)
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw new RequestError('malformed', `The data directory ${directory} cannot be made.`, { cause: error })
  }
}

function refuse(reason: string, advice: string): never {
  throw new RequestError(
    'forbidden',
    `The data directory cannot be used: ${reason}. ${advice}, or choose another directory.`,
  )
}
