/**
 * Reads the store's file from another thread, over connections of its own that cannot write.
 *
 * Work within a snapshot sees one state of the file: everything that was acknowledged before it began, and
 * nothing that is written meanwhile. While it lasts, the WAL cannot be restarted, so it must be short: a
 * page.
 */

import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { RequestError } from '../../base/error.ts'
import { sliceRowsMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import type { Encoding } from '../../document/body.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { IndexRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import type {
  Census,
  ContainerReader,
  IndexRange,
  IndexScanAnswer,
  PageSize,
  ReadAnswer,
  RowsAnswer,
  ScanAnswer,
  ScanRange,
} from '../../store/reading.ts'
import { livingAt } from '../../ttl/living.ts'
import { ContainerEntries } from './entries.ts'
import { tellDamage } from './file/damage-news.ts'
import { translate } from './file/errors.ts'
import { dataFile } from './file/schema.ts'
import { loadIndexes } from './index-records.ts'
import { ContainerItems } from './items.ts'
import { ContainerPurge } from './purge.ts'
import type { SortedEntries } from './sorted-entries.ts'

/** Pages that the query thread works on at the same time. Each has a connection with its own cache. */
const querySnapshotsMax = 8

/** Containers for which a connection of the query thread keeps prepared statements. */
const snapshotContainersMax = 64

/**
 * A small cache, in KiB: a page of a query reads few rows twice, and the operating system caches the file.
 * There may be 24 connections, and their caches are not on the account of held memory.
 */
const pragmas = 'PRAGMA cache_size = -2048; PRAGMA trusted_schema = OFF;'

export class Snapshots implements Disposable {
  readonly #directory: string
  readonly #file: string
  readonly #keysOf: KeyMaker
  readonly #idle: Connection[] = []
  readonly #waiting: ((connection: Connection) => void)[] = []
  #connections = 0

  constructor(directory: string, keysOf: KeyMaker) {
    this.#directory = directory
    this.#file = join(directory, dataFile)
    this.#keysOf = keysOf
  }

