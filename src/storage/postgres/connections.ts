/**
 * The connections of a gateway to PostgreSQL.
 *
 * Point reads are pipelined over a few connections, where they never wait for each other's answers. What may take long or
 * spans statements has a connection of its own from a pool for as long as it lasts.
 */

import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import { machine } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import {
  postgresAttemptsMax,
  postgresConnectMsMax,
  postgresIdleTransactionMsMax,
  postgresPoolMax,
  postgresReadersMax,
  postgresRetryMs,
  postgresStatementMsMax,
} from '../../base/limits.ts'
import { isConflict, isLost, translate } from './errors.ts'

/** Parsed and planned once for each connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** What both kinds of connections can do. */
export interface Session {
  // biome-ignore lint/suspicious/noExplicitAny: a row has the columns that its statement names.
  query(text: string | (Statement & { values: unknown[] }), values?: unknown[]): Promise<QueryResult<any>>
}

const int8 = 20

/**
 * The functions rely on seeing, statement by statement, what was committed before they had their locks.
 *
 * Plans must not depend on how full the tables were when they were made: every statement here has an index, and one that
 * was planned over an empty table and then walks a full one would be a catastrophe. Compiling plans costs more than it saves.
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
    // A connection that breaks is replaced when it is needed. Without listeners it would end the process, while it is idle
    // through the pool's and while it is taken through its own.
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
      connectionTimeoutMillis: postgresConnectMsMax,
      statement_timeout: postgresStatementMsMax,
      idle_in_transaction_session_timeout: postgresIdleTransactionMsMax,
      // A server that says nothing at all, not even that it was too slow, is not there.
      query_timeout: postgresStatementMsMax + postgresConnectMsMax,
      options: settings,
      types: {
        getTypeParser: ((type: number, format: 'text' | 'binary') =>
          type === int8 ? Number : pg.types.getTypeParser(type, format)) as typeof pg.types.getTypeParser,
      },
    }
    const poolConfig: PoolConfig = { ...config, max: postgresPoolMax }
    return new Connections(() => new pg.Client(config), new pg.Pool(poolConfig))
  }

  /** Runs one statement that may be repeated, on a shared connection. */
  async read<Row>(statement: Statement, values: unknown[]): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const reader = await this.#reader()
        return (await reader.query({ ...statement, values })).rows as Row[]
      } catch (error) {
        if (!isLost(error) || attempt >= postgresAttemptsMax || this.#isClosed) throw translate(error)
      }
      await pause(attempt)
    }
  }

  /** Runs one statement that may be repeated, on a connection of its own. */
  readLong<Row>(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#run(statement, values, error => isLost(error) || isConflict(error))
  }

  /** Runs one statement that must not happen twice. */
  once<Row>(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#run(statement, values, isConflict)
  }

  /** Runs the work in a transaction; again when it lost against another one, so it must have no other effects. */
  async transaction<T>(work: (session: Session) => Promise<T>, begin = 'BEGIN'): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let hasBegun = false
      const session = await this.acquire()
      try {
        await session.query(begin)
        hasBegun = true
        const result = await work(session)
        await session.query('COMMIT')
        session.release()
        return result
      } catch (error) {
        await abandon(session, error)
        const mayRepeat = isConflict(error) || (isLost(error) && !hasBegun)
        if (!mayRepeat || attempt >= postgresAttemptsMax) throw translate(error)
      }
      await pause(attempt)
    }
  }

  async acquire(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      if (this.#isClosed) throw new CapacityError('unavailable', 'The store is closed.', 0)
      if (!isLost(error)) throw translate(error)
      throw new CapacityError('unavailable', 'No connection to PostgreSQL could be had.', postgresRetryMs, {
        cause: error,
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const readers = await Promise.allSettled(this.#readers.filter(reader => reader !== undefined))
    for (const reader of readers) if (reader.status === 'fulfilled') await reader.value.end()
    await this.#pool.end()
  }

  async #run<Row>(statement: Statement, values: unknown[], mayRepeat: (error: unknown) => boolean): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.acquire()
      try {
        const { rows } = await session.query({ ...statement, values })
        session.release()
        return rows as Row[]
      } catch (error) {
        session.release(isLost(error))
        if (!mayRepeat(error) || attempt >= postgresAttemptsMax) throw translate(error)
      }
      await pause(attempt)
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

/** Ends what is left of a failed transaction and gives the connection back, or away when it cannot be trusted. */
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

/** Waits a little longer each time, and not at all before the second attempt. */
export function pause(attempt: number): Promise<void> {
  if (attempt === 1) return Promise.resolve()
  return new Promise(resolve => machine.setTimeout(resolve, postgresRetryMs * 2 ** (attempt - 2)))
}

async function driver() {
  try {
    return await import('pg')
  } catch (cause) {
    throw new RequestError('unsupported', 'A store in PostgreSQL needs the package pg: npm install pg.', { cause })
  }
}
