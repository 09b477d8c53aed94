/**
 * The file beside an input that says how far its import is: `FILE.import.json`.
 *
 * It is written when the server has stored a batch, and removed when the import has ended. The server
 * remembers the import as well, in the same transaction as the rows: so it does not matter whether the
 * interruption came before or after an answer.
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { RequestError } from '../base/error.ts'
import type { ImportCounts } from '../transfer/target.ts'

export interface ImportState<Place> {
  /** Under which the server remembers the import. */
  readonly job: string
  /** What must be the same for the import to go on: input, target and options, each as a text. */
  readonly identity: Readonly<Record<string, string>>
  readonly place: Place
  readonly counts: ImportCounts
  /** Bytes of the file of refused rows. */
  readonly refusedBytes: number
}

export class Checkpoint<Place> {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** The state of an interrupted import of the same input with the same options. */
  read(identity: Readonly<Record<string, string>>): ImportState<Place> | undefined {
    if (!existsSync(this.path)) return undefined
    let state: ImportState<Place>
    try {
      state = JSON.parse(readFileSync(this.path, 'utf8')) as ImportState<Place>
    } catch (error) {
      throw new RequestError('malformed', `${this.path} cannot be read. ${anew}`, { cause: error })
    }
    const differing = Object.keys(identity).filter(name => state.identity?.[name] !== identity[name])
    if (differing.length === 0) return state
    const changes = differing.map(name => `${name}: ${state.identity?.[name] ?? 'unknown'}, now ${identity[name]}`)
    throw new RequestError(
      'precondition_failed',
      `${this.path} belongs to an interrupted import that was another one (${changes.join('; ')}). ${anew}`,
    )
  }

  write(state: ImportState<Place>): void {
    const next = `${this.path}.next`
    try {
      const file = openSync(next, 'w')
      try {
        writeSync(file, `${JSON.stringify(state)}\n`)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(next, this.path)
    } catch (error) {
      const why = (error as Error).message
      throw new RequestError(
        'forbidden',
        `${this.path} cannot be written (${why}). Name another folder with --state.`,
        {
          cause: error,
        },
      )
    }
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}

const anew = 'To begin anew, add --restart.'
