/** Creates ten thousand items through the SDK: in bulk, and one by one. */

import { type Container, CosmosClient, type OperationInput } from '@azure/cosmos'
import { machine } from '../../src/base/clock.ts'
import { figure } from '../report.ts'
import { DATABASE, itemBody } from '../requests.ts'
import { MASTER_KEY } from '../sign.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { CONNECTIONS } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
const BULK_OPERATIONS = 100

type Item = { readonly id: string; readonly pk: string }

function items(first: number, count: number): Item[] {
  return Array.from({ length: count }, (_, at) => JSON.parse(itemBody(first + at, ITEM_BYTES)) as Item)
}

/** Items in flight at the same time. */
async function inTurns<T>(list: readonly T[], lanes: number, work: (each: T) => Promise<unknown>): Promise<number> {
  const startMs = machine.monotonicMs()
  let next = 0
  const lane = async () => {
    while (next < list.length) await work(list[next++]!)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return (list.length * 1000) / (machine.monotonicMs() - startMs)
}

async function singles(container: Container, list: readonly Item[]): Promise<number> {
  return inTurns(list, CONNECTIONS, async item => {
    const { statusCode } = await container.items.create(item)
    if (statusCode !== 201) throw new Error(`A create was answered ${statusCode}.`)
  })
}

async function inBulk(container: Container, list: readonly Item[]): Promise<number> {
  const parts = Array.from({ length: list.length / BULK_OPERATIONS }, (_, at) =>
    list.slice(at * BULK_OPERATIONS, (at + 1) * BULK_OPERATIONS),
  )
  const rate = await inTurns(parts, 4, async part => {
    const operations = part.map(item => ({ operationType: 'Create', partitionKey: item.pk, resourceBody: item }))
    const results = await container.items.bulk(operations as unknown as OperationInput[])
    const failed = results.find(({ statusCode }) => statusCode !== 201)
    if (failed !== undefined) throw new Error(`A create in bulk was answered ${failed.statusCode}.`)
  })
  return rate * BULK_OPERATIONS
}

async function byExecutor(container: Container, list: readonly Item[]): Promise<number> {
  const operations = list.map(item => ({ operationType: 'Create', partitionKey: item.pk, resourceBody: item }))
  const startMs = machine.monotonicMs()
  const results = await container.items.executeBulkOperations(operations as unknown as OperationInput[])
  const failed = results.find(({ response }) => response?.statusCode !== 201)
  if (failed !== undefined) throw new Error(`A create in bulk failed: ${failed.error?.message}`)
  return (list.length * 1000) / (machine.monotonicMs() - startMs)
}

export const bulk: Workload = {
  name: 'bulk',
  async run({ quick }) {
    const count = quick ? 500 : 10_000
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    await createContainer(server.port, CONTAINER)
    const client = new CosmosClient({ endpoint: `http://127.0.0.1:${server.port}`, key: MASTER_KEY })
    const container = client.database(DATABASE).container(CONTAINER)
    await singles(container, items(0, 100))
    await inBulk(container, items(1_000_000, 100))
    const rates = {
      'create, 32 at a time': await singles(container, items(100, count)),
      'bulk, 100 at a time': await inBulk(container, items(2_000_000, count)),
      executeBulkOperations: await byExecutor(container, items(3_000_000, count)),
    }
    return {
      title: `bulk: ${count} creates of 1 KB through the SDK`,
      columns: ['what', 'items/s'],
      rows: Object.entries(rates).map(([name, rate]) => [name, figure(rate)]),
      findings: [
        {
          text: 'bulk / create, items/s',
          value: rates['bulk, 100 at a time'] / rates['create, 32 at a time'],
          bound: { atLeast: 3 },
        },
        {
          text: 'executeBulkOperations / create, items/s',
          value: rates.executeBulkOperations / rates['create, 32 at a time'],
        },
      ],
      notes: ['client and server share the machine, and the client spends more than the server'],
    }
  },
}
