/**
 * Groups the operations that arrive together: the reads of one turn of the event loop share a snapshot, its
 * writes share a commit.
 *
 * Reads run at once. The second read of a turn opens a read transaction, for itself and all that follow;
 * this saves the locking (measured: 8 to 12 us of 40 at 32 connections). A lone read runs without a
 * transaction, which would cost more than it saves.
 *
 * Writes wait for the end of the turn (`setImmediate`) and are committed in one transaction: 13 times the
 * rate of single commits at 32 clients. The next requests of clients that were just answered arrive over a
 * few turns. So as long as a turn brings more writes, the next turn is waited for as well (measured at 32
 * clients: 30 writes per commit instead of 16, 1.2 times the rate; the write of a lone client waits one
 * empty turn). A read never sees a write that is not durable, and no write is acknowledged before its fsync.
 * Waiting for microtasks would not group writes: the data of each request arrives in a callback of its own.
 *
 * A commit ends after `groupWritesMax` writes or `commitBytesMax`, but has at least one write. Large writes
 * have commits of their own (`waiting-writes.ts`).
 *
 * A failed fsync ends the store (`onFatal`): a retry could acknowledge what the kernel has already dropped.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, machine } from '../../base/clock.ts'
import { CapacityError, MayflyError } from '../../base/error.ts'
import { inHeavyTurn, isHeavyWorkWaiting } from '../../base/heavy-turns.ts'
import { commitBytesMax, groupWritesMax } from '../../base/limits.ts'
import { unwatched } from '../../base/work.ts'
import type { Checkpoints } from './file/checkpoints.ts'
import type { DiskHealth } from './file/disk-health.ts'
import type { EndMark, Milestone } from './file/end-mark.ts'
import { isFatal, translate } from './file/errors.ts'
import { type StoredTimeRow, TimeRow } from './time-row.ts'
import { WaitingWrites, type WriteGroup, type WriteWork } from './waiting-writes.ts'

/**
 * How many turns of the event loop a group waits for more writes. After three, the writes of all 32 clients
 * have arrived. More would delay writes, because a turn with many reads is long.
 */
export const groupTurnsMax = 3

/** A group does not wait longer: if a turn was long, the writes that were sent together have arrived. */
const groupMsMax = 2

/** State in memory that a transaction changes besides the file. It is told how the transaction ended. */
export interface Participant {
  /** Stores what belongs to the transaction. */
  beforeCommit(): void
  afterCommit(): void
  afterRollback(): void
  /** What the file has since the last commit. */
  readonly reached?: Milestone | undefined
}

export class Turns {
  readonly #db: DatabaseSync
  readonly #clock: Clock
  readonly #onFatal: (error: Error) => void
  readonly #begin: StatementSync
  readonly #beginImmediate: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #timeRow: TimeRow
  readonly #checkpoints: Checkpoints | undefined
  readonly #disk: DiskHealth | undefined
  readonly #endMark: EndMark | undefined
  readonly #participants = new Set<Participant>()
  readonly #waiting = new WaitingWrites()
  /** Since the transaction began. */
  #bytesWritten = 0
  #readsThisTurn = 0
  #isTurnScheduled = false
  #waitingBefore = 0
  #turnsWaited = 0
  #waitedSinceMs = 0
  #isLargeScheduled = false
  #isUndone = false
  #isCheckpointScheduled = false
  /** Nothing is accepted: the store has failed, or is closed. */
  #failure: Error | undefined
  #isFatal = false

  constructor(
    db: DatabaseSync,
    parts: {
      readonly clock: Clock
      readonly stored: StoredTimeRow
      readonly checkpoints: Checkpoints | undefined
      /** undefined: in memory. */
      readonly disk: DiskHealth | undefined
      readonly endMark: EndMark | undefined
      readonly onFatal: (error: Error) => void
    },
  ) {
    this.#db = db
    this.#clock = parts.clock
    this.#timeRow = new TimeRow(db, parts.clock, parts.stored)
    this.#checkpoints = parts.checkpoints
    this.#disk = parts.disk
    this.#endMark = parts.endMark
    this.#onFatal = parts.onFatal
    this.#begin = db.prepare('BEGIN')
    this.#beginImmediate = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
  }

