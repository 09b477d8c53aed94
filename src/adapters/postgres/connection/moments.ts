/**
 * The moment of the store: a row in PostgreSQL that all gateways share.
 *
 * A gateway whose own clock is ahead of the row moves it forward before it asks anything: a tick. One whose
 * clock is behind uses the time of the others. The moment of an answer is read from the row by the statement
 * that found the answer, never from here.
 *
 * A gateway whose clock is in doubt (`base/clock.ts`) says so in the row, together with the sure time. A
 * gateway whose clock is not in doubt decides: if it shows about the same time, the row is confirmed. If it
 * shows an earlier one, it sets the row back, and counts that in the row's epoch. From then on the gateway
 * in doubt is outvoted: its ticks show an old epoch and are refused, and it goes by its own sure time until
 * its clock comes back or a person trusts it.
 */

import { type Clock, type EpochSeconds, ManualClock } from '../../../base/clock.ts'
import type { StoreTime } from '../../../store/port.ts'
import type { Connections, PostgresSession } from './connections.ts'

const timeColumns = 'now AS moment, sure, doubt, doubted_since AS since, epoch, ahead'
const tickStatement = { name: 'tick', text: 'SELECT * FROM mayfly.tick($1, $2, $3, $4, $5, $6, $7)' }
const nowStatement = { name: 'now', text: `SELECT ${timeColumns} FROM mayfly.clock WHERE one = 1` }
const trustStatement = { name: 'trust', text: 'SELECT * FROM mayfly.trust()' }

/** After so many overtaken answers in a row, the row itself must be behind. */
const overtakenMax = 3

export interface ClockRow {
  readonly moment: EpochSeconds
  readonly sure: EpochSeconds | null
  readonly doubt: 'step' | 'start' | null
  readonly since: EpochSeconds | null
  /** How often the row was set back. */
  readonly epoch: number
  /**
   * By how many seconds the row was ahead before it was set back, as long as items have stamps of that time.
   */
  readonly ahead: number | null
}

export async function readClockRow(session: PostgresSession): Promise<ClockRow> {
  return (await session.query(nowStatement.text)).rows[0]
}

export class Moments {
  readonly #connections: Connections
  readonly #clock: Clock
  /** The row shows at least this moment. */
  #known: EpochSeconds
  #tick: { readonly to: EpochSeconds; readonly done: Promise<void> } | undefined
  /** The latest moment that was handed out. */
  #latest: EpochSeconds
  /** The row as it was seen last. */
  #row: ClockRow
  /** The epoch before this gateway's clock came into doubt. */
  #ownEpoch: number
  /** The latest moment at which the row was seen without doubt. */
  #confirmed: EpochSeconds
  #returns = 0
  /** How often this gateway's clock had come back when the row was last set back. */
  #ownReturns = 0

  constructor(connections: Connections, clock: Clock, row: ClockRow) {
    this.#connections = connections
    this.#clock = clock
    this.#row = row
    this.#known = row.moment
    // The clock may have come back while no gateway ran.
    this.#latest = row.sure ?? row.moment
    this.#ownEpoch = row.epoch
    this.#confirmed = row.sure ?? row.moment
  }

  /** The time that this gateway goes by: that of its clock, or the sure time while it is outvoted. */
  get own(): EpochSeconds {
    const now = this.#clock.now()
    return this.#isOutvoted ? this.#clock.sure() : now
  }

  /** How often moments went back. */
  get returns(): number {
    return this.#returns
  }

  get ahead(): number | null {
    return this.#row.ahead
  }

