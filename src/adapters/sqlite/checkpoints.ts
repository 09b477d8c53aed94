/**
 * When a checkpoint copies the WAL into the data file, and in which thread.
 *
 * SQLite would run the checkpoint inside the commit that makes the WAL long enough. The writes of that
 * commit are durable already, and would wait for it. Here it runs after their answers were sent. While
 * somebody reads an old state, the WAL cannot be restarted and grows. A checkpoint of a long WAL takes long,
 * so it runs in another thread.
 */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFile } from './schema.ts'
import { type ArrayStatement, prepareArrays } from './statements.ts'

/** New pages (8 KiB) in the WAL after which a checkpoint runs: this gave the lowest maximum, 9 ms. */
export const checkpointPages = 1000

/** A checkpoint of more pages runs in another thread: 100 pages take about a millisecond. */
const checkpointOwnPagesMax = 4 * checkpointPages

const checkpointSql = 'PRAGMA wal_checkpoint(PASSIVE)'

/** The WAL is cut to nothing after so many looks in a row between which it grew by fewer pages than this. */
const quietLooks = 3
const quietPages = 16

/** In memory there is no WAL; then both numbers are -1. */
type Progress = [isBlocked: number, walPages: number, donePages: number]

/** Runs a checkpoint in another thread. */
export type RunCheckpoint = () => Promise<void>

export class Checkpoints {
  readonly #look: ArrayStatement<Progress>
  readonly #checkpoint: ArrayStatement<Progress>
  readonly #cut: ArrayStatement<Progress>
  readonly #runInThread: RunCheckpoint | undefined
  #isThreadBusy = false
  /** The next checkpoint then runs in this thread, and its error is reported. */
  #hasThreadFailed = false
  /** Length of the WAL at the last checkpoint. */
  #triedPages = 0
  #pagesAtLook = 0
  #quietLooks = 0

  private constructor(db: DatabaseSync, runInThread: RunCheckpoint | undefined) {
    this.#look = prepareArrays(db, 'PRAGMA wal_checkpoint(NOOP)')
    this.#checkpoint = prepareArrays(db, checkpointSql)
    this.#cut = prepareArrays(db, 'PRAGMA wal_checkpoint(TRUNCATE)')
    this.#runInThread = runInThread
  }

  /** undefined: this SQLite cannot tell the length of its WAL, and runs its checkpoints itself. */
  static of(db: DatabaseSync, runInThread: RunCheckpoint | undefined): Checkpoints | undefined {
    db.exec(`PRAGMA wal_autocheckpoint = ${canLook ? 0 : checkpointPages}`)
    return canLook ? new Checkpoints(db, runInThread) : undefined
  }

  /**
   * Asked after every commit (1.5 us). While a reader keeps the WAL from being restarted, checkpoints come
   * ever more rarely, because each one looks at the whole WAL.
   */
  isDue(): boolean {
    if (this.#isThreadBusy) return false
    const [, walPages] = this.#look.get()!
    // The WAL was restarted: all of it was in the file, and nobody read it any more.
    if (walPages < this.#triedPages) this.#triedPages = 0
    return walPages - this.#triedPages >= Math.max(checkpointPages, this.#triedPages / 4)
  }

  /** Must run outside of transactions. If it throws, everything is still in the WAL. */
  run(): void {
    const [, walPages, donePages] = this.#look.get()!
    this.#triedPages = walPages
    const isLong = walPages - donePages > checkpointOwnPagesMax
    if (this.#runInThread === undefined || !isLong || this.#hasThreadFailed) {
      this.#hasThreadFailed = false
      this.#checkpoint.get()
      return
    }
    this.#runElsewhere(this.#runInThread)
  }

  /**
   * Removes the old contents of the WAL when it is hardly used, because removed items are in it. Must run
   * outside of transactions. While somebody reads an old state, it does nothing.
   */
  cutIfQuiet(needsRoom: boolean): void {
    if (this.#isThreadBusy) return
    const [, walPages, donePages] = this.#look.get()!
    const grown = walPages - this.#pagesAtLook
    this.#pagesAtLook = walPages
    this.#quietLooks = grown >= 0 && grown < quietPages ? this.#quietLooks + 1 : 0
    if (walPages <= 0 || (this.#quietLooks < quietLooks && !needsRoom)) return
    if (walPages - donePages > checkpointOwnPagesMax) this.run()
    else this.#cut.get()
  }

  #runElsewhere(runInThread: RunCheckpoint): void {
    this.#isThreadBusy = true
    runInThread()
      .catch(() => {
        this.#hasThreadFailed = true
      })
      .finally(() => {
        this.#isThreadBusy = false
      })
  }
}

/** Called in the other thread. */
export function checkpointFile(directory: string): void {
  using db = new DatabaseSync(join(directory, dataFile))
  db.exec(checkpointSql)
}

/** SQLite has `wal_checkpoint(NOOP)` since 3.51; before that, NOOP meant PASSIVE. */
const canLook = (() => {
  const [major, minor] = process.versions.sqlite!.split('.').map(Number) as [number, number]
  return major > 3 || (major === 3 && minor >= 51)
})()
