/** Writes a hundred items at once: beside a hundred single creates, and beside SQLite alone with the same rows. */

import { machine } from '../../src/base/clock.ts'
import { BareWriter } from '../bare-items.ts'
import { openHttp } from '../http.ts'
import { figure, median } from '../report.ts'
import { DATABASE, itemBody, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
const OPERATIONS = 100
const KEY = 'pk-0000'

/** Items of one partition key, which a batch must have. */
const bodyOf = (item: number) => itemBody(item, ITEM_BYTES).replace(/"pk":"[^"]*"/, `"pk":"${KEY}"`)

function post(body: string, headers: Readonly<Record<string, string>> = {}): Buffer {
  return signedRequest({
    method: 'POST',
    path: `/dbs/${DATABASE}/colls/${CONTAINER}/docs`,
    headers: { 'x-ms-documentdb-partitionkey': `["${KEY}"]`, ...headers },
    body,
  })
}

const asBatch = { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' }

export const batch: Workload = {
  name: 'batch',
  async run({ quick }) {
    const rounds = quick ? 5 : 200
    using folder = scratchFolder()
    using bareFolder = scratchFolder()
    using bare = new BareWriter(bareFolder.path)
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    await createContainer(server.port, CONTAINER)
    const { promise: failure, reject } = Promise.withResolvers<never>()
    const connection = await openHttp(server.port, reject)
    const send = async (request: Buffer, status: number): Promise<void> => {
      const answer = await Promise.race([connection.ask(request), failure])
      if (answer.status !== status) throw new Error(`Answered ${answer.status}: ${answer.body.slice(0, 300)}`)
    }
    let item = 0
    const nextBodies = () => Array.from({ length: OPERATIONS }, () => bodyOf(item++))
    const timed = async (work: () => Promise<void>): Promise<number> => {
      const startMs = machine.monotonicMs()
      await work()
      return machine.monotonicMs() - startMs
    }

    const measured = { 'single creates': [] as number[], batch: [] as number[], 'bare transaction': [] as number[] }
    for (let round = 0; round <= rounds; round++) {
      const singles = nextBodies().map(body => post(body))
      const operations = nextBodies().map(body => `{"operationType":"Create","resourceBody":${body}}`)
      const whole = post(`[${operations.join(',')}]`, asBatch)
      const rows = nextBodies().map((body, at) => ({ pk: `["${KEY}"]`, id: `bare-${item}-${at}`, body }))
      const times = {
        'single creates': await timed(async () => {
          for (const request of singles) await send(request, 201)
        }),
        batch: await timed(() => send(whole, 200)),
        'bare transaction': bare.write(rows),
      }
      // The first round is a warm-up.
      if (round > 0)
        for (const name of Object.keys(measured) as (keyof typeof measured)[]) measured[name].push(times[name])
    }
    connection.close()
    const ms = (name: keyof typeof measured) => median(measured[name])
    return {
      title: `batch: ${OPERATIONS} creates of 1 KB on one connection, ${rounds} rounds by turns`,
      columns: ['what', 'median ms', 'items/s'],
      rows: (Object.keys(measured) as (keyof typeof measured)[]).map(name => [
        name,
        figure(ms(name), 2),
        figure((OPERATIONS * 1000) / ms(name)),
      ]),
      findings: [
        { text: 'single creates / batch, ms', value: ms('single creates') / ms('batch'), bound: { atLeast: 5 } },
        { text: 'bare transaction / batch, ms', value: ms('bare transaction') / ms('batch'), bound: { atLeast: 0.5 } },
      ],
      notes: [
        'single creates: one after the other, each durable before it is answered',
        'bare transaction: node:sqlite alone, the same rows, keys and indexes, WAL, FULL',
      ],
    }
  },
}
