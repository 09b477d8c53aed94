/**
 * Memory: what the server takes at most during works that want more than they should have, whether it
 * answers others meanwhile, and what it gives back.
 *
 * Each work has a server of its own over the same data, and its clients are a process of their own.
 * Anonymous memory is what counts afterwards: the rest is the data file, which the system maps and drops as
 * it likes.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { serialize } from 'bson'
import { machine } from '../../src/base/clock.ts'
import { type Answer, ask, openHttp } from '../http.ts'
import { pause, times } from '../memory/client.ts'
import type { Tally } from '../memory/hostile.ts'
import { FULL_SCRIPT, ITEMS, LARGE_BYTES, LARGE_ITEMS, WORKS } from '../memory/works.ts'
import { askMongo, openMongo, opMsg } from '../mongo-wire.ts'
import { memoryOf } from '../processes.ts'
import { Clients, queryRequest } from '../query-items.ts'
import { type Finding, figure, percentile } from '../report.ts'
import { DATABASE, itemBody, rawRequest, readRequest, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayflyBoth } from '../targets.ts'
import type { Workload } from '../workload.ts'

const MiB = 1024 * 1024
const ITEM_BYTES = 1024
/** The default of `--memory-budget`. */
const BEYOND_IDLE_MB_MAX = 512
const AFTER_RATIO_MAX = 1.3
const REST_MS = 3000
const GIVE_BACK_MS = 30_000
const PROBE_EVERY_MS = 10

type Server = Awaited<ReturnType<typeof startMayflyBoth>>

export const memory: Workload = {
  name: 'memory',
  async run({ quick }) {
    const workMs = quick ? 3000 : 12_000
    // Parts of names, with semicolons between them.
    const named = process.env.BENCH_MEMORY_WORK?.split(';')
    const names = Object.keys(WORKS).filter(name => named?.some(part => name.includes(part)) ?? true)
    using folder = scratchFolder()
    await fill(folder.path)
    const rows: string[][] = []
    const findings: Finding[] = []
    for (const name of names) {
      await using server = await startMayflyBoth(['--data', folder.path])
      await warmUp(server)
      const idle = memoryOf(server.pid)
      const { tally, reads, refused } = await attack(server, name, workMs)
      const peak = memoryOf(server.pid).peak - idle.resident
      const held = await heldBytes(server)
      const after = await afterRest(server, idle.anonymous, quick ? 10_000 : GIVE_BACK_MS)
      rows.push([
        name,
        figure(idle.resident / MiB),
        figure(peak / MiB),
        figure(reads.length),
        figure(refused),
        figure(percentile(reads, 0.99), 1),
        figure(after.anonymous / idle.anonymous, 2),
        held,
        told(tally),
      ])
      console.log(rows.at(-1)!.join(' | '))
      findings.push(
        { text: `MB beyond idle: ${name}`, value: peak / MiB, digits: 0, bound: { atMost: BEYOND_IDLE_MB_MAX } },
        {
          text: `${figure(GIVE_BACK_MS / 1000)} s later / idle: ${name}`,
          value: after.anonymous / idle.anonymous,
          bound: { atMost: AFTER_RATIO_MAX },
        },
      )
    }
    return {
      title: `memory: resident memory during works that want too much, ${figure(workMs / 1000)} s each`,
      columns: ['work', 'idle MB', 'peak beyond', 'reads', 'refused', 'p99 ms', 'later / idle', 'held', 'answers'],
      rows,
      findings,
      notes: [
        'reads: point reads of another client that were answered meanwhile; refused: those that got 429 or no answer',
        'later / idle: anonymous memory, at most 30 s after the work',
      ],
    }
  },
}

async function attack(
  server: Server,
  work: string,
  ms: number,
): Promise<{ tally: Tally; reads: number[]; refused: number }> {
  const hostile = fork(join(import.meta.dirname, '../memory/hostile.ts'))
  const exited = once(hostile, 'exit')
  await once(hostile, 'message')
  hostile.send({ work, port: server.port, mongoPort: server.mongoPort })
  const { reads, refused } = await probe(server.port, ms)
  const said = once(hostile, 'message')
  hostile.send('stop')
  const [tally] = (await said) as [Tally]
  await exited
  return { tally, reads, refused }
}

