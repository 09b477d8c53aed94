/**
 * Runs benchmarks and prints what they found:
 * `npm run bench -- [--quick] [--store postgres] [--against FOLDER] [workload ...]`.
 *
 * Everything that is compared takes turns in the same run, because a single figure says more about the
 * machine than about the server. A figure out of bounds is printed and does not fail the run. Only a
 * benchmark that could not run does.
 */

import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { Load } from './processes.ts'
import { print } from './report.ts'
import { installPeer } from './targets.ts'
import type { Workload } from './workload.ts'
import { againstCheckout } from './workloads/against.ts'
import { batch } from './workloads/batch.ts'
import { bulk } from './workloads/bulk.ts'
import { changeFeed } from './workloads/change-feed.ts'
import { changeStreams } from './workloads/change-streams.ts'
import { create } from './workloads/create.ts'
import { defaultChange } from './workloads/default-change.ts'
import { exportWorkload } from './workloads/export.ts'
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
import { pointRead } from './workloads/point-read.ts'
import { postgresWorkloads } from './workloads/postgres.ts'
import { purge } from './workloads/purge.ts'
import { queryLarge } from './workloads/query-large.ts'
import { querySmall } from './workloads/query-small.ts'
import { scriptAttacks } from './workloads/script-attacks.ts'
import { startUp } from './workloads/start-up.ts'

const WORKLOADS: readonly Workload[] = [
  pointRead,
  create,
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
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

function loadAverage(): string {
  const [oneMinute] = loadavg()
  return `load average ${oneMinute!.toFixed(2)} on ${availableParallelism()} cores`
}

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, store: { type: 'string' }, against: { type: 'string' } },
  allowPositionals: true,
})
if (values.store !== undefined && values.store !== 'postgres') throw new Error('--store takes postgres.')
const isPostgres = values.store === 'postgres'
const all = values.against !== undefined ? againstCheckout(values.against) : isPostgres ? postgresWorkloads : WORKLOADS
const selected = select(all, positionals)
const peer = isPostgres || values.against !== undefined ? { installed: true as const } : installPeer()
const peerMissing = peer.installed ? undefined : `peer: not compared, its installation failed: ${peer.reason}`
const againstFlag = values.against === undefined ? '' : `--against ${values.against} `
const flags = `${values.quick ? '--quick ' : ''}${isPostgres ? '--store postgres ' : ''}${againstFlag}`
console.log(`node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${loadAverage()} at the start`)

for (const workload of selected) {
  // A generator per workload: a heap full of one workload's requests must not slow down the next.
  await using load = new Load()
  try {
    const report = await workload.run({ load, quick: values.quick, peerMissing })
    print(report, `npm run bench -- ${flags}${workload.name}`)
  } catch (error) {
    process.exitCode = 1
    console.log(`\n== ${workload.name}: could not run\n\n${error instanceof Error ? error.message : error}`)
  }
}
console.log(`\n${loadAverage()} at the end${values.quick ? '; --quick figures say nothing about speed' : ''}`)
