/** The items of one container: point reads, conditional writes, and scans in key order. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { heavyAnswerBytesMin } from '../../base/heavy-turns.ts'
import type { Body } from '../../document/body.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { fill } from '../../store/fill.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../../store/item.ts'
import { everyItemLives, type Living } from '../../store/policy.ts'
import { type ListedRows, type PageSize, placeOf, type RowRange, type ScanRange } from '../../store/reading.ts'
import type { ItemChange, WriteAnswer } from '../../store/writing.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { livingItem, storesItem, verdictOf, versionsTaken } from '../verdict.ts'
import type { BodyChange } from './entries.ts'
import type { Milestone } from './file/end-mark.ts'
import { itemTable } from './file/schema.ts'
import { type ArrayStatement, prepareArrays } from './file/statements.ts'
import type { LogDraft } from './log.ts'
import { type Room, type RowBatch, RowBatches } from './row-batches.ts'
import type { Participant } from './turns.ts'

type Row = { sequence: number; version: number; ts: EpochSeconds; deadline: number | null }
type Cells = [sequence: number, version: number, ts: EpochSeconds, deadline: number | null]

/** The row at a key, alive or dead, with its body if that was read. */
export type Present = Row & { readonly body?: Body }

/** Kept in memory, and stored in the container's row by every transaction that changes them. */
export interface ContainerCounters {
  version: number
  rows: number
}

type Creation = Exclude<ItemChange, { readonly kind: 'delete' }>

export type Written = Pick<WriteAnswer, 'outcome' | 'item' | 'version'>

/** What a write does besides storing the item, in the same transaction. */
export interface Consequences {
  /** Updates the index entries. Returns false, and does nothing, if another living item has a unique key. */
  updateEntries(change: BodyChange): boolean
  /** Only where the container keeps a log. */
  readonly log: ((entry: LogDraft) => void) | undefined
}

export interface RowSlice {
  readonly items: ScannedItem[]
  readonly bytes: number
  /** Whether the page has no more room. */
  readonly isFull: boolean
  /** The last key that was read, alive or dead; undefined when the range is exhausted. */
  readonly last: ItemKey | undefined
}

type ListStatements = Readonly<Record<RowRange['by'], { forward: RowBatches; backward: RowBatches }>>

/** A large item, alive or dead. */
export const heavy = Symbol('heavy')

function inBothDirections(batches: (where: string, order: string) => RowBatches, only: string, by: string) {
  return {
    forward: batches(`${only} AND (${by}, sequence) > (:at, :from) AND ${by} <= :edge`, `${by}, sequence`),
    backward: batches(`${only} AND (${by}, sequence) < (:at, :from) AND ${by} > :edge`, `${by} DESC, sequence DESC`),
  }
}

export class ContainerItems implements Participant {
  readonly #find: ArrayStatement<Cells>
  readonly #read: ArrayStatement<[...Cells, Body]>
  readonly #readLight: ArrayStatement<[...Cells, Body | null]>
  readonly #body: StatementSync
  readonly #insert: StatementSync
  readonly #insertIfFree: StatementSync
  readonly #update: StatementSync
  readonly #updateBody: StatementSync
  readonly #delete: StatementSync
  readonly #ofRange: RowBatches
  readonly #ofPartition: RowBatches
  readonly #ofPartitionReverse: RowBatches
  readonly #ofTable: RowBatches
  readonly #inTime: ListStatements
  readonly #isHashed: boolean
  readonly #storeCounters: StatementSync
  readonly #container: number
  #committed: ContainerCounters
  #counters: ContainerCounters

