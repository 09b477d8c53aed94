/** Translates SQLite result codes to our error kinds. */

import { CapacityError, MayflyError } from '../../../base/error.ts'

/** Primary result codes: https://www.sqlite.org/rescode.html */
const code = { busy: 5, ioerr: 10, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26, readOnly: 8 } as const

const retryAfterMs = 1000

/** SQLite's errors carry extended codes. The primary code is the low byte. */
function primaryCode(error: unknown): number | undefined {
  const hasCode = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
  return hasCode ? (error.errcode as number) & 0xff : undefined
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === code.busy
}

/**
 * The disk took nothing, so nothing is lost. SQLite reports a file that may not grow (EFBIG), a used-up quota
 * (EDQUOT) and a read-only disk (EROFS) as a failed write, without the number of the system's error.
 */
const refusedWrites: readonly (number | undefined)[] = [778, 1546, 4874]
const failedSyncCode = 1034
const failedSyncs: readonly (number | undefined)[] = [failedSyncCode, 1290]
const failedReads: readonly (number | undefined)[] = [266, 522, 8202, 8458]

function extendedCode(error: unknown): number | undefined {
  return primaryCode(error) === undefined ? undefined : (error as { errcode: number }).errcode
}

export function isFull(error: unknown): boolean {
  return primaryCode(error) === code.full || refusedWrites.includes(extendedCode(error))
}

export function isReadOnly(error: unknown): boolean {
  return primaryCode(error) === code.readOnly
}

/** Of a file or its directory. */
export function isFailedSync(error: unknown): boolean {
  return failedSyncs.includes(extendedCode(error))
}

/** A sync of our own that failed, as SQLite would report it. */
export function failedSync(cause: unknown): Error {
  return withCode('A sync of the data file failed.', failedSyncCode, cause)
}

/** Of an error of SQLite, so that it can be made again from a message of another thread. */
export function codeOf(error: unknown): number | undefined {
  return extendedCode(error)
}

export function withCode(message: string, errcode: number, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { errcode })
}

/** The file is none of SQLite's. */
export function isForeign(error: unknown): boolean {
  return primaryCode(error) === code.notADatabase
}

/** A page cannot be read, or makes no sense. */
export function isDamage(error: unknown): boolean {
  const primary = primaryCode(error)
  return primary === code.corrupt || primary === code.notADatabase || failedReads.includes(extendedCode(error))
}

/**
 * After these errors the file may have lost what was acknowledged. A failed fsync is the dangerous one: the
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
