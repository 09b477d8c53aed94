/**
 * The tables in PostgreSQL and their forward-only migrations.
 *
 * All containers share the tables. Every key starts with container and bucket, so a cluster can distribute by
 * bucket, and a write stays on one shard. Catalog, policies and clock are small and stay on the coordinator
 * (`citus.ts`).
 *
 *   clock      one row: the moment. It stands still while a policy changes. It never decreases, unless it is
 *              in doubt: then `sure` is set. `epoch` counts how often it was set back
 *              (`connection/moments.ts`).
 *   catalog    one row: counts changes of databases, containers and indexes. It tells a gateway when its copy
 *              is old.
 *   counters   one row for each bucket: the number of its last write, and its rows. Locking this row locks
 *              the bucket.
 *   lanes      the receipts of calls: what a gateway wrote last in a slot (`bucket`), the number of that call
 *              (`batch`), and its answers. A gateway that lost its connection finds out here whether the
 *              commit happened (`writing/call-numbers.ts`). In spite of its name, the table is not about
 *              lanes, the queues of a gateway.
 *   log        what happened to items, in the order of the bucket, where a container keeps a log. Notes
 *              about the catalog are among them, in bucket 0, with negative numbers; those about a database
 *              have its number, negated, as container. `tick` is one order over all of it (`ticks.ts`).
 *              Here and in items `at` is the server's time of a write in microseconds. It decides nothing:
 *              changes of different buckets have no order, and `at` shows them about in the order of time.
 *   kept_logs  deleted containers and databases whose entries the journal still shows, and until when.
 *   gateways   who may have a copy of the catalog: changes of it wait for them.
 */

import { RequestError } from '../../../base/error.ts'
import { distribute, hasWorkers, isDistributed } from '../connection/citus.ts'
import type { PostgresSession } from '../connection/connections.ts'
import { functions } from './functions.ts'
import { changeOrder } from './predicates.ts'

/** How often a gateway signs on. One that was silent for three times as long counts as gone. */
export const postgresSignOnMs = 10_000

