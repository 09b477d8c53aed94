/**
 * A Citus cluster that gets more workers: data moves there, and shards move while gateways write and read,
 * without anybody noticing (P2, P12).
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { addWorker, createDatabase, dropDatabase, nodesOf, query, workersOf } from '../support/databases.ts'
import { checkFeed } from '../support/feed-check.ts'
import { put } from '../support/item-write.ts'
import { openGateway } from '../support/postgres.ts'
import { keyOf, makeContainer } from './store-contract.ts'
import { storeFeed } from './store-feed.ts'

const cluster = process.env.MAYFLY_TEST_CITUS ?? ''
const skip = cluster === ''
const why = skip ? ' (skipped: MAYFLY_TEST_CITUS names no cluster)' : ''
const start = toEpochSeconds(1_000_000)

/** How many shards of items each worker has. */
async function shardsByWorker(url: string): Promise<number[]> {
  const text = `SELECT count(*)::int AS n FROM citus_shards
    WHERE table_name = 'mayfly.items'::regclass GROUP BY nodeport`
  return ((await query(url, text)) as { n: number }[]).map(({ n }) => n)
}

for (const mode of ['block_writes', 'force_logical']) {
  test(`shards move to a new worker (${mode}) under load: nothing is lost, skipped or repeated${why}`, {
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
    // Writers continue until the shards have moved, and a little longer.
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

test(`a PostgreSQL that becomes a cluster distributes its data, once no gateway uses it${why}`, { skip }, async () => {
  const name = `mayfly_test_${process.pid}_grown`
  const url = await createDatabase(cluster, name, 0)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => dropDatabase(cluster, name))
  const alone = await openGateway(url, new ManualClock(start))
  const before = await makeContainer(alone, null)
  const keys = Array.from({ length: 200 }, (_, n) => keyOf(`i${n}`, `p${n}`))
  await Promise.all(keys.map(key => alone.write(before, put('create', key))))
  for (const worker of workersOf(await nodesOf(cluster))) await addWorker(url, worker)
  await assert.rejects(openGateway(url, new ManualClock(start)), { kind: 'unsupported', message: /Stop all gateways/ })
  await alone[Symbol.asyncDispose]()
  const store = stack.use(await openGateway(url, new ManualClock(start)))
  assert.equal((await shardsByWorker(url)).length, 2)
  const container = (await store.findContainer('d', 'c'))!
  const found = await Promise.all(keys.map(key => store.read(container, key)))
  assert.ok(found.every(({ item }) => item !== undefined))
  const again = await Promise.all(keys.map(key => store.write(container, put('replace', key))))
  assert.ok(again.every(({ outcome }, n) => outcome === 'replaced' && again[n]!.version > found[n]!.item!.version))
  assert.equal((await store.census(container)).rows, 200)
})