  /** No item has a stamp of the time before this epoch any more. */
  forgetAhead(epoch: number): void {
    if (this.#row.epoch === epoch) this.#row = { ...this.#row, ahead: null }
  }

  get isInDoubt(): boolean {
    return this.#row.sure !== null
  }

  /** Moves the row forward if it is behind; undefined when there is nothing to wait for. */
  tick(): Promise<void> | undefined {
    const now = this.own
    const isSettled = this.#row.sure === null || (this.#clock.doubt !== undefined && !this.#hasReturned)
    if (now <= this.#known && isSettled) return undefined
    if (this.#tick !== undefined && this.#tick.to >= now) return this.#tick.done
    const tick = { to: now, done: this.#move(now) }
    this.#tick = tick
    return tick.done
  }

  /** The same in a transaction that holds the lock of the clock. */
  async tickWithin(session: PostgresSession): Promise<void> {
    await session.query(tickStatement.text, this.#tickValues(this.own))
  }

  take(): Promise<EpochSeconds> {
    return this.inOrder(
      async () => (await this.#readRow()).moment,
      moment => moment,
    )
  }

  time(): Promise<StoreTime> {
    return this.inOrder(
      async () => {
        const { moment, sure, doubt, since } = await this.#readRow()
        return { moment, sure: sure ?? moment, doubt: doubt === null ? undefined : { kind: doubt, since: since! } }
      },
      ({ moment }) => moment,
    )
  }

  /** A person confirms the time of the row and of this gateway. */
  async trust(): Promise<void> {
    this.#clock.trust()
    this.#saw((await this.#connections.ask<ClockRow>(trustStatement, []))[0]!)
    await this.#move(this.own)
  }

  /**
   * Asks again when the answer is older than a moment that was already handed out (P6): two statements on
   * two connections may overtake each other around a tick. If the row itself is behind, because PostgreSQL
   * was restored to an earlier state, it is moved forward again, unless it was set back on purpose. If the
   * answer is far ahead, it may be in doubt: then this gateway shows its own time first. The order counts in
   * the turn in which the promise resolves, so callers must return the promise as it is.
   */
  async inOrder<T>(ask: () => Promise<T>, momentOf: (answer: T) => EpochSeconds): Promise<T> {
    const tick = this.tick()
    if (tick !== undefined) await tick
    for (let attempt = 1; ; attempt++) {
      const answer = await ask()
      const moment = momentOf(answer)
      if (moment > this.#confirmed + this.#clock.stepSecondsMax && moment > this.own + this.#clock.stepSecondsMax) {
        await this.#move(this.own)
        // No gateway without doubt has set it back.
        if (moment > this.#row.moment) continue
      }
      if (moment >= this.#latest) {
        this.#latest = moment
        this.#moveManualClock(moment)
        return answer
      }
      if (attempt <= overtakenMax) continue
      // If the row was set back, this lowers `#latest`.
      await this.#move(this.own)
      await this.#move(this.#latest)
    }
  }

  async #readRow(): Promise<ClockRow> {
    return (await this.#connections.ask<ClockRow>(nowStatement, []))[0]!
  }

  /** A manual clock follows the time of the store; otherwise advancing it would begin in the past. */
  #moveManualClock(moment: EpochSeconds): void {
    if (this.#clock instanceof ManualClock && this.#clock.now() < moment) this.#clock.set(moment)
  }

  get #isOutvoted(): boolean {
    return this.#clock.doubt !== undefined && this.#row.epoch !== this.#ownEpoch
  }

  /** This gateway's clock has come back, and the row was not set back since. */
  get #hasReturned(): boolean {
    return this.#clock.returns > this.#ownReturns
  }

  #tickValues(to: EpochSeconds): unknown[] {
    const { doubt } = this.#clock
    if (doubt === undefined) this.#ownEpoch = this.#row.epoch
    const doubted = doubt === undefined || this.#isOutvoted ? undefined : doubt
    return [
      to,
      doubted === undefined ? null : this.#clock.sure(),
      doubted?.kind ?? null,
      doubted?.since ?? null,
      this.#ownEpoch,
      this.#clock.stepSecondsMax,
      this.#hasReturned ? this.#clock.returnedSeconds : 0,
    ]
  }

  async #move(to: EpochSeconds): Promise<void> {
    try {
      // Not from the pool: all of its connections may be held by work that waits for this tick.
      const values = this.#tickValues(to)
      const { epoch } = this.#row
      const hasReturned = this.#hasReturned
      const [row] = await this.#connections.ask<ClockRow>(tickStatement, values)
      this.#saw(row!)
      // This gateway itself has set the row back.
      if (hasReturned && row!.epoch === epoch + 1) this.#ownEpoch = row!.epoch
    } finally {
      if (this.#tick?.to === to) this.#tick = undefined
    }
  }

  #saw(row: ClockRow): void {
    const isBack = row.epoch > this.#row.epoch
    // Answers may overtake each other.
    if (row.epoch < this.#row.epoch || (!isBack && row.moment < this.#row.moment)) return
    this.#row = row
    if (isBack) {
      this.#ownReturns = this.#clock.returns
      this.#returns++
      if (row.moment < this.#latest) this.#latest = row.moment
      this.#known = row.moment
      this.#confirmed = row.moment
    }
    if (row.moment > this.#known) this.#known = row.moment
    if (row.sure !== null) return
    this.#confirmed = row.moment
    // A row without doubt confirms the time of this gateway's clock.
    const { doubt, stepSecondsMax } = this.#clock
    if (doubt !== undefined && !this.#isOutvoted && row.moment >= this.#clock.now() - stepSecondsMax) {
      this.#clock.trust()
    }
  }
}
