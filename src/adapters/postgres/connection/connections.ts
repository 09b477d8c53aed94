/**
 * The connections of a gateway to PostgreSQL.
 *
 * Point reads are pipelined over a few shared connections: they do not wait for each other's answers. Work
 * that may take long or has several statements gets a connection of its own from a pool.
 */

import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import { CapacityError, RequestError } from '../../../base/error.ts'
import { Attempts, postgresRetryMs } from './attempts.ts'
import { codeOf, isConflict, isCrowded, isLost, translate } from './errors.ts'

/** Shared connections for point reads, and connections in the pool. */
export const postgresReadersMax = 2
export const postgresPoolMax = 10

/** PostgreSQL cancels a statement after this: a long scan, or one that waits for the lock of a bucket. */
const postgresStatementMsMax = 10_000

/** A gateway that stalls in the middle of a write holds locks; PostgreSQL ends its session after this. */
const postgresIdleTransactionMsMax = 2000

const postgresConnectMsMax = 5000

/** Attempts to connect while PostgreSQL has no connection left: 2.5 seconds in all. */
const postgresConnectionsAskedMax = 9

export type OnCondition = (condition: 'away' | 'back', sentence: string) => void

/** Parsed and planned once for each connection. */
export interface SqlStatement {
  readonly name: string
  readonly text: string
}

/** What both kinds of connections can do. */
export interface PostgresSession {
  // biome-ignore lint/suspicious/noExplicitAny: a row has the columns that its statement names.
  query(text: string | (SqlStatement & { values: unknown[] }), values?: unknown[]): Promise<QueryResult<any>>
}

const int8 = 20
const int8Array = 1016

/** Parses an array of versions or sequences: whole numbers, or NULL. */
export function parseNumbers(text: string): (number | null)[] {
  if (text === '{}') return []
  return text
    .slice(1, -1)
    .split(',')
    .map(each => (each === 'NULL' ? null : Number(each)))
}

/**
 * READ COMMITTED: the functions rely on seeing what was committed before they got their locks.
 *
 * Plans must not depend on how full the tables were when they were made. Every statement here has an index;
 * a plan made over an empty table that later scans a full one would be a disaster. JIT costs more than it
 * saves.
 */
const settings = [
  '-c default_transaction_isolation=read\\ committed',
  '-c enable_seqscan=off',
  '-c enable_bitmapscan=off',
  '-c jit=off',
].join(' ')

export class Connections implements AsyncDisposable {
  readonly #newClient: () => Client
  readonly #pool: Pool
  readonly #readers: (Promise<Client> | undefined)[] = new Array(postgresReadersMax).fill(undefined)
  readonly #onCondition: OnCondition
  /** `unknown` while the store is opened: a failure is then reported by its error, not by `onCondition`. */
  #condition: 'unknown' | 'up' | 'away' = 'unknown'
  #turn = 0
  #isClosed = false

  private constructor(newClient: () => Client, pool: Pool, onCondition: OnCondition) {
    this.#newClient = newClient
    this.#pool = pool
    this.#onCondition = onCondition
    // A broken connection is replaced when it is needed. Without listeners its error would end the process:
    // the pool's listener is for idle connections, the client's for those in use.
    pool.on('error', () => {})
    pool.on('connect', client => client.on('error', () => {}))
  }

  /** `onCondition` is told once when PostgreSQL goes, and once when it is back. */
  static async open(url: string, onCondition: OnCondition = () => {}): Promise<Connections> {
    const pg = await driver()
    const config: ClientConfig & { pipeline: boolean } = {
      connectionString: url,
      application_name: 'mayfly',
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: connectMsOf(url),
      statement_timeout: postgresStatementMsMax,
      idle_in_transaction_session_timeout: postgresIdleTransactionMsMax,
      // The server should have cancelled the statement by now; if it is silent, it is gone.
      query_timeout: postgresStatementMsMax + postgresConnectMsMax,
      options: settings,
      types: {
        getTypeParser: ((type: number, format: 'text' | 'binary') => {
          if (type === int8) return Number
          return type === int8Array ? parseNumbers : pg.types.getTypeParser(type, format)
        }) as typeof pg.types.getTypeParser,
      },
    }
    const poolConfig: PoolConfig = { ...config, max: postgresPoolMax }
    return new Connections(() => new pg.Client(config), new pg.Pool(poolConfig), onCondition)
  }

  /** How many connections there are, by what they do, and how many requests wait for one. */
  get counts(): Readonly<Record<string, number>> {
    const { totalCount, idleCount, waitingCount } = this.#pool
    const shared = this.#readers.filter(reader => reader !== undefined).length
    return { idle: idleCount, busy: totalCount - idleCount, shared, waiting: waitingCount }
  }

