/**
 * Reads the contents of a data directory, or writes them into a new one: see `store/transfer.ts`.
 *
 * The target has another file name until everything is written, so no server opens it.
 */

import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { DatabaseRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import { noItemLives } from '../../store/policy.ts'
import {
  fingerprintOf,
  type Reached,
  requireSureTime,
  type StoreContents,
  type StoredContainer,
  type StoredEntry,
  type TransferSource,
  type TransferTarget,
} from '../../store/transfer.ts'
import { type ContainerRow, type DatabaseRow, fromIndex, toContainer, toDatabase, toJson } from '../catalog-rows.ts'
import { noFindings } from '../index-findings.ts'
import { ContainerEntries } from './entries.ts'
import { makeDataDirectory } from './file/directory.ts'
import { removeMark } from './file/end-mark.ts'
import { translate } from './file/errors.ts'
import { lockDirectory, lockFile } from './file/lock.ts'
import { createItemTableSql, dataFile, itemTable, migrate } from './file/schema.ts'
import { pageBytes } from './file/settings.ts'
import { refuseLostWrites } from './file/wal-damage.ts'
import { loadIndexes } from './index-records.ts'
import { readTimeRow } from './time-row.ts'

const partFile = 'mayfly.part.db'

export function openSqliteSource(directory: string): TransferSource {
  if (!existsSync(join(directory, dataFile))) {
    throw new RequestError('not_found', `There is no Mayfly data in ${directory}.`)
  }
  return opened(directory, dataFile, (db, lock) => new SqliteSource(db, lock))
}

export function openSqliteTarget(directory: string, keysOf: KeyMaker): TransferTarget {
  makeDataDirectory(directory, [lockFile])
  if (existsSync(join(directory, dataFile))) {
    throw new RequestError('already_exists', `There is Mayfly data in ${directory} already. Give an empty directory.`)
  }
  // The mark of a data file that was removed would refuse the new one.
  removeMark(directory)
  return opened(directory, partFile, (db, lock) => new SqliteTarget(db, lock, directory, keysOf))
}

function opened<T>(directory: string, file: string, make: (db: DatabaseSync, lock: Disposable) => T): T {
  let lock: Disposable | undefined
  try {
    lock = lockDirectory(directory)
    makeDataDirectory(directory, [file])
    refuseLostWrites(directory)
    const db = new DatabaseSync(join(directory, file))
    // Unlike a server (`settings.ts`), a transfer writes entries all over an index: a large cache helps.
    const settings = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536'
    db.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL; ${settings}`)
    migrate(db)
    return make(db, lock)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw translate(error)
  }
}

interface CounterColumns {
  log_forgotten: number
  item_version: number
}

class SqliteSource implements TransferSource {
  protected readonly db: DatabaseSync
  readonly #lock: Disposable

  constructor(db: DatabaseSync, lock: Disposable) {
    this.db = db
    this.#lock = lock
  }

  async contents(): Promise<StoreContents> {
    const { mark, sure, ahead } = readTimeRow(this.db)
    requireSureTime(sure, ahead)
    const databaseRows = this.db.prepare('SELECT * FROM databases ORDER BY number').all() as unknown as DatabaseRow[]
    const databases = databaseRows.map(toDatabase)
    const logNewest = this.#count(`SELECT coalesce(max(seq), 0) AS n FROM sqlite_sequence WHERE name = 'log'`)
    const rows = this.db.prepare('SELECT * FROM containers ORDER BY number').all() as unknown as (ContainerRow &
      CounterColumns)[]
    const containers = rows.map(row => {
      const database = databases.find(({ number }) => number === row.database)!
      return this.#container(row, database, logNewest)
    })
    return { mark, logNewest, databases, containers }
  }

  /** `logNewest` is of all containers: a position behind the whole log has this number. */
  #container(row: ContainerRow & CounterColumns, database: DatabaseRecord, logNewest: number): StoredContainer {
    const { number } = row
    return {
      ...toContainer(row, database, loadIndexes(this.db, number)),
      newest: Math.max(row.item_version, logNewest),
      logForgotten: row.log_forgotten,
      rows: this.#count(`SELECT count(*) AS n FROM ${itemTable(number)}`),
      logRows: this.#count('SELECT count(*) AS n FROM log WHERE container = ?', number),
    }
  }

  #count(sql: string, ...values: number[]): number {
    return (this.db.prepare(sql).get(...values) as { n: number }).n
  }

  async items({ number }: StoredContainer, after: Reached['item'], itemsMax: number): Promise<ScannedItem[]> {
    const rows = this.db
      .prepare(
        `SELECT sequence, epk, pk, id, ts, deadline, version, body FROM ${itemTable(number)}
         WHERE sequence > ? ORDER BY sequence LIMIT ?`,
      )
      .all(after?.sequence ?? -1, itemsMax) as unknown as (ItemKey & Omit<ScannedItem, 'key'>)[]
    return rows.map(({ epk, pk, id, ...rest }) => ({ key: { epk, pk, id }, ...rest }))
  }

  async log({ number }: StoredContainer, after: Reached['entry'], entriesMax: number): Promise<StoredEntry[]> {
    const rows = this.db
      .prepare('SELECT * FROM log WHERE container = ? AND number > ? ORDER BY number LIMIT ?')
      .all(number, after?.number ?? 0, entriesMax) as unknown as (ItemKey &
      Omit<StoredEntry, 'key' | 'body' | 'previous'> & {
        body: Body | null
        previous_version: number | null
        previous_body: Body | null
      })[]
    return rows.map(({ epk, pk, id, kind, version, sequence, ts, body, number, previous_version, previous_body }) => ({
      ...{ kind, key: { epk, pk, id }, version, sequence, ts, number, tick: number, body: body ?? undefined },
      previous:
        previous_version === null || previous_body === null
          ? undefined
          : { version: previous_version, body: previous_body },
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.db.close()
    this.#lock[Symbol.dispose]()
  }
}

/** A target can be read too: after the move its contents are compared with those of the source. */
class SqliteTarget extends SqliteSource implements TransferTarget {
  readonly #directory: string
  readonly #keysOf: KeyMaker
  #hasLogNumbers = false

  constructor(db: DatabaseSync, lock: Disposable, directory: string, keysOf: KeyMaker) {
    super(db, lock)
    this.#directory = directory
    this.#keysOf = keysOf
  }

  async begin(contents: StoreContents): Promise<ReadonlyMap<number, Reached>> {
    this.db.exec('CREATE TABLE IF NOT EXISTS transfer (container INTEGER PRIMARY KEY, reached TEXT NOT NULL)')
    this.#hasLogNumbers = contents.logNewest !== undefined
    const fingerprint = fingerprintOf(contents)
    // Row 0 has the fingerprint of the source.
    const rows = this.db.prepare('SELECT container, reached FROM transfer').all() as {
      container: number
      reached: string
    }[]
    if (rows.length === 0) {
      this.#transaction(() => this.#make(contents, fingerprint))
      return new Map()
    }
    if (rows.find(({ container }) => container === 0)?.reached !== fingerprint) {
      const sentence = `${this.#directory} has a part of other data. Empty it, or give another directory.`
      throw new RequestError('already_exists', sentence)
    }
    return new Map(rows.filter(({ container }) => container > 0).map(row => [row.container, JSON.parse(row.reached)]))
  }

  #make({ databases, containers, logNewest }: StoreContents, fingerprint: string): void {
    // New log entries get higher numbers than all that the source has given. So no position of the source
    // lies between them.
    const logStart = logNewest ?? Math.max(0, ...containers.map(({ newest }) => newest))
    this.db.prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('log', ?)`).run(logStart)
    const insertDatabase = this.db.prepare('INSERT INTO databases VALUES (?, ?, ?, ?, ?, ?)')
    for (const { number, id, rid, version, ts, throughput } of databases) {
      insertDatabase.run(number, id, rid, version, ts, toJson(throughput))
    }
    const insertContainer = this.db.prepare(
      `INSERT INTO containers (number, database, id, rid, version, ts, throughput, partition_key,
         partition_count, default_ttl, inherited_dead_at, own_dead_at, definition, item_version, item_rows,
         encoding, log_seconds, log_forgotten, partition_splits)
       VALUES (:number, :database, :id, :rid, :version, :ts, :throughput, :partitionKey,
         :partitionCount, :defaultTtl, :inheritedDeadAt, :ownDeadAt, :definition, :newest, :rows,
         :encoding, :logSeconds, :logForgotten, :partitionSplits)`,
    )
    for (const container of containers) {
      const { number, id, rid, version, ts, partitionCount, encoding, logSeconds, newest, rows } = container
      // If entries get new numbers and earlier ones were removed, it is not known which readers missed
      // those.
      const logForgotten = this.#hasLogNumbers || container.logForgotten === 0 ? container.logForgotten : logStart
      insertContainer.run({
        number,
        database: container.database.number,
        id,
        rid,
        version,
        ts,
        throughput: toJson(container.throughput),
        partitionKey: JSON.stringify(container.partitionKey),
        partitionCount,
        ...container.policy,
        definition: JSON.stringify(container.definition),
        newest,
        rows,
        encoding,
        logSeconds,
        logForgotten,
        partitionSplits: container.partitionSplits,
      })
      this.db.exec(createItemTableSql(number, partitionCount))
      this.#makeIndexes(container)
    }
    this.db.prepare('INSERT INTO transfer VALUES (0, ?)').run(fingerprint)
  }

  #makeIndexes({ number, indexes }: StoredContainer): void {
    const insert = this.db.prepare(
      `INSERT INTO indexes (container, number, components, is_declared, is_ready, has_cut_keys, has_gaps, built_to,
         uniqueness, options, has_several_keys) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    )
    for (const { definition, isDeclared, isReady, hasCutKeys, hasGaps, hasSeveralKeys } of indexes) {
      const { components, options } = fromIndex(definition)
      insert.run(
        ...[number, definition.number, components, Number(isDeclared), Number(isReady), Number(hasCutKeys)],
        ...[Number(hasGaps), definition.uniqueness, options],
        Number(hasSeveralKeys),
      )
    }
  }

  async putItems(container: StoredContainer, items: readonly ScannedItem[]): Promise<void> {
    const insert = this.db.prepare(`INSERT INTO ${itemTable(container.number)} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    const entries = new ContainerEntries(this.db, container.number, this.#keysOf)
    this.#transaction(() => {
      for (const { key, sequence, ts, deadline, version, body } of items) {
        insert.run(sequence, key.epk, key.pk, key.id, ts, deadline, version, body)
        const change = { sequence, pk: key.pk, before: undefined, after: body }
        // Unique keys were checked when the items were written. They are not checked again.
        if (container.indexes.length > 0) entries.change(container.indexes, change, noItemLives, noFindings())
      }
      const { key, sequence } = items.at(-1)!
      this.#reach(container.number, { item: { key, sequence } })
    })
  }

  /** In SQLite the ticks are the numbers of the entries. */
  async putLog(container: StoredContainer, entries: readonly StoredEntry[]): Promise<void> {
    const insert = this.db.prepare(
      `INSERT INTO log
         (number, container, kind, epk, pk, id, version, sequence, ts, body, previous_version, previous_body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#transaction(() => {
      for (const { tick, kind, key, version, sequence, ts, body, previous } of entries) {
        insert.run(
          tick,
          ...[container.number, kind, key.epk, key.pk, key.id, version, sequence, ts, body ?? null],
          ...[previous?.version ?? null, previous?.body ?? null],
        )
      }
      const { key, number } = entries.at(-1)!
      this.#reach(container.number, { entry: { key, number } })
    })
  }

  async finish({ mark }: StoreContents): Promise<void> {
    this.#transaction(() => {
      this.db.prepare('UPDATE clock SET high_water_mark = ?').run(mark)
      this.db.exec('DROP TABLE transfer')
    })
    this.db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE')
    renameSync(join(this.#directory, partFile), join(this.#directory, dataFile))
  }

  #reach(container: number, reached: Reached): void {
    const select = this.db.prepare('SELECT reached FROM transfer WHERE container = ?')
    const before = select.get(container) as { reached: string } | undefined
    const now = { ...(before === undefined ? {} : JSON.parse(before.reached)), ...reached }
    this.db.prepare('INSERT OR REPLACE INTO transfer VALUES (?, ?)').run(container, JSON.stringify(now))
  }

  #transaction(work: () => void): void {
    this.db.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.db.exec('COMMIT')
    } catch (error) {
      this.db.exec('ROLLBACK')
      throw translate(error)
    }
  }
}