  /** Runs the work on the container as it is when the work begins. */
  async within<T>(container: number, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const connection = await this.#take()
    try {
      connection.begin()
      return await work(connection.snapshotOf(container))
    } catch (error) {
      throw this.#failed(error)
    } finally {
      connection.end()
      this.#give(connection)
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#idle.splice(0)) connection[Symbol.dispose]()
  }

  #failed(error: unknown): Error {
    tellDamage(this.#directory, error)
    return translate(error)
  }

  #take(): Connection | Promise<Connection> {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#connections === querySnapshotsMax) return new Promise(resolve => this.#waiting.push(resolve))
    try {
      const connection = new Connection(this.#file, this.#keysOf)
      this.#connections++
      return connection
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #give(connection: Connection): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(connection)
    else next(connection)
  }
}

interface OpenContainer {
  readonly items: ContainerItems
  readonly entries: ContainerEntries
  readonly purge: ContainerPurge
}

interface SnapshotRow {
  readonly number: number
  readonly partitionCount: number
  readonly encoding: Encoding
  readonly version: number
  readonly rows: number
}

class Connection implements Disposable {
  readonly #db: DatabaseSync
  readonly #keysOf: KeyMaker
  readonly #begin: StatementSync
  readonly #end: StatementSync
  readonly #find: StatementSync
  readonly #open = new Map<number, OpenContainer>()

  constructor(file: string, keysOf: KeyMaker) {
    const db = new DatabaseSync(file, { readOnly: true })
    db.exec(pragmas)
    this.#db = db
    this.#keysOf = keysOf
    this.#begin = db.prepare('BEGIN')
    this.#end = db.prepare('COMMIT')
    this.#find = db.prepare(`
      SELECT number, partition_count AS partitionCount, encoding, item_version AS version, item_rows AS rows
      FROM containers WHERE number = ?`)
  }

  begin(): void {
    this.#begin.run()
  }

  end(): void {
    if (!this.#db.isTransaction) return
    try {
      this.#end.run()
    } catch {
      // A damaged page was met. Then SQLite cannot commit, although nothing was written.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    }
  }

  snapshotOf(container: number): Snapshot {
    const row = this.#find.get(container) as SnapshotRow | undefined
    if (row === undefined) {
      throw new RequestError('namespace_not_found', 'The container does not exist any more.')
    }
    return new Snapshot(this.#db, row, this.#opened(row))
  }

  #opened(row: SnapshotRow): OpenContainer {
    const known = this.#open.get(row.number)
    if (known !== undefined) return known
    if (this.#open.size >= snapshotContainersMax) this.#open.clear()
    const opened = {
      items: new ContainerItems(this.#db, row, row),
      entries: new ContainerEntries(this.#db, row.number, this.#keysOf),
      purge: new ContainerPurge(this.#db, row.number),
    }
    this.#open.set(row.number, opened)
    return opened
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}

/** One container in one state of the file. Calls that take long let other pages go on in between. */
export class Snapshot implements ContainerReader {
  readonly #db: DatabaseSync
  readonly #row: SnapshotRow
  readonly #open: OpenContainer
  #indexes: readonly IndexRecord[] | undefined

  constructor(db: DatabaseSync, row: SnapshotRow, open: OpenContainer) {
    this.#db = db
    this.#row = row
    this.#open = open
  }

  indexes(): readonly IndexRecord[] {
    this.#indexes ??= loadIndexes(this.#db, this.#row.number)
    return this.#indexes
  }

  read(key: ItemKey, at: Viewpoint): ReadAnswer {
    const item = this.#open.items.read(key, livingAt(at.policy, at.moment))
    return { ...this.#answer(at), item }
  }

  async scan(range: ScanRange, page: PageSize): Promise<ScanAnswer> {
    const at = range.at!
    const living = livingAt(at.policy, at.moment)
    const items: ScannedItem[] = []
    let bytes = 0
    let after = range.after
    while (true) {
      const rest = { itemsMax: page.itemsMax - items.length, bytesMax: page.bytesMax - bytes }
      const slice = this.#open.items.scan({ ...range, after }, living, rest, sliceRowsMax)
      items.push(...slice.items)
      bytes += slice.bytes
      after = slice.last
      if (slice.isFull || after === undefined) return { ...this.#answer(at), items, last: after }
      await nextSlice()
    }
  }

  /** In row order: the order of the key jumps all over the table (measured: two to four times the time). */
  async scanRows(after: number | undefined, at: Viewpoint, page: PageSize): Promise<RowsAnswer> {
    const living = livingAt(at.policy, at.moment)
    const items: StoredItem[] = []
    let bytes = 0
    let last = after ?? 0
    while (true) {
      const room = {
        itemsMax: page.itemsMax - items.length,
        bytesMax: page.bytesMax - bytes,
        isEmpty: items.length === 0,
      }
      const asked = Math.min(room.itemsMax, sliceRowsMax)
      const batch = this.#open.items.rowsBehind(last, living, room, asked)
      for (const item of batch.items) items.push(item)
      bytes += batch.bytes
      if (batch.isFull) return { ...this.#answer(at), items, last: items.at(-1)!.sequence }
      if (batch.looked < asked) return { ...this.#answer(at), items, last: undefined }
      last = batch.last!.sequence
      await nextSlice()
    }
  }

  scanIndex(range: IndexRange, page: PageSize): IndexScanAnswer {
    const at = range.within.at!
    const living = livingAt(at.policy, at.moment)
    return { ...this.#answer(at), ...this.#open.entries.scan(range, living, page, sliceRowsMax, this.indexes()) }
  }

  /** Without slices, which cost twice the time: only other pages wait in this thread. */
  async countEntries(range: Pick<IndexRange, 'index' | 'keys'>): Promise<number> {
    return this.#open.entries.countAtOnce(range)
  }

  census(): Census {
    const { rows, version } = this.#row
    return { rows, version, writes: version, ...this.#open.purge.earliest() }
  }

  /** The next range of an index that is being built; undefined when there is no such index. */
  async sortedEntries(index: number, builtTo: number): Promise<SortedEntries | undefined> {
    const found = this.indexes().find(({ definition }) => definition.number === index)
    return found === undefined ? undefined : this.#open.entries.sorted(found.definition, builtTo, nextSlice)
  }

  #answer({ moment, policy }: Viewpoint) {
    return { moment, policy, version: this.#row.version }
  }
}
