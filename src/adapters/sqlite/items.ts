/** The items of one container: point reads, conditional writes, scans in key order. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import type { Body } from '../../document/body.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { fill } from '../../store/fill.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../../store/item.ts'
import type { Living } from '../../store/policy.ts'
import type { PageSize, ScanRange } from '../../store/reading.ts'
import type { ItemChange, WriteAnswer } from '../../store/writing.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { livingItem, storesItem, verdictOf, versionsTaken } from '../verdict.ts'
import type { BodyChange } from './entries.ts'
import type { LogDraft } from './log.ts'
import { type Room, type RowBatch, RowBatches } from './row-batches.ts'
import { itemTable } from './schema.ts'
import { type ArrayStatement, prepareArrays } from './statements.ts'
import type { Participant } from './turns.ts'

type Row = { sequence: number; version: number; ts: EpochSeconds; deadline: number | null }
type Cells = [sequence: number, version: number, ts: EpochSeconds, deadline: number | null]

/** What stands at a key, alive or dead, with its body if that was looked at as well. */
export type Present = Row & { readonly body?: Body }

/** Kept beside the container's row and stored by every transaction that changes them. */
export interface ContainerCounters {
  version: number
  rows: number
}

type Creation = Exclude<ItemChange, { readonly kind: 'delete' }>

export type Written = Pick<WriteAnswer, 'outcome' | 'item' | 'version'>

/** What goes along with a write, in its transaction. */
export interface Consequences {
  /**
   * Keeps up the index entries; false when a living item already has a unique key, and then nothing was done.
   */
  enter(change: BodyChange): boolean
  /** Only where the container keeps a log. */
  readonly log: ((entry: LogDraft) => void) | undefined
}

export interface RowSlice {
  readonly items: ScannedItem[]
  readonly bytes: number
  /** Nothing more fits on the page. */
  readonly isFull: boolean
  /** The last key looked at, alive or dead; undefined when the range is exhausted. */
  readonly last: ItemKey | undefined
}

