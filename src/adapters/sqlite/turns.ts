/**
 * Groups what arrives together: the reads of one turn of the event loop share a snapshot, its writes share a
 * commit.
 *
 * Reads run at once. The second read of a turn opens a read transaction, for itself and all that follow;
 * they save the locking (measured: 8 to 12 us of 40 at 32 connections). A lone read runs without: for one
 * read, a transaction costs more than it saves.
 *
 * Writes wait for the end of the turn (`setImmediate`) and are committed in one transaction: 13 times the
 * rate of single commits at 32 clients. The next requests of clients that were just answered arrive over a
 * few turns. So as long as a turn brings more writes, the next turn is waited for as well (measured at 32
 * clients: 30 writes per commit instead of 16, 1.2 times the rate; the write of a lone client waits one
 * empty turn). A read never sees a write that is not durable, and no write is acknowledged before its fsync.
 * Microtasks would not group: the data of each request arrives in a callback of its own.
 *
 * A commit ends after `groupWritesMax` writes or `commitBytesMax`, and at least one write. Large writes come
 * after all small ones that wait, so that other clients do not wait for a row of large ones.
 *
 * A failed fsync ends the store (`onFatal`): a retry could acknowledge what the kernel has already dropped.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, machine, type StoredTime } from '../../base/clock.ts'
import { CapacityError, MayflyError } from '../../base/error.ts'
import { commitBytesMax, groupWritesMax, KiB } from '../../base/limits.ts'
import { unwatched } from '../../base/work.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DiskHealth } from './disk-health.ts'
import { isFatal, translate } from './errors.ts'

/**
 * How many turns of the event loop writes wait for more writes. After three, all of 32 clients have come; and
 * a turn with many reads is long.
 */
export const groupTurnsMax = 3

/** Writes of more bytes or steps are large. */
const smallBytesMax = 64 * KiB
const smallStepsMax = 32

/**
 * `mustUndoAlone`: work that has to take back what it did sets a savepoint first. Otherwise it calls `undo`.
 * Runs again after a rollback.
 */
type Work<T> = (moment: EpochSeconds, mustUndoAlone: boolean) => T

/** What the file says about the clock. `ahead`: item time was so many seconds ahead, and has come back. */
export interface TimeRow extends StoredTime {
  readonly ahead: number | null
}

export function readTimeRow(db: DatabaseSync): TimeRow {
  const { mark, sure, doubt, since, ahead } = db
    .prepare('SELECT high_water_mark AS mark, sure, doubt, doubted_since AS since, ahead FROM clock')
    .get() as {
    mark: EpochSeconds
    sure: EpochSeconds | null
    doubt: string | null
    since: number
    ahead: number | null
  }
  if (sure === null) return { mark, ahead }
  return { mark, sure, doubt: { kind: doubt as 'step' | 'start', since: since as EpochSeconds }, ahead }
}

interface Waiting {
  readonly work: Work<unknown>
  readonly freesRoom: boolean
  readonly steps: number
  readonly bytes: number
  readonly isLarge: boolean
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** State in memory that a transaction changes besides the file. It is told how the transaction ended. */
export interface Participant {
  /** Stores what belongs to the transaction. */
  beforeCommit(): void
  afterCommit(): void
  afterRollback(): void
}

export class Turns {
  readonly #db: DatabaseSync
  readonly #clock: Clock
  readonly #onFatal: (error: Error) => void
  readonly #begin: StatementSync
  readonly #beginImmediate: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #writeTimeRow: StatementSync
  readonly #checkpoints: Checkpoints | undefined
  readonly #disk: DiskHealth | undefined
  readonly #participants = new Set<Participant>()
  #small: Waiting[] = []
  readonly #large: Waiting[] = []
  /** Since the transaction began. */
  #bytesWritten = 0
  #readsThisTurn = 0
  #isTurnScheduled = false
  #waitingBefore = 0
  #turnsWaited = 0
  #isUndone = false
  #isCheckpointScheduled = false
  /** The stored second. */
  #mark: EpochSeconds
  #ahead: number | null
  #failure: Error | undefined

