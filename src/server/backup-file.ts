/** Reads the file of a backup. Its first bytes, not its name, tell whether it is compressed by gzip. */

import { closeSync, copyFileSync, createReadStream, createWriteStream, openSync, readSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { RequestError } from '../base/error.ts'

export function isCompressed(file: string): boolean {
  const opened = openSync(file, 'r')
  try {
    const head = Buffer.alloc(2)
    readSync(opened, head)
    return head.readUInt16BE() === 0x1f8b
  } finally {
    closeSync(opened)
  }
}

/** Copies the backup, and decompresses it. */
export async function copyBackup(file: string, target: string): Promise<void> {
  if (!isCompressed(file)) return copyFileSync(file, target)
  try {
    await pipeline(createReadStream(file), createGunzip(), createWriteStream(target, { mode: 0o600 }))
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error
    throw new RequestError('malformed', `${file} is damaged: ${(error as Error).message}.`, { cause: error })
  }
}
