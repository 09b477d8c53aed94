/** What every form of Mayfly must be able to do: the executable, and the command of an installed package. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { CosmosClient } from '@azure/cosmos'
import { MongoClient } from 'mongodb'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import type { Served } from '../support/run-cli.ts'

const cosmos = ({ endpoint }: Served) =>
  new CosmosClient({ endpoint, key: wellKnownKey, connectionPolicy: { enableEndpointDiscovery: false } })

/** Both protocols, a query that goes to a thread, scripts of both kinds; then everything is still there. */
export async function useKillAndUseAgain(serve: () => Promise<Served>, { namesThreads = true } = {}): Promise<void> {
  const first = await serve()
  try {
    const client = cosmos(first)
    const { database } = await client.databases.create({ id: 'shop' })
    const { container } = await database.containers.create({ id: 'carts', partitionKey: '/customer', defaultTtl: -1 })
    const bulk = Array.from({ length: 300 }, (_, n) => ({
      operationType: 'Create' as const,
      partitionKey: 'ann',
      resourceBody: { id: `c${n}`, customer: 'ann', n: (n * 7) % 300 },
    }))
    await container.items.executeBulkOperations(bulk)
    const sorted = await container.items.query('SELECT VALUE c.n FROM c ORDER BY c.n').fetchAll()
    assert.deepEqual(sorted.resources.slice(0, 3), [0, 1, 2])
    const { userDefinedFunctions, storedProcedures } = container.scripts
    await userDefinedFunctions.create({ id: 'twice', body: 'function twice(n) { return 2 * n }' })
    const twice = 'SELECT VALUE udf.twice(c.n) FROM c WHERE c.id = "c1"'
    assert.deepEqual((await container.items.query(twice).fetchAll()).resources, [14])
    await storedProcedures.create({ id: 'sum', body: 'function (a, b) { getContext().getResponse().setBody(a + b) }' })
    assert.equal((await container.scripts.storedProcedure('sum').execute('ann', [1, 2])).resource, 3)
    client.dispose()

    const mongo = new MongoClient(first.ready.mongoUri)
    const pets = mongo.db('zoo').collection('pets')
    await pets.insertMany(Array.from({ length: 300 }, (_, n) => ({ kind: n % 3, weight: n })))
    const groups = await pets.aggregate([{ $group: { _id: '$kind', n: { $sum: 1 } } }, { $sort: { _id: 1 } }]).toArray()
    assert.deepEqual(
      groups.map(({ n }) => n),
      [100, 100, 100],
    )
    await mongo.close()

    if (namesThreads && process.platform === 'linux') {
      const names = threadsOf(first.pid)
      for (const name of ['queries', 'script-thread', 'function-thread']) assert.ok(names.includes(name), name)
    }
  } finally {
    await first.stop('SIGKILL')
  }

  await using second = await serve()
  const client = cosmos(second)
  const count = 'SELECT VALUE COUNT(1) FROM c'
  const { resources } = await client.database('shop').container('carts').items.query(count).fetchAll()
  assert.deepEqual(resources, [300])
  client.dispose()
  const mongo = new MongoClient(second.ready.mongoUri)
  assert.equal(await mongo.db('zoo').collection('pets').countDocuments(), 300)
  await mongo.close()
}

/** The page and every file that it names. */
export async function loadExplorer(server: Served): Promise<void> {
  const page = await fetch(`${server.endpoint}/_explorer/`)
  const html = await page.text()
  const files = [...html.matchAll(/(?:src|href)="(\/_explorer\/[^"]+)"/g)].map(([, path]) => path!)
  assert.ok(
    files.some(path => path.endsWith('.js')),
    html,
  )
  for (const path of files) {
    const file = await fetch(server.endpoint + path)
    assert.equal(file.status, 200, path)
    assert.ok((await file.arrayBuffer()).byteLength > 100, path)
  }
}

function threadsOf(pid: number): string[] {
  const tasks = readdirSync(`/proc/${pid}/task`)
  return tasks.map(task => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim())
}
