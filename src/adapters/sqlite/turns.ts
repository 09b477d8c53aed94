/**
 * Groups what arrives together: the reads of one turn of the event loop share a snapshot, its writes share a
 * commit.
 *
 * Reads run at once. The second read of a turn opens a read transaction for it and all that follow, which
 * saves each of them its locking (measured: 8 to 12 us of 40 at 32 connections); a lone read runs bare, for
 * it a transaction costs more than it saves.
 *
 * Writes wait for the end of the turn (`setImmediate`) and are committed in one transaction: 13 times the
 * rate of single commits at 32 clients. What clients send when they are answered arrives over a few turns, so
 * as long as turns bring more writes the next one is waited for (measured at 32 clients: 30 writes to a
 * commit instead of 16, 1.2 times the rate; a lone client's write waits one empty turn). So a read never sees
 * a write that is not durable, and no write is acknowledged before its fsync. Microtasks would not group:
 * each request's data arrives in a callback of its own.
 *
 * A failed fsync ends the store (`onFatal`): retrying could acknowledge what the kernel has already dropped.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, machine } from '../../base/clock.ts'
import { CapacityError, MayflyError } from '../../base/error.ts'
import { groupWritesMax } from '../../base/limits.ts'
import type { Checkpoints } from './checkpoints.ts'
import { isFatal, translate } from './errors.ts'

/**
 * Turns of the event loop that writes wait for more to come: all of 32 clients are there by then, and beside
 * many reads a turn is long.
 */
export const groupTurnsMax = 3

/** Told whether it has the transaction to itself. */
type Work<T> = (moment: EpochSeconds, isAlone: boolean) => T

interface Waiting {
  readonly work: Work<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** What a transaction changes in memory besides the file; told how the transaction ended. */
export interface Participant {
  /** Writes to the file what must be stored with the transaction. */
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
  readonly #raiseHighWaterMark: StatementSync
  readonly #checkpoints: Checkpoints | undefined
  readonly #participants = new Set<Participant>()
  #waiting: Waiting[] = []
  #readsThisTurn = 0
  #isTurnScheduled = false
  #waitingBefore = 0
  #turnsWaited = 0
  #isUndone = false
  #isCheckpointScheduled = false
  #highWaterMark: EpochSeconds
  #failure: Error | undefined

  constructor(
    db: DatabaseSync,
    parts: {
      readonly clock: Clock
      readonly highWaterMark: EpochSeconds
      readonly checkpoints: Checkpoints | undefined
      readonly onFatal: (error: Error) => void
    },
  ) {
    this.#db = db
    this.#clock = parts.clock
    this.#highWaterMark = parts.highWaterMark
    this.#checkpoints = parts.checkpoints
    this.#onFatal = parts.onFatal
    this.#begin = db.prepare('BEGIN')
    this.#beginImmediate = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#raiseHighWaterMark = db.prepare('UPDATE clock SET high_water_mark = ? WHERE one = 1')
  }

