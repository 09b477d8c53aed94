/** Translates SQLite result codes to our error kinds. */

import { CapacityError, MayflyError } from '../../../base/error.ts'

/** Primary result codes: https://www.sqlite.org/rescode.html */
const code = { busy: 5, ioerr: 10, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26, readOnly: 8 } as const

/** Extended result codes, all of `ioerr`. */
const extended = {
  ...{ read: 266, shortRead: 522, data: 8202, corruptFs: 8458 },
  ...{ write: 778, truncate: 1546, shmSize: 4874 },
  ...{ fsync: 1034, dirFsync: 1290 },
} as const

const retryAfterMs = 1000

/** The extended code of an error of SQLite. */
export function codeOf(error: unknown): number | undefined {
  const hasCode = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
  return hasCode ? (error.errcode as number) : undefined
}

/** The primary code is the low byte of the extended one. */
function primaryCode(error: unknown): number | undefined {
  const errcode = codeOf(error)
  return errcode === undefined ? undefined : errcode & 0xff
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === code.busy
}

/**
 * The disk refused a write, so nothing is lost. SQLite reports a file that may not grow (EFBIG), a used-up
 * quota (EDQUOT) and a read-only disk (EROFS) as a failed write, without the number of the system's error.
 */
const refusedWrites: readonly (number | undefined)[] = [extended.write, extended.truncate, extended.shmSize]
const failedSyncs: readonly (number | undefined)[] = [extended.fsync, extended.dirFsync]
const failedReads: readonly (number | undefined)[] = [
  ...[extended.read, extended.shortRead, extended.data, extended.corruptFs],
]

export function isFull(error: unknown): boolean {
  return primaryCode(error) === code.full || refusedWrites.includes(codeOf(error))
}

export function isReadOnly(error: unknown): boolean {
  return primaryCode(error) === code.readOnly
}

/** Whether a sync of the file or of its directory failed. */
export function isFailedSync(error: unknown): boolean {
  return failedSyncs.includes(codeOf(error))
}

/** A sync of our own that failed, as SQLite would report it. */
export function failedSync(cause: unknown): Error {
  return withCode('A sync of the data file failed.', extended.fsync, cause)
}

/** An error with a code of SQLite, made again from a message of another thread or of our own. */
export function withCode(message: string, errcode: number, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { errcode })
}

/** Whether the file is not an SQLite database. */
export function isForeign(error: unknown): boolean {
  return primaryCode(error) === code.notADatabase
}

/** Whether a page cannot be read, or has impossible contents. */
export function isDamage(error: unknown): boolean {
  const primary = primaryCode(error)
  return primary === code.corrupt || primary === code.notADatabase || failedReads.includes(codeOf(error))
}

/**
 * After these errors the file may have lost acknowledged writes. A failed fsync is the dangerous one: the
 * kernel may have dropped the pages, and a second fsync would succeed without having written them.
 */
export function isFatal(error: unknown): boolean {
  return primaryCode(error) === code.ioerr && !isFull(error) && !isDamage(error)
}

export function translate(error: unknown): Error {
  if (error instanceof MayflyError) return error
  const primary = primaryCode(error)
  if (primary === undefined) return error instanceof Error ? error : new Error(String(error))
  const words: Partial<Record<number, string>> = {
    [code.full]: 'The disk is full, or refuses writes. Nothing was written.',
    [code.readOnly]: 'The data directory is read-only. Nothing was written.',
    [code.busy]: 'The data file is locked by another process.',
    [code.ioerr]: 'Reading or writing the data file failed.',
    [code.corrupt]: 'The data file is damaged.',
    [code.notADatabase]: 'The data file is not a Mayfly file.',
    [code.cantOpen]: 'The data file cannot be opened.',
  }
  const sentence = words[isFull(error) ? code.full : primary] ?? 'The store failed.'
  return new CapacityError('unavailable', sentence, retryAfterMs, { cause: error })
}
