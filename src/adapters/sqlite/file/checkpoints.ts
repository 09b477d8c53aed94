/**
 * Decides when a checkpoint copies the WAL into the data file, and in which thread.
 *
 * SQLite would run the checkpoint inside the commit that makes the WAL long enough. The writes of that
 * commit are durable already, and would wait for it. Here it runs after their answers were sent. In a server
 * with much to write it runs in another thread, because all requests wait for what this thread does.
 *
 * SQLite starts the WAL again from its beginning only when all of it is in the data file. The other thread
 * never gets that far while this one goes on writing. So when the WAL has become long, this thread copies
 * the few pages that the other one's last checkpoint left. SQLite would sync the data file only then. That
 * takes 10 to 30 ms, because the other thread has copied so much. So the data file is synced in the thread
 * pool after each checkpoint of the other thread.
 *
 * While a reader still uses an old state, the WAL cannot start again, and grows.
 *
 * A failed sync is never repeated: the system may have dropped the pages, and the next sync would succeed
 * without them. The error is kept, and thrown in this thread.
 */

import { closeSync, fdatasync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { machine } from '../../../base/clock.ts'
import { failedSync, isFailedSync } from './errors.ts'
import { dataFile } from './schema.ts'
import { type ArrayStatement, prepareArrays } from './statements.ts'

/** New pages (8 KiB) in the WAL after which a checkpoint runs: this gave the lowest maximum, 9 ms. */
export const checkpointPages = 1000

/** Times `checkpointPages`. A larger checkpoint always runs in the other thread: 100 pages take 1 ms. */
const ownShareMax = 4

/** A server is busy with writes if two checkpoints follow each other faster than this. */
const busyMs = 10_000

/** Times `checkpointPages`. A WAL of this length (64 MB) is long: it should start again. */
const longShare = 8
export const longPages = longShare * checkpointPages
/**
 * The largest part of a long WAL that this thread copies (5 ms). If more is left, the other thread goes
 * first.
 */
const restShareMax = 1 / 16

const checkpointSql = 'PRAGMA wal_checkpoint(PASSIVE)'

/** The WAL is cut to length 0 after three looks in a row at which it had grown by fewer than 16 pages. */
const quietLooks = 3
const quietPages = 16

/** In memory there is no WAL; then both numbers are -1. */
type Progress = [isBlocked: number, walPages: number, donePages: number]

/** Runs a checkpoint in another thread. */
export type RunCheckpoint = () => Promise<void>

const sync = promisify(fdatasync)

interface CheckpointOptions {
  /** undefined: in memory. */
  readonly directory: string | undefined
  readonly runInThread: RunCheckpoint | undefined
  /** Tests make it small. */
  readonly pages?: number | undefined
}

export class Checkpoints implements Disposable {
  readonly #look: ArrayStatement<Progress>
  readonly #checkpoint: ArrayStatement<Progress>
  readonly #cut: ArrayStatement<Progress>
  readonly #runInThread: RunCheckpoint | undefined
  /** To sync the data file. Open as long as SQLite has it open: closing it would end SQLite's locks. */
  readonly #file: number | undefined
  readonly #pages: number
  #isThreadBusy = false
  /** The other thread failed: the next checkpoint runs in this thread, and its error is reported. */
  #hasThreadFailed = false
  #failedSync: Error | undefined
  /** Length of the WAL at the last checkpoint. */
  #triedPages = 0
  #triedMs = Number.NEGATIVE_INFINITY
  /** The other thread has just made a checkpoint, so few pages may be left. */
  #isRestDue = false
  #pagesAtLook = 0
  #quietLooks = 0

  private constructor(db: DatabaseSync, { directory, runInThread, pages = checkpointPages }: CheckpointOptions) {
    this.#pages = pages
    this.#look = prepareArrays(db, 'PRAGMA wal_checkpoint(NOOP)')
    this.#checkpoint = prepareArrays(db, checkpointSql)
    this.#cut = prepareArrays(db, 'PRAGMA wal_checkpoint(TRUNCATE)')
    this.#runInThread = runInThread
    if (directory !== undefined && runInThread !== undefined) this.#file = openSync(join(directory, dataFile), 'r+')
  }

  /** Called after the database was closed. */
  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  /** undefined: this SQLite cannot tell the length of its WAL, and runs its checkpoints itself. */
  static of(db: DatabaseSync, options: CheckpointOptions): Checkpoints | undefined {
    db.exec(`PRAGMA wal_autocheckpoint = ${canLook ? 0 : checkpointPages}`)
    return canLook ? new Checkpoints(db, options) : undefined
  }

  /**
   * Asked after every commit (1.5 us). While a reader keeps the WAL from starting again, checkpoints become
   * rarer and rarer, because each one looks at all pages that are not in the data file.
   */
  isDue(): boolean {
    if (this.#isThreadBusy) return false
    if (this.#failedSync !== undefined) return true
    const [, walPages, donePages] = this.#look.get()!
    // The WAL has started again.
    if (walPages < this.#triedPages) this.#triedPages = 0
    if (this.#isRestDue && this.#isLong(walPages)) return true
    return walPages - this.#triedPages >= Math.max(this.#pages, (walPages - donePages) / 4)
  }

  /** Must run outside of transactions. If it throws, everything is still in the WAL. */
  run(): void {
    this.#throwFailedSync()
    const [, walPages, donePages] = this.#look.get()!
    const nowMs = machine.monotonicMs()
    const isBusy = nowMs - this.#triedMs < busyMs
    const isRest = this.#isRestDue && this.#isLong(walPages) && walPages - donePages <= walPages * restShareMax
    this.#triedPages = walPages
    this.#triedMs = nowMs
    this.#isRestDue = false
    const isForThread = (isBusy && !isRest) || walPages - donePages > ownShareMax * this.#pages
    if (this.#runInThread === undefined || !isForThread || this.#hasThreadFailed) {
      this.#hasThreadFailed = false
      this.#checkpoint.get()
      return
    }
    void this.#runElsewhere(this.#runInThread)
  }

  /**
   * Removes the old contents of the WAL when it is hardly used, because they include removed items. Must run
   * outside of transactions. Does nothing while a reader uses an old state.
   */
  cutIfQuiet(needsRoom: boolean): void {
    if (this.#isThreadBusy) return
    this.#throwFailedSync()
    const [, walPages, donePages] = this.#look.get()!
    const grown = walPages - this.#pagesAtLook
    this.#pagesAtLook = walPages
    this.#quietLooks = grown >= 0 && grown < quietPages ? this.#quietLooks + 1 : 0
    if (walPages <= 0 || (this.#quietLooks < quietLooks && !needsRoom)) return
    if (walPages - donePages > ownShareMax * this.#pages) this.run()
    else this.#cut.get()
  }

  #isLong(walPages: number): boolean {
    return walPages >= longShare * this.#pages
  }

  #throwFailedSync(): void {
    if (this.#failedSync !== undefined) throw this.#failedSync
  }

  async #runElsewhere(runInThread: RunCheckpoint): Promise<void> {
    this.#isThreadBusy = true
    try {
      await runInThread()
      await this.#syncFile()
    } catch (error) {
      // Any other error that lasts will come again in this thread: all pages are still in the WAL.
      if (isFailedSync(error)) this.#failedSync = error as Error
      else this.#hasThreadFailed = true
    } finally {
      this.#isThreadBusy = false
      this.#isRestDue = true
    }
  }

  async #syncFile(): Promise<void> {
    if (this.#file === undefined) return
    try {
      await sync(this.#file)
    } catch (cause) {
      throw failedSync(cause)
    }
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
