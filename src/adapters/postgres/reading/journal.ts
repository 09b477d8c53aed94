/**
 * Reads the journal: the logs of all containers in the order of their ticks (`sql/ticks.ts`).
 *
 * Other gateways write too, so this gateway must ask PostgreSQL for new entries. While a reader waits, it
 * asks once for the whole process, ten times a second, and at once after a write of its own.
 */

import { type EpochSeconds, machine } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type {
  JournalAnswer,
  JournalEntry,
  JournalPlace,
  JournalWait,
  LogEntry,
  PageSize,
} from '../../../store/reading.ts'
import { JournalWaiters } from '../../journal-waiters.ts'
import type { CatalogCopy } from '../catalog/catalog-copy.ts'
import type { Connections } from '../connection/connections.ts'
import type { Moments } from '../connection/moments.ts'
import { isCut, type PageRow, pageSql } from './items.ts'
import { type LogRow, storedEntry } from './log.ts'

/** How often this gateway looks for the writes of others, while a reader waits. */
const postgresJournalPollMs = 100

/** The same while a write is under way that holds back later ones. */
const postgresJournalHurryMs = 5

const horizonStatement = { name: 'journal_horizon', text: 'SELECT * FROM mayfly.journal_horizon()' }

const journalStatement = {
  name: 'journal',
  text: pageSql(
    `SELECT l.* FROM mayfly.log l WHERE l.tick > $1 AND l.tick <= $2 AND l.container <> ALL ($3::int[])
     ORDER BY l.tick LIMIT $4`,
    'r.tick',
    '$5',
    `coalesce(octet_length(r.body), 0) + coalesce(octet_length(r.bytes), 0)
      + coalesce(octet_length(r.previous_body), 0) + coalesce(octet_length(r.previous_bytes), 0)`,
  ),
}

const endingsStatement = {
  name: 'journal_endings',
  text: `SELECT container, tick, bytes FROM mayfly.log WHERE kind = 'end' AND container = ANY ($1::int[]) AND tick > $2
    ORDER BY tick`,
}

const firstStatement = {
  name: 'journal_first',
  text: 'SELECT tick, ts FROM mayfly.log WHERE tick >= $1 ORDER BY tick LIMIT 1',
}

type JournalRow = Omit<LogRow, 'kind'> & {
  kind: LogEntry['kind'] | 'note' | 'end'
  container: number
  /** The server's time in microseconds. */
  at: number
}

interface Horizon {
  horizon: number
  newest: number
  moment: EpochSeconds
}

