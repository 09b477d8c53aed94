/** The files that an import reads, with size and fingerprint. `-` is standard input. */

import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { RequestError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import type { InputSource } from '../transfer/read-rows.ts'
import { unreadable } from '../transfer/unreadable.ts'

const headBytes = 64 * 1024

export interface InputFile extends InputSource {
  /** Undefined: standard input, whose size is not known. */
  readonly size: number | undefined
  /** Changes when the file does; undefined: standard input. */
  readonly fingerprint: string | undefined
}

export function inputFile(path: string): InputFile {
  if (path === '-')
    return { name: 'standard input', size: undefined, fingerprint: undefined, open: () => process.stdin }
  let size: number
  let fingerprint: string
  try {
    const stats = statSync(path)
    if (stats.isDirectory()) throw new RequestError('malformed', `${path} is a folder. Name the files in it.`)
    size = stats.size
    fingerprint = `${stats.size} ${Math.floor(stats.mtimeMs)} ${headHash(path)}`
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw unreadable(path, error)
  }
  const open = (start: number) => createReadStream(path, { start, highWaterMark: MiB })
  return { name: path, size, fingerprint, open }
}

function headHash(path: string): string {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(headBytes)
    return createHash('sha256')
      .update(head.subarray(0, readSync(file, head)))
      .digest('base64url')
      .slice(0, 16)
  } finally {
    closeSync(file)
  }
}

/** Where the files beside an input are: in its folder, or in the named one. */
export function besideInput(path: string, suffix: string, folder: string | undefined): string {
  const name = path === '-' ? 'standard-input' : path
  return folder === undefined ? `${name}${suffix}` : join(folder, `${basename(name)}${suffix}`)
}
