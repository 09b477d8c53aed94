/** A Citus cluster that gets a worker and moves its shards there while gateways write and read: nobody notices (P12, P2). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { addWorker, createDatabase, dropDatabase, nodesOf, query, workersOf } from '../support/databases.ts'
import { checkFeed } from '../support/feed-check.ts'
import { openGateway } from '../support/postgres.ts'
import { makeContainer } from './store-contract.ts'
import { storeFeed } from './store-feed.ts'

const cluster = process.env.MAYFLY_TEST_CITUS ?? ''
const skip = cluster === ''
const why = skip ? ' (skipped: MAYFLY_TEST_CITUS names no cluster)' : ''
const start = toEpochSeconds(1_000_000)

/** How many shards of items each worker has. */
async function shardsByWorker(url: string): Promise<number[]> {
  const text = `SELECT count(*)::int AS n FROM citus_shards WHERE table_name = 'mayfly.items'::regclass GROUP BY nodeport`
  return ((await query(url, text)) as { n: number }[]).map(({ n }) => n)
}

for (const mode of ['block_writes', 'force_logical']) {
  test(`a worker is added and shards move (${mode}) under writers and readers: nothing is lost, skipped or repeated${why}`, {
    skip,
  }, async () => {
    const name = `mayfly_test_${process.pid}_${mode}`
    const [, second] = workersOf(await nodesOf(cluster))
    assert.ok(second, 'the cluster has two workers')
    const url = await createDatabase(cluster, name, 1)
    await using stack = new AsyncDisposableStack()
    stack.defer(() => dropDatabase(cluster, name))
    const stores = [
      stack.use(await openGateway(url, new ManualClock(start))),
      stack.use(await openGateway(url, new ManualClock(start))),
    ]
    const container = await makeContainer(stores[0]!, null)
    assert.equal((await shardsByWorker(url)).length, 1)
    const feed = storeFeed(stores, container)
    let isMoved = false
    const moving = (async () => {
      await addWorker(url, second)
      await query(url, 'SELECT rebalance_table_shards(shard_transfer_mode => $1)', [mode])
    })().finally(() => {
      isMoved = true
    })
    let writes = 0
    // Writers go on until the shards are where they belong, and a little longer.
    const { delivered, ...violations } = await checkFeed(
      {
        write: async change => {
          writes++
          return feed.write(change)
        },
        read: feed.read,
      },
      { writers: 8, writes: 30, readers: 2, start: '0', isEnough: () => isMoved },
    )
    await moving
    assert.deepEqual(violations, { skipped: 0, repeated: 0, disordered: 0 })
    assert.ok(writes >= 240 && delivered > writes / 2, `${writes} writes, ${delivered} delivered`)
    const twice = 'SELECT count(*) - count(DISTINCT version) AS n FROM mayfly.items'
    assert.deepEqual(await query(url, twice), [{ n: '0' }], 'no version was given twice')
    const shards = await shardsByWorker(url)
    assert.ok(shards.length === 2 && Math.min(...shards) > 0, 'both workers have shards')
  })
}
