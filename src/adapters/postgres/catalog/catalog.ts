/**
 * Databases, containers and indexes: read from the gateway's copy (`catalog-copy.ts`), changed in
 * transactions.
 *
 * A change locks the row of the catalog, so there is one at a time. A change of what writers rely on (a
 * container is deleted, the set of indexes changes) first locks every counter row of the container: then no
 * writer is left that knows the old state.
 *
 * If the connection breaks during COMMIT, a token in the gateway's own row tells whether the change happened.
 */

import { randomUUID } from 'node:crypto'
import type { EpochSeconds } from '../../../base/clock.ts'
import { CapacityError } from '../../../base/error.ts'
import { andThen, type MaybePromise } from '../../../base/maybe-promise.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseChange,
  DatabaseDraft,
  DatabaseRecord,
  Epitaph,
  IndexDraft,
} from '../../../store/catalog.ts'
import { toDatabase, toJson } from '../../catalog-rows.ts'
import { Attempts } from '../connection/attempts.ts'
import { abandon, type Connections, type PostgresSession } from '../connection/connections.ts'
import { isConflict, isLost, translate, uncertain } from '../connection/errors.ts'
import { type Moments, readClockRow } from '../connection/moments.ts'
import { bucketCount } from '../rows/keys.ts'
import { fromIndexDraft } from '../rows/records.ts'
import { clockLock } from '../sql/write-function.ts'
import {
  appendNote,
  bump,
  deleteContainer,
  leaveEpitaph,
  loadContainer,
  touchIndexes,
  waitForWriters,
} from './catalog-changes.ts'
import type { CatalogCopy, KnownIndexes } from './catalog-copy.ts'

export class PostgresCatalog {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #copy: CatalogCopy
  readonly #gateway: string
  readonly #onNote: (tick: number) => void
  /** The tick of the last note. */
  #noted = 0
  /** A gateway makes one change at a time: its row has room for one token. */
  #changing: Promise<unknown> = Promise.resolve()

  constructor(parts: {
    connections: Connections
    moments: Moments
    copy: CatalogCopy
    gateway: string
    /** Called with the tick of a note that is committed. */
    onNote: (tick: number) => void
  }) {
    this.#onNote = parts.onNote
    this.#connections = parts.connections
    this.#moments = parts.moments
    this.#copy = parts.copy
    this.#gateway = parts.gateway
  }

  databases(): MaybePromise<DatabaseRecord[]> {
    return andThen(this.#copy.present(), ({ databases }) => [...databases.values()])
  }

  findDatabase(id: string): MaybePromise<DatabaseRecord | undefined> {
    return andThen(this.#copy.present(), ({ databases }) => databases.get(id))
  }

  containers(database: DatabaseRecord): MaybePromise<ContainerRecord[]> {
    return andThen(this.#copy.present(), ({ containers }) => [...(containers.get(database.number)?.values() ?? [])])
  }

  findContainer(database: string, id: string): MaybePromise<ContainerRecord | undefined> {
    return andThen(this.#copy.present(), ({ databases, containers }) => {
      const owner = databases.get(database)
      return owner === undefined ? undefined : containers.get(owner.number)?.get(id)
    })
  }

  indexesOf(container: number): KnownIndexes {
    return this.#copy.indexesOf(container)
  }

  refresh(): Promise<void> {
    return this.#copy.refresh()
  }

  settle(): Promise<void> {
    return this.#copy.settle()
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
      const { throughput, note } = change(before)
      const record: DatabaseRecord = { ...before, throughput, version: before.version + 1, ts }
      await session.query('UPDATE mayfly.databases SET version = $2, ts = $3, throughput = $4 WHERE number = $1', [
        record.number,
        record.version,
        ts,
        toJson(record.throughput),
      ])
      if (note !== undefined) this.#noted = await leaveEpitaph(session, -record.number, note, ts)
      return record
    }, holdClock)
  }