  constructor(
    db: DatabaseSync,
    container: Pick<ContainerRecord, 'number' | 'partitionCount' | 'encoding'>,
    counters: ContainerCounters,
  ) {
    const table = itemTable(container.number)
    this.#container = container.number
    this.#committed = counters
    this.#counters = { ...counters }
    const isHashed = container.partitionCount > 1
    const where = isHashed ? 'WHERE epk = ? AND pk = ? AND id = ?' : 'WHERE pk = ? AND id = ?'
    this.#find = prepareArrays(db, `SELECT sequence, version, ts, deadline FROM ${table} ${where}`)
    this.#read = prepareArrays(db, `SELECT sequence, version, ts, deadline, body FROM ${table} ${where}`)
    const light = `CASE WHEN octet_length(body) < ${heavyAnswerBytesMin} THEN body END`
    this.#readLight = prepareArrays(db, `SELECT sequence, version, ts, deadline, ${light} FROM ${table} ${where}`)
    this.#body = db.prepare(`SELECT body FROM ${table} WHERE sequence = ?`)
    const insert = `INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    this.#insert = db.prepare(insert)
    this.#insertIfFree = db.prepare(`${insert} ON CONFLICT DO NOTHING`)
    this.#update = db.prepare(`UPDATE ${table} SET ts = ?, deadline = ?, version = ?, body = ? WHERE sequence = ?`)
    this.#updateBody = db.prepare(`UPDATE ${table} SET version = ?, body = ? WHERE sequence = ?`)
    this.#delete = db.prepare(`DELETE FROM ${table} WHERE sequence = ?`)
    this.#storeCounters = db.prepare('UPDATE containers SET item_version = ?, item_rows = ? WHERE number = ?')
    // SQLite uses the index of the key for these comparisons of row values. Where it does not begin with
    // epk, rows outside of the range are read and skipped, so that no call reads more rows than it may.
    const batches = (where: string, order: string, only?: string) =>
      new RowBatches(db, table, container.encoding, { where, order, only })
    this.#ofRange = isHashed
      ? batches('(epk, pk, id) > (:epk, :pk, :id) AND epk >= :epk AND epk < :maxExclusive', 'epk, pk, id')
      : batches('(pk, id) > (:pk, :id)', 'pk, id', 'epk >= :min AND epk < :maxExclusive')
    this.#ofPartition = batches('epk = :epk AND pk = :pk AND id > :id', 'id')
    this.#ofPartitionReverse = batches('epk = :epk AND pk = :pk AND id < :id', 'id DESC')
    this.#ofTable = batches('sequence > :after', 'sequence')
    this.#inTime = {
      inherited: inBothDirections(batches, 'deadline IS NULL', 'ts'),
      own: inBothDirections(batches, 'deadline IS NOT NULL', 'deadline'),
      creation: inBothDirections(batches, 'true', 'sequence'),
    }
    this.#isHashed = isHashed
  }

  /** The newest committed version. */
  get version(): number {
    return this.#committed.version
  }

  get reached(): Milestone {
    return { container: this.#container, version: this.#committed.version }
  }

  /** Committed rows, alive or dead. */
  get rows(): number {
    return this.#committed.rows
  }

  read(key: ItemKey, living: Living): StoredItem | undefined {
    return livingItem(living, this.readRow(key))
  }

  /** The same, but the body of a large item is not read: it takes a turn. */
  readLight(key: ItemKey, living: Living): StoredItem | typeof heavy | undefined {
    const cells = this.#get(this.#readLight, key)
    if (cells === undefined) return undefined
    const [sequence, version, ts, deadline, body] = cells
    return body === null ? heavy : livingItem(living, { sequence, version, ts, deadline, body })
  }

  /** Rows alive or dead, in an order of time. */
  list({ by, after, upTo, isReverse, behind }: RowRange, page: PageSize): ListedRows {
    const beyond = Number.MAX_SAFE_INTEGER
    const from = behind ?? (isReverse ? { at: upTo, sequence: beyond } : { at: after, sequence: beyond })
    const bind = { at: from.at, from: from.sequence, edge: isReverse ? after : upTo }
    const { forward, backward } = this.#inTime[by]
    const { items, isFull } = (isReverse ? backward : forward).read(
      bind,
      everyItemLives,
      { ...page, isEmpty: true },
      page.itemsMax,
    )
    return { rows: items, last: isFull ? placeOf(items.at(-1)!, by) : undefined }
  }

  /** The row at the key, alive or dead. */
  readRow(key: ItemKey): (Row & { body: Body }) | undefined {
    const cells = this.#get(this.#read, key)
    if (cells === undefined) return undefined
    const [sequence, version, ts, deadline, body] = cells
    return { sequence, version, ts, deadline, body }
  }

  /** The same without the body. */
  readRowWithoutBody(key: ItemKey): Row | undefined {
    const cells = this.#get(this.#find, key)
    if (cells === undefined) return undefined
    const [sequence, version, ts, deadline] = cells
    return { sequence, version, ts, deadline }
  }

  /** With one partition, look up by (pk, id): epk is not indexed. */
  #get<Found extends unknown[]>(statement: ArrayStatement<Found>, { epk, pk, id }: ItemKey): Found | undefined {
    return this.#isHashed ? statement.get(epk, pk, id) : statement.get(pk, id)
  }

  /**
   * Creates an item without reading first: the unique index of the key tells whether the key is free. Only
   * for containers without indexes and log. Returns undefined, and does nothing, if there is a row, alive or
   * dead.
   * Must run inside the writer's transaction.
   */
  createIfFree(key: ItemKey, { draft, ttl, until }: Creation, moment: EpochSeconds): Written | undefined {
    const version = this.#counters.version + 1
    const stamp = { sequence: version, version, ts: moment }
    const body = fill(draft, stamp)
    const deadline = ownDeadline(ttl, moment, until)
    const { changes } = this.#insertIfFree.run(version, key.epk, key.pk, key.id, moment, deadline, version, body)
    if (changes === 0) return undefined
    this.#counters.version = version
    this.#counters.rows++
    return { outcome: 'created', version, item: { ...stamp, deadline, body } }
  }

  /** Must run inside the writer's transaction; `present` is the row that was found at the key in it. */
  write(
    key: ItemKey,
    present: Present | undefined,
    change: ItemChange,
    living: Living,
    moment: EpochSeconds,
    consequences: Consequences,
  ): Written {
    const alive = livingItem(living, present)
    const outcome = verdictOf(change, alive)
    if (outcome === 'deleted') this.#remove('delete', key, alive!, moment, consequences)
    if (change.kind === 'delete' || !storesItem(outcome)) return { outcome, version: this.#counters.version }
    const isLogged = consequences.log !== undefined
    const version = this.#counters.version + versionsTaken({ present, alive, isLogged })
    const { sequence } = alive ?? { sequence: version }
    const stamp = { sequence, version, ts: moment }
    const body = fill(change.draft, stamp)
    const before = alive === undefined ? undefined : () => this.#bodyOf(alive)
    const previous = alive !== undefined && isLogged ? { version: alive.version, body: before!() } : undefined
    if (!consequences.updateEntries({ sequence, pk: key.pk, before, after: body })) {
      return { outcome: 'conflict', version: this.#counters.version }
    }
    if (alive === undefined && present !== undefined) this.#remove('expire', key, present, moment, consequences)
    this.#counters.version = version
    const deadline = ownDeadline(change.ttl, moment, change.until)
    if (alive === undefined) {
      this.#insert.run(sequence, key.epk, key.pk, key.id, moment, deadline, version, body)
      this.#counters.rows++
    } else if (alive.ts === moment && alive.deadline === deadline) {
      // This statement names only the columns that change: SQLite rewrites the entries of every index whose
      // columns a statement names.
      this.#updateBody.run(version, body, sequence)
    } else {
      this.#update.run(moment, deadline, version, body, sequence)
    }
    const kind = alive === undefined ? 'create' : 'replace'
    consequences.log?.({ kind, key, ...stamp, body, previous })
    return { outcome, version, item: { ...stamp, deadline, body } }
  }

  /** Removes a row with its index entries, because of a delete or a death, and logs it. */
  #remove(
    kind: 'delete' | 'expire',
    key: ItemKey,
    present: Present,
    moment: EpochSeconds,
    consequences: Consequences,
  ): void {
    const { sequence, version: before } = present
    const body = () => this.#bodyOf(present)
    const version = kind === 'delete' || consequences.log !== undefined ? ++this.#counters.version : before
    consequences.log?.({
      kind,
      key,
      sequence,
      version,
      ts: moment,
      body: undefined,
      previous: { version: before, body: body() },
    })
    consequences.updateEntries({ sequence, pk: key.pk, before: body, after: undefined })
    this.#delete.run(sequence)
    this.#counters.rows--
  }

  /** Reads at most `rowsMax` rows, so that many dead ones cannot block the event loop. */
  scan(range: ScanRange, living: Living, page: PageSize, rowsMax: number): RowSlice {
    const items: ScannedItem[] = []
    let bytes = 0
    let looked = 0
    let last = range.after
    while (looked < rowsMax) {
      const rest = {
        itemsMax: page.itemsMax - items.length,
        bytesMax: page.bytesMax - bytes,
        isEmpty: items.length === 0,
      }
      const asked = Math.min(rest.itemsMax, rowsMax - looked)
      const batch = this.#batch(range, last, living, rest, asked)
      for (const item of batch.items) items.push(item)
      bytes += batch.bytes
      looked += batch.looked
      if (batch.isFull) return { items, bytes, last: items.at(-1)!.key, isFull: true }
      last = batch.last?.key
      if (batch.looked < asked) return { items, bytes, last: undefined, isFull: false }
    }
    return { items, bytes, last, isFull: false }
  }

  /** The next rows in the order of the table itself. */
  rowsBehind(after: number, living: Living, room: Room, rowsMax: number): RowBatch {
    return this.#ofTable.read({ after }, living, room, rowsMax)
  }

  /** Reads from one partition key, or from a range of effective partition keys. */
  #batch(range: ScanRange, after: ItemKey | undefined, living: Living, room: Room, rowsMax: number): RowBatch {
    const { min, maxExclusive, pk, isReverse } = range
    if (isReverse === true) {
      const where = { epk: min, pk: pk!, id: after?.id ?? behindAllText }
      return this.#ofPartitionReverse.read(where, living, room, rowsMax)
    }
    const id = after?.id ?? ''
    if (pk !== undefined) return this.#ofPartition.read({ epk: min, pk, id }, living, room, rowsMax)
    const behind = { pk: after?.pk ?? '', id, maxExclusive }
    if (!this.#isHashed) return this.#ofRange.read({ ...behind, min }, living, room, rowsMax)
    // The position may belong to a larger range that contains this one.
    const isBefore = after === undefined || after.epk < min
    const from = isBefore ? { epk: min, pk: '', id: '', maxExclusive } : { ...behind, epk: after.epk }
    return this.#ofRange.read(from, living, room, rowsMax)
  }

  /** Stores a row as it was. Must run inside the writer's transaction. */
  putBack({ key, sequence, ts, deadline, version, body }: ScannedItem): void {
    this.#insert.run(sequence, key.epk, key.pk, key.id, ts, deadline, version, body)
    this.#counters.rows++
    this.#counters.version = Math.max(this.#counters.version, version, sequence)
  }

  #bodyOf({ sequence, body }: Present): Body {
    return body ?? (this.#body.get(sequence) as { body: Body }).body
  }

  /** A sweep in the same transaction removed rows; logged deaths have taken versions. */
  countSwept(rows: number, versions: number): void {
    this.#counters.rows -= rows
    this.#counters.version += versions
  }

  /** The newest version within the running transaction. */
  get pendingVersion(): number {
    return this.#counters.version
  }

  /** Returns a function that resets the counters to this point. */
  savepoint(): () => void {
    const saved = { ...this.#counters }
    return () => {
      this.#counters = saved
    }
  }

  beforeCommit(): void {
    this.#storeCounters.run(this.#counters.version, this.#counters.rows, this.#container)
  }

  afterCommit(): void {
    this.#committed = { ...this.#counters }
  }

  afterRollback(): void {
    this.#counters = { ...this.#committed }
  }
}

/** In SQLite every blob sorts behind every text. */
const behindAllText = new Uint8Array()