  /**
   * Takes the moment of a read. Before the first answer of a new second leaves, that second is stored: what
   * was seen dead stays dead even when the process dies next and the machine's clock is set back.
   */
  readMoment(): EpochSeconds {
    if (this.#failure) throw this.#failure
    const now = this.#clock.now()
    if (now > this.#highWaterMark) this.#storeHighWaterMark(now)
    return now
  }

  /** Opens a read: takes its moment and joins the turn's snapshot. */
  beginRead(): EpochSeconds {
    const moment = this.readMoment()
    this.#readsThisTurn++
    if (this.#readsThisTurn === 2) this.#begin.run()
    this.#scheduleEndOfTurn()
    return moment
  }

  /** Runs the work in the turn's commit. */
  write<T>(work: Work<T>): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject })
      this.#scheduleEndOfTurn()
    })
  }

  /** Called by work: the participant is told how the transaction ends. */
  join(participant: Participant): void {
    this.#participants.add(participant)
  }

  /** Called by work that is alone: nothing of what it did is to stay. It is answered all the same. */
  undo(): void {
    this.#isUndone = true
  }

  /** Commits what waits and ends the turn; nothing may be asked for afterwards. */
  close(): void {
    this.#endTurn()
    while (this.#waiting.length > 0) this.#flush()
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
    if (this.#waiting.length === 0) return
    if (this.#isGrowing()) this.#scheduleEndOfTurn()
    else this.#flush()
  }

  /** Whether this turn brought writes and may not have been the last to do so. */
  #isGrowing(): boolean {
    const { length } = this.#waiting
    const isGrowing = length > this.#waitingBefore && length < groupWritesMax && this.#turnsWaited < groupTurnsMax
    this.#waitingBefore = isGrowing ? length : 0
    this.#turnsWaited = isGrowing ? this.#turnsWaited + 1 : 0
    return isGrowing
  }

  #endReads(): void {
    if (this.#readsThisTurn >= 2) this.#commit.run()
    this.#readsThisTurn = 0
  }

  #storeHighWaterMark(now: EpochSeconds): void {
    this.#endReads()
    // A full disk does not end reading: the mark is a second late then, and the next commit will carry it.
    this.#unlessFatal(() => {
      this.#raiseHighWaterMark.run(now)
      this.#highWaterMark = now
    })
    this.#considerCheckpoint()
  }

  #flush(): void {
    const group = this.#waiting.length <= groupWritesMax ? this.#waiting : this.#waiting.slice(0, groupWritesMax)
    this.#waiting = group === this.#waiting ? [] : this.#waiting.slice(groupWritesMax)
    if (this.#waiting.length > 0) this.#scheduleEndOfTurn()

    const results: unknown[] = []
    const moment = this.#clock.now()
    try {
      this.#beginImmediate.run()
      if (moment > this.#highWaterMark) this.#raiseHighWaterMark.run(moment)
      const isAlone = group.length === 1
      for (const { work } of group) results.push(attempt(work, moment, isAlone))
      if (this.#isUndone) {
        this.#rollBack()
      } else {
        for (const participant of this.#participants) participant.beforeCommit()
        this.#commit.run()
        this.#highWaterMark = Math.max(this.#highWaterMark, moment) as EpochSeconds
      }
    } catch (error) {
      this.#abandon(group, error)
      return
    }
    for (const participant of this.#participants) participant.afterCommit()
    this.#participants.clear()
    // Of what was undone the second is stored as well, before its answer leaves.
    if (moment > this.#highWaterMark) this.#storeHighWaterMark(moment)
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index]
      if (result instanceof MayflyError) reject(result)
      else resolve(result as never)
    }
    this.#considerCheckpoint()
  }

  /**
   * Answers leave at the end of the next turn (`server/http/fast-lane.ts`); the checkpoint comes behind them.
   */
  #considerCheckpoint(): void {
    if (this.#isCheckpointScheduled || this.#failure !== undefined) return
    this.#unlessFatal(() => {
      if (!this.#checkpoints?.isDue()) return
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

  #rollBack(): void {
    if (this.#db.isTransaction) this.#rollback.run()
    for (const participant of this.#participants) participant.afterRollback()
    this.#participants.clear()
    this.#isUndone = false
  }

  #abandon(group: readonly Waiting[], cause: unknown): void {
    this.#rollBack()
    const error = translate(cause)
    if (isFatal(cause)) this.#fail(cause)
    for (const { reject } of group) reject(error)
  }

  /** For what nobody waits for: it is tried again, unless the file cannot be trusted any more. */
  #unlessFatal(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (isFatal(error)) this.#fail(error)
    }
  }

  #fail(cause: unknown): void {
    this.#failure = translate(cause)
    this.#onFatal(this.#failure)
  }
}

/**
 * A write that our own rules refuse fails alone: it is checked before it touches a row. Anything else fails
 * the group.
 */
function attempt(work: Work<unknown>, moment: EpochSeconds, isAlone: boolean): unknown {
  try {
    return work(moment, isAlone)
  } catch (error) {
    if (error instanceof MayflyError) return error
    throw error
  }
}
