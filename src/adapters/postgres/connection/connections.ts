/**
 * The connections of a gateway to PostgreSQL.
 *
 * Point reads are pipelined over a few connections, where they never wait for each other's answers. What may
 * take long or spans statements has a connection of its own from a pool for as long as it lasts.
 */

import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import { CapacityError, RequestError } from '../../../base/error.ts'
import { Attempts, postgresRetryMs } from './attempts.ts'
import { isConflict, isCrowded, isLost, translate } from './errors.ts'

/**
 * Connections of a gateway to PostgreSQL: pipelined ones for point reads, and a pool for what takes longer.
 */
export const postgresReadersMax = 2
export const postgresPoolMax = 10

/**
 * PostgreSQL ends a statement after this. Long scans are bounded by it, and so is waiting for the lock of a
 * bucket.
 */
const postgresStatementMsMax = 10_000

/**
 * A gateway that stalls in the middle of a write holds a bucket and the clock; PostgreSQL ends its session
 * after this.
 */
const postgresIdleTransactionMsMax = 2000

const postgresConnectMsMax = 5000

/**
 * How often a connection is asked for while PostgreSQL has none to give: 2.5 seconds in all, for others to
 * give theirs back.
 */
const postgresConnectionsAskedMax = 9

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

/** Versions and sequences: whole numbers, or NULL. */
export function parseNumbers(text: string): (number | null)[] {
  if (text === '{}') return []
  return text
    .slice(1, -1)
    .split(',')
    .map(each => (each === 'NULL' ? null : Number(each)))
}

/**
 * The functions rely on seeing, statement by statement, what was committed before they had their locks.
 *
 * Plans must not depend on how full the tables were when they were made: every statement here has an index,
 * and one that was planned over an empty table and then walks a full one would be a catastrophe. Compiling
 * plans costs more than it saves.
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
  #turn = 0
  #isClosed = false

  private constructor(newClient: () => Client, pool: Pool) {
    this.#newClient = newClient
    this.#pool = pool
    // A connection that breaks is replaced when it is needed. Without listeners it would end the process,
    // while it is idle through the pool's and while it is taken through its own.
    pool.on('error', () => {})
    pool.on('connect', client => client.on('error', () => {}))
  }

  static async open(url: string): Promise<Connections> {
    const pg = await driver()
    const config: ClientConfig & { pipeline: boolean } = {
      connectionString: url,
      application_name: 'mayfly',
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: connectMsOf(url),
      statement_timeout: postgresStatementMsMax,
      idle_in_transaction_session_timeout: postgresIdleTransactionMsMax,
      // A server that says nothing at all, not even that it was too slow, is not there.
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
    return new Connections(() => new pg.Client(config), new pg.Pool(poolConfig))
  }

  /** Runs one statement that may be repeated, on a shared connection. */
  async read<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    const attempts = new Attempts()
    for (;;) {
      try {
        const reader = await this.#reader()
        return (await reader.query({ ...statement, values })).rows as Row[]
      } catch (error) {
        const mayRepeat = (isLost(error) || isCrowded(error)) && !this.#isClosed
        if (!mayRepeat || !(await attempts.another())) throw translate(error)
      }
    }
  }

  /** Runs one statement that may be repeated, on a connection of its own. */
  readLong<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    return this.reading(async session => (await session.query({ ...statement, values })).rows as Row[])
  }

  /** Runs work that may be repeated, on a connection of its own. */
  reading<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    return this.#run(work, error => isLost(error) || isConflict(error))
  }

  /** Runs one statement that must not happen twice. */
  once<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    return this.#run(async session => (await session.query({ ...statement, values })).rows as Row[], isConflict)
  }

  /**
   * Runs the work in a transaction; again when it lost against another one, so it must have no other effects.
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
        return await this.#pool.connect()
      } catch (error) {
        if (this.#isClosed) throw new CapacityError('unavailable', 'The store is closed.', 0)
        if (isCrowded(error) && (await attempts.another())) continue
        if (!isLost(error)) throw translate(error)
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
    connected.catch(forget)
    this.#readers[slot] = connected
    return connected
  }
}

/**
 * A transaction in one round trip: the work asks for all it wants at once, and COMMIT is sent behind it. What
 * fails in between makes it a rollback, and is thrown.
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

/** Several statements that see one state. */
export function snapshot<T>(session: PostgresSession, work: () => Promise<T>): Promise<T> {
  return pipelined(session, work, { begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
}

/**
 * Ends what is left of a failed transaction and gives the connection back, or away when it cannot be trusted.
 */
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

/** The driver does not know this parameter of connection URLs, which every other client does. */
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
