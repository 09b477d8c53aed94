/** The items of one container: point reads, conditional writes, scans in key order. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { assert } from '../../base/error.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { isAlive } from '../../ttl/living.ts'
import type {
  ContainerRecord,
  Draft,
  ItemKey,
  ItemWrite,
  Living,
  PageSize,
  ScannedItem,
  ScanRange,
  Stamp,
  StoredItem,
  WriteAnswer,
} from '../port.ts'
import type { EntryChanges } from './entries.ts'
import { itemTable } from './schema.ts'
import type { Participant } from './turns.ts'

type Row = { sequence: number; version: number; ts: EpochSeconds; deadline: number | null }

/** Kept beside the container's row and stored by every transaction that changes them. */
export interface Counters {
  version: number
  rows: number
}

export type Written = Pick<WriteAnswer, 'outcome' | 'item' | 'version'>

export interface Slice {
  readonly items: ScannedItem[]
  readonly bytes: number
  /** Nothing more fits on the page. */
  readonly isFull: boolean
  /** The last key looked at, alive or dead; undefined when the range is exhausted. */
  readonly last: ItemKey | undefined
}

export class ContainerItems implements Participant {
  readonly #find: StatementSync
  readonly #read: StatementSync
  readonly #body: StatementSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #delete: StatementSync
  readonly #scanRange: StatementSync
  readonly #scanPartition: StatementSync
  readonly #isHashed: boolean
  readonly #storeCounters: StatementSync
  readonly #container: number
  #committed: Counters
  #counters: Counters

