/**
 * Databases and containers. A gateway keeps a copy of them and asks before each use whether it is still true.
 *
 * Asking is one tiny statement for all that ask in one turn of the event loop. What was only announced (NOTIFY, leases) was
 * stale at the moment of the answer in most trials: a container that another gateway deleted and made anew would be served
 * under its old keys. The policies in the copy serve descriptions; items are judged by the one their statement reads.
 *
 * A change takes the catalog's row, so changes follow on each other. Those that end something writers rely on (a container,
 * the set of indexes) take every counter of the container before, so that no writer is left that knows it as it was.
 */

import { type EpochSeconds, machine } from '../../base/clock.ts'
import { type IndexComponent, printIndexPath } from '../../document/index-definition.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
} from '../port.ts'
import { bump, deleteContainer, loadContainer, touchIndexes, waitForWriters } from './changes.ts'
import type { Connections, Session } from './connections.ts'
import { clockLock } from './functions.ts'
import { bucketCount } from './keys.ts'
import type { Moments } from './moments.ts'
import { indexText, toContainer, toDatabase, toIndex, toJson } from './records.ts'

interface Contents {
  readonly version: number
  readonly databases: ReadonlyMap<string, DatabaseRecord>
  /** By the number of the database, then by id. */
  readonly containers: ReadonlyMap<number, ReadonlyMap<string, ContainerRecord>>
}

const versionStatement = { name: 'catalog', text: 'SELECT version FROM mayfly.catalog WHERE one = 1' }

export class Catalog {
  readonly #connections: Connections
  readonly #moments: Moments
  #contents: Contents = { version: -1, databases: new Map(), containers: new Map() }
  /** Records by the text of their rows: what did not change stays the same object. */
  #records = new Map<string, DatabaseRecord | ContainerRecord>()
  #check: Promise<Contents> | undefined

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  async databases(): Promise<DatabaseRecord[]> {
    return [...(await this.#present()).databases.values()]
  }

  async findDatabase(id: string): Promise<DatabaseRecord | undefined> {
    return (await this.#present()).databases.get(id)
  }

  async containers(database: DatabaseRecord): Promise<ContainerRecord[]> {
    const found = (await this.#present()).containers.get(database.number)
    return found === undefined ? [] : [...found.values()]
  }

  async findContainer(database: string, id: string): Promise<ContainerRecord | undefined> {
    const { databases, containers } = await this.#present()
    const owner = databases.get(database)
    return owner === undefined ? undefined : containers.get(owner.number)?.get(id)
  }

  createDatabase(draft: DatabaseDraft): Promise<DatabaseRecord | undefined> {
    return this.#change(async (session, ts) => {
      const { rows } = await session.query(
        `INSERT INTO mayfly.databases (id, rid, version, ts, throughput) VALUES ($1, $2, 1, $3, $4)
         ON CONFLICT (id) DO NOTHING RETURNING number`,
        [draft.id, draft.rid, ts, toJson(draft.throughput)],
      )
      if (rows.length === 0) return undefined
      const { id, rid, throughput } = draft
      return { id, rid, throughput, number: rows[0].number, version: 1, ts }
    })
  }

  updateDatabase(
    database: DatabaseRecord,
    change: (current: DatabaseRecord) => DatabaseChange,
  ): Promise<DatabaseRecord | undefined> {
    return this.#change(async (session, ts) => {
      const { rows } = await session.query('SELECT * FROM mayfly.databases WHERE number = $1', [database.number])
      if (rows.length === 0) return undefined
      const before = toDatabase(rows[0])
      const record: DatabaseRecord = { ...before, ...change(before), version: before.version + 1, ts }
      await session.query('UPDATE mayfly.databases SET version = $2, ts = $3, throughput = $4 WHERE number = $1', [
        record.number,
        record.version,
        ts,
        toJson(record.throughput),
      ])
      return record
    })
  }

