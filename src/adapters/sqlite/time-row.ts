/**
 * The row of the file that holds the store's time: the latest second, and what is in doubt about it.
 *
 * Each new second is stored before its first answer leaves. So what was seen dead stays dead, even if the
 * process dies and the clock of the machine is set back.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, EpochSeconds, StoredTime } from '../../base/clock.ts'

export interface StoredTimeRow extends StoredTime {
  /**
   * By how many seconds item time was ahead before it came back, as long as items have stamps of that time.
   */
  readonly ahead: number | null
}

export function readTimeRow(db: DatabaseSync): StoredTimeRow {
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

export class TimeRow {
  readonly #clock: Clock
  readonly #update: StatementSync
  #mark: EpochSeconds
  #ahead: number | null

  constructor(db: DatabaseSync, clock: Clock, { mark, ahead }: StoredTimeRow) {
    this.#clock = clock
    this.#mark = mark
    this.#ahead = ahead
    this.#update = db.prepare(
      'UPDATE clock SET high_water_mark = ?, sure = ?, doubt = ?, doubted_since = ?, ahead = ? WHERE one = 1',
    )
  }

  /** The stored second. */
  get mark(): EpochSeconds {
    return this.#mark
  }

  get ahead(): number | null {
    return this.#ahead
  }

  /** Writes a second. Call `committed` when its transaction is committed. */
  write(now: EpochSeconds): void {
    const { doubt } = this.#clock
    const doubted = doubt === undefined ? [null, null, null] : [this.#clock.sure(), doubt.kind, doubt.since]
    this.#update.run(now, ...doubted, this.#aheadAfter(now))
  }

  committed(now: EpochSeconds): void {
    this.#ahead = this.#aheadAfter(now)
    this.#mark = now
  }

  /** Must run inside a transaction: no item has a stamp of a time ahead any more. */
  forgetAhead(): void {
    this.#ahead = null
    this.write(this.#mark)
  }

  /**
   * If a second is before the stored one, the clock came back. After two returns the smaller distance
   * counts.
   */
  #aheadAfter(now: EpochSeconds): number | null {
    if (now >= this.#mark) return this.#ahead
    const ahead = Math.max(this.#mark - now, this.#clock.returnedSeconds)
    return this.#ahead === null ? ahead : Math.min(ahead, this.#ahead)
  }
}
