/**
 * Moves the contents of a data directory out, or into a new one: see `store/transfer.ts`.
 *
 * Until the move is complete, the target has another file name, so no server opens it.
 */

import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { DatabaseRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Living } from '../../store/policy.ts'
import {
  fingerprintOf,
  type Reached,
  type StoreContents,
  type StoredContainer,
  type StoredEntry,
  type TransferSource,
  type TransferTarget,
} from '../../store/transfer.ts'
import { type ContainerRow, type DatabaseRow, fromIndex, toContainer, toDatabase, toJson } from '../catalog-rows.ts'
import { noFindings } from '../index-findings.ts'
import { ContainerEntries } from './entries.ts'
import { translate } from './errors.ts'
import { loadIndexes } from './index-records.ts'
import { lockDirectory } from './lock.ts'
import { createItemTableSql, dataFile, itemTable, migrate } from './schema.ts'
import { pageBytes } from './settings.ts'

const partFile = 'mayfly.part.db'

export function openSqliteSource(directory: string): TransferSource {
  if (!existsSync(join(directory, dataFile))) {
    throw new RequestError('not_found', `There is no data of Mayfly in ${directory}.`)
  }
  return opened(directory, dataFile, (db, lock) => new SqliteSource(db, lock))
}

export function openSqliteTarget(directory: string, keysOf: KeyMaker): TransferTarget {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (existsSync(join(directory, dataFile))) {
    throw new RequestError(
      'already_exists',
      `There is data of Mayfly in ${directory} already. Give an empty directory.`,
    )
  }
  return opened(directory, partFile, (db, lock) => new SqliteTarget(db, lock, directory, keysOf))
}

function opened<T>(directory: string, file: string, make: (db: DatabaseSync, lock: Disposable) => T): T {
  let lock: Disposable | undefined
  try {
    lock = lockDirectory(directory)
    const db = new DatabaseSync(join(directory, file))
    const settings = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536'
    db.exec(`PRAGMA page_size = ${pageBytes}; ${settings}`)
    migrate(db)
    return make(db, lock)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw translate(error)
  }
}

interface NumberColumns {
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
    const { mark } = this.db.prepare('SELECT high_water_mark AS mark FROM clock').get() as { mark: EpochSeconds }
    const databaseRows = this.db.prepare('SELECT * FROM databases ORDER BY number').all() as unknown as DatabaseRow[]
    const databases = databaseRows.map(toDatabase)
    const rows = this.db.prepare('SELECT * FROM containers ORDER BY number').all() as unknown as (ContainerRow &
      NumberColumns)[]
    const containers = rows.map(row => this.#container(row, databases.find(({ number }) => number === row.database)!))
    return { mark, databases, containers }
  }

  #container(row: ContainerRow & NumberColumns, database: DatabaseRecord): StoredContainer {
    const { number } = row
    const count = (sql: string, ...values: number[]) => (this.db.prepare(sql).get(...values) as { n: number }).n
    const logNewest = count('SELECT coalesce(max(number), 0) AS n FROM log WHERE container = ?', number)
    return {
      ...toContainer(row, database, loadIndexes(this.db, number)),
      newest: Math.max(row.item_version, logNewest, row.log_forgotten),
      logForgotten: row.log_forgotten,
      rows: count(`SELECT count(*) AS n FROM ${itemTable(number)}`),
      logRows: count('SELECT count(*) AS n FROM log WHERE container = ?', number),
    }
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
      ...{ kind, key: { epk, pk, id }, version, sequence, ts, number, body: body ?? undefined },
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

/** With these thresholds nobody is alive: unique keys are not checked again while items are moved. */
const nobody: Living = { inheritedAfter: Number.MAX_SAFE_INTEGER, ownAfter: Number.MAX_SAFE_INTEGER }

class SqliteTarget extends SqliteSource implements TransferTarget {
  readonly #directory: string
  readonly #keysOf: KeyMaker

  constructor(db: DatabaseSync, lock: Disposable, directory: string, keysOf: KeyMaker) {
    super(db, lock)
    this.#directory = directory
    this.#keysOf = keysOf
  }

  async begin(contents: StoreContents): Promise<ReadonlyMap<number, Reached>> {
    this.db.exec('CREATE TABLE IF NOT EXISTS transfer (container INTEGER PRIMARY KEY, reached TEXT NOT NULL)')
    const fingerprint = fingerprintOf(contents)
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

  #make({ databases, containers }: StoreContents, fingerprint: string): void {
    const insertDatabase = this.db.prepare('INSERT INTO databases VALUES (?, ?, ?, ?, ?, ?)')
    for (const { number, id, rid, version, ts, throughput } of databases) {
      insertDatabase.run(number, id, rid, version, ts, toJson(throughput))
    }
    for (const container of containers) {
      const { number, policy } = container
      this.db
        .prepare(
          `INSERT INTO containers (number, database, id, rid, version, ts, throughput, partition_key,
             partition_count, default_ttl, inherited_dead_at, own_dead_at, definition, item_version, item_rows,
             encoding, log_seconds, log_forgotten)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
        )
        .run(
          ...[number, container.database.number, container.id, container.rid, container.version, container.ts],
          ...[toJson(container.throughput), JSON.stringify(container.partitionKey), container.partitionCount],
          ...[policy.defaultTtl, policy.inheritedDeadAt, policy.ownDeadAt, JSON.stringify(container.definition)],
          ...[container.newest, container.rows, container.encoding, container.logSeconds],
        )
      this.db.exec(createItemTableSql(number, container.partitionCount))
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
        if (container.indexes.length > 0) entries.change(container.indexes, change, nobody, noFindings())
      }
      const { key, sequence } = items.at(-1)!
      this.#reach(container.number, { item: { key, sequence } })
    })
  }

  /** Entries get new numbers: in SQLite they are one order over all containers. */
  async putLog(container: StoredContainer, entries: readonly StoredEntry[]): Promise<void> {
    const insert = this.db.prepare(
      `INSERT INTO log (container, kind, epk, pk, id, version, sequence, ts, body, previous_version, previous_body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#transaction(() => {
      for (const { kind, key, version, sequence, ts, body, previous } of entries) {
        insert.run(
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