export const migrations: readonly string[] = [
  `
  CREATE TABLE mayfly.clock (one int PRIMARY KEY CHECK (one = 1), now bigint NOT NULL) WITH (fillfactor = 10);
  INSERT INTO mayfly.clock VALUES (1, 0);

  CREATE TABLE mayfly.catalog (one int PRIMARY KEY CHECK (one = 1), version bigint NOT NULL) WITH (fillfactor = 10);
  INSERT INTO mayfly.catalog VALUES (1, 0);

  CREATE TABLE mayfly.databases (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    rid bigint NOT NULL UNIQUE,
    version bigint NOT NULL,
    ts bigint NOT NULL,
    throughput text
  );

  CREATE TABLE mayfly.containers (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    database int NOT NULL REFERENCES mayfly.databases (number),
    id text COLLATE "C" NOT NULL,
    rid bigint NOT NULL,
    version bigint NOT NULL,
    ts bigint NOT NULL,
    throughput text,
    partition_key text NOT NULL,
    partition_count int NOT NULL,
    default_ttl bigint,
    inherited_dead_at bigint NOT NULL,
    own_dead_at bigint NOT NULL,
    definition text NOT NULL,
    last_index int NOT NULL DEFAULT 0,
    indexes_version bigint NOT NULL DEFAULT 0,
    UNIQUE (database, id)
  );

  CREATE TABLE mayfly.indexes (
    container int NOT NULL,
    number int NOT NULL,
    components text NOT NULL,
    is_declared boolean NOT NULL,
    is_ready boolean NOT NULL,
    has_cut_keys boolean NOT NULL,
    has_gaps boolean NOT NULL,
    built_bucket int NOT NULL,
    built_epk text COLLATE "C" NOT NULL,
    built_pk bytea NOT NULL,
    built_id bytea NOT NULL,
    PRIMARY KEY (container, number)
  );

  CREATE TABLE mayfly.doomed (container int PRIMARY KEY);
  CREATE TABLE mayfly.doomed_indexes (container int NOT NULL, number int NOT NULL, PRIMARY KEY (container, number));

  CREATE TABLE mayfly.counters (
    container int NOT NULL,
    bucket int NOT NULL,
    lsn bigint NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (container, bucket)
  ) WITH (fillfactor = 10);

  CREATE TABLE mayfly.lanes (
    container int NOT NULL,
    bucket int NOT NULL,
    gateway uuid NOT NULL,
    batch bigint NOT NULL,
    ts bigint NOT NULL,
    PRIMARY KEY (container, bucket, gateway)
  ) WITH (fillfactor = 50);

  CREATE TABLE mayfly.items (
    container int NOT NULL,
    bucket int NOT NULL,
    epk text COLLATE "C" NOT NULL,
    pk bytea NOT NULL,
    id bytea NOT NULL,
    long_pk bytea,
    sequence bigint NOT NULL,
    version bigint NOT NULL,
    ts bigint NOT NULL,
    deadline bigint,
    body text NOT NULL,
    PRIMARY KEY (container, bucket, epk, pk, id)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX items_inherited ON mayfly.items (container, bucket, ts) WHERE deadline IS NULL;
  CREATE INDEX items_own ON mayfly.items (container, bucket, deadline) WHERE deadline IS NOT NULL;

  CREATE TABLE mayfly.entries (
    container int NOT NULL,
    bucket int NOT NULL,
    number int NOT NULL,
    key bytea NOT NULL,
    sequence bigint NOT NULL,
    epk text COLLATE "C" NOT NULL,
    pk bytea NOT NULL,
    id bytea NOT NULL,
    PRIMARY KEY (container, number, key, sequence, bucket)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX entries_item ON mayfly.entries (container, bucket, sequence);
  `,
  `
  ALTER TABLE mayfly.containers ADD encoding text NOT NULL DEFAULT 'json', ADD log_seconds bigint,
    ADD log_epoch int NOT NULL DEFAULT 0;
  ALTER TABLE mayfly.counters ADD log_epoch int NOT NULL DEFAULT 0, ADD log_forgotten bigint NOT NULL DEFAULT 0;
  ALTER TABLE mayfly.items ADD at bigint NOT NULL DEFAULT 0;
  ALTER TABLE mayfly.indexes ADD uniqueness text NOT NULL DEFAULT 'none', ADD options text,
    ADD has_several_keys boolean NOT NULL DEFAULT false;
  ALTER TABLE mayfly.items ALTER body DROP NOT NULL, ADD bytes bytea;
  CREATE INDEX items_changed ON mayfly.items ((${changeOrder('container', 'bucket')}), version);

  DROP TABLE mayfly.lanes;
  CREATE TABLE mayfly.lanes (
    container int NOT NULL,
    bucket int NOT NULL,
    gateway uuid NOT NULL,
    batch bigint NOT NULL,
    ts bigint NOT NULL,
    default_ttl bigint,
    inherited_dead_at bigint NOT NULL,
    own_dead_at bigint NOT NULL,
    outcomes text NOT NULL,
    sequences bigint[] NOT NULL,
    versions bigint[] NOT NULL,
    PRIMARY KEY (container, bucket, gateway)
  ) WITH (fillfactor = 50);

  CREATE TABLE mayfly.log (
    container int NOT NULL,
    bucket int NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    epk text COLLATE "C" NOT NULL,
    pk bytea NOT NULL,
    long_pk bytea,
    id bytea NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    ts bigint NOT NULL,
    at bigint NOT NULL,
    body text,
    bytes bytea,
    previous_version bigint,
    previous_body text,
    previous_bytes bytea,
    PRIMARY KEY (container, bucket, number)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX log_age ON mayfly.log (container, bucket, ts, number);

  CREATE TABLE mayfly.gateways (id uuid PRIMARY KEY, seen timestamptz NOT NULL, last_change uuid);
  `,
  // These four change functions only.
  '',
  '',
  '',
  '',
  // Finds items by sequence number. Items that never changed are found in the change order (`changeOrder`).
  `CREATE INDEX items_sequence ON mayfly.items ((${changeOrder('container', 'bucket')}), sequence)
    WHERE version <> sequence`,
  'ALTER TABLE mayfly.containers ADD partition_splits int NOT NULL DEFAULT 0',
  `
  ALTER TABLE mayfly.log ADD tick bigint NOT NULL DEFAULT 0;
  UPDATE mayfly.log l SET tick = o.tick FROM (
      SELECT container, bucket, number, row_number() OVER (ORDER BY ts, at, container, bucket, number) AS tick
      FROM mayfly.log) o
    WHERE l.container = o.container AND l.bucket = o.bucket AND l.number = o.number;
  ALTER TABLE mayfly.log ALTER tick DROP DEFAULT;
  CREATE SEQUENCE mayfly.log_ticks;
  SELECT setval('mayfly.log_ticks', (SELECT coalesce(max(tick), 0) + 1 FROM mayfly.log));
  CREATE INDEX log_tick ON mayfly.log (tick);
  CREATE INDEX log_endings ON mayfly.log (container, tick) WHERE kind = 'end';
  CREATE TABLE mayfly.kept_logs (container int PRIMARY KEY, until bigint NOT NULL);
  CREATE INDEX kept_logs_until ON mayfly.kept_logs (until);
  `,
  `
  ALTER TABLE mayfly.clock ADD sure bigint, ADD doubt text, ADD doubted_since bigint,
    ADD epoch bigint NOT NULL DEFAULT 0, ADD ahead bigint;
  `,
]

