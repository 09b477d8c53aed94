/**
 * Moves the contents out of a database in PostgreSQL, or into an empty one: see `store/transfer.ts`.
 *
 * During a move there is a table `transfer`, and no gateway opens the database. The table says how far the
 * move has come. Rows behind that point are put in again when the move is resumed: in a cluster the table
 * and the rows are on two machines.
 */

import { RequestError } from '../../base/error.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { ScannedItem } from '../../store/item.ts'
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
import { type ContainerRow, type IndexRow, toContainer, toDatabase, toIndex, toJson } from '../catalog-rows.ts'
import { noFindings } from '../index-findings.ts'
import { Connections, type PostgresSession, snapshot } from './connection/connections.ts'
import { readClockRow } from './connection/moments.ts'
import { requireUsable, whyNot } from './connection/unusable.ts'
import { type ItemRow, scannedItem } from './reading/items.ts'
import { type LogRow, storedEntry } from './reading/log.ts'
import { entriesOf } from './rows/entry-keys.ts'
import { bucketCount, bucketOf, keyColumns } from './rows/keys.ts'
import { fromIndexDraft } from './rows/records.ts'
import { closedBody } from './rows/stamp-forms.ts'
import { isHalfMoved, migrate, othersSignedOn } from './sql/schema.ts'

export async function openPostgresSource(url: string): Promise<TransferSource> {
  return opened(url, async (connections, session) => {
    if (await isHalfMoved(session)) throw new RequestError('unsupported', 'That database is half moved itself.')
    await migrate(session)
    return new PostgresSource(connections)
  })
}

export async function openPostgresTarget(url: string, keysOf: KeyMaker): Promise<TransferTarget> {
  return opened(url, async (connections, session) => {
    await migrate(session)
    return new PostgresTarget(connections, keysOf)
  })
}

async function opened<T>(
  url: string,
  make: (connections: Connections, session: PostgresSession) => Promise<T>,
): Promise<T> {
  const connections = await Connections.open(url)
  try {
    const session = await connections.acquire()
    try {
      await requireUsable(session)
      const made = await make(connections, session)
      if ((await othersSignedOn(session)) > 0) {
        const sentence =
          'Mayfly serves that database. Stop it first, and wait half a minute if it was not stopped cleanly.'
        throw new RequestError('already_exists', sentence)
      }
      return made
    } finally {
      session.release()
    }
  } catch (error) {
    await connections[Symbol.asyncDispose]()
    throw whyNot(error, url)
  }
}

const nothing = Buffer.alloc(0)

/** The newest version of a bucket. */
const newest = `CASE WHEN n.lsn > 0 THEN n.lsn * ${bucketCount} + n.bucket ELSE 0 END`

class PostgresSource implements TransferSource {
  protected readonly connections: Connections

  constructor(connections: Connections) {
    this.connections = connections
  }

  contents(): Promise<StoreContents> {
    return this.connections.reading(async session => {
      const [clock, databaseRows, containerRows, indexRows, counts, logCounts] = await snapshot(session, () =>
        Promise.all([
          readClockRow(session),
          session.query('SELECT * FROM mayfly.databases ORDER BY number'),
          session.query('SELECT * FROM mayfly.containers ORDER BY number'),
          session.query('SELECT * FROM mayfly.indexes ORDER BY container, number'),
          session.query(
            `SELECT n.container, max(${newest}) AS newest, sum(n.rows)::bigint AS rows,
               max(CASE WHEN n.log_epoch = c.log_epoch THEN n.log_forgotten ELSE ${newest} END) AS log_forgotten
             FROM mayfly.counters n JOIN mayfly.containers c ON c.number = n.container GROUP BY n.container`,
          ),
          session.query('SELECT container, count(*) AS rows FROM mayfly.log GROUP BY container'),
        ]),
      )
      const databases = databaseRows.rows.map(toDatabase)
      const containers = (containerRows.rows as ContainerRow[]).map(row => {
        const owner = databases.find(({ number }) => number === row.database)!
        const own = (indexRows.rows as (IndexRow & { container: number })[]).filter(
          ({ container }) => container === row.number,
        )
        const counted = counts.rows.find(({ container }) => container === row.number)
        const logged = logCounts.rows.find(({ container }) => container === row.number)
        return {
          ...toContainer(row, owner, own.map(toIndex)),
          newest: counted.newest,
          rows: counted.rows,
          logForgotten: counted.log_forgotten,
          logRows: logged?.rows ?? 0,
        }
      })
      requireSureTime(clock.sure, clock.ahead)
      return { mark: clock.moment, databases, containers }
    })
  }

