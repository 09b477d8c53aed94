/**
 * Databases and containers: kept in memory, changed in the file and in memory by the same transaction.
 *
 * Changes run inside the writer's transaction and are visible to what follows them in it; when the transaction fails they
 * are undone in reverse order.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
} from '../port.ts'
import { ContainerItems, type Counters } from './items.ts'
import { ContainerPurge, reclaim } from './purge.ts'
import { createItemTableSql } from './schema.ts'
import type { Participant } from './turns.ts'

export interface OpenContainer {
  record: ContainerRecord
  readonly items: ContainerItems
  readonly purge: ContainerPurge
}

interface OpenDatabase {
  record: DatabaseRecord
  readonly containers: Map<string, OpenContainer>
}

export class Catalog implements Participant {
  readonly #db: DatabaseSync
  readonly #databases = new Map<string, OpenDatabase>()
  readonly #containers = new Map<number, OpenContainer>()
  readonly #insertDatabase: StatementSync
  readonly #updateDatabase: StatementSync
  readonly #insertContainer: StatementSync
  readonly #updateContainer: StatementSync
  #undo: (() => void)[] = []

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#insertDatabase = db.prepare(
      'INSERT INTO databases (id, rid, version, ts, throughput) VALUES (:id, :rid, 1, :ts, :throughput) RETURNING number',
    )
    this.#updateDatabase = db.prepare(
      'UPDATE databases SET version = :version, ts = :ts, throughput = :throughput WHERE number = :number',
    )
    this.#insertContainer = db.prepare(`
      INSERT INTO containers (database, id, rid, version, ts, throughput, partition_key, partition_count,
        default_ttl, inherited_dead_at, own_dead_at, definition, item_version, item_rows)
      VALUES (:database, :id, :rid, 1, :ts, :throughput, :partitionKey, :partitionCount,
        :defaultTtl, :inheritedDeadAt, :ownDeadAt, :definition, 0, 0) RETURNING number`)
    this.#updateContainer = db.prepare(`
      UPDATE containers SET version = :version, ts = :ts, throughput = :throughput, default_ttl = :defaultTtl,
        inherited_dead_at = :inheritedDeadAt, own_dead_at = :ownDeadAt, definition = :definition
      WHERE number = :number`)
    this.#load()
  }

  databases(): DatabaseRecord[] {
    return [...this.#databases.values()].map(({ record }) => record)
  }

  findDatabase(id: string): DatabaseRecord | undefined {
    return this.#databases.get(id)?.record
  }

  containers(database: DatabaseRecord): ContainerRecord[] {
    const open = this.#present(database)
    return open === undefined ? [] : [...open.containers.values()].map(({ record }) => record)
  }

  findContainer(database: string, id: string): ContainerRecord | undefined {
    return this.#databases.get(database)?.containers.get(id)?.record
  }

  /** By number, so that a container that was deleted and made anew under the same name is not mistaken for the old one. */
  openContainer(container: ContainerRecord): OpenContainer | undefined {
    return this.#containers.get(container.number)
  }

  createDatabase(draft: DatabaseDraft, ts: EpochSeconds): DatabaseRecord | undefined {
    if (this.#databases.has(draft.id)) return undefined
    const { number } = this.#insertDatabase.get({ ...draft, throughput: toJson(draft.throughput), ts }) as Numbered
    const record: DatabaseRecord = { ...draft, number, version: 1, ts }
    this.#databases.set(draft.id, { record, containers: new Map() })
    this.#undo.push(() => this.#databases.delete(draft.id))
    return record
  }

  updateDatabase(
    database: DatabaseRecord,
    change: (current: DatabaseRecord) => DatabaseChange,
    ts: EpochSeconds,
  ): DatabaseRecord | undefined {
    const open = this.#present(database)
    if (open === undefined) return undefined
    const before = open.record
    const record: DatabaseRecord = { ...before, ...change(before), version: before.version + 1, ts }
    const { number, version, throughput } = record
    this.#updateDatabase.run({ number, version, ts, throughput: toJson(throughput) })
    const set = (now: DatabaseRecord) => {
      open.record = now
      for (const container of open.containers.values()) container.record = { ...container.record, database: now }
    }
    set(record)
    this.#undo.push(() => set(before))
    return record
  }

  deleteDatabase(database: DatabaseRecord): boolean {
    const open = this.#present(database)
    if (open === undefined) return false
    for (const { record } of open.containers.values()) this.deleteContainer(record)
    this.#db.prepare('DELETE FROM databases WHERE number = ?').run(database.number)
    this.#databases.delete(database.id)
    this.#undo.push(() => this.#databases.set(database.id, open))
    return true
  }

  createContainer(database: DatabaseRecord, draft: ContainerDraft, ts: EpochSeconds): ContainerRecord | undefined {
    const owner = this.#present(database)
    if (owner === undefined || owner.containers.has(draft.id)) return undefined
    const { number } = this.#insertContainer.get({
      database: database.number,
      id: draft.id,
      rid: draft.rid,
      ts,
      throughput: toJson(draft.throughput),
      partitionKey: JSON.stringify(draft.partitionKey),
      partitionCount: draft.partitionCount,
      ...draft.policy,
      definition: JSON.stringify(draft.definition),
    }) as Numbered
    this.#db.exec(createItemTableSql(number))
    const record: ContainerRecord = { ...draft, number, database: owner.record, version: 1, ts }
    this.#open(owner, record, { version: 0, rows: 0 })
    this.#undo.push(() => this.#close(owner, record))
    return record
  }

  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds) => ContainerChange,
    ts: EpochSeconds,
  ): ContainerRecord | undefined {
    const open = this.openContainer(container)
    if (open === undefined) return undefined
    const before = open.record
    const record: ContainerRecord = { ...before, ...change(before, ts), version: before.version + 1, ts }
    this.#updateContainer.run({
      number: record.number,
      version: record.version,
      ts,
      throughput: toJson(record.throughput),
      ...record.policy,
      definition: JSON.stringify(record.definition),
    })
    open.record = record
    this.#undo.push(() => {
      open.record = before
    })
    return record
  }

  /** The rows stay for `reclaim`: removing a large table at once would hold the event loop. */
  deleteContainer(container: ContainerRecord): boolean {
    const open = this.openContainer(container)
    if (open === undefined) return false
    this.#db.prepare('DELETE FROM containers WHERE number = ?').run(container.number)
    this.#db.prepare('INSERT INTO doomed VALUES (?)').run(container.number)
    const owner = this.#databases.get(container.database.id)!
    this.#close(owner, open.record)
    this.#undo.push(() => {
      owner.containers.set(open.record.id, open)
      this.#containers.set(open.record.number, open)
    })
    return true
  }

  /** Reclaims a part of one deleted container; false when none is left. */
  reclaim(rowsMax: number): boolean {
    const doomed = this.#db.prepare('SELECT container FROM doomed LIMIT 1').get() as { container: number } | undefined
    if (doomed !== undefined) reclaim(this.#db, doomed.container, rowsMax)
    return doomed !== undefined
  }

  beforeCommit(): void {}

  afterCommit(): void {
    this.#undo = []
  }

  afterRollback(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  #present(database: DatabaseRecord): OpenDatabase | undefined {
    const open = this.#databases.get(database.id)
    return open?.record.number === database.number ? open : undefined
  }

  #open(owner: OpenDatabase, record: ContainerRecord, counters: Counters): void {
    const open = {
      record,
      items: new ContainerItems(this.#db, record.number, counters),
      purge: new ContainerPurge(this.#db, record.number),
    }
    owner.containers.set(record.id, open)
    this.#containers.set(record.number, open)
  }

  #close(owner: OpenDatabase, record: ContainerRecord): void {
    owner.containers.delete(record.id)
    this.#containers.delete(record.number)
  }

  #load(): void {
    const byNumber = new Map<number, OpenDatabase>()
    for (const row of this.#db.prepare('SELECT * FROM databases ORDER BY number').all() as unknown as DatabaseRow[]) {
      const { number, id, rid, version, ts } = row
      const open = {
        record: { number, id, rid, version, ts, throughput: fromJson(row.throughput) },
        containers: new Map(),
      }
      this.#databases.set(id, open)
      byNumber.set(number, open)
    }
    for (const row of this.#db.prepare('SELECT * FROM containers ORDER BY number').all() as unknown as ContainerRow[]) {
      const { number, id, rid, version, ts } = row
      const owner = byNumber.get(row.database)!
      const record: ContainerRecord = {
        number,
        database: owner.record,
        id,
        rid,
        version,
        ts,
        throughput: fromJson(row.throughput),
        partitionKey: JSON.parse(row.partition_key),
        partitionCount: row.partition_count,
        policy: {
          defaultTtl: row.default_ttl,
          inheritedDeadAt: row.inherited_dead_at,
          ownDeadAt: row.own_dead_at,
        },
        definition: JSON.parse(row.definition),
      }
      this.#open(owner, record, { version: row.item_version, rows: row.item_rows })
    }
  }
}

type Numbered = { number: number }

interface DatabaseRow {
  number: number
  id: string
  rid: number
  version: number
  ts: EpochSeconds
  throughput: string | null
}

interface ContainerRow extends DatabaseRow {
  database: number
  partition_key: string
  partition_count: number
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  definition: string
  item_version: number
  item_rows: number
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function fromJson(text: string | null) {
  return text === null ? null : JSON.parse(text)
}