/**
 * The functions are dropped and created again with every migration. A change of what a function does needs a
 * new migration, which may be empty.
 */
const dropFunctions = `
  DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'mayfly'::regnamespace LOOP
      EXECUTE 'DROP FUNCTION ' || f;
    END LOOP;
  END $$`

/** Number of the advisory lock that lets one gateway migrate at a time: any number, the same in all. */
const migrationLock = 0x6d617966

export async function migrate(session: PostgresSession): Promise<void> {
  const isCluster = await hasWorkers(session)
  const isUpToDate = async (format: number) =>
    format === migrations.length && (!isCluster || (await isDistributed(session)))
  if (await isUpToDate(await formatOf(session))) return
  await session.query('BEGIN')
  await session.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  const present = await formatOf(session)
  const refuse = async (sentence: string) => {
    await session.query('ROLLBACK')
    throw new RequestError('unsupported', sentence)
  }
  if (present > migrations.length) {
    await refuse(
      `The data was written by a newer version of Mayfly (format ${present}; this one knows ${migrations.length}).`,
    )
  }
  if (!(await isUpToDate(present))) {
    if (present === 0) {
      await session.query('CREATE SCHEMA IF NOT EXISTS mayfly')
      await session.query('CREATE TABLE mayfly.format (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL)')
    }
    for (let step = present; step < migrations.length; step++) await session.query(migrations[step]!)
    // Gateways that opened the tables before they were distributed use the statements and locks of a single
    // PostgreSQL.
    if (isCluster && !(await isDistributed(session)) && (await othersSignedOn(session)) > 0) {
      await refuse('This PostgreSQL has become a Citus cluster. Stop all gateways, then start them again.')
    }
    await session.query(dropFunctions)
    await session.query(functions(isCluster))
    if (isCluster) await distribute(session)
    await session.query(
      'INSERT INTO mayfly.format VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET version = excluded.version',
      [migrations.length],
    )
  }
  await session.query('COMMIT')
}

/**
 * The number of migrations that were run; 0: there are no tables yet. `to_regclass` is not used, because its
 * answer may be older than our lock.
 */
async function formatOf(session: PostgresSession): Promise<number> {
  const there = `SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'mayfly' AND tablename = 'format'`
  if ((await session.query(there)).rows.length === 0) return 0
  return (await session.query('SELECT version FROM mayfly.format')).rows[0]?.version ?? 0
}

/** Forgets gateways that have done nothing for a day: nobody will ask for their receipts. */
export async function forgetGateways(session: PostgresSession): Promise<void> {
  await session.query(
    'DELETE FROM mayfly.lanes WHERE ts < (SELECT coalesce(sure, now) FROM mayfly.clock WHERE one = 1) - 86400',
  )
  await session.query(`DELETE FROM mayfly.gateways WHERE seen < now() - interval '1 day'`)
}

/** Data is being moved into this database, or a move was broken off. */
export async function isHalfMoved(session: PostgresSession): Promise<boolean> {
  const there = `SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'mayfly' AND tablename = 'transfer'`
  return (await session.query(there)).rows.length > 0
}

/** A gateway that has not signed on for three periods is gone. */
export const isPresentSql = `seen > clock_timestamp() - ${3 * postgresSignOnMs} * interval '1 millisecond'`

/** Gateways that signed on lately. */
export async function othersSignedOn(session: PostgresSession): Promise<number> {
  const { rows } = await session.query(`SELECT count(*)::int AS n FROM mayfly.gateways WHERE ${isPresentSql}`)
  return rows[0].n
}
