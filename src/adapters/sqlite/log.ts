/**
 * The log of containers that keep one: every version, delete and death, stored by the transaction that
 * caused it.
 *
 * All containers share one table, so its numbers are one order over all of them: they are the ticks of the
 * journal. Entries that are older than the container's `logSeconds` are invisible at once, and sweeps remove
 * them. The same holds for all entries of a log that was switched off. The entries that a deleted container
 * leaves for the journal are removed together, when the last one is too old.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, epochMsWithin } from '../../base/clock.ts'
import type { Body } from '../../document/body.ts'
import type { CatalogNote, ContainerRecord } from '../../store/catalog.ts'
import type {
  ChangePosition,
  ChangeRange,
  JournalAnswer,
  JournalEntry,
  LogAnswer,
  LogEntry,
  PageSize,
} from '../../store/reading.ts'
import { JournalWaiters } from '../journal-waiters.ts'
import { logNumber } from './positions.ts'
import type { Participant } from './turns.ts'

export type LogDraft = Omit<LogEntry, 'position' | 'tick'>

interface Row {
  number: number
  kind: LogEntry['kind']
  epk: string
  pk: string
  id: string
  version: number
  sequence: number
  ts: EpochSeconds
  body: Body | null
  previousVersion: number | null
  previousBody: Body | null
}

/** The kinds of notes about the catalog. An `end` ends the name of its container. */
type NoteKind = 'note' | 'end'

interface JournalRow extends Omit<Row, 'kind'> {
  kind: Row['kind'] | NoteKind
  container: number
  ms: number
  ending: Uint8Array | null
}

const columns = `number, kind, epk, pk, id, version, sequence, ts, body,
        previous_version AS previousVersion, previous_body AS previousBody`

export class SqliteChangeLog implements Participant {
  /** Readers of the journal that wait. They are told of committed entries only. */
  readonly waiters: JournalWaiters
  readonly #clock: Clock
  readonly #append: StatementSync
  readonly #read: StatementSync
  readonly #readAll: StatementSync
  readonly #atOrBehind: StatementSync
  readonly #keep: StatementSync
  readonly #removeKept: StatementSync
  readonly #due: StatementSync
  readonly #forgetKept: StatementSync
  readonly #newest: StatementSync
  readonly #newestBefore: StatementSync
  readonly #removeOld: StatementSync
  readonly #forgotten: StatementSync
  readonly #raiseForgotten: StatementSync

