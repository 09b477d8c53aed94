/**
 * Runs benchmarks and prints what they found:
 * `npm run bench -- [--quick] [--save] [--store postgres] [--against FOLDER] [workload ...]`.
 *
 * Everything that is compared takes turns in the same run, because a single figure says more about the
 * machine than about the server. A figure out of bounds is printed and does not fail the run. Only a
 * benchmark that could not run does.
 */

import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { writePage } from './page.ts'
import { Load } from './processes.ts'
import { print } from './report.ts'
import { readResult, saveResult } from './results.ts'
import { installPeer } from './targets.ts'
import type { Settings, Workload } from './workload.ts'
import { againstCheckout } from './workloads/against.ts'
import { batch } from './workloads/batch.ts'
import { bulk } from './workloads/bulk.ts'
import { changeFeed } from './workloads/change-feed.ts'
import { changeStreams } from './workloads/change-streams.ts'
import { create } from './workloads/create.ts'
import { createLatency } from './workloads/create-latency.ts'
import { defaultChange } from './workloads/default-change.ts'
import { explorer } from './workloads/explorer.ts'
import { exportWorkload } from './workloads/export.ts'
import { growth } from './workloads/growth.ts'
import { importWorkload } from './workloads/import.ts'
import { isolation } from './workloads/isolation.ts'
import { memory } from './workloads/memory.ts'
import { mongoBesideQueries } from './workloads/mongo-beside-queries.ts'
import { mongoCollation } from './workloads/mongo-collation.ts'
import { mongoFindIndexed } from './workloads/mongo-find-indexed.ts'
import { mongoFindOne } from './workloads/mongo-find-one.ts'
import { mongoInsertMany } from './workloads/mongo-insert-many.ts'
import { mongoInsertOne } from './workloads/mongo-insert-one.ts'
import { mongoScan } from './workloads/mongo-scan.ts'
import { peers } from './workloads/peers.ts'
import { pointRead } from './workloads/point-read.ts'
import { postgresWorkloads } from './workloads/postgres.ts'
import { purge } from './workloads/purge.ts'
import { queryLarge } from './workloads/query-large.ts'
import { querySmall } from './workloads/query-small.ts'
import { scriptAttacks } from './workloads/script-attacks.ts'
import { soak } from './workloads/soak.ts'
import { startUp } from './workloads/start-up.ts'

const WORKLOADS: readonly Workload[] = [
  pointRead,
  create,
  createLatency(),
  startUp,
  defaultChange,
  purge,
  querySmall,
  queryLarge,
  batch,
  bulk,
  changeFeed,
  importWorkload,
  exportWorkload,
  explorer,
  scriptAttacks,
  memory,
  isolation,
  mongoFindOne,
  mongoInsertOne,
  mongoInsertMany,
  mongoScan,
  mongoFindIndexed,
  mongoCollation,
  mongoBesideQueries,
  changeStreams,
]

function select(all: readonly Workload[], names: readonly string[]): readonly Workload[] {
  const unknown = names.filter(name => !all.some(workload => workload.name === name))
  if (unknown.length > 0) {
    throw new Error(`No workload ${unknown.join(', ')}. There are: ${all.map(({ name }) => name).join(', ')}.`)
  }
  return all.filter(workload =>
    names.length === 0 ? !NAMED_WORKLOADS.includes(workload) : names.includes(workload.name),
  )
}

/** Workloads that take long or need much room. They run only if they are named. */
const NAMED_WORKLOADS: readonly Workload[] = [growth, soak, peers]

function given(flag: 'sizes' | 'measure' | 'minutes'): string {
  const value = values[flag]
  return value === undefined ? '' : ` --${flag} ${value}`
}

function numbers(text: string | undefined): number[] | undefined {
  return text?.split(',').map(Number)
}

function loadAverage(): string {
  const [oneMinute] = loadavg()
  return `load average ${oneMinute!.toFixed(2)} on ${availableParallelism()} cores`
}

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    store: { type: 'string' },
    against: { type: 'string' },
    folder: { type: 'string' },
    sizes: { type: 'string' },
    measure: { type: 'string' },
    minutes: { type: 'string' },
    peers: { type: 'string' },
  },
  allowPositionals: true,
})
if (values.store !== undefined && values.store !== 'postgres') throw new Error('--store takes postgres.')
const isPostgres = values.store === 'postgres'
const here = [...WORKLOADS, ...NAMED_WORKLOADS]
const all = values.against !== undefined ? againstCheckout(values.against) : isPostgres ? postgresWorkloads : here
const selected = select(all, positionals)
const needsPeer = !isPostgres && values.against === undefined && selected.some(each => WORKLOADS.includes(each))
const peer = needsPeer ? installPeer() : { installed: true as const }
const peerMissing = peer.installed ? undefined : `peer: not compared, its installation failed: ${peer.reason}`
const againstFlag = values.against === undefined ? '' : `--against ${values.against} `
const flags = `${values.quick ? '--quick ' : ''}${isPostgres ? '--store postgres ' : ''}${againstFlag}`
/** What the flags of single workloads were. Folders have no meaning on other machines. */
const ownFlags: Readonly<Record<string, string>> = {
  growth: [given('sizes'), given('measure')].join(''),
  soak: given('minutes'),
  peers: ' --peers DIR',
}
const settings: Settings = {
  folder: values.folder,
  sizes: numbers(values.sizes),
  measure: numbers(values.measure),
  peers: values.peers,
  minutes: values.minutes === undefined ? undefined : Number(values.minutes),
}
console.log(`node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${loadAverage()} at the start`)

for (const workload of selected) {
  // A generator per workload: a heap full of one workload's requests must not slow down the next.
  await using load = new Load()
  try {
    const [average] = loadavg()
    const saved = values.save ? readResult(workload.name)?.data : undefined
    const report = await workload.run({ load, quick: values.quick, peerMissing, settings, saved })
    const command = `npm run bench -- ${flags}${workload.name}${ownFlags[workload.name] ?? ''}`
    print(report, command)
    if (values.save) saveResult(workload.name, report, { command, loadAverage: average! })
  } catch (error) {
    process.exitCode = 1
    console.log(`\n== ${workload.name}: could not run\n\n${error instanceof Error ? error.message : error}`)
  }
}
if (values.save) writePage()
console.log(`\n${loadAverage()} at the end${values.quick ? '; --quick figures say nothing about speed' : ''}`)