  constructor(
    db: DatabaseSync,
    parts: {
      readonly clock: Clock
      readonly stored: TimeRow
      readonly checkpoints: Checkpoints | undefined
      /** undefined: in memory. */
      readonly disk: DiskHealth | undefined
      readonly onFatal: (error: Error) => void
    },
  ) {
    this.#db = db
    this.#clock = parts.clock
    this.#mark = parts.stored.mark
    this.#ahead = parts.stored.ahead
    this.#checkpoints = parts.checkpoints
    this.#disk = parts.disk
    this.#onFatal = parts.onFatal
    this.#begin = db.prepare('BEGIN')
    this.#beginImmediate = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#writeTimeRow = db.prepare(
      'UPDATE clock SET high_water_mark = ?, sure = ?, doubt = ?, doubted_since = ?, ahead = ? WHERE one = 1',
    )
  }

  /**
   * Takes the moment of a read. Each new second is stored before its first answer leaves. So what was seen
   * dead stays dead, even if the process dies and the clock of the machine is set back.
   */
  readMoment(): EpochSeconds {
    if (this.#failure) throw this.#failure
    const now = this.#clock.now()
    // While the disk refuses writes, the mark is late, and the next commit stores it.
    if (now !== this.#mark && this.#disk?.refusal === undefined) this.#storeTime(now)
    return now
  }

  /** By sure time, what is dead may be removed. Never after the moment of the work that asks. */
  sureAt(moment: EpochSeconds): EpochSeconds {
    return Math.min(moment, this.#clock.sure()) as EpochSeconds
  }

  get isInDoubt(): boolean {
    return this.#clock.doubt !== undefined
  }

  /**
   * By how many seconds item time was ahead before it came back, as long as items have stamps of that time.
   */
  get ahead(): number | null {
    return this.#ahead
  }

  /** Called by work: no item has such a stamp any more. */
  forgetAhead(): void {
    this.#ahead = null
    this.#writeTime(this.#mark)
  }

  trust(): void {
    this.#clock.trust()
    this.#storeTime(this.#clock.now())
  }

  /** Begins a read: takes its moment and joins the snapshot of this turn. */
  beginRead(): EpochSeconds {
    const moment = this.readMoment()
    this.#readsThisTurn++
    if (this.#readsThisTurn === 2) this.#begin.run()
    this.#scheduleEndOfTurn()
    return moment
  }

  /**
   * Runs the work in the next commit. Work that frees room may run on a full disk. The bytes, which are an
   * estimate, decide only who goes first.
   */
  write<T>(work: Work<T>, { freesRoom = false, steps = 1, bytes = 0 } = {}): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure)
    const refusal = this.#disk?.refusal && this.#refusal(this.#disk, freesRoom)
    if (refusal) return Promise.reject(refusal)
    return new Promise<T>((resolve, reject) => {
      const isLarge = bytes > smallBytesMax || steps > smallStepsMax
      const queue = isLarge ? this.#large : this.#small
      queue.push({ work, freesRoom, steps, bytes, isLarge, resolve, reject })
      this.#scheduleEndOfTurn()
    })
  }

  #refusal(disk: DiskHealth, freesRoom: boolean): Error | undefined {
    disk.tryAgain()
    return disk.isFull && freesRoom ? undefined : disk.refusal
  }

  /** Called by work. */
  wrote(bytes: number): void {
    this.#bytesWritten += bytes
  }

  /** For reads: what they throw, as an error of ours. */
  readFailed(error: unknown): Error {
    this.#disk?.note(error)
    return translate(error)
  }

  /** Called by work: the participant is told how the transaction ends. */
  join(participant: Participant): void {
    this.#participants.add(participant)
  }

  /**
   * Called by work without a savepoint: rolls back what it did. With it goes the group, which then runs again
   * with savepoints. So only groups with such work pay for savepoints: with one, SQLite copies every page
   * that it changes (measured: a quarter of the cost of a retryable insert).
   */
  undo(): void {
    this.#isUndone = true
  }

  /** Commits what waits and ends the turn; nothing is accepted afterwards. */
  close(): void {
    this.#endTurn()
    while (this.#waitingCount > 0) this.#flush()
    this.#failure ??= new CapacityError('unavailable', 'The store is closed.', 0)
  }

  #scheduleEndOfTurn(): void {
    if (this.#isTurnScheduled) return
    this.#isTurnScheduled = true
    machine.setImmediate(() => this.#endTurn())
  }

  #endTurn(): void {
    this.#isTurnScheduled = false
    this.#endReads()
    if (this.#waitingCount === 0) return
    if (this.#isGrowing()) this.#scheduleEndOfTurn()
    else this.#flush()
  }

  get #waitingCount(): number {
    return this.#small.length + this.#large.length
  }

  /** Whether this turn brought writes, so that the next one may bring more. */
  #isGrowing(): boolean {
    const length = this.#waitingCount
    const isGrowing = length > this.#waitingBefore && length < groupWritesMax && this.#turnsWaited < groupTurnsMax
    this.#waitingBefore = isGrowing ? length : 0
    this.#turnsWaited = isGrowing ? this.#turnsWaited + 1 : 0
    return isGrowing
  }

  #endReads(): void {
    const isInTransaction = this.#readsThisTurn >= 2
    this.#readsThisTurn = 0
    if (!isInTransaction) return
    try {
      this.#commit.run()
    } catch (error) {
      // A read met a damaged page. Then SQLite cannot commit, although nothing was written.
      if (this.#db.isTransaction) this.#rollback.run()
      this.#disk?.note(error)
    }
  }

  #storeTime(now: EpochSeconds): void {
    this.#endReads()
    this.#disk?.look()
    this.#unlessFatal(() => {
      this.#writeTime(now)
      this.#hasStored(now)
    })
    this.#considerCheckpoint()
  }

  #writeTime(now: EpochSeconds): void {
    const { doubt } = this.#clock
    const doubted = doubt === undefined ? [null, null, null] : [this.#clock.sure(), doubt.kind, doubt.since]
    this.#writeTimeRow.run(now, ...doubted, this.#aheadAfter(now))
  }

  #hasStored(now: EpochSeconds): void {
    this.#ahead = this.#aheadAfter(now)
    this.#mark = now
  }

  /** A moment before the stored one: the clock came back. Of two returns the smaller counts. */
  #aheadAfter(now: EpochSeconds): number | null {
    if (now >= this.#mark) return this.#ahead
    const ahead = Math.max(this.#mark - now, this.#clock.returnedSeconds)
    return this.#ahead === null ? ahead : Math.min(ahead, this.#ahead)
  }

  #flush(): void {
    let group = this.#takeGroup()
    let results: unknown[]
    const moment = this.#clock.now()
    try {
      results = this.#run(group, moment, false)
      if (this.#isUndone) {
        this.#rollBack()
        // Work that is alone is answered: nothing was to be kept.
        if (group.length > 1) results = this.#run(group, moment, true)
      }
      if (this.#db.isTransaction) {
        for (const participant of this.#participants) participant.beforeCommit()
        this.#commit.run()
        this.#hasStored(moment)
      }
    } catch (error) {
      this.#abandon(group, error)
      return
    } finally {
      if (this.#waitingCount > 0) this.#scheduleEndOfTurn()
    }
    if (results.length < group.length) {
      this.#putBack(group.slice(results.length))
      group = group.slice(0, results.length)
    }
    for (const participant of this.#participants) participant.afterCommit()
    this.#participants.clear()
    if (this.#disk?.isOnTrial === true && group.some(({ freesRoom }) => !freesRoom)) this.#disk.confirm()
    // Store the second even after a rollback, before answering.
    if (moment !== this.#mark) this.#storeTime(moment)
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index]
      if (result instanceof MayflyError) reject(result)
      else resolve(result as never)
    }
    this.#considerCheckpoint()
  }

  #takeGroup(): readonly Waiting[] {
    let steps = 0
    let count = 0
    for (const waiting of this.#small) {
      steps += waiting.steps
      if (count > 0 && steps > groupWritesMax) break
      count++
    }
    const group = count === this.#small.length ? this.#small : this.#small.slice(0, count)
    this.#small = group === this.#small ? [] : this.#small.slice(count)
    let bytes = 0
    for (let taken = 0; this.#large.length > 0; taken++) {
      steps += this.#large[0]!.steps
      bytes += this.#large[0]!.bytes
      if (taken > 0 && (steps > groupWritesMax || bytes > commitBytesMax)) break
      group.push(this.#large.shift()!)
    }
    return group
  }

  /** Those that the commit had no room for. */
  #putBack(rest: readonly Waiting[]): void {
    this.#small.unshift(...rest.filter(({ isLarge }) => !isLarge))
    this.#large.unshift(...rest.filter(({ isLarge }) => isLarge))
    this.#scheduleEndOfTurn()
  }

  /**
   * Begins a transaction and does the work of a group. Stops when the group must be rolled back, and when it
   * has written enough.
   */
  #run(group: readonly Waiting[], moment: EpochSeconds, mustUndoAlone: boolean): unknown[] {
    if (moment !== this.#mark) this.#disk?.look()
    if (this.#disk?.isFinal === true) throw this.#disk.refusal
    this.#beginImmediate.run()
    if (moment !== this.#mark) this.#writeTime(moment)
    const results: unknown[] = []
    this.#bytesWritten = 0
    for (const { work } of group) {
      // Whoever began this turn may be watched; the writes of others are not.
      results.push(unwatched(() => attempt(work, moment, mustUndoAlone)))
      if (this.#isUndone || this.#bytesWritten > commitBytesMax) break
    }
    return results
  }

  /**
   * Answers leave at the end of the next turn (`server/http/fast-lane.ts`); the checkpoint runs after them.
   */
  #considerCheckpoint(): void {
    if (this.#isCheckpointScheduled || this.#failure !== undefined) return
    this.#unlessFatal(() => {
      if (this.#checkpoints === undefined) return
      // On a full disk the WAL must not grow: after a checkpoint it begins anew.
      if (!this.#checkpoints.isDue() && this.#disk?.isFull !== true) return
      this.#isCheckpointScheduled = true
      machine.setImmediate(() => machine.setImmediate(() => this.#checkpoint()))
    })
  }

  #checkpoint(): void {
    this.#isCheckpointScheduled = false
    if (this.#failure !== undefined) return
    this.#endReads()
    this.#unlessFatal(() => this.#checkpoints!.run())
  }

  /** Called about once a second, when nothing else is to be done. */
  cutQuietLog(): void {
    if (this.#failure !== undefined) return
    this.#endReads()
    this.#disk?.look()
    this.#disk?.tryAgain()
    this.#unlessFatal(() => this.#checkpoints?.cutIfQuiet(this.#disk?.isFull === true))
  }

  #rollBack(): void {
    if (this.#db.isTransaction) this.#rollback.run()
    for (const participant of this.#participants) participant.afterRollback()
    this.#participants.clear()
    this.#isUndone = false
  }

  #abandon(group: readonly Waiting[], cause: unknown): void {
    this.#rollBack()
    const error = translate(cause)
    if (this.#disk?.note(cause) === true) this.#makeRoom()
    else if (isFatal(cause)) this.#fail(cause)
    for (const { reject } of group) reject(error)
  }

  /** For work that nobody waits for: it will be retried, unless the file cannot be trusted any more. */
  #unlessFatal(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (this.#disk?.note(error) !== true && isFatal(error)) this.#fail(error)
    }
  }

  /** What the WAL holds goes into the file, so that sweeps can use the room of the WAL again. */
  #makeRoom(): void {
    if (this.#disk?.isFull !== true || this.#isCheckpointScheduled) return
    this.#isCheckpointScheduled = true
    machine.setImmediate(() => this.#checkpoint())
  }

  #fail(cause: unknown): void {
    this.#failure = translate(cause)
    this.#onFatal(this.#failure)
  }
}

/**
 * A write that our own rules refuse fails alone: it was checked before it touched a row. Any other error
 * fails the whole group.
 */
function attempt(work: Work<unknown>, moment: EpochSeconds, mustUndoAlone: boolean): unknown {
  try {
    return work(moment, mustUndoAlone)
  } catch (error) {
    if (error instanceof MayflyError) return error
    throw error
  }
}
