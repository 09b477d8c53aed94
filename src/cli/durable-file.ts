/** Writes small files so that a reader finds the old content or the new one, whenever the machine stops. */

import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { RequestError } from '../base/error.ts'

export function writeDurably(path: string, text: string): void {
  const next = `${path}.next`
  try {
    const file = openSync(next, 'w')
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(next, path)
  } catch (error) {
    throw notWritable(path, error)
  }
}

/** The error for a file beside the input of an import that cannot be written. */
export function notWritable(path: string, error: unknown): RequestError {
  const why = (error as Error).message
  const text = `${path} cannot be written (${why}). Make room, or name another folder with --state.`
  return new RequestError('forbidden', text, { cause: error })
}
