/**
 * When the log is carried over into the file, and where.
 *
 * SQLite would do it inside the commit that makes the log long enough, and the writes of that commit, which
 * are durable already, would wait for it. Here it is done when their answers have left. As long as somebody
 * reads an old state the log cannot begin anew and grows; to carry over what has come together by then takes
 * long, and is left to another thread.
 */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFile } from './schema.ts'
import { type ArrayStatement, prepareArrays } from './statements.ts'

/**
 * Pages of 8 KiB after which the embedded store's log is carried over into its file: the best bounded tail
 * (max 9 ms measured).
 */
export const checkpointPages = 1000

/** More of them than this are left to another thread: 100 take about a millisecond. */
const checkpointOwnPagesMax = 4 * checkpointPages

const carryOverSql = 'PRAGMA wal_checkpoint(PASSIVE)'

/** In memory there is no log, and -1 pages of it. */
type Progress = [isBlocked: number, logPages: number, donePages: number]

/** Carries the log over in another thread. */
export type CarryOver = () => Promise<void>

export class Checkpoints {
  readonly #look: ArrayStatement<Progress>
  readonly #carryOver: ArrayStatement<Progress>
  readonly #elsewhere: CarryOver | undefined
  #isElsewhere = false
  /** What fails there is done here the next time, where the reason is heard. */
  #hasFailedElsewhere = false
  /** How long the log was when it was last tried. */
  #triedPages = 0

  private constructor(db: DatabaseSync, elsewhere: CarryOver | undefined) {
    this.#look = prepareArrays(db, 'PRAGMA wal_checkpoint(NOOP)')
    this.#carryOver = prepareArrays(db, carryOverSql)
    this.#elsewhere = elsewhere
  }

  /** undefined: this SQLite cannot say how long its log is, and minds it itself. */
  static of(db: DatabaseSync, elsewhere: CarryOver | undefined): Checkpoints | undefined {
    db.exec(`PRAGMA wal_autocheckpoint = ${canLook ? 0 : checkpointPages}`)
    return canLook ? new Checkpoints(db, elsewhere) : undefined
  }

  /**
   * Asked behind every commit: 1.5 us. Behind a reader it is tried ever more rarely, because each time looks
   * at the whole log.
   */
  isDue(): boolean {
    if (this.#isElsewhere) return false
    const [, logPages] = this.#look.get()!
    // It begins anew when all of it is in the file and nobody reads it any more.
    if (logPages < this.#triedPages) this.#triedPages = 0
    return logPages - this.#triedPages >= Math.max(checkpointPages, this.#triedPages / 4)
  }

  /** Outside of all transactions. Where it throws, everything is still in the log. */
  run(): void {
    const [, logPages, donePages] = this.#look.get()!
    this.#triedPages = logPages
    const isLong = logPages - donePages > checkpointOwnPagesMax
    if (this.#elsewhere === undefined || !isLong || this.#hasFailedElsewhere) {
      this.#hasFailedElsewhere = false
      this.#carryOver.get()
      return
    }
    this.#isElsewhere = true
    this.#elsewhere()
      .catch(() => {
        this.#hasFailedElsewhere = true
      })
      .finally(() => {
        this.#isElsewhere = false
      })
  }
}

/** What that other thread does. */
export function carryOver(directory: string): void {
  using db = new DatabaseSync(join(directory, dataFile))
  db.exec(carryOverSql)
}

/** From 3.51 on; before, NOOP meant PASSIVE. */
const canLook = (() => {
  const [major, minor] = process.versions.sqlite!.split('.').map(Number) as [number, number]
  return major > 3 || (major === 3 && minor >= 51)
})()
