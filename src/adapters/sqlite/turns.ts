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
 * A commit ends after `groupWritesMax` writes or `commitBytesMax`, and at least one write. Large writes have
 * commits of their own, in turns that they share with other heavy work (`base/heavy-turns.ts`). So a small
 * write waits for one commit of large ones at most.
 *
 * A failed fsync ends the store (`onFatal`): a retry could acknowledge what the kernel has already dropped.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, machine, type StoredTime } from '../../base/clock.ts'
import { CapacityError, MayflyError } from '../../base/error.ts'
import { heavyBytesMin, inHeavyTurn, isHeavyWorkWaiting } from '../../base/heavy-turns.ts'
import { commitBytesMax, groupWritesMax, KiB } from '../../base/limits.ts'
import { unwatched } from '../../base/work.ts'
import type { Checkpoints } from './file/checkpoints.ts'
import type { DiskHealth } from './file/disk-health.ts'
import type { EndMark, Milestone } from './file/end-mark.ts'
import { isFatal, translate } from './file/errors.ts'

/**
 * How many turns of the event loop writes wait for more writes. After three, all of 32 clients have come; and
 * a turn with many reads is long.
 */
export const groupTurnsMax = 3

/** Nor do they wait for longer: in a long turn, all that arrive together have come. */
const groupMsMax = 2

/** Writes of as many bytes, or of more steps, are large. */
const smallStepsMax = 32

/**
 * What small writes that wait may have together: about a millisecond. Beyond it, those of some kilobytes are
 * large as well: 100 items of 20 KB in one request would be two commits that all others wait for.
 */