  constructor(db: DatabaseSync, clock: Clock) {
    this.#clock = clock
    this.#append = db.prepare(`
      INSERT INTO log (container, kind, epk, pk, id, version, sequence, ts, body, previous_version, previous_body, ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#read = db.prepare(`
      SELECT ${columns}
      FROM log WHERE container = :container AND number > :after AND kind NOT IN ('note', 'end')
        AND epk >= :min AND epk < :maxExclusive AND (:only IS NULL OR pk = :only)
      ORDER BY number LIMIT :itemsMax`)
    this.#readAll = db.prepare(`
      SELECT ${columns}, container, ms, (SELECT body FROM log later
        WHERE later.container = log.container AND later.number > log.number AND later.kind = 'end'
        ORDER BY later.number LIMIT 1) AS ending
      FROM log WHERE number > ? AND container NOT IN (SELECT number FROM containers WHERE encoding = 'json')
      ORDER BY number LIMIT ?`)
    this.#atOrBehind = db.prepare('SELECT number, ts FROM log WHERE number >= ? ORDER BY number LIMIT 1')
    this.#keep = db.prepare(`
      INSERT INTO kept_logs VALUES (?, ?) ON CONFLICT (container) DO UPDATE SET until = max(until, excluded.until)`)
    this.#due = db.prepare('SELECT container FROM kept_logs WHERE until <= ? LIMIT 1')
    this.#removeKept = db.prepare(
      'DELETE FROM log WHERE number IN (SELECT number FROM log WHERE container = ? LIMIT ?)',
    )
    this.#forgetKept = db.prepare('DELETE FROM kept_logs WHERE container = ?')
    this.#newest = db.prepare(`SELECT seq AS number FROM sqlite_sequence WHERE name = 'log'`)
    this.#newestBefore = db.prepare(`
      SELECT number FROM log WHERE container = ? AND ts <= ? ORDER BY ts DESC, number DESC LIMIT 1`)
    this.#removeOld = db.prepare(`
      DELETE FROM log WHERE number IN
        (SELECT number FROM log WHERE container = ? AND ts <= ? ORDER BY ts, number LIMIT ?) RETURNING number`)
    this.#forgotten = db.prepare('SELECT log_forgotten AS number FROM containers WHERE number = ?')
    this.#raiseForgotten = db.prepare('UPDATE containers SET log_forgotten = max(log_forgotten, ?) WHERE number = ?')
    this.waiters = new JournalWaiters(this.newest())
  }

  /**
   * The newest number that the commit will have. It is read before the commit, after any rollback of a part.
   */
  #pending = 0

  beforeCommit(): void {
    this.#pending = this.newest()
  }

  afterCommit(): void {
    this.waiters.advance(this.#pending)
  }

  afterRollback(): void {}

  /** Must run inside a transaction. `subject`: a container, or a database with its number negated. */
  appendNote(subject: number, { body, endsName }: CatalogNote, ts: EpochSeconds): void {
    const kind: NoteKind = endsName === true ? 'end' : 'note'
    this.#append.run(subject, kind, '', '', '', 0, 0, ts, body, null, null, this.#msWithin(ts))
  }

  /** Keeps the entries of something that is deleted until this second, then removes all of them. */
  keep(subject: number, until: number): void {
    this.#keep.run(subject, until)
  }

  /** Removes a part of the entries that were kept long enough; false when nothing is left. */
  removeKept(moment: EpochSeconds, rowsMax: number): boolean {
    const due = this.#due.get(moment) as { container: number } | undefined
    if (due === undefined) return false
    if (Number(this.#removeKept.run(due.container, rowsMax).changes) < rowsMax) this.#forgetKept.run(due.container)
    return true
  }

  journal(
    after: number,
    page: PageSize,
    moment: EpochSeconds,
    recordOf: (container: number) => ContainerRecord | undefined,
  ): JournalAnswer {
    const entries: JournalEntry[] = []
    const newest = this.newest()
    if (after < newest) {
      let bytes = 0
      for (const row of this.#readAll.iterate(after, page.itemsMax + 1) as Iterable<JournalRow>) {
        const size = (row.body?.length ?? 0) + (row.previousBody?.length ?? 0)
        if (entries.length === page.itemsMax || (entries.length > 0 && bytes + size > page.bytesMax)) {
          const { tick, ts } = entries.at(-1)!
          return { entries, reached: { tick, ts }, isEnd: false }
        }
        entries.push(journalEntry(row, recordOf(row.container)))
        bytes += size
      }
    }
    return { entries, reached: { tick: Math.max(after, newest), ts: moment }, isEnd: true }
  }

  /** The last number before this second. Found by binary search: seconds and numbers grow together. */
  lastBefore(moment: EpochSeconds): number {
    let [low, high] = [0, this.newest()]
    while (low < high) {
      const middle = Math.floor((low + high + 1) / 2)
      const row = this.#atOrBehind.get(middle) as { number: number; ts: number } | undefined
      if (row !== undefined && row.ts < moment) low = row.number
      else high = middle - 1
    }
    return low
  }

  append(container: number, entry: LogDraft): void {
    const { kind, key, version, sequence, ts, body, previous } = entry
    this.#append.run(
      container,
      kind,
      key.epk,
      key.pk,
      key.id,
      version,
      sequence,
      ts,
      body ?? null,
      previous?.version ?? null,
      previous?.body ?? null,
      this.#msWithin(ts),
    )
  }

  #msWithin(ts: EpochSeconds): number {
    return epochMsWithin(ts, this.#clock) - ts * 1000
  }

  /** The number of the last entry of any container. */
  newest(): number {
    return (this.#newest.get() as { number: number } | undefined)?.number ?? 0
  }

  /** The last entry of the container that was made at or before this second. */
  newestAt(container: number, ts: number): number {
    const row = this.#newestBefore.get(container, ts) as { number: number } | undefined
    return Math.max(row?.number ?? 0, this.#forgottenOf(container))
  }

  read(
    container: number,
    { within, after }: ChangeRange,
    page: PageSize,
    rememberedAfter: number,
  ): Pick<LogAnswer, 'entries' | 'position' | 'isEnd' | 'isForgotten'> {
    const from = logNumber(after)
    const newest = this.newest()
    if (from < this.newestAt(container, rememberedAfter)) {
      return { entries: [], position: after, isEnd: false, isForgotten: true }
    }
    const rows = this.#read.iterate({
      container,
      after: from,
      min: within.min,
      maxExclusive: within.maxExclusive,
      only: within.pk ?? null,
      itemsMax: page.itemsMax + 1,
    }) as Iterable<Row>
    const entries: LogEntry[] = []
    let bytes = 0
    for (const row of rows) {
      const size = (row.body?.length ?? 0) + (row.previousBody?.length ?? 0)
      if (entries.length === page.itemsMax || (entries.length > 0 && bytes + size > page.bytesMax)) {
        return { entries, position: entries.at(-1)!.position, isEnd: false, isForgotten: false }
      }
      entries.push(entryOf(row))
      bytes += size
    }
    return { entries, position: String(Math.max(from, newest)), isEnd: true, isForgotten: false }
  }

  /** Removes a part of the entries that are too old; must run inside the writer's transaction. */
  removeOld(container: number, rememberedAfter: number, rowsMax: number): number {
    const removed = this.#removeOld.all(container, rememberedAfter, rowsMax) as { number: number }[]
    // A removal of nothing writes nothing.
    if (removed.length > 0) this.#raiseForgotten.run(Math.max(...removed.map(({ number }) => number)), container)
    return removed.length
  }

  /** The container begins to keep a log; what happened before is not in it. */
  begin(container: number): void {
    this.#raiseForgotten.run(this.newest(), container)
  }

  #forgottenOf(container: number): number {
    return (this.#forgotten.get(container) as { number: number }).number
  }
}

function journalEntry(row: JournalRow, container: ContainerRecord | undefined): JournalEntry {
  const { number: tick, kind, ts, ms, ending } = row
  const place = { tick, ts, ms, number: row.container, container, ending: ending ?? undefined }
  return kind === 'note' || kind === 'end'
    ? { ...place, kind: 'note', note: row.body! }
    : { ...place, kind: 'item', change: entryOf({ ...row, kind }) }
}

function entryOf(row: Row): LogEntry {
  const { number, kind, epk, pk, id, version, sequence, ts, body, previousVersion, previousBody } = row
  return {
    tick: number,
    kind,
    key: { epk, pk, id },
    version,
    sequence,
    ts,
    body: body ?? undefined,
    previous:
      previousVersion === null || previousBody === null ? undefined : { version: previousVersion, body: previousBody },
    position: String(number) as ChangePosition,
  }
}