  /** Runs one statement, not always a read, on a shared connection. It must be safe to run it twice. */
  async ask<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    const attempts = new Attempts()
    for (;;) {
      try {
        const reader = await this.#reader()
        const { rows } = await reader.query({ ...statement, values })
        this.#isBack()
        return rows as Row[]
      } catch (error) {
        const mayRepeat = (isLost(error) || isCrowded(error)) && !this.#isClosed
        if (!mayRepeat || !(await attempts.another())) throw translate(error)
      }
    }
  }

  /** Runs one statement on a connection of its own. It must be safe to run it twice. */
  readLong<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    return this.reading(async session => (await session.query({ ...statement, values })).rows as Row[])
  }

  /** Runs work on a connection of its own. It must be safe to run it twice. */
  reading<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    return this.#run(work, error => isLost(error) || isConflict(error))
  }

  /** Runs one statement that must not happen twice. */
  once<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    return this.#run(async session => (await session.query({ ...statement, values })).rows as Row[], isConflict)
  }

  /**
   * Runs the work in a transaction, and again if the transaction lost against another one. So the work must
   * have no effects outside of the transaction.
   */
  transaction<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    return this.#run(async session => {
      await session.query('BEGIN')
      const result = await work(session)
      await session.query('COMMIT')
      return result
    }, isConflict)
  }

  async acquire(): Promise<PoolClient> {
    const attempts = new Attempts(postgresConnectionsAskedMax)
    for (;;) {
      try {
        const session = await this.#pool.connect()
        this.#isBack()
        return session
      } catch (error) {
        if (this.#isClosed) throw new CapacityError('unavailable', 'The store is closed.', 0)
        if (isCrowded(error) && (await attempts.another())) continue
        if (!isLost(error)) throw translate(error)
        this.#isGone(error)
        const sentence = 'No connection to PostgreSQL could be had.'
        throw new CapacityError('unavailable', sentence, postgresRetryMs, { cause: error })
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const readers = await Promise.allSettled(this.#readers.filter(reader => reader !== undefined))
    for (const reader of readers) if (reader.status === 'fulfilled') await reader.value.end()
    await this.#pool.end()
  }

  async #run<T>(work: (session: PostgresSession) => Promise<T>, mayRepeat: (error: unknown) => boolean): Promise<T> {
    const attempts = new Attempts()
    for (;;) {
      const session = await this.acquire()
      try {
        const result = await work(session)
        session.release()
        return result
      } catch (error) {
        await abandon(session, error)
        if (!mayRepeat(error) || !(await attempts.another())) throw translate(error)
      }
    }
  }

  #reader(): Promise<Client> {
    if (this.#isClosed) throw new CapacityError('unavailable', 'The store is closed.', 0)
    const slot = this.#turn++ % this.#readers.length
    const present = this.#readers[slot]
    if (present !== undefined) return present
    const client = this.#newClient()
    const connected = client.connect().then(() => client)
    const forget = () => {
      if (this.#readers[slot] === connected) this.#readers[slot] = undefined
    }
    client.on('error', forget)
    client.on('end', forget)
    connected.catch(error => {
      forget()
      if (isLost(error)) this.#isGone(error)
    })
    this.#readers[slot] = connected
    return connected
  }

  #isGone(error: unknown): void {
    if (this.#condition !== 'up' || this.#isClosed) return
    this.#condition = 'away'
    const reason = codeOf(error) || (error as Error).message
    this.#onCondition('away', `PostgreSQL does not answer (${reason}); requests fail until it is back`)
  }

  #isBack(): void {
    if (this.#condition === 'up') return
    if (this.#condition === 'away') this.#onCondition('back', 'PostgreSQL answers again')
    this.#condition = 'up'
  }
}

/**
 * A transaction in one round trip: the work sends all its statements at once, and COMMIT is sent after them.
 * If one fails, the COMMIT becomes a rollback, and the error is thrown.
 */
export async function pipelined<T>(
  session: PostgresSession,
  work: () => Promise<T>,
  { isBegun = false, begin = 'BEGIN' }: { isBegun?: boolean; begin?: string } = {},
): Promise<T> {
  const begun = isBegun ? undefined : session.query(begin)
  const result = work()
  const [done] = await Promise.all([result, begun, session.query('COMMIT')])
  return done
}

/** Runs several statements that see one state of the database. */
export function snapshot<T>(session: PostgresSession, work: () => Promise<T>): Promise<T> {
  return pipelined(session, work, { begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
}

/** Rolls back a failed transaction and releases the connection; closes it if it cannot be trusted. */
export async function abandon(session: PoolClient, error: unknown): Promise<void> {
  if (isLost(error)) {
    session.release(true)
    return
  }
  try {
    await session.query('ROLLBACK')
    session.release()
  } catch {
    session.release(true)
  }
}

/** `connect_timeout` in the URL, in seconds: other clients know it, the driver does not. */
function connectMsOf(url: string): number {
  const seconds = Number(URL.parse(url)?.searchParams.get('connect_timeout') ?? 0)
  return seconds > 0 ? seconds * 1000 : postgresConnectMsMax
}

async function driver() {
  try {
    return await import('pg')
  } catch (cause) {
    throw new RequestError('unsupported', 'A store in PostgreSQL needs the package pg: npm install pg.', { cause })
  }
}
