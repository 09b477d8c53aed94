/**
 * Decides whether the store may write, by the answers of the disk so far.
 *
 *   full or read-only   writes are refused until the reserve can be written again
 *   failed sync         because the disk became read-only: there are no more writes, because it is not known
 *                       which pages the system has dropped
 *   damaged             a read met a damaged page, here or in a query thread; writes could spread the damage,
 *                       so there are no more
 *   removed             the data file is not in its place any more; new writes would be lost
 *
 * Reads go on in all cases. The reserve is a file that only takes up room. When the disk is full it is
 * removed, so that sweeps have room for their part of the WAL: they free more than they take.
 */

import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { machine } from '../../../base/clock.ts'
import { CapacityError } from '../../../base/error.ts'
import { KiB, MiB } from '../../../base/limits.ts'
import { hearDamage } from './damage-news.ts'
import { isDamage, isFailedSync, isFull, isReadOnly, translate } from './errors.ts'
import { dataFile } from './schema.ts'

const reserveFile = 'mayfly.reserve'

/** A checkpoint of a WAL of usual length needs this much. */
const reserveBytes = 8 * MiB

/** The reserve is written in steps from this one buffer: malloc would keep eight buffers of a megabyte. */
const step = Buffer.alloc(64 * KiB, 'reserve ')

/** How often the disk is tried again. */
const retryMs = 1000

export type ReportDisk = (condition: 'writable' | 'refused', sentence: string) => void

export class DiskHealth implements Disposable {
  readonly #directory: string
  readonly #report: ReportDisk
  readonly #inode: number
  readonly #damageNews: Disposable
  #refusal: CapacityError | undefined
  #isFinal = false
  #isReadOnly = false
  #triedMs = 0
  #isOnTrial = false
  #reserved: number

  constructor(directory: string, report: ReportDisk) {
    this.#directory = directory
    this.#report = report
    this.#damageNews = hearDamage(directory, error => this.note(error))
    this.#inode = statSync(join(directory, dataFile)).ino
    this.#reserved = statSync(join(directory, reserveFile), { throwIfNoEntry: false })?.size ?? 0
  }

  [Symbol.dispose](): void {
    this.#damageNews[Symbol.dispose]()
  }

  /** Why writes are refused. */
  get refusal(): CapacityError | undefined {
    return this.#refusal
  }

  /** Whether writes are refused until a restart. */
  get isFinal(): boolean {
    return this.#isFinal
  }

  /** Whether room is needed: then sweeps go on, and all free pages are given back. */
  get isFull(): boolean {
    return this.#refusal !== undefined && !this.#isFinal && !this.#isReadOnly
  }

  /** Whether the store may write for itself: checkpoints. */
  get allowsUpkeep(): boolean {
    return this.#refusal === undefined || this.isFull
  }

  /** Whether the next write will show that there is room again. */
  get isOnTrial(): boolean {
    return this.#isOnTrial
  }

  /** Takes notice of an error. Returns true if it is one of the cases above, so that the store can go on. */
  note(error: unknown): boolean {
    if (isDamage(error)) {
      this.#refuse('The data file is damaged. Nothing is written any more; what can be read is served.', true, error)
      return true
    }
    if (!isFull(error) && !isReadOnly(error) && !isFailedSync(error)) return false
    this.#isReadOnly = isReadOnly(error) || this.#refusesToOpen()
    if (isFailedSync(error)) {
      if (!this.#isReadOnly) return false
      const sentence = `The disk of ${this.#directory} became read-only while data was written to it.`
      this.#refuse(`${sentence} Nothing is written until a restart; what is there is served.`, true, error)
      return true
    }
    if (this.#isReadOnly) {
      const sentence = `The disk of ${this.#directory} is read-only. Nothing is written until it is writable again.`
      this.#refuse(sentence, false, error)
      return true
    }
    this.#release()
    this.#refuse(translate(error).message, false, error)
    return true
  }

  /** Tries the disk again if it was some time ago. Called before a write is refused, and in idle moments. */
  tryAgain(): void {
    if (this.#refusal === undefined || this.#isFinal) return
    const nowMs = machine.monotonicMs()
    if (nowMs - this.#triedMs < retryMs) return
    this.#triedMs = nowMs
    this.#reserved = 0
    while (this.#reserve()) {}
    if (this.#reserved < reserveBytes) {
      this.#release()
      return
    }
    this.#refusal = undefined
    this.#isOnTrial = true
  }

  /** Called after a commit with writes: now it is sure that the disk accepts them. */
  confirm(): void {
    this.#isOnTrial = false
    this.#report('writable', 'The disk accepts writes again.')
  }

  /** Writes a part of the reserve, in an idle moment. Returns true if there is more to do. */
  prepare(): boolean {
    return this.#refusal === undefined && this.#reserve()
  }

  /** Finds out whether the data file is still in its place (3 us). */
  look(): void {
    if (this.#isFinal) return
    const found = statSync(join(this.#directory, dataFile), { throwIfNoEntry: false })?.ino
    if (found === this.#inode) return
    const sentence = `The data file in ${this.#directory} was removed or replaced. Nothing is written any more.`
    this.#refuse(sentence, true, undefined)
  }

  #refuse(sentence: string, isFinal: boolean, cause: unknown): void {
    if (this.#isFinal) return
    // A limit on the size of one file allows the reserve, but not the next write. That refusal was reported
    // before.
    const isNews = (this.#refusal === undefined && !this.#isOnTrial) || isFinal
    this.#isOnTrial = false
    this.#refusal = new CapacityError('unavailable', sentence, retryMs, { cause })
    this.#isFinal = isFinal
    if (!isNews) return
    this.#report('refused', sentence)
  }

  /** Writes a step of the reserve. Returns false if it is complete, or there is no room. */
  #reserve(): boolean {
    if (this.#reserved >= reserveBytes) return false
    try {
      const file = openSync(join(this.#directory, reserveFile), this.#reserved === 0 ? 'w' : 'r+', 0o600)
      try {
        const written = writeSync(file, step, 0, step.length, this.#reserved)
        this.#reserved += written
        return written === step.length && this.#reserved < reserveBytes
      } finally {
        closeSync(file)
      }
    } catch {
      return false
    }
  }

  #release(): void {
    this.#reserved = 0
    try {
      rmSync(join(this.#directory, reserveFile), { force: true })
    } catch {
      // A disk that has just become read-only keeps it.
    }
  }

  /**
   * SQLite reports a read-only disk as a failed write or sync, without the number of the system's error.
   * This does not open the data file, because closing it would release SQLite's locks.
   */
  #refusesToOpen(): boolean {
    try {
      closeSync(openSync(join(this.#directory, reserveFile), 'a', 0o600))
      return false
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EROFS'
    }
  }
}
