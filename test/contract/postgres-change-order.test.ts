/**
 * P12 with many writers, transactions that abort and locks that hang. A second test shows that the check
 * finds the error of a plain sequence.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client, Pool } from 'pg'
import { codeOf } from '../../src/adapters/postgres/connection/errors.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { nodesOf } from '../support/databases.ts'
import { checkFeed, type Feed } from '../support/feed-check.ts'
import { openGateway, startPostgres } from '../support/postgres.ts'
import { makeContainer } from './store-contract.ts'
import { storeFeed } from './store-feed.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())
const isCluster = (await nodesOf(server.url)).length > 0

const start = toEpochSeconds(1_000_000)
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

test('during writes on two gateways a reader skips and repeats nothing and sees versions in order', async () => {
  const url = await server.createDatabase()
  const stores = [await openGateway(url, new ManualClock(start)), await openGateway(url, new ManualClock(start))]
  const container = await makeContainer(stores[0]!, null)
  let isOver = false
  // Takes bucket locks from outside for a while, and ends with a commit or a rollback.
  const hanging = (async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    for (let round = 0; !isOver; round++) {
      await client.query('BEGIN')
      try {
        await client.query('UPDATE mayfly.counters SET lsn = lsn + 1 WHERE container = $1 AND bucket % 8 = $2', [
          container.number,
          round % 8,
        ])
        await pause(20)
      } catch (error) {
        // Over several shards the locks are taken in any order, so a deadlock is possible.
        if (!isCluster || codeOf(error) !== '40P01') throw error
      }
      await client.query(round % 2 === 0 ? 'ROLLBACK' : 'COMMIT')
    }
    await client.end()
  })()
  const feed = storeFeed(stores, container)
  const found = await checkFeed(feed, { writers: 12, writes: 40, readers: 3, start: '0' })
  isOver = true
  await hanging
  const { delivered, ...violations } = found
  assert.deepEqual(violations, { skipped: 0, repeated: 0, disordered: 0 })
  assert.ok(delivered > (isCluster ? 500 : 1000), `${delivered} delivered`)
  for (const store of stores) await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('the same check finds that a plain sequence skips commits', async () => {
  const url = await server.createDatabase()
  await server.query(url, 'CREATE TABLE plain (key text PRIMARY KEY, n int NOT NULL, number bigserial)')
  const pool = new Pool({ connectionString: url, max: 16 })
  const feed: Feed = {
    write: async ({ key, n }) => {
      const client = await pool.connect()
      await client.query('BEGIN')
      await client.query(
        `INSERT INTO plain (key, n) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET n = excluded.n, number = ` +
          'excluded.number',
        [key, n],
      )
      await pause(n % 10)
      await client.query('COMMIT')
      client.release()
      return true
    },
    read: async position => {
      const { rows } = await pool.query('SELECT key, n, number FROM plain WHERE number > $1 ORDER BY number LIMIT 7', [
        position,
      ])
      return { changes: rows, position: rows.at(-1)?.number ?? position, isEnd: rows.length < 7 }
    },
  }
  const { skipped } = await checkFeed(feed, { writers: 12, writes: 40, readers: 3, start: '0' })
  assert.ok(skipped > 0)
  await pool.end()
  await server.query(url, 'DROP TABLE plain')
  await server.dropDatabase(url)
})
