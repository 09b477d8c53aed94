/**
 * Soak: a mixed load at a low rate for a long time (`--minutes`, an hour unless told otherwise). New items
 * and documents live a minute, so the data keeps its size, and the memory must do so, too.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { machine } from '../../src/base/clock.ts'
import { encodeFeedEtag } from '../../src/nosql/http/feed-etag.ts'
import { Client } from '../growth/client.ts'
import { COLLECTION, groupOf, idOf, itemText, partitionOf, scattered } from '../growth/items.ts'
import { addDocuments, createContainers, importItems } from '../growth/prepare.ts'
import { documentId } from '../mongo-documents.ts'
import { cpuUs, memoryOf } from '../processes.ts'
import { type Finding, figure, median, percentile } from '../report.ts'
import { scratchFolder, startMayflyBoth } from '../targets.ts'
import type { Workload } from '../workload.ts'

const STANDING = 20_000
const CLIENTS = 8
/** Of each client, at most. */
const PER_SECOND = 5
const LIFE_S = 60
const SAMPLE_MS = 10_000
const REST_MS = 60_000
const MiB = 1024 * 1024
/** The last quarter of the time beside the second: what is compiled and cached is there by then. */
const GROWTH_MAX = 1.1

/** What is saved: the memory at each moment. */
export interface SoakSample {
  readonly minutes: number
  readonly residentMiB: number
  readonly anonymousMiB: number
}

type Act = (client: Client, n: number) => Promise<unknown>

