/**
 * Growth: what each operation costs with a thousand, a hundred thousand, a million and ten million items and
 * as many documents, and how long a start takes, also after the process was killed.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { machine } from '../../src/base/clock.ts'
import { Client } from '../growth/client.ts'
import { itemText, partitionOf } from '../growth/items.ts'
import { type Cost, measureCost, operationsOf } from '../growth/operations.ts'
import { prepare } from '../growth/prepare.ts'
import { ask } from '../http.ts'
import { residentBytes } from '../processes.ts'
import { Clients } from '../query-items.ts'
import { type Finding, figure, median } from '../report.ts'
import { DATABASE, rawRequest, signedRequest } from '../requests.ts'
import { type MayflyProcess, scratchFolder, startMayflyBoth } from '../targets.ts'
import type { Workload } from '../workload.ts'

const ALL_SIZES = [1_000, 100_000, 1_000_000, 10_000_000]
const STARTS = 3
const IDLE_MS = 3_000
const KILL_AFTER_MS = 2_000
const POLL_MS = 2
const MiB = 1024 * 1024
/** Between the first and the last size. Trees become deeper, and caches hold a smaller part of the data. */
const FLAT_RATIO_MAX = 2
const READY_AFTER_KILL_MS_MAX = 1000

/** What was found at one size. */
export interface Stop {
  readonly items: number
  readonly fileBytes: number
  readonly startMs: number
  readonly readyAfterKillMs: number
  readonly idleRssMiB: number
  readonly costs: readonly Cost[]
}

export const growth: Workload = {
  name: 'growth',
  async run({ quick, settings, saved }) {
    const sizes = settings.sizes ?? (quick ? [1_000, 4_000] : ALL_SIZES)
    using scratch = settings.folder === undefined ? scratchFolder() : undefined
    const folders = await prepare(settings.folder ?? scratch!.path, sizes)
    const measured = settings.measure ?? sizes
    const stops = ((saved ?? []) as Stop[]).filter(({ items }) => !measured.includes(items))
    for (const items of measured) stops.push(await measureStop(folders.get(items)!, items, quick))
    stops.sort((a, b) => a.items - b.items)
    return {
      title: 'growth: the cost of each operation as the data grows, items of 1 KB',
      columns: ['operation', ...stops.flatMap(({ items }) => [`${figure(items)}: ms`, 'CPU us'])],
      rows: [...costRows(stops), ...stopRows(stops)],
      findings: findingsOf(stops),
      notes: [
        'one client, one request at a time, medians; as many documents of 860 bytes in a collection beside them',
        'writes include the fsync of their commit; CPU is that of the server, all threads',
      ],
      data: stops,
    }
  },
}

async function measureStop(folder: string, items: number, quick: boolean): Promise<Stop> {
  const starts: number[] = []
  for (let start = 1; start < STARTS; start++) {
    await using server = await startMayflyBoth(['--data', folder])
    starts.push(await msUntilReady(server))
  }
  await using server = await startMayflyBoth(['--data', folder])
  starts.push(await msUntilReady(server))
  await sleep(IDLE_MS)
  const idleRssMiB = (residentBytes(server.pid) ?? Number.NaN) / MiB
  const costs: Cost[] = []
  {
    using client = await Client.open(server)
    // The folder may be of yesterday. Until the time is sure, nothing is removed.
    await client.admin('POST', 'clock', { trust: true })
    for (const operation of operationsOf(client, items)) {
      const cost = await measureCost(operation, server.pid, quick ? 100 : 2_000)
      costs.push(cost)
      const { count, medianMs, p99Ms, cpuUs } = cost
      const figures = `${figure(medianMs, 3)} ms, p99 ${figure(p99Ms, 3)} ms, ${figure(cpuUs ?? undefined)} us CPU`
      console.log(`${figure(items)} | ${operation.name} | ${figures} (${count})`)
    }
  }
  const fileBytes = statSync(join(folder, 'mayfly.db')).size
  await killDuringWrites(server, items)
  await using again = await startMayflyBoth(['--data', folder])
  const readyAfterKillMs = await msUntilReady(again)
  return { items, fileBytes, startMs: median(starts), readyAfterKillMs, idleRssMiB, costs }
}

/** Until the first request is answered: of the server, and then of a database that it has opened. */
async function msUntilReady(server: MayflyProcess): Promise<number> {
  const request = rawRequest({ method: 'GET', path: '/ready' })
  while ((await ask(server.port, request)).status !== 200) await sleep(POLL_MS)
  return machine.monotonicMs() - server.spawnedAtMs
}

async function killDuringWrites(server: MayflyProcess, items: number): Promise<void> {
  using clients = await Clients.open(server.port)
  const path = `/dbs/${DATABASE}/colls/items/docs`
  const storm = clients.storm(
    Number.MAX_SAFE_INTEGER,
    n => {
      const like = n % items
      const headers = {
        'x-ms-documentdb-partitionkey': JSON.stringify([partitionOf(like)]),
        'x-ms-documentdb-is-upsert': 'True',
      }
      return signedRequest({ method: 'POST', path, headers, body: itemText(like) })
    },
    200,
  )
  const ended = storm.then(
    () => undefined,
    () => undefined,
  )
  await sleep(KILL_AFTER_MS)
  process.kill(server.pid, 'SIGKILL')
  await ended
}

function costRows(stops: readonly Stop[]): string[][] {
  return stops[0]!.costs.map(({ operation }, at) => [
    operation,
    ...stops.flatMap(({ costs }) => [figure(costs[at]!.medianMs, 3), figure(costs[at]!.cpuUs ?? undefined)]),
  ])
}

function stopRows(stops: readonly Stop[]): string[][] {
  const row = (name: string, shown: (stop: Stop) => string) => [name, ...stops.flatMap(stop => [shown(stop), ''])]
  return [
    row('start, ms', ({ startMs }) => figure(startMs)),
    row('ready after kill -9, ms', ({ readyAfterKillMs }) => figure(readyAfterKillMs)),
    row('idle RSS after a start, MiB', ({ idleRssMiB }) => figure(idleRssMiB, 1)),
    row('data file, MiB', ({ fileBytes }) => figure(fileBytes / MiB)),
  ]
}

function findingsOf(stops: readonly Stop[]): Finding[] {
  const [first, last] = [stops[0]!, stops.at(-1)!]
  const ratios = first.costs.map(({ operation, medianMs, grows }, at): Finding => {
    const value = last.costs[at]!.medianMs / medianMs
    return { text: `${operation}, last / first`, value, ...(!grows && { bound: { atMost: FLAT_RATIO_MAX } }) }
  })
  const readyMs = Math.max(...stops.map(({ readyAfterKillMs }) => readyAfterKillMs))
  const bound = { atMost: READY_AFTER_KILL_MS_MAX }
  return [...ratios, { text: 'ready after kill -9, ms, slowest', value: readyMs, digits: 0, bound }]
}
