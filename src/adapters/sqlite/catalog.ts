/**
 * Databases and containers: kept in memory, and changed in the file and in memory by the same transaction.
 *
 * Changes run inside the writer's transaction, and later work of the transaction sees them. When it fails,
 * they are undone in memory, in reverse order.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type {
  CatalogNote,
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
  Epitaph,
  IndexDraft,
  IndexRecord,
} from '../../store/catalog.ts'
import { type ContainerRow, type DatabaseRow, fromIndex, toContainer, toDatabase, toJson } from '../catalog-rows.ts'
import type { IndexFindings } from '../index-findings.ts'
import { ContainerChanges } from './changes.ts'
import { ContainerEntries } from './entries.ts'
import type { Milestone } from './file/end-mark.ts'
import { createItemTableSql } from './file/schema.ts'
import { loadIndexes } from './index-records.ts'
import { type ContainerCounters, ContainerItems } from './items.ts'
import type { SqliteChangeLog } from './log.ts'
import { ContainerPurge, reclaim } from './purge.ts'
import type { Participant } from './turns.ts'

export interface OpenContainer {
  record: ContainerRecord
  readonly items: ContainerItems
  readonly entries: ContainerEntries
  readonly purge: ContainerPurge
  readonly changes: ContainerChanges
}

interface OpenDatabase {
  record: DatabaseRecord
  readonly containers: Map<string, OpenContainer>
}

export class SqliteCatalog implements Participant {
  readonly #db: DatabaseSync
  readonly #log: SqliteChangeLog
  readonly #keysOf: KeyMaker
  readonly #databases = new Map<string, OpenDatabase>()
  readonly #containers = new Map<number, OpenContainer>()
  readonly #insertDatabase: StatementSync
  readonly #updateDatabase: StatementSync
  readonly #insertContainer: StatementSync
  readonly #updateContainer: StatementSync
  #undo: (() => void)[] = []

  constructor(db: DatabaseSync, log: SqliteChangeLog, keysOf: KeyMaker) {
    this.#db = db
    this.#log = log
    this.#keysOf = keysOf
    this.#insertDatabase = db.prepare(
      `INSERT INTO databases (id, rid, version, ts, throughput) VALUES (:id, :rid, 1, :ts, :throughput)
       RETURNING number`,
    )
    this.#updateDatabase = db.prepare(
      'UPDATE databases SET version = :version, ts = :ts, throughput = :throughput WHERE number = :number',
    )
    this.#insertContainer = db.prepare(`
      INSERT INTO containers (database, id, rid, version, ts, throughput, partition_key, partition_count,
        encoding, default_ttl, inherited_dead_at, own_dead_at, log_seconds, definition, item_version, item_rows)
      VALUES (:database, :id, :rid, 1, :ts, :throughput, :partitionKey, :partitionCount,
        :encoding, :defaultTtl, :inheritedDeadAt, :ownDeadAt, :logSeconds, :definition, 0, 0) RETURNING number`)
    this.#updateContainer = db.prepare(`
      UPDATE containers SET id = :id, version = :version, ts = :ts, throughput = :throughput,
        partition_splits = :partitionSplits, default_ttl = :defaultTtl, inherited_dead_at = :inheritedDeadAt,
        own_dead_at = :ownDeadAt, log_seconds = :logSeconds, definition = :definition
      WHERE number = :number`)
    this.#load()
  }

  /** The container with the highest number. */
  get reached(): Milestone | undefined {
    let container = 0
    for (const number of this.#containers.keys()) container = Math.max(container, number)
    return container === 0 ? undefined : { container }
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

  openContainers(): OpenContainer[] {
    return [...this.#containers.values()]
  }

  /**
   * Finds the container by its number: one that was deleted and created again under the same name is another
   * one.
   */
  openContainer(container: ContainerRecord): OpenContainer | undefined {
    return this.#containers.get(container.number)
  }

  requireContainer(container: ContainerRecord): OpenContainer {
    const open = this.openContainer(container)
    if (open === undefined) {
      throw new RequestError('namespace_not_found', `The container ${container.id} does not exist any more.`)
    }
    return open
  }

  recordOf(number: number): ContainerRecord | undefined {
    return this.#containers.get(number)?.record
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
    const { throughput, note } = change(before)
    const record: DatabaseRecord = { ...before, throughput, version: before.version + 1, ts }
    const { number, version } = record
    this.#updateDatabase.run({ number, version, ts, throughput: toJson(throughput) })
    const set = (now: DatabaseRecord) => {
      open.record = now
      for (const container of open.containers.values()) container.record = { ...container.record, database: now }
    }
    set(record)
    this.#undo.push(() => set(before))
    this.#appendEpitaph(-number, note, ts)
    return record
  }

  deleteDatabase(database: DatabaseRecord, epitaph: Epitaph | undefined, ts: EpochSeconds): boolean {
    const open = this.#present(database)
    if (open === undefined) return false
    for (const { record } of open.containers.values()) this.deleteContainer(record, undefined, ts)
    this.#appendEpitaph(-database.number, epitaph, ts)
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
      encoding: draft.encoding,
      ...draft.policy,
      logSeconds: draft.logSeconds,
      definition: JSON.stringify(draft.definition),
    }) as Numbered
    this.#db.exec(createItemTableSql(number, draft.partitionCount))
    this.#log.begin(number)
    const { declaredIndexes = [], note, ...fields } = draft
    const fresh = { version: 1, ts, partitionSplits: 0, indexes: [] }
    const record: ContainerRecord = { ...fields, ...fresh, number, database: owner.record }
    this.#open(owner, record, { version: 0, rows: 0 })
    this.#undo.push(() => this.#close(owner, record))
    for (const index of declaredIndexes) this.#insertIndex(record, index, true)
    this.#appendNote(record, note, ts)
    return this.openContainer(record)!.record
  }

  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds, sure: EpochSeconds) => ContainerChange,
    ts: EpochSeconds,
    sure: EpochSeconds,
  ): ContainerRecord | undefined {
    const open = this.openContainer(container)
    if (open === undefined) return undefined
    const before = open.record
    const { notes = [], ...changes } = change(before, ts, sure)
    const record: ContainerRecord = { ...before, ...changes, version: before.version + 1, ts }
    const { containers } = this.#databases.get(before.database.id)!
    if (record.id !== before.id && containers.has(record.id)) return undefined
    this.#updateContainer.run({
      number: record.number,
      id: record.id,
      version: record.version,
      ts,
      throughput: toJson(record.throughput),
      partitionSplits: record.partitionSplits,
      ...record.policy,
      logSeconds: record.logSeconds,
      definition: JSON.stringify(record.definition),
    })
    if (before.logSeconds === null && record.logSeconds !== null) this.#log.begin(record.number)
    const set = (now: ContainerRecord, idBefore: string) => {
      if (now.id !== idBefore) {
        containers.delete(idBefore)
        containers.set(now.id, open)
      }
      open.record = now
    }
    set(record, before.id)
    this.#undo.push(() => set(before, record.id))
    for (const note of notes) this.#appendNote(record, note, ts)
    return record
  }

  /** The rows are left to `reclaim`: dropping a large table at once would block the event loop. */
  deleteContainer(container: ContainerRecord, epitaph: Epitaph | undefined, ts: EpochSeconds): boolean {
    const open = this.openContainer(container)
    if (open === undefined) return false
    if (open.record.logSeconds !== null) this.#appendEpitaph(container.number, epitaph, ts)
    this.#db.prepare('DELETE FROM containers WHERE number = ?').run(container.number)
    this.#db.prepare('DELETE FROM indexes WHERE container = ?').run(container.number)
    this.#db.prepare('DELETE FROM doomed_indexes WHERE container = ?').run(container.number)
    this.#db.prepare('INSERT INTO doomed VALUES (?)').run(container.number)
    const owner = this.#databases.get(container.database.id)!
    this.#close(owner, open.record)
    this.#undo.push(() => {
      owner.containers.set(open.record.id, open)
      this.#containers.set(open.record.number, open)
    })
    return true
  }

  #appendNote({ number, logSeconds }: ContainerRecord, note: CatalogNote | undefined, ts: EpochSeconds): void {
    if (note !== undefined && logSeconds !== null) this.#log.appendNote(number, note, ts)
  }

  /** `subject`: a container, or a database with its number negated. */
  #appendEpitaph(subject: number, epitaph: Epitaph | undefined, ts: EpochSeconds): void {
    if (epitaph === undefined) return
    this.#log.appendNote(subject, epitaph, ts)
    this.#log.keep(subject, ts + epitaph.keptSeconds)
  }

  createIndex(container: ContainerRecord, index: IndexDraft): ContainerRecord | undefined {
    return this.#insertIndex(container, index, false)
  }

  #insertIndex(container: ContainerRecord, draft: IndexDraft, isReady: boolean): ContainerRecord | undefined {
    const { components, uniqueness = 'none', options, isDeclared } = draft
    const open = this.openContainer(container)
    if (open === undefined) return undefined
    const { last } = this.#db
      .prepare(
        `SELECT max(number) AS last FROM
          (SELECT number FROM indexes WHERE container = :container UNION ALL
           SELECT number FROM doomed_indexes WHERE container = :container)`,
      )
      .get({ container: container.number }) as { last: number | null }
    const number = (last ?? 0) + 1
    const stored = fromIndex(draft)
    this.#db
      .prepare(
        `INSERT INTO indexes (container, number, components, is_declared, is_ready, has_cut_keys, has_gaps,
           has_several_keys, built_to, uniqueness, options)
         VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)`,
      )
      .run(container.number, number, stored.components, isDeclared ? 1 : 0, isReady ? 1 : 0, uniqueness, stored.options)
    const definition = { number, components, uniqueness, ...(options !== undefined && { options }) }
    const index = { definition, isDeclared, isReady, hasCutKeys: false, hasGaps: false, hasSeveralKeys: false }
    return this.#setIndexes(open, [...open.record.indexes, index])
  }

  /** The last item that has entries in an index that is being built. */
  builtTo({ number: container }: ContainerRecord, number: number): number {
    const where = 'WHERE container = ? AND number = ?'
    const row = this.#db.prepare(`SELECT built_to AS builtTo FROM indexes ${where}`).get(container, number)
    return (row as { builtTo: number }).builtTo
  }

  /** Makes entries for a part of the items; true when the index is ready or gone. */
  buildIndex(
    container: ContainerRecord,
    number: number,
    /** Makes entries. Returns the last item that has them; undefined: there are no more items. */
    enter: (open: OpenContainer, definition: IndexDefinition, builtTo: number) => number | undefined,
  ): boolean {
    const open = this.openContainer(container)
    const index = open?.record.indexes.find(({ definition }) => definition.number === number)
    if (open === undefined || index === undefined || index.isReady) return true
    const builtTo = this.builtTo(container, number)
    const reached = enter(open, index.definition, builtTo)
    if (reached !== undefined) {
      if (reached === builtTo) return false
      this.#db
        .prepare('UPDATE indexes SET built_to = ? WHERE container = ? AND number = ?')
        .run(reached, container.number, number)
      return false
    }
    this.#changeIndexes(open, new Set([number]), 'is_ready', ready => ({ ...ready, isReady: true }))
    return true
  }

  dropIndex(container: ContainerRecord, number: number): ContainerRecord | undefined {
    const open = this.openContainer(container)
    if (open === undefined) return undefined
    const { changes } = this.#db
      .prepare('DELETE FROM indexes WHERE container = ? AND number = ?')
      .run(container.number, number)
    if (Number(changes) === 0) return open.record
    this.#db.prepare('INSERT INTO doomed_indexes VALUES (?, ?)').run(container.number, number)
    return this.#setIndexes(
      open,
      open.record.indexes.filter(({ definition }) => definition.number !== number),
    )
  }

  /** Stores what a transaction learned about indexes in their records. */
  storeFindings(open: OpenContainer, { cut, gaps, several }: IndexFindings): void {
    if (cut.size > 0) this.#changeIndexes(open, cut, 'has_cut_keys', index => ({ ...index, hasCutKeys: true }))
    if (gaps.size > 0) this.#changeIndexes(open, gaps, 'has_gaps', index => ({ ...index, hasGaps: true }))
    if (several.size > 0) {
      this.#changeIndexes(open, several, 'has_several_keys', index => ({ ...index, hasSeveralKeys: true }))
    }
  }

  /** Removes a part of one deleted container or dropped index; false when nothing is left. */
  reclaim(rowsMax: number, moment: EpochSeconds): boolean {
    if (this.#log.removeKept(moment, rowsMax)) return true
    const doomed = this.#db.prepare('SELECT container FROM doomed LIMIT 1').get() as { container: number } | undefined
    if (doomed !== undefined) {
      reclaim(this.#db, doomed.container, rowsMax)
      return true
    }
    const dropped = this.#db.prepare('SELECT container, number FROM doomed_indexes LIMIT 1').get() as
      | { container: number; number: number }
      | undefined
    if (dropped === undefined) return false
    const { container, number } = dropped
    if (this.#containers.get(container)!.entries.clear(number, rowsMax)) {
      this.#db.prepare('DELETE FROM doomed_indexes WHERE container = ? AND number = ?').run(container, number)
    }
    return true
  }

  beforeCommit(): void {}

  afterCommit(): void {
    this.#undo = []
  }

  afterRollback(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  #setIndexes(open: OpenContainer, indexes: readonly IndexRecord[]): ContainerRecord {
    const before = open.record
    open.record = { ...before, indexes }
    this.#undo.push(() => {
      open.record = before
    })
    return open.record
  }

  #changeIndexes(
    open: OpenContainer,
    numbers: ReadonlySet<number>,
    column: 'is_ready' | 'has_cut_keys' | 'has_gaps' | 'has_several_keys',
    change: (index: IndexRecord) => IndexRecord,
  ): void {
    for (const number of numbers) {
      this.#db
        .prepare(`UPDATE indexes SET ${column} = 1 WHERE container = ? AND number = ?`)
        .run(open.record.number, number)
    }
    this.#setIndexes(
      open,
      open.record.indexes.map(index => (numbers.has(index.definition.number) ? change(index) : index)),
    )
  }

  #present(database: DatabaseRecord): OpenDatabase | undefined {
    const open = this.#databases.get(database.id)
    return open?.record.number === database.number ? open : undefined
  }

  #open(owner: OpenDatabase, record: ContainerRecord, counters: ContainerCounters): void {
    const open = {
      record,
      items: new ContainerItems(this.#db, record, counters),
      entries: new ContainerEntries(this.#db, record.number, this.#keysOf),
      purge: new ContainerPurge(this.#db, record.number),
      changes: new ContainerChanges(this.#db, record.number),
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
      const open = { record: toDatabase(row), containers: new Map() }
      this.#databases.set(row.id, open)
      byNumber.set(row.number, open)
    }
    const containers = this.#db.prepare('SELECT * FROM containers ORDER BY number').all()
    for (const row of containers as unknown as (ContainerRow & CounterColumns)[]) {
      const owner = byNumber.get(row.database)!
      const record = toContainer(row, owner.record, loadIndexes(this.#db, row.number))
      this.#open(owner, record, { version: row.item_version, rows: row.item_rows })
    }
  }
}

type Numbered = { number: number }

interface CounterColumns {
  item_version: number
  item_rows: number
}
