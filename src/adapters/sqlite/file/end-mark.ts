/**
 * A small file that says how far the data file and its WAL must reach at least: the mark.
 *
 * If a WAL was cut short or its end is damaged, SQLite reads the part before. If the WAL was deleted, SQLite
 * reads the data file alone. Nothing in these files shows whether that is a loss or the result of a crash.
 * So at most a second after a commit the mark is written. It names a container, the newest version of its
 * items, and the newest container. At the next start SQLite reads the state after some commit. If that state
 * is older than the mark, acknowledged writes are lost.
 *
 * The mark is written without a sync of its own, after its commit was synced. So it is never ahead of the
 * disk, and after a crash or a power loss it may only be too old. A torn mark counts as none. The mark does
 * not name places in the WAL, so a checkpoint does not change it. Versions and numbers of containers are
 * never used twice.
 *
 * Closing a store removes the mark, so that a data file from a backup may take the place of this one.
 */

import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { machine } from '../../../base/clock.ts'
import { readUntouched } from './read-untouched.ts'
import { dataFile } from './schema.ts'

/** The time after which a commit is in the mark. */
export const markMs = 1000

const markFile = `${dataFile}-mark`

/** A state that a commit has reached: the container exists, and its items have this version. */
export interface Milestone {
  readonly container: number
  readonly version?: number
}

interface Mark {
  /** undefined: no item was written yet. */
  readonly items: Required<Milestone> | undefined
  readonly newestContainer: number
}

export class EndMark {
  readonly #directory: string
  #mark: Mark = { items: undefined, newestContainer: 0 }
  #timer: NodeJS.Timeout | undefined
  #file: number | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Called after a commit was synced. */
  note({ container, version }: Milestone): void {
    this.#mark = {
      items: version === undefined ? this.#mark.items : { container, version },
      newestContainer: Math.max(this.#mark.newestContainer, container),
    }
    this.#timer ??= machine.setTimeout(() => this.#write(), markMs).unref()
  }

  /** `isWhole`: everything is in the data file, so the mark is not needed any more. */
  close(isWhole: boolean): void {
    machine.clearTimeout(this.#timer)
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
    if (isWhole) removeMark(this.#directory)
  }

  #write(): void {
    this.#timer = undefined
    try {
      this.#file ??= openSync(join(this.#directory, markFile), 'w', 0o600)
      const text = Buffer.from(encode(this.#mark))
      writeSync(this.#file, text, 0, text.length, 0)
    } catch {
      // The disk is full or read-only, and the next commit will fail. An older mark only notices less.
    }
  }
}

export function removeMark(directory: string): void {
  rmSync(join(directory, markFile), { force: true })
}

/** Whether the state that SQLite reads is older than the mark. Changes nothing. */
export function isBehindMark(directory: string): boolean {
  const path = join(directory, markFile)
  const mark = existsSync(path) ? decode(readFileSync(path, 'utf8')) : undefined
  if (mark === undefined) return false
  return readUntouched(join(directory, dataFile), db => {
    const hasTables = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'containers'`).get() !== undefined
    return !hasTables || !hasReached(db, mark)
  })
}

function hasReached(db: DatabaseSync, { items, newestContainer }: Mark): boolean {
  const sequence = db.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'containers'`).get()
  if (Number(sequence?.seq ?? 0) < newestContainer) return false
  if (items === undefined) return true
  const row = db.prepare('SELECT item_version FROM containers WHERE number = ?').get(items.container)
  // The container existed. If it is not there, it was deleted after its last write.
  return row === undefined || Number(row.item_version) >= items.version
}

/** The numbers have a constant length, so that a new mark overwrites an old one. */
const numbersLength = 51

function encode({ items, newestContainer }: Mark): string {
  const numbers = [items?.container ?? 0, items?.version ?? 0, newestContainer].join(' ').padEnd(numbersLength)
  return `${numbers}${digestOf(numbers)}\n`
}

function decode(text: string): Mark | undefined {
  const numbers = text.slice(0, numbersLength)
  if (text.slice(numbersLength) !== `${digestOf(numbers)}\n`) return undefined
  const [container, version, newestContainer] = numbers.trim().split(' ').map(Number) as [number, number, number]
  return { items: container === 0 ? undefined : { container, version }, newestContainer }
}

function digestOf(numbers: string): string {
  return createHash('sha256').update(numbers).digest('hex').slice(0, 12)
}