  constructor(db: DatabaseSync, container: Pick<ContainerRecord, 'number' | 'partitionCount'>, counters: Counters) {
    const table = itemTable(container.number)
    this.#container = container.number
    this.#committed = counters
    this.#counters = { ...counters }
    const where = 'WHERE epk = ? AND pk = ? AND id = ?'
    this.#find = db.prepare(`SELECT sequence, version, ts, deadline FROM ${table} ${where}`)
    this.#read = db.prepare(`SELECT sequence, version, ts, deadline, body FROM ${table} ${where}`)
    this.#body = db.prepare(`SELECT body FROM ${table} WHERE sequence = ?`)
    this.#insert = db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#update = db.prepare(`UPDATE ${table} SET ts = ?, deadline = ?, version = ?, body = ? WHERE sequence = ?`)
    this.#delete = db.prepare(`DELETE FROM ${table} WHERE sequence = ?`)
    this.#storeCounters = db.prepare('UPDATE containers SET item_version = ?, item_rows = ? WHERE number = ?')
    // Dead rows are walked over but their bodies are not fetched. The row value comparison follows the key's index.
    const columns = `epk, pk, id, sequence, version, ts, deadline,
      CASE WHEN CASE WHEN deadline IS NULL THEN ts > :inheritedAfter ELSE deadline > :ownAfter END THEN body END AS body`
    const isHashed = container.partitionCount > 1
    const [keys, behind] = isHashed ? ['epk, pk, id', ':epk, :pk, :id'] : ['pk, id', ':pk, :id']
    this.#scanRange = db.prepare(`
      SELECT ${columns} FROM ${table}
      WHERE (${keys}) > (${behind}) AND epk >= ${isHashed ? ':epk' : ':min'} AND epk < :maxExclusive
      ORDER BY ${keys} LIMIT :rowsMax`)
    this.#scanPartition = db.prepare(`
      SELECT ${columns} FROM ${table}
      WHERE epk = :epk AND pk = :pk AND id > :id ORDER BY id LIMIT :rowsMax`)
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
    const row = this.#read.get(key.epk, key.pk, key.id) as StoredItem | undefined
    return row !== undefined && isAlive(living, row) ? row : undefined
  }

  inspect(key: ItemKey): Row | undefined {
    return this.#find.get(key.epk, key.pk, key.id) as Row | undefined
  }

  /** Must run inside the writer's transaction. */
  write(write: ItemWrite, living: Living, moment: EpochSeconds, indexes: EntryChanges): Written {
    const { key, ifVersion } = write
    const present = this.#find.get(key.epk, key.pk, key.id) as Row | undefined
    const alive = present !== undefined && isAlive(living, present) ? present : undefined
    const refuse = (outcome: Written['outcome']) => ({ outcome, version: this.#counters.version })

    if (alive === undefined && (write.kind === 'replace' || write.kind === 'delete')) return refuse('missing')
    if (alive !== undefined && write.kind === 'create') return refuse('exists')
    if (alive !== undefined && ifVersion !== undefined && alive.version !== ifVersion) return refuse('changed')

    const version = ++this.#counters.version
    if (write.kind === 'delete') {
      const { sequence } = alive!
      indexes.change(sequence, () => this.#bodyOf(sequence), undefined)
      this.#delete.run(sequence)
      this.#counters.rows--
      return { outcome: 'deleted', version }
    }
    const deadline = ownDeadline(write.ttl, moment)
    if (alive !== undefined) {
      const stamp = { sequence: alive.sequence, version, ts: moment }
      const body = fill(write.draft, stamp)
      indexes.change(alive.sequence, () => this.#bodyOf(alive.sequence), body)
      this.#update.run(moment, deadline, version, body, alive.sequence)
      return { outcome: 'replaced', version, item: { ...stamp, deadline, body } }
    }
    if (present === undefined) {
      this.#counters.rows++
    } else {
      indexes.change(present.sequence, () => this.#bodyOf(present.sequence), undefined)
      this.#delete.run(present.sequence)
    }
    const stamp = { sequence: version, version, ts: moment }
    const body = fill(write.draft, stamp)
    indexes.change(stamp.sequence, undefined, body)
    this.#insert.run(stamp.sequence, key.epk, key.pk, key.id, moment, deadline, version, body)
    return { outcome: 'created', version, item: { ...stamp, deadline, body } }
  }

  /** Looks at no more than `rowsMax` rows, so that a stretch of dead ones cannot hold the event loop. */
  scan(range: ScanRange, living: Living, page: PageSize, rowsMax: number): Slice {
    const rows = this.#rowsOf(range, living, rowsMax)
    const items: ScannedItem[] = []
    let bytes = 0
    let looked = 0
    let last: ItemKey | undefined
    for (const row of rows) {
      const { epk, pk, id, sequence, version, ts, deadline, body } = row
      const key = { epk, pk, id }
      if (body !== null) {
        if (items.length > 0 && bytes + body.length > page.bytesMax) {
          return { items, bytes, last: items.at(-1)!.key, isFull: true }
        }
        items.push({ key, sequence, version, ts, deadline, body })
        bytes += body.length
      }
      looked++
      last = key
      if (items.length === page.itemsMax) return { items, bytes, last, isFull: true }
    }
    return { items, bytes, last: looked === rowsMax ? last : undefined, isFull: false }
  }

  /** Within one partition key, or over a range of them in the order of the key's index. */
  #rowsOf(range: ScanRange, living: Living, rowsMax: number): Iterable<ItemKey & Row & { body: string | null }> {
    const { min, maxExclusive, pk, after } = range
    const { inheritedAfter, ownAfter } = living
    const common = { inheritedAfter, ownAfter, rowsMax, id: after?.id ?? '' }
    const rows =
      pk !== undefined
        ? this.#scanPartition.iterate({ ...common, epk: min, pk })
        : this.#scanRange.iterate({
            ...common,
            pk: after?.pk ?? '',
            maxExclusive,
            ...(this.#isHashed ? { epk: after?.epk ?? min } : { min }),
          })
    return rows as Iterable<ItemKey & Row & { body: string | null }>
  }

  #bodyOf(sequence: number): string {
    return (this.#body.get(sequence) as { body: string }).body
  }

  /** Rows were removed by a sweep in the same transaction. */
  forget(rows: number): void {
    this.#counters.rows -= rows
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

function fill(draft: Draft, stamp: Stamp): string {
  const { texts, stamps } = draft
  assert(texts.length === stamps.length + 1, 'a draft has one text more than stamps')
  let body = texts[0]!
  for (let index = 0; index < stamps.length; index++) {
    const { name, print } = stamps[index]!
    body += print(stamp[name]) + texts[index + 1]
  }
  return body
}