  async items(container: StoredContainer, after: Reached['item'], itemsMax: number): Promise<ScannedItem[]> {
    const from = after === undefined ? { epk: '', pk: nothing, id: nothing } : keyColumns(after.key)
    const bucket = after === undefined ? -1 : bucketOf(container.partitionKey, after.key.epk)
    const statement = {
      name: 'transfer_items',
      text: `SELECT * FROM mayfly.items
        WHERE container = $1 AND (bucket, epk, pk, id) > ($2::int, $3::text, $4::bytea, $5::bytea)
        ORDER BY bucket, epk, pk, id LIMIT $6`,
    }
    const values = [container.number, bucket, from.epk, from.pk, from.id, itemsMax]
    return (await this.connections.readLong<ItemRow>(statement, values)).map(scannedItem)
  }

  async log(container: StoredContainer, after: Reached['entry'], entriesMax: number): Promise<StoredEntry[]> {
    const bucket = after === undefined ? -1 : bucketOf(container.partitionKey, after.key.epk)
    const statement = {
      name: 'transfer_log',
      text: `SELECT * FROM mayfly.log WHERE container = $1 AND (bucket, number) > ($2::int, $3::bigint)
        ORDER BY bucket, number LIMIT $4`,
    }
    const rows = await this.connections.readLong<LogRow>(statement, [
      container.number,
      bucket,
      after?.number ?? 0,
      entriesMax,
    ])
    return rows.map(row => ({ ...storedEntry(row), number: row.number }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.connections[Symbol.asyncDispose]()
  }
}

class PostgresTarget extends PostgresSource implements TransferTarget {
  readonly #keysOf: KeyMaker

  constructor(connections: Connections, keysOf: KeyMaker) {
    super(connections)
    this.#keysOf = keysOf
  }

  begin(contents: StoreContents): Promise<ReadonlyMap<number, Reached>> {
    const fingerprint = fingerprintOf(contents)
    return this.connections.transaction(async session => {
      if (await isHalfMoved(session)) {
        const { rows } = await session.query('SELECT container, reached FROM mayfly.transfer')
        if (rows.find(({ container }) => container === 0)?.reached !== fingerprint) {
          const sentence = 'That database has a part of other data. Drop its schema mayfly, or give another one.'
          throw new RequestError('already_exists', sentence)
        }
        return new Map(
          rows.filter(({ container }) => container > 0).map(row => [row.container, JSON.parse(row.reached)]),
        )
      }
      if ((await session.query('SELECT 1 FROM mayfly.databases LIMIT 1')).rows.length > 0) {
        throw new RequestError('already_exists', 'There is Mayfly data in that database already. Give an empty one.')
      }
      await session.query('CREATE TABLE mayfly.transfer (container int PRIMARY KEY, reached text NOT NULL)')
      await session.query('INSERT INTO mayfly.transfer VALUES (0, $1)', [fingerprint])
      await make(session, contents)
      return new Map()
    })
  }

  async putItems(container: StoredContainer, items: readonly ScannedItem[]): Promise<void> {
    const columns = items.map(({ key }) => keyColumns(key))
    const buckets = items.map(({ key }) => bucketOf(container.partitionKey, key.epk))
    const bodies = items.map(({ body }) => closedBody(body))
    const entries = items.flatMap(({ key, body }, at) =>
      entriesOf(this.#keysOf, container.indexes, { pk: key.pk, body }, noFindings()).map(entry => ({ ...entry, at })),
    )
    const { key, sequence } = items.at(-1)!
    await this.connections.transaction(async session => {
      await session.query(
        `INSERT INTO mayfly.items
           (container, bucket, epk, pk, long_pk, id, sequence, version, ts, deadline, body, bytes, at)
         SELECT $1, w.*, w.ts * 1000000 FROM unnest($2::int[], $3::text[], $4::bytea[], $5::bytea[], $6::bytea[],
           $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bytea[])
           w(bucket, epk, pk, long_pk, id, sequence, version, ts, deadline, body, bytes) ON CONFLICT DO NOTHING`,
        [
          container.number,
          buckets,
          columns.map(({ epk }) => epk),
          columns.map(({ pk }) => pk),
          columns.map(({ longPk }) => longPk),
          columns.map(({ id }) => id),
          items.map(item => item.sequence),
          items.map(({ version }) => version),
          items.map(({ ts }) => ts),
          items.map(({ deadline }) => deadline),
          bodies.map(({ pieces }) => pieces[0]),
          bodies.map(({ bytes }) => bytes),
        ],
      )
      await session.query(
        `INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
         SELECT $1, w.*
         FROM unnest($2::int[], $3::int[], $4::bytea[], $5::bigint[], $6::text[], $7::bytea[], $8::bytea[]) w
         ON CONFLICT DO NOTHING`,
        [
          container.number,
          entries.map(({ at }) => buckets[at]),
          entries.map(({ number }) => number),
          entries.map(entry => entry.key),
          entries.map(({ at }) => items[at]!.sequence),
          entries.map(({ at }) => columns[at]!.epk),
          entries.map(({ at }) => columns[at]!.pk),
          entries.map(({ at }) => columns[at]!.id),
        ],
      )
      await reach(session, container.number, { item: { key, sequence } })
    })
  }

  async putLog(container: StoredContainer, entries: readonly StoredEntry[]): Promise<void> {
    const columns = entries.map(({ key }) => keyColumns(key))
    const bodies = entries.map(({ body }) => (body === undefined ? undefined : closedBody(body)))
    const before = entries.map(({ previous }) => (previous === undefined ? undefined : closedBody(previous.body)))
    const { key, number } = entries.at(-1)!
    await this.connections.transaction(async session => {
      await session.query(
        `INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts,
           body, bytes, previous_version, previous_body, previous_bytes, tick, at)
         SELECT $1, w.*, w.ts * 1000000 FROM unnest($2::int[], $3::bigint[], $4::text[], $5::text[],
           $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[],
           $12::text[], $13::bytea[], $14::bigint[], $15::text[], $16::bytea[], $17::bigint[])
           w(bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts,
             body, bytes, previous_version, previous_body, previous_bytes, tick)
         ON CONFLICT DO NOTHING`,
        [
          container.number,
          entries.map(each => bucketOf(container.partitionKey, each.key.epk)),
          entries.map(each => (each.kind === 'note' || each.kind === 'end' ? -each.tick : each.number)),
          entries.map(({ kind }) => kind),
          columns.map(({ epk }) => epk),
          columns.map(({ pk }) => pk),
          columns.map(({ longPk }) => longPk),
          columns.map(({ id }) => id),
          entries.map(({ version }) => version),
          entries.map(({ sequence }) => sequence),
          entries.map(({ ts }) => ts),
          bodies.map(body => body?.pieces[0] ?? null),
          bodies.map(body => body?.bytes ?? null),
          entries.map(({ previous }) => previous?.version ?? null),
          before.map(body => body?.pieces[0] ?? null),
          before.map(body => body?.bytes ?? null),
          entries.map(({ tick }) => tick),
        ],
      )
      await reach(session, container.number, { entry: { key, number } })
    })
  }

  async finish({ mark, logNewest }: StoreContents): Promise<void> {
    await this.connections.transaction(async session => {
      await session.query(`UPDATE mayfly.counters n SET rows = (
        SELECT count(*) FROM mayfly.items i WHERE i.container = n.container AND i.bucket = n.bucket)`)
      await session.query('UPDATE mayfly.clock SET now = $1 WHERE one = 1', [mark])
      await session.query(
        `SELECT setval('mayfly.log_ticks', greatest($1, (SELECT coalesce(max(tick), 0) + 1 FROM mayfly.log)))`,
        [(logNewest ?? 0) + 1],
      )
      await session.query('UPDATE mayfly.catalog SET version = version + 1 WHERE one = 1')
      await session.query('DROP TABLE mayfly.transfer')
    })
  }
}

/** Databases and containers keep their numbers, because the names of offers contain them. */
async function make(session: PostgresSession, { databases, containers }: StoreContents): Promise<void> {
  for (const { number, id, rid, version, ts, throughput } of databases) {
    await session.query('INSERT INTO mayfly.databases OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6)', [
      ...[number, id, rid, version, ts, toJson(throughput)],
    ])
  }
  for (const container of containers) {
    const { number, policy, indexes } = container
    await session.query(
      `INSERT INTO mayfly.containers (number, database, id, rid, version, ts, throughput, partition_key,
         partition_count, encoding, default_ttl, inherited_dead_at, own_dead_at, log_seconds, definition,
         last_index, indexes_version, partition_splits) OVERRIDING SYSTEM VALUE
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
      [
        ...[number, container.database.number, container.id, container.rid, container.version, container.ts],
        ...[toJson(container.throughput), JSON.stringify(container.partitionKey), container.partitionCount],
        ...[container.encoding, policy.defaultTtl, policy.inheritedDeadAt, policy.ownDeadAt, container.logSeconds],
        ...[JSON.stringify(container.definition), Math.max(0, ...indexes.map(({ definition }) => definition.number))],
        ...[indexes.length, container.partitionSplits],
      ],
    )
    // The next version of every bucket is higher than all that were given.
    await session.query(
      `INSERT INTO mayfly.counters (container, bucket, lsn, rows, log_forgotten)
       SELECT $1, bucket, $2, 0, $3 FROM generate_series(0, ${bucketCount - 1}) bucket`,
      [number, Math.ceil(container.newest / bucketCount), container.logForgotten],
    )
    for (const index of indexes) {
      await session.query(
        `INSERT INTO mayfly.indexes (container, number, components, is_declared, uniqueness, options, is_ready,
           has_cut_keys, has_gaps, has_several_keys, built_bucket, built_epk, built_pk, built_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, '', '', '')`,
        [
          ...[number, index.definition.number],
          ...fromIndexDraft({ ...index.definition, isDeclared: index.isDeclared }),
          ...[index.isReady, index.hasCutKeys, index.hasGaps, index.hasSeveralKeys],
        ],
      )
    }
  }
  for (const table of ['databases', 'containers']) {
    await session.query(
      `SELECT setval(pg_get_serial_sequence('mayfly.${table}', 'number'), coalesce(max(number), 0) + 1, false)
       FROM mayfly.${table}`,
    )
  }
}

async function reach(session: PostgresSession, container: number, reached: Reached): Promise<void> {
  const { rows } = await session.query('SELECT reached FROM mayfly.transfer WHERE container = $1', [container])
  const now = { ...(rows.length === 0 ? {} : JSON.parse(rows[0].reached)), ...reached }
  await session.query(
    'INSERT INTO mayfly.transfer VALUES ($1, $2) ON CONFLICT (container) DO UPDATE SET reached = excluded.reached',
    [container, JSON.stringify(now)],
  )
}
