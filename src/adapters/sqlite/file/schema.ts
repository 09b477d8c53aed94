/**
 * The tables of the embedded store and their forward-only migrations; docs/storage-format.md explains them.
 *
 * One file holds a catalog and two tables per container. An item is a row of its container's rowid table.
 * With WITHOUT ROWID, bodies of about 1 KB on 4 KiB pages took 3.3 times the space, at a quarter of the read
 * rate.
 */

import type { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../../base/error.ts'

export const migrations: readonly (string | ((db: DatabaseSync) => void))[] = [
  `
  CREATE TABLE clock (one INTEGER PRIMARY KEY CHECK (one = 1), high_water_mark INTEGER NOT NULL);
  INSERT INTO clock VALUES (1, 0);

  CREATE TABLE databases (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    rid INTEGER NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    throughput TEXT
  );

  CREATE TABLE containers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    database INTEGER NOT NULL REFERENCES databases (number),
    id TEXT NOT NULL,
    rid INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    throughput TEXT,
    partition_key TEXT NOT NULL,
    partition_count INTEGER NOT NULL,
    default_ttl INTEGER,
    inherited_dead_at INTEGER NOT NULL,
    own_dead_at INTEGER NOT NULL,
    definition TEXT NOT NULL,
    item_version INTEGER NOT NULL,
    item_rows INTEGER NOT NULL,
    UNIQUE (database, id)
  );

  CREATE TABLE indexes (
    container INTEGER NOT NULL,
    number INTEGER NOT NULL,
    components TEXT NOT NULL,
    is_declared INTEGER NOT NULL,
    is_ready INTEGER NOT NULL,
    has_cut_keys INTEGER NOT NULL,
    has_gaps INTEGER NOT NULL,
    built_to INTEGER NOT NULL,
    PRIMARY KEY (container, number)
  );

  CREATE TABLE doomed (container INTEGER PRIMARY KEY);
  CREATE TABLE doomed_indexes (container INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (container, number));
  `,
  db => {
    db.exec(`
    ALTER TABLE containers ADD COLUMN encoding TEXT NOT NULL DEFAULT 'json';
    ALTER TABLE containers ADD COLUMN log_seconds INTEGER;
    ALTER TABLE containers ADD COLUMN log_forgotten INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE indexes ADD COLUMN uniqueness TEXT NOT NULL DEFAULT 'none';
    ALTER TABLE indexes ADD COLUMN options TEXT;
    ALTER TABLE indexes ADD COLUMN has_several_keys INTEGER NOT NULL DEFAULT 0;

    CREATE TABLE log (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      container INTEGER NOT NULL,
      kind TEXT NOT NULL,
      epk TEXT NOT NULL,
      pk TEXT NOT NULL,
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      sequence INTEGER NOT NULL,
      ts INTEGER NOT NULL,
      body TEXT,
      previous_version INTEGER,
      previous_body TEXT
    );
    CREATE INDEX log_container ON log (container, number);
    CREATE INDEX log_age ON log (container, ts);
    `)
    for (const row of db.prepare('SELECT number FROM containers').all()) db.exec(changedIndexSql(Number(row.number)))
  },
  'ALTER TABLE containers ADD COLUMN partition_splits INTEGER NOT NULL DEFAULT 0;',
  `
  ALTER TABLE log ADD COLUMN ms INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE kept_logs (container INTEGER PRIMARY KEY, until INTEGER NOT NULL);
  CREATE INDEX kept_logs_until ON kept_logs (until);
  CREATE INDEX log_endings ON log (container, number) WHERE kind = 'end';
  `,
  `
  ALTER TABLE clock ADD COLUMN sure INTEGER;
  ALTER TABLE clock ADD COLUMN doubt TEXT;
  ALTER TABLE clock ADD COLUMN doubted_since INTEGER;
  ALTER TABLE clock ADD COLUMN ahead INTEGER;
  `,
]

export function migrate(db: DatabaseSync): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (present > migrations.length) {
    throw new RequestError(
      'unsupported',
      `The data was written by a newer version of Mayfly (format ${present}; this one knows ${migrations.length}).`,
    )
  }
  for (let step = present; step < migrations.length; step++) {
    const migration = migrations[step]!
    db.exec('BEGIN IMMEDIATE')
    if (typeof migration === 'string') db.exec(migration)
    else migration(db)
    db.exec(`PRAGMA user_version = ${step + 1}; COMMIT`)
  }
}

/** Within the data directory. */
export const dataFile = 'mayfly.db'

export function itemTable(container: number): string {
  return `items_${container}`
}

/**
 * The columns that order the items. Items are ordered by effective partition key only where ranges of it are
 * read, that is in containers made with several physical partitions. A later split does not change the order,
 * because continuation tokens rely on it. Order by hash is expensive: it scatters neighbouring partition
 * keys, so each insert dirties another page of the index (measured: 1.3 times the cost of a create in a
 * container of 80,000 items).
 */
function keyColumns(partitionCount: number): string {
  return partitionCount > 1 ? 'epk, pk, id' : 'pk, id'
}

export function entryTable(container: number): string {
  return `entries_${container}`
}

/**
 * `deadline` is NULL when the item inherits its lifespan. So each item is in one of the two partial indexes.
 * A sweep walks an index from its oldest end, and a change of the default changes no index.
 */
export function createItemTableSql(container: number, partitionCount: number): string {
  const table = itemTable(container)
  return `
  CREATE TABLE ${table} (
    sequence INTEGER PRIMARY KEY,
    epk TEXT NOT NULL,
    pk TEXT NOT NULL,
    id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    deadline INTEGER,
    version INTEGER NOT NULL,
    body TEXT NOT NULL
  );
  CREATE UNIQUE INDEX ${table}_key ON ${table} (${keyColumns(partitionCount)});
  CREATE INDEX ${table}_inherited ON ${table} (ts) WHERE deadline IS NULL;
  CREATE INDEX ${table}_own ON ${table} (deadline) WHERE deadline IS NOT NULL;
  ${changedIndexSql(container)}
  CREATE TABLE ${entryTable(container)} (
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (number, key, sequence)
  ) WITHOUT ROWID;
  `
}

/**
 * The change order of items that were changed since they were created. The others have their version as row
 * number: the table itself is their change order, and a create costs nothing more.
 */
function changedIndexSql(container: number): string {
  const table = itemTable(container)
  return `CREATE INDEX ${table}_changed ON ${table} (version) WHERE version <> sequence;`
}
