/**
 * The tables in PostgreSQL and their forward-only migrations.
 *
 * All containers share their tables. Container and bucket stand in every key, so that a cluster can distribute by bucket and
 * a write stays on one shard; catalog, policies and clock are small and read with every statement (reference tables there).
 *
 *   clock      one row: the moment. It never decreases and stands still while a policy changes.
 *   catalog    one row: counts the changes of databases, containers and indexes, so that a gateway knows when to look again.
 *   counters   one row for each bucket: the number of its last write, and its rows. Its lock is the lock of the bucket.
 *   lanes      the last group that a gateway wrote in a bucket: what an interrupted commit is recognised by.
 */

import { RequestError } from '../../base/error.ts'
import type { Session } from './connections.ts'
import { functions } from './functions.ts'

const migrations: readonly string[] = [
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

  ${functions}
  `,
]

/** Any number, the same in every gateway: only one of them migrates at a time. */
const migrationLock = 0x6d617966

export async function migrate(session: Session): Promise<void> {
  await session.query('BEGIN')
  await session.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  await session.query('CREATE SCHEMA IF NOT EXISTS mayfly')
  await session.query(
    'CREATE TABLE IF NOT EXISTS mayfly.format (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL)',
  )
  const { rows } = await session.query('SELECT version FROM mayfly.format')
  const present: number = rows[0]?.version ?? 0
  if (present > migrations.length) {
    await session.query('ROLLBACK')
    throw new RequestError(
      'unsupported',
      `The data was written by a newer version of Mayfly (format ${present}; this one knows ${migrations.length}).`,
    )
  }
  for (let step = present; step < migrations.length; step++) await session.query(migrations[step]!)
  await session.query(
    'INSERT INTO mayfly.format VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET version = excluded.version',
    [migrations.length],
  )
  await session.query('COMMIT')
}

/** P2: a write that is acknowledged survives a crash. */
export async function requireDurability(session: Session): Promise<void> {
  const { rows } = await session.query(`SELECT current_setting('synchronous_commit') AS level`)
  if (rows[0].level !== 'off') return
  throw new RequestError(
    'unsupported',
    'PostgreSQL acknowledges writes before they are on disk (synchronous_commit = off). Set it to on for this database.',
  )
}

/** Gateways that have written nothing for a day have no group left to recognise. */
export async function forgetGateways(session: Session): Promise<void> {
  await session.query('DELETE FROM mayfly.lanes WHERE ts < (SELECT now FROM mayfly.clock WHERE one = 1) - 86400')
}
