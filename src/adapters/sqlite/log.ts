/**
 * The log of containers that keep one: every version, delete and death, stored by the transaction that caused
 * it.
 *
 * All containers share one table, so its numbers are one order over all of them. Entries that are older than
 * the container wants are invisible at once, and removed by sweeps. So are all entries of a log that is
 * switched off.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import type { Body } from '../../document/body.ts'
import type { ChangePosition, ChangeRange, LogAnswer, LogEntry, PageSize } from '../../store/reading.ts'
import { logNumber } from './positions.ts'

export type LogDraft = Omit<LogEntry, 'position'>

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

export class SqliteChangeLog {
  readonly #append: StatementSync
  readonly #read: StatementSync
  readonly #newest: StatementSync
  readonly #newestBefore: StatementSync
  readonly #removeOld: StatementSync
  readonly #forgotten: StatementSync
  readonly #raiseForgotten: StatementSync

  constructor(db: DatabaseSync) {
    this.#append = db.prepare(`
      INSERT INTO log (container, kind, epk, pk, id, version, sequence, ts, body, previous_version, previous_body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#read = db.prepare(`
      SELECT number, kind, epk, pk, id, version, sequence, ts, body,
        previous_version AS previousVersion, previous_body AS previousBody
      FROM log WHERE container = :container AND number > :after
        AND epk >= :min AND epk < :maxExclusive AND (:only IS NULL OR pk = :only)
      ORDER BY number LIMIT :itemsMax`)
    this.#newest = db.prepare(`SELECT seq AS number FROM sqlite_sequence WHERE name = 'log'`)
    this.#newestBefore = db.prepare(`
      SELECT number FROM log WHERE container = ? AND ts <= ? ORDER BY ts DESC, number DESC LIMIT 1`)
    this.#removeOld = db.prepare(`
      DELETE FROM log WHERE number IN
        (SELECT number FROM log WHERE container = ? AND ts <= ? ORDER BY ts, number LIMIT ?) RETURNING number`)
    this.#forgotten = db.prepare('SELECT log_forgotten AS number FROM containers WHERE number = ?')
    this.#raiseForgotten = db.prepare('UPDATE containers SET log_forgotten = max(log_forgotten, ?) WHERE number = ?')
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
    )
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

function entryOf(row: Row): LogEntry {
  const { number, kind, epk, pk, id, version, sequence, ts, body, previousVersion, previousBody } = row
  return {
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