const smallBytesMax = 256 * KiB
const tinyBytesMax = 4 * KiB

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
  /** It had to be undone, so it has a commit of its own. */
  isAlone: boolean
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

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
  readonly #writeTimeRow: StatementSync
  readonly #checkpoints: Checkpoints | undefined
  readonly #disk: DiskHealth | undefined
  readonly #endMark: EndMark | undefined
  readonly #participants = new Set<Participant>()
  readonly #small: Waiting[] = []
  #smallBytes = 0
  readonly #large: Waiting[] = []
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
  /** The stored second. */
  #mark: EpochSeconds
  #ahead: number | null
  /** Nothing is accepted: the store has failed, or is closed. */
  #failure: Error | undefined
  #isFatal = false

  constructor(
    db: DatabaseSync,
    parts: {
      readonly clock: Clock
      readonly stored: TimeRow
      readonly checkpoints: Checkpoints | undefined
      /** undefined: in memory. */
      readonly disk: DiskHealth | undefined
      readonly endMark: EndMark | undefined
      readonly onFatal: (error: Error) => void
    },
  ) {
    this.#db = db
    this.#clock = parts.clock
    this.#mark = parts.stored.mark
    this.#ahead = parts.stored.ahead
    this.#checkpoints = parts.checkpoints
    this.#disk = parts.disk
    this.#endMark = parts.endMark
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
      const isLarge = bytes >= heavyBytesMin || steps > smallStepsMax || this.#isOverfull(bytes)
      const queue = isLarge ? this.#large : this.#small
      queue.push({ work, freesRoom, steps, bytes, isLarge, isAlone: false, resolve, reject })
      if (isLarge) {
        this.#scheduleLarge()
        return
      }
      this.#smallBytes += bytes
      this.#scheduleEndOfTurn()
    })
  }

  #isOverfull(bytes: number): boolean {
    return bytes > tinyBytesMax && this.#smallBytes + bytes > smallBytesMax
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

  /** The file must not be written any more: not even a checkpoint may run when it is closed. */
  get isStopped(): boolean {
    return this.#isFatal || this.#disk?.isFinal === true
  }

  /** Commits what waits and ends the turn; nothing is accepted afterwards. */
  close(): void {
    this.#endTurn()
    while (this.#small.length > 0) this.#flush(this.#small)
    while (this.#large.length > 0) this.#flush(this.#large)
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
    if (this.#small.length === 0) return
    if (this.#isGrowing()) this.#scheduleEndOfTurn()
    else this.#flush(this.#small)
  }

  #scheduleLarge(): void {
    if (this.#isLargeScheduled) return
    this.#isLargeScheduled = true
    // Those that arrive together may share a commit.
    machine.setImmediate(() => {
      inHeavyTurn(() => {
        this.#isLargeScheduled = false
        this.#endReads()
        if (this.#large.length > 0) this.#flush(this.#large)
      })
    })
  }

  /** Whether this turn brought writes, so that the next one may bring more. */
  #isGrowing(): boolean {
    const { length } = this.#small
    const isRoom = length < groupWritesMax && this.#large.length === 0 && !isHeavyWorkWaiting()
    const mayGrow = length > this.#waitingBefore && isRoom && this.#turnsWaited < groupTurnsMax
    const nowMs = mayGrow ? machine.monotonicMs() : 0
    if (this.#turnsWaited === 0) this.#waitedSinceMs = nowMs
    const isGrowing = mayGrow && nowMs - this.#waitedSinceMs < groupMsMax
    this.#waitingBefore = isGrowing ? length : 0
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

  #flush(queue: Waiting[]): void {
    let group = takeGroup(queue)
    if (queue === this.#small) this.#smallBytes -= bytesOf(group)
    let results: unknown[]
    const moment = this.#clock.now()
    try {
      results = this.#run(group, moment, false)
      if (this.#isUndone) {
        this.#rollBack()
        if (queue === this.#large) results = untilUndone(group, results)
        // Work that is alone is answered: nothing was to be kept.
        else if (group.length > 1) results = this.#run(group, moment, true)
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
      this.#scheduleRest()
    }
    if (results.length < group.length) {
      this.#putBack(group.slice(results.length))
      group = group.slice(0, results.length)
    }
    for (const participant of this.#participants) {
      participant.afterCommit()
      if (participant.reached !== undefined) this.#endMark?.note(participant.reached)
    }
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

  #scheduleRest(): void {
    if (this.#small.length > 0) this.#scheduleEndOfTurn()
    if (this.#large.length > 0) this.#scheduleLarge()
  }

  /** Those that the commit had no room for. */
  #putBack(rest: readonly Waiting[]): void {
    const small = rest.filter(({ isLarge }) => !isLarge)
    this.#small.unshift(...small)
    this.#smallBytes += bytesOf(small)
    this.#large.unshift(...rest.filter(({ isLarge }) => isLarge))
    this.#scheduleRest()
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
    if (this.#failure !== undefined || this.#disk?.allowsUpkeep === false) return
    this.#endReads()
    this.#unlessFatal(() => this.#checkpoints!.run())
  }

  /** Called about once a second, when nothing else is to be done. */
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

  #abandon(group: readonly Waiting[], cause: unknown): void {
    this.#rollBack()
    const isNoted = this.#disk?.note(cause) === true
    if (isNoted) this.#makeRoom()
    else if (isFatal(cause)) this.#fail(cause)
    const error = (isNoted && this.#disk?.refusal) || translate(cause)
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
    this.#isFatal = true
    this.#failure = translate(cause)
    this.#onFatal(this.#failure)
  }
}

/** Removes the writes of the next commit from the queue. */
function takeGroup(queue: Waiting[]): readonly Waiting[] {
  let steps = 0
  let bytes = 0
  let count = 0
  for (const waiting of queue) {
    steps += waiting.steps
    bytes += waiting.bytes
    if (count > 0 && (steps > groupWritesMax || bytes > commitBytesMax || waiting.isAlone)) break
    count++
    if (waiting.isAlone) break
  }
  return queue.splice(0, count)
}

/**
 * The answers of a group of large writes that was undone. None is done again in the same turn. If nothing was
 * to be kept of others, the last one done is answered; otherwise it will have a commit of its own.
 */
function untilUndone(group: readonly Waiting[], results: unknown[]): unknown[] {
  if (results.length === 1) return results
  group[results.length - 1]!.isAlone = true
  return []
}

function bytesOf(group: readonly Waiting[]): number {
  let sum = 0
  for (const { bytes } of group) sum += bytes
  return sum
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
