/**
 * Gives the pages of removed data back to the file system, in small steps.
 *
 * Writes soon use free pages again, so a few are kept: giving back begins when a quarter of the file is
 * free, and ends when a sixteenth is.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type ArrayStatement, prepareArrays } from './statements.ts'

/** Pages that one step moves. 64 pages took 10 ms and more on a busy machine. */
const stepPages = 16
/** On a full disk every commit needs room in the WAL, so there are fewer and larger steps. */
const fullDiskStepPages = 64

/** Files with fewer pages are left as they are. */
const pagesMin = 256

export class FreePages {
  readonly #free: ArrayStatement<[number]>
  readonly #all: ArrayStatement<[number]>
  readonly #giveBack: StatementSync
  readonly #giveBackMore: StatementSync
  readonly #canGiveBack: boolean
  #isGivingBack = false

  constructor(db: DatabaseSync) {
    this.#free = prepareArrays(db, 'PRAGMA freelist_count')
    this.#all = prepareArrays(db, 'PRAGMA page_count')
    this.#giveBack = db.prepare(`PRAGMA incremental_vacuum(${stepPages})`)
    this.#giveBackMore = db.prepare(`PRAGMA incremental_vacuum(${fullDiskStepPages})`)
    this.#canGiveBack = db.prepare('PRAGMA auto_vacuum').get()!.auto_vacuum === incremental
  }

  /** Must run inside the writer's transaction. True: there is more to give back. */
  step(needsRoom: boolean): boolean {
    if (!this.#canGiveBack) return false
    const [free] = this.#free.get()!
    const [all] = this.#all.get()!
    const share = this.#isGivingBack ? 1 / 16 : 1 / 4
    this.#isGivingBack = needsRoom ? free > 0 : all >= pagesMin && free > all * share
    // `all`, not `get`: each row stands for one page.
    if (this.#isGivingBack) (needsRoom ? this.#giveBackMore : this.#giveBack).all()
    return this.#isGivingBack
  }
}

/** Value of `PRAGMA auto_vacuum`. Files of older versions have 0, and keep it. */
const incremental = 2