const everywhere = { 'x-ms-documentdb-partitionkeyrangeid': '0' }
const asQuery = { 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True' }

function key(n: number): Record<string, string> {
  return { 'x-ms-documentdb-partitionkey': JSON.stringify([partitionOf(n)]) }
}

function query(client: Client, text: string, headers: Record<string, string>): Promise<unknown> {
  const body = JSON.stringify({ query: text })
  return client.resource('POST', { path: '/docs', headers: { ...asQuery, ...headers }, body })
}

function chance(n: number): number {
  return scattered(n, STANDING)
}

/** How often each is done, of a hundred, and what it is. */
const acts: readonly (readonly [share: number, act: Act])[] = [
  [30, (client, n) => client.resource('GET', { path: `/docs/${idOf(chance(n))}`, headers: key(chance(n)) })],
  [
    14,
    (client, n) => {
      const body = itemText(STANDING + n, chance(n), `"ttl":${LIFE_S},`)
      return client.resource('POST', { path: '/docs', headers: key(chance(n)), body, status: 201 })
    },
  ],
  [
    6,
    (client, n) => {
      const item = chance(n)
      return client.resource('PUT', { path: `/docs/${idOf(item)}`, headers: key(item), body: itemText(item) })
    },
  ],
  [
    4,
    (client, n) => {
      const body = JSON.stringify({ operations: [{ op: 'set', path: '/price', value: n }] })
      return client.resource('PATCH', { path: `/docs/${idOf(chance(n))}`, headers: key(chance(n)), body })
    },
  ],
  [8, (client, n) => query(client, 'SELECT * FROM c ORDER BY c.price', key(chance(n)))],
  [
    6,
    (client, n) => query(client, `SELECT VALUE COUNT(1) FROM c WHERE c["group"] = ${groupOf(chance(n))}`, everywhere),
  ],
  // Nothing serves it: all items are read, in another thread.
  [1, (client, n) => query(client, `SELECT VALUE SUM(c.price) FROM c WHERE c.user.seats > ${n % 24}`, everywhere)],
  [
    4,
    (client, n) => {
      const etag = encodeFeedEtag('latest', { position: String(chance(n)) })
      const headers = { ...everywhere, 'a-im': 'Incremental Feed', 'x-ms-max-item-count': '50', 'if-none-match': etag }
      return client.resource('GET', { path: '/docs', headers })
    },
  ],
  [10, (client, n) => client.command({ find: COLLECTION, filter: { _id: documentId(chance(n)) } })],
  [
    6,
    client => {
      const document = { at: new Date(machine.epochMs()), group: -1, text: 'x'.repeat(800) }
      return client.command({ insert: COLLECTION, documents: [document] })
    },
  ],
  [
    5,
    (client, n) => {
      const update = { q: { _id: documentId(chance(n)) }, u: { $inc: { quantity: 1 } } }
      return client.command({ update: COLLECTION, updates: [update] })
    },
  ],
  [3, (client, n) => client.command({ find: COLLECTION, filter: { group: groupOf(chance(n)) } })],
  [
    3,
    (client, n) => {
      const pipeline = [{ $match: { group: groupOf(chance(n)) } }, { $group: { _id: '$city', n: { $sum: 1 } } }]
      return client.command({ aggregate: COLLECTION, pipeline, cursor: {} })
    },
  ],
]
const hundred = acts.flatMap(([share, act]) => Array.from({ length: share }, () => act))

export const soak: Workload = {
  name: 'soak',
  async run({ quick, settings }) {
    const minutes = settings.minutes ?? (quick ? 0.2 : 60)
    using folder = scratchFolder()
    await using server = await startMayflyBoth(['--data', folder.path])
    const startMs = machine.monotonicMs()
    const samples: SoakSample[] = []
    const sample = () => {
      const { resident, anonymous } = memoryOf(server.pid)
      const at = Number(((machine.monotonicMs() - startMs) / 60_000).toFixed(2))
      const [residentMiB, anonymousMiB] = [resident, anonymous].map(bytes => Number((bytes / MiB).toFixed(1)))
      samples.push({ minutes: at, residentMiB: residentMiB!, anonymousMiB: anonymousMiB! })
    }
    await sleep(2_000)
    sample()
    const idle = samples[0]!
    await createContainers(server)
    {
      using client = await Client.open(server)
      for (let first = 0; first < STANDING; first += 1_000) {
        await importItems(client, 1_000, at => itemText(first + at))
        await addDocuments(client, { first, count: 1_000 })
      }
      const expiring = { key: { at: 1 }, name: 'at_1', expireAfterSeconds: LIFE_S }
      await client.command({ createIndexes: COLLECTION, indexes: [expiring] })
    }
    const sampling = setInterval(sample, quick ? 1_000 : SAMPLE_MS).unref()
    const endMs = machine.monotonicMs() + minutes * 60_000
    const cpuBefore = cpuUs(server.pid) ?? Number.NaN
    const loadFromMs = machine.monotonicMs()
    let next = 0
    const times: number[] = []
    const run = async () => {
      using client = await Client.open(server)
      while (machine.monotonicMs() < endMs) {
        const n = ++next
        const beginMs = machine.monotonicMs()
        await hundred[scattered(n, hundred.length)]!(client, n)
        const tookMs = machine.monotonicMs() - beginMs
        // Those of the last minutes are enough, and this process must not grow either.
        times[n % 100_000] = tookMs
        await sleep(Math.max(0, 1000 / PER_SECOND - tookMs))
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, run))
    const busySeconds = (machine.monotonicMs() - loadFromMs) / 1000
    const cores = ((cpuUs(server.pid) ?? Number.NaN) - cpuBefore) / 1e6 / busySeconds
    const busy = samples.slice(1)
    await sleep(quick ? 2_000 : REST_MS)
    clearInterval(sampling)
    sample()
    const known = times.filter(time => time !== undefined)
    const { figures, findings } = judge(idle, busy, samples.at(-1)!)
    return {
      title: `soak: ${figure(minutes)} minutes of mixed load, ${figure(next / busySeconds)} operations a second`,
      columns: ['memory', 'resident MiB', 'anonymous MiB'],
      rows: figures,
      findings,
      notes: [
        `both APIs, ${CLIENTS} clients, ${figure(next)} operations, ${figure(cores, 2)} cores busy; latency p50 ` +
          `${figure(percentile(known, 0.5), 2)} ms, p99 ${figure(percentile(known, 0.99), 2)} ms`,
        `${figure(STANDING)} items and documents stay, and what is new dies after ${LIFE_S} s`,
        'anonymous: without the mapped part of the data file, which the system drops as it likes',
      ],
      data: samples,
    }
  },
}

function judge(idle: SoakSample, busy: readonly SoakSample[], rested: SoakSample) {
  const quarter = (at: number) =>
    busy.slice(Math.floor((busy.length * at) / 4), Math.max(1, Math.ceil((busy.length * (at + 1)) / 4)))
  const middle = (samples: readonly SoakSample[], part: 'residentMiB' | 'anonymousMiB') =>
    median(samples.map(sample => sample[part]))
  const row = (name: string, samples: readonly SoakSample[]) => [
    name,
    figure(middle(samples, 'residentMiB'), 1),
    figure(middle(samples, 'anonymousMiB'), 1),
  ]
  const most = [Math.max(...busy.map(each => each.residentMiB)), Math.max(...busy.map(each => each.anonymousMiB))]
  const growth = middle(quarter(3), 'anonymousMiB') / middle(quarter(1), 'anonymousMiB')
  const findings: Finding[] = [
    { text: 'anonymous memory, last quarter / second quarter', value: growth, bound: { atMost: GROWTH_MAX } },
  ]
  const figures = [
    row('idle, before', [idle]),
    ...['first', 'second', 'third', 'last'].map((name, at) => row(`${name} quarter, median`, quarter(at))),
    ['most', ...most.map(value => figure(value, 1))],
    row('a minute after the load', [rested]),
  ]
  return { figures, findings }
}
