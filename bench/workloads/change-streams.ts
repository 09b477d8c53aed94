/**
 * Opens hundreds of change streams: what they cost while nothing happens, and how long one change takes to
 * reach all of them.
 */

import type { Document } from 'bson'
import { machine } from '../../src/base/clock.ts'
import { askMongo, cursorId, documentOf, type MongoConnection, openMongo, opMsg } from '../mongo-wire.ts'
import { cpuUs } from '../processes.ts'
import { difference, figure, median } from '../report.ts'
import { scratchFolder, startMayflyMongo } from '../targets.ts'
import type { Workload } from '../workload.ts'

const STREAMS = 500
const IDLE_MS = 20_000
const CHANGES = 20
const DATABASE = 'bench'

const sleep = (ms: number) => new Promise<void>(resolve => machine.setTimeout(resolve, ms))

async function run(connection: MongoConnection, command: Document): Promise<Document> {
  return documentOf(await askMongo(connection, opMsg({ ...command, $db: DATABASE })))
}

/** Fetches for ever, as a driver does, and tells how many events came. */
async function follow(connection: MongoConnection, onEvents: (count: number) => void): Promise<void> {
  const pipeline = [{ $changeStream: {} }]
  const opened = await run(connection, { aggregate: 'orders', pipeline, cursor: {} })
  const id = cursorId(opened.cursor.id)
  // Drivers name no time unless they are told to: the server chooses it.
  const next = opMsg({ getMore: id, collection: 'orders', $db: DATABASE })
  onEvents(0)
  for (;;) {
    const answer = documentOf(await askMongo(connection, next))
    const count = (answer.cursor.nextBatch as unknown[]).length
    if (count > 0) onEvents(count)
  }
}

/** The share of a core that the process takes. */
async function share(pid: number, ms: number): Promise<number | undefined> {
  const [before, fromMs] = [cpuUs(pid), machine.monotonicMs()]
  await sleep(ms)
  const us = difference(cpuUs(pid), before)
  return us === undefined ? undefined : us / 10 / (machine.monotonicMs() - fromMs)
}

export const changeStreams: Workload = {
  name: 'change-streams',
  async run({ quick }) {
    const idleMs = quick ? 1000 : IDLE_MS
    const changes = quick ? 3 : CHANGES
    using folder = scratchFolder()
    await using server = await startMayflyMongo(folder.path)
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    let isOver = false
    const failed = (error: Error) => {
      if (!isOver) reject(error)
    }
    const writer = await openMongo(server.port, failed)
    await run(writer, { insert: 'orders', documents: [{ _id: 0 }] })
    await Promise.race([failure, sleep(idleMs / 2)])
    const alone = await Promise.race([failure, share(server.pid, idleMs)])

    let [open, arrived] = [0, 0]
    let onArrival = () => {}
    const connections = await Promise.all(Array.from({ length: STREAMS }, () => openMongo(server.port, failed)))
    for (const connection of connections) {
      follow(connection, count => {
        if (count === 0) open++
        arrived += count
        onArrival()
      }).catch(failed)
    }
    while (open < STREAMS) await Promise.race([failure, sleep(50)])
    await Promise.race([failure, sleep(idleMs / 2)])
    const idle = await Promise.race([failure, share(server.pid, idleMs)])

    const times: number[] = []
    for (let n = 1; n <= changes; n++) {
      const fromMs = machine.monotonicMs()
      const all = new Promise<void>(resolve => {
        onArrival = () => {
          if (arrived === n * STREAMS) resolve()
        }
      })
      await run(writer, { insert: 'orders', documents: [{ _id: n }] })
      await Promise.race([failure, all])
      times.push(machine.monotonicMs() - fromMs)
      await sleep(100)
    }
    isOver = true
    for (const connection of [writer, ...connections]) connection.close()
    return {
      title: `change-streams: ${STREAMS} streams over one collection`,
      columns: ['', '% of a core'],
      rows: [
        ['no stream', figure(alone, 2)],
        [`${STREAMS} idle streams`, figure(idle, 2)],
      ],
      findings: [
        {
          text: `${STREAMS} idle streams take`,
          value: difference(idle, alone),
          unit: '% of a core',
          digits: 2,
          bound: { atMost: 1 },
        },
        { text: 'one change reaches all of them within', value: median(times), unit: 'ms', digits: 1 },
      ],
      notes: ['Each stream asks again when it got an empty answer, as drivers do.'],
    }
  },
}