  deleteDatabase(database: DatabaseRecord): Promise<boolean> {
    const containers = async (session: Session): Promise<{ number: number }[]> =>
      (await session.query('SELECT number FROM mayfly.containers WHERE database = $1', [database.number])).rows
    const before = async (session: Session) => {
      for (const { number } of await containers(session)) await waitForWriters(session, number)
    }
    return this.#change(async session => {
      for (const { number } of await containers(session)) await deleteContainer(session, number)
      const { rowCount } = await session.query('DELETE FROM mayfly.databases WHERE number = $1', [database.number])
      return rowCount === 1
    }, before)
  }

  createContainer(database: DatabaseRecord, draft: ContainerDraft): Promise<ContainerRecord | undefined> {
    return this.#change(async (session, ts) => {
      const owner = await session.query('SELECT * FROM mayfly.databases WHERE number = $1', [database.number])
      if (owner.rows.length === 0) return undefined
      const { policy } = draft
      const { rows } = await session.query(
        `INSERT INTO mayfly.containers (database, id, rid, version, ts, throughput, partition_key, partition_count,
           default_ttl, inherited_dead_at, own_dead_at, definition)
         VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (database, id) DO NOTHING RETURNING *`,
        [
          database.number,
          draft.id,
          draft.rid,
          ts,
          toJson(draft.throughput),
          JSON.stringify(draft.partitionKey),
          draft.partitionCount,
          policy.defaultTtl,
          policy.inheritedDeadAt,
          policy.ownDeadAt,
          JSON.stringify(draft.definition),
        ],
      )
      if (rows.length === 0) return undefined
      await session.query(
        'INSERT INTO mayfly.counters SELECT $1, bucket, 0, 0 FROM generate_series(0, $2 - 1) bucket',
        [rows[0].number, bucketCount],
      )
      return toContainer(rows[0], toDatabase(owner.rows[0]), [])
    })
  }

  /**
   * The clock is held still from before the change is judged until it is committed. Otherwise a reader under the old policy
   * could see an item die after the moment that the new one takes for the change, and see it alive again later.
   */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined> {
    return this.#connections.transaction(async session => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [clockLock])
      const clock = await session.query('UPDATE mayfly.clock SET now = greatest(now, $1) WHERE one = 1 RETURNING now', [
        this.#moments.own,
      ])
      await bump(session)
      const ts: EpochSeconds = clock.rows[0].now
      const before = await loadContainer(session, container.number)
      if (before === undefined) return undefined
      const record: ContainerRecord = { ...before, ...change(before, ts), version: before.version + 1, ts }
      const { policy } = record
      await session.query(
        `UPDATE mayfly.containers SET version = $2, ts = $3, throughput = $4, default_ttl = $5,
           inherited_dead_at = $6, own_dead_at = $7, definition = $8 WHERE number = $1`,
        [
          record.number,
          record.version,
          ts,
          toJson(record.throughput),
          policy.defaultTtl,
          policy.inheritedDeadAt,
          policy.ownDeadAt,
          JSON.stringify(record.definition),
        ],
      )
      return record
    })
  }

  deleteContainer(container: ContainerRecord): Promise<boolean> {
    return this.#changeAlone(container, session => deleteContainer(session, container.number))
  }

  createIndex(
    container: ContainerRecord,
    components: readonly IndexComponent[],
    isDeclared: boolean,
  ): Promise<ContainerRecord | undefined> {
    return this.#changeAlone(container, async session => {
      const stored = components.map(({ path, isDescending }) => ({ path: printIndexPath(path), isDescending }))
      const { rows } = await session.query(
        `UPDATE mayfly.containers SET last_index = last_index + 1, indexes_version = indexes_version + 1
         WHERE number = $1 RETURNING last_index`,
        [container.number],
      )
      if (rows.length === 0) return undefined
      await session.query(`INSERT INTO mayfly.indexes VALUES ($1, $2, $3, $4, false, false, false, 0, '', '', '')`, [
        container.number,
        rows[0].last_index,
        JSON.stringify(stored),
        isDeclared,
      ])
      return loadContainer(session, container.number)
    })
  }

  dropIndex(container: ContainerRecord, number: number): Promise<ContainerRecord | undefined> {
    return this.#changeAlone(container, async session => {
      const { rowCount } = await session.query('DELETE FROM mayfly.indexes WHERE container = $1 AND number = $2', [
        container.number,
        number,
      ])
      if (rowCount === 1) {
        await session.query('INSERT INTO mayfly.doomed_indexes VALUES ($1, $2)', [container.number, number])
        await touchIndexes(session, container.number)
      }
      return loadContainer(session, container.number)
    })
  }

  async #present(): Promise<Contents> {
    // Whoever asks in this turn asked before the statement leaves, so its answer is good for all of them.
    this.#check ??= new Promise((resolve, reject) => {
      machine.setImmediate(() => {
        this.#check = undefined
        this.#checked().then(resolve, reject)
      })
    })
    return this.#check
  }

  async #checked(): Promise<Contents> {
    const [row] = await this.#connections.read<{ version: number }>(versionStatement, [])
    if (row!.version === this.#contents.version) return this.#contents
    const loaded = await this.#load()
    this.#contents = loaded
    return loaded
  }

  #load(): Promise<Contents> {
    return this.#connections.transaction(async session => {
      const [version, databaseRows, containerRows, indexRows] = await Promise.all([
        session.query('SELECT version FROM mayfly.catalog WHERE one = 1'),
        session.query('SELECT * FROM mayfly.databases ORDER BY number'),
        session.query('SELECT * FROM mayfly.containers ORDER BY number'),
        session.query('SELECT * FROM mayfly.indexes ORDER BY container, number'),
      ])
      const records = new Map<string, DatabaseRecord | ContainerRecord>()
      const keep = <T extends DatabaseRecord | ContainerRecord>(text: string, make: () => T): T => {
        const record = (this.#records.get(text) as T | undefined) ?? make()
        records.set(text, record)
        return record
      }
      const databases = new Map<string, DatabaseRecord>()
      const byNumber = new Map<number, { record: DatabaseRecord; text: string }>()
      for (const row of databaseRows.rows) {
        const text = JSON.stringify(row)
        const record = keep(text, () => toDatabase(row))
        databases.set(record.id, record)
        byNumber.set(record.number, { record, text })
      }
      const containers = new Map<number, Map<string, ContainerRecord>>()
      for (const row of containerRows.rows) {
        const owner = byNumber.get(row.database)!
        const indexes = indexRows.rows.filter(({ container }) => container === row.number)
        const text = JSON.stringify([row, owner.text, indexes.map(indexText)])
        const record = keep(text, () => toContainer(row, owner.record, indexes.map(toIndex)))
        const siblings = containers.get(row.database) ?? new Map()
        containers.set(row.database, siblings.set(record.id, record))
      }
      this.#records = records
      return { version: version.rows[0].version, databases, containers }
    }, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  }

  #changeAlone<T>({ number }: ContainerRecord, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#change(work, session => waitForWriters(session, number))
  }

  async #change<T>(
    work: (session: Session, ts: EpochSeconds) => Promise<T>,
    before?: (session: Session) => Promise<void>,
  ): Promise<T> {
    await this.#moments.tick()
    return this.#connections.transaction(async session => {
      await before?.(session)
      await bump(session)
      const { rows } = await session.query('SELECT now FROM mayfly.clock WHERE one = 1')
      return work(session, rows[0].now)
    })
  }
}