export class PostgresJournal {
  readonly #connections: Connections
  readonly #copy: CatalogCopy
  readonly #moments: Moments
  readonly #waiters: JournalWaiters
  /** Reads under way, by the tick that they begin behind: streams that wake together read together. */
  readonly #reading = new Map<number, Promise<JournalAnswer>>()
  #newest: number
  #timer: NodeJS.Timeout | undefined
  #isAnybodyWaiting = false
  #isAsking = false
  #askedMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(parts: { connections: Connections; copy: CatalogCopy; moments: Moments; newest: number }) {
    this.#newest = parts.newest
    this.#connections = parts.connections
    this.#copy = parts.copy
    this.#moments = parts.moments
    this.#waiters = new JournalWaiters(0, isAnybody => {
      this.#isAnybodyWaiting = isAnybody
      if (isAnybody && this.#timer === undefined)
        this.#askIn(this.#askedMs + postgresJournalPollMs - machine.monotonicMs())
    })
  }

  /** The highest tick that this gateway has seen. */
  get tick(): number {
    return this.#newest
  }

  /** This gateway has committed an entry with this tick. */
  saw(tick: number): void {
    if (tick <= this.#newest) return
    this.#newest = tick
    if (this.#isAnybodyWaiting) this.#askIn(0)
  }

  wait(after: number, wait: JournalWait): Promise<boolean> {
    const waiting = this.#waiters.wait(after, wait)
    if (this.#newest > after && this.#newest > this.#waiters.tick) this.#askIn(0)
    return waiting
  }

  /** Writes that are under way may get lower ticks than this. They began before now. */
  async now(): Promise<JournalPlace> {
    const { newest, moment } = await this.#horizon()
    return { tick: newest, ts: moment }
  }

  read(after: number, page: PageSize): Promise<JournalAnswer> {
    const present = this.#reading.get(after)
    if (present !== undefined) return present
    const reading = this.#read(after, page).finally(() => this.#reading.delete(after))
    this.#reading.set(after, reading)
    return reading
  }

  /** Found by binary search: seconds and ticks grow together. */
  async since(moment: EpochSeconds): Promise<number> {
    let low = 0
    let high = (await this.#horizon()).newest
    while (low < high) {
      const middle = Math.floor((low + high + 1) / 2)
      const [row] = await this.#connections.ask<{ tick: number; ts: number }>(firstStatement, [middle])
      if (row !== undefined && row.ts < moment) low = row.tick
      else high = middle - 1
    }
    return low
  }

  close(): void {
    machine.clearTimeout(this.#timer)
    this.#isClosed = true
  }

  async #horizon(): Promise<Horizon> {
    const ask = async () => (await this.#connections.ask<Horizon>(horizonStatement, []))[0]!
    const found = await this.#moments.inOrder(ask, ({ moment }) => moment)
    this.#newest = Math.max(this.#newest, found.newest)
    return found
  }

  /**
   * The names of containers are looked up after the entries were read, and after that the notes that ended
   * names. So a name that was changed meanwhile is known from its note.
   */
  async #read(after: number, page: PageSize): Promise<JournalAnswer> {
    const { horizon, moment } = await this.#horizon()
    if (horizon <= after) return { entries: [], reached: { tick: after, ts: moment }, isEnd: true }
    const others = containersOf(await this.#copy.present()).filter(({ encoding }) => encoding === 'json')
    const values = [after, horizon, others.map(({ number }) => number), page.itemsMax, page.bytesMax]
    const rows = await this.#connections.readLong<PageRow<JournalRow>>(journalStatement, values)
    const isEnd = !isCut(rows, page)
    const last = rows.at(-1)
    if (last === undefined) return { entries: [], reached: { tick: horizon, ts: moment }, isEnd }
    await this.#copy.refresh()
    const records = new Map(containersOf(await this.#copy.present()).map(record => [record.number, record]))
    const numbers = [...new Set(rows.map(({ container }) => container))]
    const endings = await this.#connections.ask<{ container: number; tick: number; bytes: Buffer }>(endingsStatement, [
      numbers,
      after,
    ])
    const entries = rows.map((row): JournalEntry => {
      const { tick, ts, kind, container: number } = row
      const ending = endings.find(each => each.container === number && each.tick > tick)?.bytes
      const place = { tick, ts, ms: msWithin(row), number, container: records.get(number), ending }
      return kind === 'note' || kind === 'end'
        ? { ...place, kind: 'note', note: row.bytes! }
        : { ...place, kind: 'item', change: storedEntry({ ...row, kind }) }
    })
    const reached = isEnd ? { tick: horizon, ts: moment } : { tick: last.tick, ts: last.ts }
    return { entries, reached, isEnd }
  }

  #askIn(ms: number): void {
    if (this.#isAsking || this.#isClosed) return
    machine.clearTimeout(this.#timer)
    this.#timer = machine.setTimeout(() => this.#ask(), Math.max(0, ms))
    this.#timer.unref()
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    this.#timer = undefined
    this.#askedMs = machine.monotonicMs()
    let isBehind = false
    try {
      const { horizon } = await this.#horizon()
      isBehind = horizon < this.#newest
      this.#waiters.advance(horizon)
    } catch {
      // Streams that read will report the error. This poll only tries again.
    }
    this.#isAsking = false
    if (this.#isAnybodyWaiting) this.#askIn(isBehind ? postgresJournalHurryMs : postgresJournalPollMs)
  }
}

/** Known if the clocks of the gateway and of the server show the same second. */
function msWithin({ ts, at }: Pick<JournalRow, 'ts' | 'at'>): number {
  const ms = Math.floor(at / 1000) - ts * 1000
  return ms >= 0 && ms < 1000 ? ms : 0
}

function containersOf({ containers }: { containers: ReadonlyMap<number, ReadonlyMap<string, ContainerRecord>> }) {
  return [...containers.values()].flatMap(siblings => [...siblings.values()])
}