/** Another client that reads items, one at a time. */
async function probe(port: number, ms: number): Promise<{ reads: number[]; refused: number }> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const connection = await openHttp(port, reject)
  const reads: number[] = []
  let refused = 0
  const endMs = machine.monotonicMs() + ms
  for (let n = 0; machine.monotonicMs() < endMs; n++) {
    const startMs = machine.monotonicMs()
    const answer = await Promise.race([connection.ask(readRequest('items', n % ITEMS)), failure, pause(5000)])
    if ((answer as Answer | undefined)?.status === 200) reads.push(machine.monotonicMs() - startMs)
    else refused++
    if (answer === undefined) break
    await pause(PROBE_EVERY_MS)
  }
  connection.close()
  return { reads, refused }
}

/** The first moment when enough was given back, or the last. */
async function afterRest({ pid }: Server, idleBytes: number, msMax: number) {
  const endMs = machine.monotonicMs() + msMax
  for (;;) {
    const now = memoryOf(pid)
    if (now.anonymous <= idleBytes * AFTER_RATIO_MAX || machine.monotonicMs() > endMs) return now
    await pause(500)
  }
}

/** What the account has after the work, by kind. */
async function heldBytes({ port }: Server): Promise<string> {
  await pause(500)
  const { body } = await ask(port, rawRequest({ method: 'GET', path: '/status' }))
  const { memory } = JSON.parse(body) as { memory?: { held: Record<string, number> } }
  return Object.entries(memory?.held ?? {})
    .filter(([, bytes]) => bytes > 0)
    .map(([kind, bytes]) => `${kind} ${figure(bytes / MiB, 1)}`)
    .join(', ')
}

function told(tally: Tally): string {
  return Object.entries(tally)
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what}: ${count}`)
    .join(', ')
}

async function fill(data: string): Promise<void> {
  await using server = await startMayflyBoth(['--data', data])
  const { port, mongoPort } = server
  await createDatabase(port)
  await createContainer(port, 'items')
  await createContainer(port, 'large')
  const sprocs = `/dbs/${DATABASE}/colls/items/sprocs`
  await ask(
    port,
    signedRequest({ method: 'POST', path: sprocs, body: JSON.stringify({ id: 'full', body: FULL_SCRIPT }) }),
  )
  const creating = (container: string, bytes: number) => (n: number) => {
    const body = itemBody(n, bytes)
    const { pk } = JSON.parse(body) as { pk: string }
    const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
    return signedRequest({ method: 'POST', path: `/dbs/${DATABASE}/colls/${container}/docs`, headers, body })
  }
  using clients = await Clients.open(port)
  await clients.storm(ITEMS, creating('items', ITEM_BYTES), 201)
  await clients.storm(LARGE_ITEMS, creating('large', LARGE_BYTES), 201)
  const mongo = await openMongo(mongoPort, () => {})
  for (let first = 0; first < ITEMS; first += 1000) {
    const documents = times(1000, n => serialize({ _id: first + n, n: first + n, text: 'x'.repeat(ITEM_BYTES - 60) }))
    const sequence = { name: 'documents', documents: Buffer.concat(documents) }
    const message = opMsg({ insert: 'docs', $db: DATABASE }, sequence)
    await askMongo(mongo, message)
  }
  mongo.close()
}

/** An ordinary day in short: what a server has loaded and compiled that is in use. */
async function warmUp({ port, mongoPort }: Server): Promise<void> {
  for (let n = 0; n < 200; n++) await ask(port, readRequest('items', n))
  for (let n = 0; n < 5; n++) await ask(port, queryRequest('items', 'SELECT VALUE COUNT(1) FROM c WHERE c.price > 50'))
  const mongo = await openMongo(mongoPort, () => {})
  for (let n = 0; n < 100; n++) await askMongo(mongo, opMsg({ find: 'docs', filter: { _id: n }, $db: DATABASE }))
  const group = { _id: null, n: { $sum: '$n' } }
  for (let n = 0; n < 5; n++) {
    await askMongo(mongo, opMsg({ aggregate: 'docs', pipeline: [{ $group: group }], cursor: {}, $db: DATABASE }))
  }
  mongo.close()
  await pause(REST_MS)
}
