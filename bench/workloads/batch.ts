/**
 * Writes a hundred items in one batch, compared with a hundred single creates and with SQLite alone.
 */

import { machine } from '../../src/base/clock.ts'
import { BareWriter } from '../bare-items.ts'
import { Connection } from '../connection.ts'
import { ask, type HttpConnection, HttpFraming } from '../http.ts'
import { figure, mean, median } from '../report.ts'
import { DATABASE, itemBody, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
const OPERATIONS = 100
const KEY = 'pk-0000'
const CLIENTS = 8
const BATCHES_EACH = 4
const crowded = `batch, ${CLIENTS} clients`
const bareBeside = 'bare transaction beside it'

/** Items of one partition key, as a batch needs them. */
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
    const open = (status: number) => Connection.open(server.port, new HttpFraming(status), reject)
    const [forSingles, forBatches] = [await open(201), await open(200)]
    const send = (connection: HttpConnection, request: Buffer): Promise<void> =>
      Promise.race([new Promise<void>(done => connection.exchange(request, done)), failure])
    let item = 0
    const nextBodies = () => Array.from({ length: OPERATIONS }, () => bodyOf(item++))
    const newBatch = () => {
      const operations = nextBodies().map(body => `{"operationType":"Create","resourceBody":${body}}`)
      return post(`[${operations.join(',')}]`, asBatch)
    }
    /** Rows contain the server's own properties too: the same number of bytes for every item. */
    const first = bodyOf(item++)
    const added = (await ask(server.port, post(first))).body.slice(first.length - 1)
    const rowOf = (body: string) => ({ pk: `["${KEY}"]`, id: JSON.parse(body).id, body: body.slice(0, -1) + added })
    const timed = async (work: () => Promise<void>): Promise<number> => {
      const startMs = machine.monotonicMs()
      await work()
      return machine.monotonicMs() - startMs
    }

    const names = ['single creates', 'batch', 'bare transaction', crowded, bareBeside]
    const measured: Record<string, number[]> = Object.fromEntries(names.map(name => [name, []]))
    for (let round = 0; round <= rounds; round++) {
      const singles = nextBodies().map(body => post(body))
      const whole = newBatch()
      const rows = nextBodies().map(rowOf)
      const times = {
        'single creates': await timed(async () => {
          for (const request of singles) await send(forSingles, request)
        }),
        batch: await timed(() => send(forBatches, whole)),
        'bare transaction': bare.write(rows),
      }
      // The first round is a warm-up.
      if (round > 0) for (const [name, ms] of Object.entries(times)) measured[name]!.push(ms)
    }
    for (const connection of [forSingles, forBatches]) connection.close()

    // Many clients at the same time: the number of batches a second, however long each waits for the others.
    const crowd = await Promise.all(Array.from({ length: CLIENTS }, () => open(200)))
    for (let round = 0; round <= rounds / BATCHES_EACH; round++) {
      const requests = Array.from({ length: CLIENTS * BATCHES_EACH }, newBatch)
      const ofBare = requests.map(() => nextBodies().map(rowOf))
      const crowdedMs = await timed(async () => {
        const all = crowd.map(async (connection, client) => {
          for (let n = client; n < requests.length; n += CLIENTS) await send(connection, requests[n]!)
        })
        await Promise.all(all)
      })
      const bareMs = ofBare.reduce((sum, rows) => sum + bare.write(rows), 0)
      if (round === 0) continue
      measured[crowded]!.push(crowdedMs / requests.length)
      measured[bareBeside]!.push(bareMs / requests.length)
    }
    for (const connection of crowd) connection.close()
    // From time to time a transaction carries a checkpoint, with and without the server. It is part of the
    // cost of writing, and no median shows it.
    const ms = (name: string) => mean(measured[name]!)
    return {
      title: `batch: ${OPERATIONS} creates of 1 KB, ${rounds} rounds by turns`,
      columns: ['what', 'mean ms', 'median ms', 'items/s'],
      rows: names.map(name => [
        name,
        figure(ms(name), 2),
        figure(median(measured[name]!), 2),
        figure((OPERATIONS * 1000) / ms(name)),
      ]),
      findings: [
        { text: 'single creates / batch, ms', value: ms('single creates') / ms('batch'), bound: { atLeast: 5 } },
        { text: 'bare transaction / batch, ms', value: ms('bare transaction') / ms('batch'), bound: { atLeast: 0.5 } },
        {
          text: 'the same, median ms',
          value: median(measured['bare transaction']!) / median(measured.batch!),
          bound: { atLeast: 0.5 },
        },
        { text: `bare transaction / ${crowded}, ms`, value: ms(bareBeside) / ms(crowded), bound: { atLeast: 0.5 } },
      ],
      notes: [
        'ratios are of means, unless they say medians: all the time that it took, checkpoints included',
        'single creates: one after the other, each durable before it is answered',
        "bare transaction: node:sqlite alone, rows, table and indexes like the server's, WAL, FULL",
      ],
    }
  },
}