  deleteDatabase(database: DatabaseRecord, epitaph?: Epitaph): Promise<boolean> {
    const containers = async (session: PostgresSession): Promise<{ number: number }[]> =>
      (await session.query('SELECT number FROM mayfly.containers WHERE database = $1', [database.number])).rows
    const before = async (session: PostgresSession) => {
      for (const { number } of await containers(session)) await waitForWriters(session, number)
      if (epitaph !== undefined) await holdClock(session)
    }
    return this.#change(async (session, ts) => {
      for (const { number } of await containers(session)) await deleteContainer(session, number)
      if (epitaph !== undefined) this.#noted = await leaveEpitaph(session, -database.number, epitaph, ts)
      const { rowCount } = await session.query('DELETE FROM mayfly.databases WHERE number = $1', [database.number])
      return rowCount === 1
    }, before)
  }

  createContainer(database: DatabaseRecord, draft: ContainerDraft): Promise<ContainerRecord | undefined> {
    const { note } = draft
    return this.#change(async (session, ts) => {
      const owner = await session.query('SELECT * FROM mayfly.databases WHERE number = $1', [database.number])
      if (owner.rows.length === 0) return undefined
      const { policy, declaredIndexes = [] } = draft
      const { rows } = await session.query(
        `INSERT INTO mayfly.containers (database, id, rid, version, ts, throughput, partition_key, partition_count,
           encoding, default_ttl, inherited_dead_at, own_dead_at, log_seconds, definition)
         VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT (database, id) DO NOTHING RETURNING number`,
        [
          database.number,
          draft.id,
          draft.rid,
          ts,
          toJson(draft.throughput),
          JSON.stringify(draft.partitionKey),
          draft.partitionCount,
          draft.encoding,
          policy.defaultTtl,
          policy.inheritedDeadAt,
          policy.ownDeadAt,
          draft.logSeconds,
          JSON.stringify(draft.definition),
        ],
      )
      if (rows.length === 0) return undefined
      const { number } = rows[0]
      await session.query(
        `INSERT INTO mayfly.counters (container, bucket, lsn, rows)
         SELECT $1, bucket, 0, 0 FROM generate_series(0, $2 - 1) bucket`,
        [number, bucketCount],
      )
      for (const index of declaredIndexes) await insertIndex(session, number, index, true)
      if (note !== undefined && draft.logSeconds !== null) this.#noted = await appendNote(session, number, note, ts)
      return loadContainer(session, number)
    }, note && holdClock)
  }

  /**
   * The clock stands still from before the change is made until it is committed. Otherwise a reader with the
   * old policy could see an item die after the moment of the change, and see it alive again later.
   */
  updateContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord, moment: EpochSeconds, sure: EpochSeconds) => ContainerChange,
  ): Promise<ContainerRecord | undefined> {
    const stopClock = async (session: PostgresSession) => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [clockLock])
      await this.#moments.tickWithin(session)
    }
    return this.#change(async (session, ts, sure) => {
      const before = await loadContainer(session, container.number)
      if (before === undefined) return undefined
      const { notes = [], ...changes } = change(before, ts, sure)
      const record: ContainerRecord = { ...before, ...changes, version: before.version + 1, ts }
      if (record.id !== before.id && (await isTaken(session, record))) return undefined
      const { policy } = record
      await session.query(
        `UPDATE mayfly.containers SET version = $2, ts = $3, throughput = $4, default_ttl = $5, inherited_dead_at = $6,
           own_dead_at = $7, definition = $8, log_seconds = $9, id = $10, partition_splits = $11,
           log_epoch = log_epoch + CASE WHEN log_seconds IS NULL AND $9::bigint IS NOT NULL THEN 1 ELSE 0 END
         WHERE number = $1`,
        [
          record.number,
          record.version,
          ts,
          toJson(record.throughput),
          policy.defaultTtl,
          policy.inheritedDeadAt,
          policy.ownDeadAt,
          JSON.stringify(record.definition),
          record.logSeconds,
          record.id,
          record.partitionSplits,
        ],
      )
      if (record.logSeconds !== null) {
        for (const note of notes) this.#noted = await appendNote(session, record.number, note, ts)
      }
      return record
    }, stopClock)
  }

  deleteContainer({ number }: ContainerRecord, epitaph?: Epitaph): Promise<boolean> {
    const before = async (session: PostgresSession) => {
      await waitForWriters(session, number)
      if (epitaph !== undefined) await holdClock(session)
    }
    return this.#change(async (session, ts) => {
      const keepsLog = 'SELECT 1 FROM mayfly.containers WHERE number = $1 AND log_seconds IS NOT NULL'
      if (epitaph !== undefined && (await session.query(keepsLog, [number])).rows.length > 0) {
        this.#noted = await leaveEpitaph(session, number, epitaph, ts)
      }
      return deleteContainer(session, number)
    }, before)
  }

  createIndex(container: ContainerRecord, index: IndexDraft): Promise<ContainerRecord | undefined> {
    return this.#changeAlone(container, async session => {
      const isThere = await insertIndex(session, container.number, index, false)
      return isThere ? loadContainer(session, container.number) : undefined
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

  #changeAlone<T>({ number }: ContainerRecord, work: (session: PostgresSession) => Promise<T>): Promise<T> {
    return this.#change(work, session => waitForWriters(session, number))
  }

  #change<T>(
    work: (session: PostgresSession, ts: EpochSeconds, sure: EpochSeconds) => Promise<T>,
    before?: (session: PostgresSession) => Promise<void>,
  ): Promise<T> {
    const changed = this.#changing.then(async () => {
      const result = await this.#changeOnce(async session => {
        await before?.(session)
        await bump(session)
        const { moment, sure } = await readClockRow(session)
        return work(session, moment, sure ?? moment)
      })
      this.#onNote(this.#noted)
      await this.#copy.settle()
      return result
    })
    this.#changing = changed.catch(() => {})
    return changed
  }

  async #changeOnce<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const token = randomUUID()
    /** Set once a COMMIT was sent: from then on only the token tells whether the change happened. */
    let sent: { readonly result: T } | undefined
    const attempts = new Attempts()
    for (;;) {
      let session: Awaited<ReturnType<Connections['acquire']>> | undefined
      try {
        await this.#moments.tick()
        session = await this.#connections.acquire()
        if (sent !== undefined && (await hasHappened(session, this.#gateway, token))) {
          session.release()
          return sent.result
        }
        await session.query('BEGIN')
        const result = await work(session)
        await session.query(
          `INSERT INTO mayfly.gateways (id, seen, last_change) VALUES ($1, clock_timestamp(), $2)
           ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, last_change = excluded.last_change`,
          [this.#gateway, token],
        )
        sent = { result }
        await session.query('COMMIT')
        session.release()
        return result
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        // PostgreSQL itself refused the change, so it has not happened. Without a session PostgreSQL was not
        // asked, and the outcome of a lost COMMIT stays unknown.
        if (session !== undefined && !isLost(error)) sent = undefined
        const mayRetry = isLost(error) || isConflict(error) || (sent !== undefined && error instanceof CapacityError)
        if (!mayRetry) throw error
        if (!(await attempts.another())) throw sent === undefined ? translate(error) : uncertain(error)
      }
    }
  }
}

/** Keeps the clock from ticking until the commit, as writers do: the ticks of notes grow with the seconds. */
async function holdClock(session: PostgresSession): Promise<void> {
  await session.query('SELECT pg_advisory_xact_lock_shared($1)', [clockLock])
}

/**
 * Whether the lost transaction was committed. Waits for the lock of the catalog, which that transaction
 * holds until its end.
 */
async function hasHappened(session: PostgresSession, gateway: string, token: string): Promise<boolean> {
  const [, , { rows }] = await Promise.all([
    session.query('BEGIN'),
    session.query('SELECT 1 FROM mayfly.catalog WHERE one = 1 FOR UPDATE'),
    session.query('SELECT 1 FROM mayfly.gateways WHERE id = $1 AND last_change = $2', [gateway, token]),
    session.query('COMMIT'),
  ])
  return rows.length > 0
}

async function isTaken(session: PostgresSession, { database, id }: ContainerRecord): Promise<boolean> {
  const { rows } = await session.query('SELECT 1 FROM mayfly.containers WHERE database = $1 AND id = $2', [
    database.number,
    id,
  ])
  return rows.length > 0
}

async function insertIndex(
  session: PostgresSession,
  container: number,
  index: IndexDraft,
  isReady: boolean,
): Promise<boolean> {
  const { rows } = await session.query(
    `UPDATE mayfly.containers SET last_index = last_index + 1, indexes_version = indexes_version + 1
     WHERE number = $1 RETURNING last_index`,
    [container],
  )
  if (rows.length === 0) return false
  await session.query(
    `INSERT INTO mayfly.indexes (container, number, components, is_declared, uniqueness, options, is_ready,
       has_cut_keys, has_gaps, has_several_keys, built_bucket, built_epk, built_pk, built_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, false, false, false, 0, '', '', '')`,
    [container, rows[0].last_index, ...fromIndexDraft(index), isReady],
  )
  return true
}