  /** Takes the moment of a read. A new second is stored before its first answer leaves (`time-row.ts`). */
  readMoment(): EpochSeconds {
    if (this.#failure) throw this.#failure
    const now = this.#clock.now()
    // While the disk refuses writes, the second is not stored here. The next commit stores it.
    if (now !== this.#timeRow.mark && this.#disk?.refusal === undefined) this.#storeTime(now)
    return now
  }

  /** The sure time, by which dead items may be removed. Never later than the moment of the caller's work. */
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
    return this.#timeRow.ahead
  }

  /** Called by work: no item has a stamp of a time ahead any more. */
  forgetAhead(): void {
    this.#timeRow.forgetAhead()
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
   * Runs the work in the next commit. Work that frees room may run on a full disk. The bytes are an
   * estimate: they only decide in which queue the work waits, and how much work shares a commit.
   */
  write<T>(work: WriteWork<T>, { freesRoom = false, steps = 1, bytes = 0 } = {}): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure)
    const refusal = this.#disk?.refusal && this.#refusal(this.#disk, freesRoom)
    if (refusal) return Promise.reject(refusal)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add({ work, freesRoom, steps, bytes, resolve, reject })
      this.#scheduleWrites()
    })
  }

  #refusal(disk: DiskHealth, freesRoom: boolean): Error | undefined {
    disk.tryAgain()
    return disk.isFull && freesRoom ? undefined : disk.refusal
  }

  /** Called by work, with the bytes that it has written. */
  wrote(bytes: number): void {
    this.#bytesWritten += bytes
  }

  /** Translates the error of a read. Damage that the read met makes the store refuse writes. */
  readFailed(error: unknown): Error {
    this.#disk?.note(error)
    return translate(error)
  }

  /** Called by work: the participant is told how the transaction ends. */
  join(participant: Participant): void {
    this.#participants.add(participant)
  }

  /**
   * Called by work that has set no savepoint: rolls back the whole group, which then runs again with
   * savepoints. So only groups with such work pay for savepoints: within one, SQLite copies every page that
   * it changes (measured: a quarter of the cost of a retryable insert).
   */
  undo(): void {
    this.#isUndone = true
  }

  /** Whether the file must not be written any more, not even by a checkpoint at closing. */
  get isStopped(): boolean {
    return this.#isFatal || this.#disk?.isFinal === true
  }

  /** Ends the turn and commits the waiting writes. Nothing is accepted afterwards. */
  close(): void {
    this.#endTurn()
    while (this.#waiting.smallCount > 0) this.#commitSmall()
    while (this.#waiting.largeCount > 0) this.#commitLarge()
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
    if (this.#waiting.smallCount === 0) return
    if (this.#isGrowing()) this.#scheduleEndOfTurn()
    else this.#commitSmall()
  }

  #scheduleLarge(): void {
    if (this.#isLargeScheduled) return
    this.#isLargeScheduled = true
    // Large writes that arrive in the same turn may share a commit.
    machine.setImmediate(() => {
      inHeavyTurn(() => {
        this.#isLargeScheduled = false
        this.#endReads()
        if (this.#waiting.largeCount > 0) this.#commitLarge()
      })
    })
  }

  /** Whether this turn brought writes, so that the next one may bring more. */
  #isGrowing(): boolean {
    const { smallCount, largeCount } = this.#waiting
    const isRoom = smallCount < groupWritesMax && largeCount === 0 && !isHeavyWorkWaiting()
    const mayGrow = smallCount > this.#waitingBefore && isRoom && this.#turnsWaited < groupTurnsMax
    const nowMs = mayGrow ? machine.monotonicMs() : 0
    if (this.#turnsWaited === 0) this.#waitedSinceMs = nowMs
    const isGrowing = mayGrow && nowMs - this.#waitedSinceMs < groupMsMax
    this.#waitingBefore = isGrowing ? smallCount : 0
    this.#turnsWaited = isGrowing ? this.#turnsWaited + 1 : 0
    return isGrowing
  }

  /** For statements that SQLite refuses within a transaction. */
  betweenTransactions(work: () => void): void {
    this.#endReads()
    work()
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
      this.#timeRow.write(now)
      this.#timeRow.committed(now)
    })
    this.#considerCheckpoint()
  }

  #commitSmall(): void {
    this.#commitGroup(this.#waiting.takeSmall())
  }

  #commitLarge(): void {
    this.#commitGroup(this.#waiting.takeLarge())
  }

  #commitGroup(taken: WriteGroup): void {
    let group = taken
    let results: unknown[]
    const moment = this.#clock.now()
    try {
      results = this.#run(group, moment, false)
      if (this.#isUndone) {
        this.#rollBack()
        if (group[0]!.isLarge) results = untilUndone(group, results)
        // A refused write that was alone is answered: there is no other work to keep.
        else if (group.length > 1) results = this.#run(group, moment, true)
      }
      if (this.#db.isTransaction) {
        for (const participant of this.#participants) participant.beforeCommit()
        this.#commit.run()
        this.#timeRow.committed(moment)
      }
    } catch (error) {
      this.#abandon(group, error)
      return
    } finally {
      this.#scheduleWrites()
    }
    if (results.length < group.length) {
      this.#waiting.putBack(group.slice(results.length))
      this.#scheduleWrites()
      group = group.slice(0, results.length)
    }
    for (const participant of this.#participants) {
      participant.afterCommit()
      if (participant.reached !== undefined) this.#endMark?.note(participant.reached)
    }
    this.#participants.clear()
    if (this.#disk?.isOnTrial === true && group.some(({ freesRoom }) => !freesRoom)) this.#disk.confirm()
    // Store the second even after a rollback, before answering.
    if (moment !== this.#timeRow.mark) this.#storeTime(moment)
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index]
      if (result instanceof MayflyError) reject(result)
      else resolve(result as never)
    }
    this.#considerCheckpoint()
  }

  #scheduleWrites(): void {
    if (this.#waiting.smallCount > 0) this.#scheduleEndOfTurn()
    if (this.#waiting.largeCount > 0) this.#scheduleLarge()
  }

  /**
   * Begins a transaction and does the work of a group. Stops when the group must be rolled back, and when it
   * has written enough.
   */
  #run(group: WriteGroup, moment: EpochSeconds, mustUndoAlone: boolean): unknown[] {
    if (moment !== this.#timeRow.mark) this.#disk?.look()
    if (this.#disk?.isFinal === true) throw this.#disk.refusal
    this.#beginImmediate.run()
    if (moment !== this.#timeRow.mark) this.#timeRow.write(moment)
    const results: unknown[] = []
    this.#bytesWritten = 0
    for (const { work } of group) {
      // The request that began this turn may run under a watch, which must not end the writes of others.
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
    if (this.#failure !== undefined || this.#disk?.allowsUpkeep === false) return
    this.#endReads()
    this.#unlessFatal(() => this.#checkpoints!.run())
  }

  /**
   * Looks after the disk, and cuts the WAL if it is hardly used. Called about once a second, when nothing
   * else is to be done.
   */
  cutQuietLog(): void {
    if (this.#failure !== undefined) return
    this.#endReads()
    this.#disk?.look()
    this.#disk?.tryAgain()
    if (this.#disk?.allowsUpkeep === false) return
    this.#unlessFatal(() => this.#checkpoints?.cutIfQuiet(this.#disk?.isFull === true))
  }

  #rollBack(): void {
    if (this.#db.isTransaction) this.#rollback.run()
    for (const participant of this.#participants) participant.afterRollback()
    this.#participants.clear()
    this.#isUndone = false
  }

  #abandon(group: WriteGroup, cause: unknown): void {
    this.#rollBack()
    const isNoted = this.#disk?.note(cause) === true
    if (isNoted) this.#makeRoom()
    else if (isFatal(cause)) this.#fail(cause)
    const error = (isNoted && this.#disk?.refusal) || translate(cause)
    for (const { reject } of group) reject(error)
  }

  /** Runs upkeep, which will be retried after an error, unless the file cannot be trusted any more. */
  #unlessFatal(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (this.#disk?.note(error) !== true && isFatal(error)) this.#fail(error)
    }
  }

  /** Copies the WAL into the data file, so that sweeps can use the room of the WAL again. */
  #makeRoom(): void {
    if (this.#disk?.isFull !== true || this.#isCheckpointScheduled) return
    this.#isCheckpointScheduled = true
    machine.setImmediate(() => this.#checkpoint())
  }

  #fail(cause: unknown): void {
    this.#isFatal = true
    this.#failure = translate(cause)
    this.#onFatal(this.#failure)
  }
}

/**
 * The answers to send after a group of large writes was rolled back, because its last write asked for that.
 * No large write runs twice in one turn. If the refused write was the first, it is answered. Otherwise all
 * go back to the queue, and the refused one gets a commit of its own.
 */
function untilUndone(group: WriteGroup, results: unknown[]): unknown[] {
  if (results.length === 1) return results
  group[results.length - 1]!.isAlone = true
  return []
}

/**
 * A write that Mayfly's own rules refuse fails alone: it was checked before it touched a row. Any other
 * error fails the whole group.
 */
function attempt(work: WriteWork<unknown>, moment: EpochSeconds, mustUndoAlone: boolean): unknown {
  try {
    return work(moment, mustUndoAlone)
  } catch (error) {
    if (error instanceof MayflyError) return error
    throw error
  }
}
