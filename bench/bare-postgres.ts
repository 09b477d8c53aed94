/**
 * PostgreSQL without Mayfly: the `pg` client and one plain statement for each operation that is compared.
 */

import { Client, type ClientConfig, Pool } from 'pg'
import { postgresPoolMax, postgresReadersMax } from '../src/adapters/postgres/connection/connections.ts'
import { readStatement } from '../src/adapters/postgres/reading/point-reads.ts'

/** A minimal table, with the indexes that expiry and the change order need. */
const tables = `
  CREATE TABLE bare (pk text NOT NULL, id text NOT NULL, ts bigint NOT NULL, deadline bigint, version bigint NOT NULL,
    body text NOT NULL, PRIMARY KEY (pk, id));
  CREATE INDEX bare_inherited ON bare (ts) WHERE deadline IS NULL;
  CREATE INDEX bare_own ON bare (deadline) WHERE deadline IS NOT NULL;
  CREATE INDEX bare_changed ON bare (version);
  CREATE SEQUENCE bare_versions`

const upsert = {
  name: 'upsert',
  text: `INSERT INTO bare VALUES ($1, $2, $3, NULL, nextval('bare_versions'), $4)
    ON CONFLICT (pk, id) DO UPDATE SET ts = excluded.ts, version = excluded.version, body = excluded.body
    RETURNING version`,
}

const upsertMany = {
  name: 'upsert_many',
  text: `INSERT INTO bare SELECT w.pk, w.id, $3, NULL, nextval('bare_versions'), w.body
    FROM unnest($1::text[], $2::text[], $4::text[]) w(pk, id, body)
    ON CONFLICT (pk, id) DO UPDATE SET ts = excluded.ts, version = excluded.version, body = excluded.body
    RETURNING version`,
}

const read = { name: 'read_bare', text: 'SELECT version, ts, deadline, body FROM bare WHERE pk = $1 AND id = $2' }

const sweep = {
  name: 'sweep',
  text: `DELETE FROM bare WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM bare WHERE deadline IS NULL AND ts <= $1 ORDER BY ts LIMIT $2 FOR UPDATE SKIP LOCKED))`,
}

export class BarePostgres implements AsyncDisposable {
  readonly #pool: Pool
  readonly #readers: Client[]
  #turn = 0

  private constructor(pool: Pool, readers: Client[]) {
    this.#pool = pool
    this.#readers = readers
  }

  static async open(connectionString: string): Promise<BarePostgres> {
    const pool = new Pool({ connectionString, max: postgresPoolMax })
    await pool.query(tables)
    // The same number of connections as the store has, used in the same way.
    const config: ClientConfig & { pipeline: boolean } = { connectionString, pipeline: true }
    const readers = Array.from({ length: postgresReadersMax }, () => new Client(config))
    await Promise.all(readers.map(reader => reader.connect()))
    return new BarePostgres(pool, readers)
  }

  read(pk: string, id: string): Promise<unknown> {
    return this.#read(read, [pk, id])
  }

  /** The same setting as the store's own tables. */
  readAsStore(values: unknown[]): Promise<unknown> {
    return this.#read(readStatement, values)
  }

  async #read(statement: { name: string; text: string }, values: unknown[]): Promise<unknown> {
    const reader = this.#readers[this.#turn++ % this.#readers.length]!
    return (await reader.query({ ...statement, values })).rows[0]
  }

  async write(pk: string, id: string, ts: number, body: string): Promise<void> {
    await this.#pool.query({ ...upsert, values: [pk, id, ts, body] })
  }

  async writeMany(
    pks: readonly string[],
    ids: readonly string[],
    ts: number,
    bodies: readonly string[],
  ): Promise<void> {
    await this.#pool.query({ ...upsertMany, values: [pks, ids, ts, bodies] })
  }

  async sweep(upTo: number, rowsMax: number): Promise<number> {
    return (await this.#pool.query({ ...sweep, values: [upTo, rowsMax] })).rowCount ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of this.#readers) await reader.end()
    await this.#pool.end()
  }
}