export class ContainerItems implements Participant {
  readonly #find: ArrayStatement<Cells>
  readonly #read: ArrayStatement<[...Cells, Body]>
  readonly #body: StatementSync
  readonly #insert: StatementSync
  readonly #insertIfFree: StatementSync
  readonly #update: StatementSync
  readonly #delete: StatementSync
  readonly #ofRange: RowBatches
  readonly #ofPartition: RowBatches
  readonly #ofPartitionReverse: RowBatches
  readonly #ofTable: RowBatches
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
    this.#body = db.prepare(`SELECT body FROM ${table} WHERE sequence = ?`)
    const insert = `INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    this.#insert = db.prepare(insert)
    this.#insertIfFree = db.prepare(`${insert} ON CONFLICT DO NOTHING`)
    this.#update = db.prepare(`UPDATE ${table} SET ts = ?, deadline = ?, version = ?, body = ? WHERE sequence = ?`)
    this.#delete = db.prepare(`DELETE FROM ${table} WHERE sequence = ?`)
    this.#storeCounters = db.prepare('UPDATE containers SET item_version = ?, item_rows = ? WHERE number = ?')
    // The row value comparison follows the key's index.
    const [keys, behind] = isHashed ? ['epk, pk, id', ':epk, :pk, :id'] : ['pk, id', ':pk, :id']
    const inRange = `(${keys}) > (${behind}) AND epk >= ${isHashed ? ':epk' : ':min'} AND epk < :maxExclusive`
    const batches = (where: string, order: string) => new RowBatches(db, table, container.encoding, where, order)
    this.#ofRange = batches(inRange, keys)
    this.#ofPartition = batches('epk = :epk AND pk = :pk AND id > :id', 'id')
    this.#ofPartitionReverse = batches('epk = :epk AND pk = :pk AND id < :id', 'id DESC')
    this.#ofTable = batches('sequence > :after', 'sequence')
    this.#isHashed = isHashed
  }

  /** The newest committed version. */
  get version(): number {
    return this.#committed.version
  }

  /** Committed rows, alive or dead. */
  get rows(): number {
    return this.#committed.rows
  }

  read(key: ItemKey, living: Living): StoredItem | undefined {
    return livingItem(living, this.look(key))
  }

  /** Whatever is at the key, alive or dead. */
  look(key: ItemKey): (Row & { body: Body }) | undefined {
    const cells = this.#get(this.#read, key)
    if (cells === undefined) return undefined
    const [sequence, version, ts, deadline, body] = cells
    return { sequence, version, ts, deadline, body }
  }

  /** The same without its body. */
  inspect(key: ItemKey): Row | undefined {
    const cells = this.#get(this.#find, key)
    if (cells === undefined) return undefined
    const [sequence, version, ts, deadline] = cells
    return { sequence, version, ts, deadline }
  }

  /** Where the hash orders nothing, the partition key says it all. */
  #get<Found extends unknown[]>(statement: ArrayStatement<Found>, { epk, pk, id }: ItemKey): Found | undefined {
    return this.#isHashed ? statement.get(epk, pk, id) : statement.get(pk, id)
  }

  /**
   * Makes an item that has no consequences without a look at its key, whose index says itself when it is
   * taken. undefined: something is there, alive or dead, and nothing was done. Must run inside the writer's
   * transaction.
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

  /** Must run inside the writer's transaction, in which `present` was found at the key. */
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
    if (!consequences.enter({ sequence, pk: key.pk, before, after: body })) {
      return { outcome: 'conflict', version: this.#counters.version }
    }
    if (alive === undefined && present !== undefined) this.#remove('expire', key, present, moment, consequences)
    this.#counters.version = version
    const deadline = ownDeadline(change.ttl, moment, change.until)
    if (alive === undefined) {
      this.#insert.run(sequence, key.epk, key.pk, key.id, moment, deadline, version, body)
      this.#counters.rows++
    } else {
      this.#update.run(moment, deadline, version, body, sequence)
    }
    const kind = alive === undefined ? 'create' : 'replace'
    consequences.log?.({ kind, key, ...stamp, body, previous })
    return { outcome, version, item: { ...stamp, deadline, body } }
  }

  /** Removes a row and all that goes with it, because of a delete or a death. */
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
    consequences.enter({ sequence, pk: key.pk, before: body, after: undefined })
    this.#delete.run(sequence)
    this.#counters.rows--
  }

  /** Looks at no more than `rowsMax` rows, so that a stretch of dead ones cannot hold the event loop. */
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

  /** The next rows of the table itself. */
  rowsBehind(after: number, living: Living, room: Room, rowsMax: number): RowBatch {
    return this.#ofTable.read({ after }, living, room, rowsMax)
  }

  /** Within one partition key, or over a range of them in the order of the key's index. */
  #batch(range: ScanRange, after: ItemKey | undefined, living: Living, room: Room, rowsMax: number): RowBatch {
    const { min, maxExclusive, pk, isReverse } = range
    if (isReverse === true) {
      const where = { epk: min, pk: pk!, id: after?.id ?? behindAllText }
      return this.#ofPartitionReverse.read(where, living, room, rowsMax)
    }
    const id = after?.id ?? ''
    if (pk !== undefined) return this.#ofPartition.read({ epk: min, pk, id }, living, room, rowsMax)
    const from = this.#isHashed ? { epk: after?.epk ?? min } : { min }
    return this.#ofRange.read({ ...from, maxExclusive, pk: after?.pk ?? '', id }, living, room, rowsMax)
  }

  #bodyOf({ sequence, body }: Present): Body {
    return body ?? (this.#body.get(sequence) as { body: Body }).body
  }

  /** Rows were removed by a sweep in the same transaction, which may have given versions to their deaths. */
  forget(rows: number, versions: number): void {
    this.#counters.rows -= rows
    this.#counters.version += versions
  }

  /** The newest version within the running transaction. */
  get pendingVersion(): number {
    return this.#counters.version
  }

  /** What a part of a transaction counted is taken back by calling the answer. */
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

/** To SQLite any bytes are more than any text. */
const behindAllText = new Uint8Array()
