/**
 * The file beside an input that holds the progress of its import: `FILE.import.json`.
 *
 * It is written before the first batch is sent and whenever the server has stored one, and removed when the
 * import has ended. The server stores the progress too, in the same transaction as the rows. So it does not
 * matter whether an interruption comes before or after an answer.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { RequestError } from '../base/error.ts'
import type { ImportCounts } from '../transfer/target.ts'
import { writeDurably } from './durable-file.ts'

export interface ImportState<Place> {
  /** The name of the import on the server. */
  readonly job: string
  /** Input, target and options, each as a text. An import continues only if they are the same. */
  readonly identity: Readonly<Record<string, string>>
  /** The place after the stored rows; absent: before the first one. */
  readonly place?: Place | undefined
  readonly counts: ImportCounts
  /** Bytes of the file of refused rows. */
  readonly refusedBytes: number
  /** The inputs of the command, if all rows of this one are stored and another one was interrupted. */
  readonly completeAmong?: string | undefined
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
    if (state.completeAmong !== undefined) return undefined
    const changes = differing.map(name => `${name}: ${state.identity?.[name] ?? 'unknown'}, now ${identity[name]}`)
    throw new RequestError(
      'precondition_failed',
      `${this.path} belongs to a different import that was interrupted (${changes.join('; ')}). ${anew}`,
    )
  }

  write(state: ImportState<Place>): void {
    writeDurably(this.path, `${JSON.stringify(state)}\n`)
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}

const anew = 'To begin again, add --restart.'
