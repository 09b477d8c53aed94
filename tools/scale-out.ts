/**
 * How many workers ten billion items and 100,000 deaths a second need, and which resource is the first limit:
 * `node tools/scale-out.ts [--items 10000000000] [--deaths 100000] [--bytes 1000]`.
 *
 * First it starts a small PostgreSQL and measures what one item costs: bytes on disk, bytes of WAL, and CPU
 * time of the backends, for the write, the removal and the vacuum. From that it computes a cluster and
 * simulates its days minute by minute: low load by night, high load by day, a worker that is away for a
 * while, and the backlog afterwards.
 */

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { openPostgres } from '../src/adapters/postgres/open.ts'
import { ManualClock, machine, toEpochSeconds } from '../src/base/clock.ts'
import { sweepRowsMax } from '../src/base/limits.ts'
import { effectivePartitionKey } from '../src/document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../src/document/partition-key.ts'
import { newPolicy } from '../src/ttl/lifespan.ts'
import { startPostgres } from '../test/support/postgres.ts'

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '10000000000' },
    deaths: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '1000' },
  },
})
const items = Number(values.items)
const deathsPerSecond = Number(values.deaths)
const bodyBytes = Number(values.bytes)

/** The assumed resources of one worker; everything else is measured. */
const worker = { cores: 16, diskTb: 4, walMbPerSecond: 200, coresForReads: 4 }
const sampleItems = 20_000

interface Costs {
  readonly diskBytes: number
  readonly indexBytes: number
  readonly writeWalBytes: number
  readonly purgeWalBytes: number
  readonly writeCpuUs: number
  readonly purgeCpuUs: number
  readonly vacuumCpuUs: number
  /** Writes a second to one bucket from many clients: they are numbered one after the other. */
  readonly bucketWrites: number
}

function say(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** User and system time of a process in microseconds; the kernel counts in hundredths of a second. */
function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function measure(): Promise<Costs> {
  await using server = await startPostgres({ isDurable: true })
  const url = await server.createDatabase()
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const onFatal = (error: Error) => {
    throw error
  }
  await using store = await openPostgres({ url, clock: () => clock, onFatal })
  const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const
  const database = (await store.createDatabase({ id: 'd', rid: 1, throughput: null }))!
  const container = (await store.createContainer(database, {
    ...{ id: 'c', rid: 2, throughput: null, partitionKey, partitionCount: 1, encoding: 'json' },
    ...{ policy: newPolicy(86_400), logSeconds: null, definition: {} },
  }))!
  const beside = new Client({ connectionString: url })
  await beside.connect()
  const ask = async (sql: string) => (await beside.query(sql)).rows
  const wal = async () => Number((await ask(`SELECT pg_current_wal_lsn() - '0/0' AS bytes`))[0].bytes)
  const cpu = async () => {
    const rows = await ask(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    return rows.reduce((sum, { pid }) => sum + cpuUs(pid), 0)
  }
  const text = 'x'.repeat(bodyBytes)
  const draft = { texts: [`{"text":"${text}"}`], stamps: [] }
  const write = (n: number, pk = `partition ${n}`) => {
    const key = { epk: effectivePartitionKey(partitionKey, [pk]), pk: canonicalPartitionKey([pk]), id: `item ${n}` }
    return store.write(container, { kind: 'upsert', key, ttl: undefined, draft })
  }
  // Open connections and plan statements before anything is counted.
  await Promise.all(Array.from({ length: 64 }, (_, n) => write(n)))
  await ask('CHECKPOINT')
  const before = { wal: await wal(), cpu: await cpu() }
  // One by one: in a cluster only writes to the same bucket are grouped, and few of those arrive together.
  for (let n = 64; n < sampleItems; n++) await write(n)
  const written = { wal: await wal(), cpu: await cpu() }
  const [size] = await ask(
    `SELECT pg_table_size('mayfly.items') AS disk, pg_indexes_size('mayfly.items') AS indexes FROM mayfly.clock`,
  )
  clock.advance(86_400)
  await store.moment()
  await ask('CHECKPOINT')
  const full = { wal: await wal(), cpu: await cpu() }
  let removed = 0
  for (let isDone = false; !isDone; ) {
    const swept = await store.sweep(container, sweepRowsMax)
    removed += swept.removed
    isDone = swept.done
  }
  const swept = { wal: await wal(), cpu: await cpu() }
  const own = Number((await ask('SELECT pg_backend_pid() AS pid'))[0].pid)
  const vacuumBefore = cpuUs(own)
  await ask('VACUUM mayfly.items')
  const vacuumUs = cpuUs(own) - vacuumBefore
  await beside.end()
  const bucketMs = 2000
  const startMs = machine.monotonicMs()
  let inBucket = 0
  await Promise.all(
    Array.from({ length: 256 }, async (_, n) => {
      for (; machine.monotonicMs() < startMs + bucketMs; inBucket++) await write(n, 'one partition')
    }),
  )
  const count = sampleItems - 64
  return {
    diskBytes: Number(size.disk) / sampleItems,
    indexBytes: Number(size.indexes) / sampleItems,
    writeWalBytes: (written.wal - before.wal) / count,
    purgeWalBytes: (swept.wal - full.wal) / removed,
    writeCpuUs: (written.cpu - before.cpu) / count,
    purgeCpuUs: (swept.cpu - full.cpu) / removed,
    vacuumCpuUs: vacuumUs / removed,
    bucketWrites: inBucket / ((machine.monotonicMs() - startMs) / 1000),
  }
}

interface Load {
  readonly name: string
  readonly perWorker: number
  readonly limit: number
  readonly unit: string
}

/** The mean load of each worker. Without growth as many items are written as die. */
function loadsOf(costs: Costs, workers: number): Load[] {
  const rate = deathsPerSecond / workers
  // Twice the living rows: rows that died and were not vacuumed yet, and room to move shards.
  const disk = (2 * (items / workers) * (costs.diskBytes + costs.indexBytes)) / 1e12
  return [
    { name: 'disk', perWorker: disk, limit: worker.diskTb, unit: 'TB' },
    {
      name: 'WAL',
      perWorker: (rate * (costs.writeWalBytes + costs.purgeWalBytes)) / 1e6,
      limit: worker.walMbPerSecond,
      unit: 'MB/s',
    },
    {
      name: 'CPU: writes, purge, vacuum',
      perWorker: (rate * (costs.writeCpuUs + costs.purgeCpuUs + costs.vacuumCpuUs)) / 1e6,
      limit: worker.cores - worker.coresForReads,
      unit: 'cores',
    },
    { name: 'one bucket (of 64)', perWorker: deathsPerSecond / 64, limit: costs.bucketWrites, unit: 'w/s' },
  ]
}

/** One day at one worker, minute by minute, with an outage of ten minutes at the worst time. */
function simulateDays(
  costs: Costs,
  workers: number,
): { worstBacklog: number; worstLagSeconds: number; drainMinutes: number } {
  const minutes = 3 * 24 * 60
  const outage = { from: 24 * 60 + 12 * 60, minutes: 10 }
  const cores = worker.cores - worker.coresForReads
  let backlog = 0
  let worstBacklog = 0
  let worstLagSeconds = 0
  let drained = 0
  for (let minute = 0; minute < minutes; minute++) {
    // Half of the mean by night, one and a half times the mean by day.
    const rate = (deathsPerSecond / workers) * (1 - 0.5 * Math.cos((2 * Math.PI * minute) / (24 * 60)))
    const isAway = minute >= outage.from && minute < outage.from + outage.minutes
    const busyCores = isAway ? 0 : (rate * costs.writeCpuUs) / 1e6
    const spare = isAway ? 0 : Math.max(0, cores - busyCores)
    const purgeRate = (spare * 1e6) / (costs.purgeCpuUs + costs.vacuumCpuUs)
    const walLeft = worker.walMbPerSecond * 1e6 - rate * costs.writeWalBytes
    const possible = isAway ? 0 : Math.max(0, Math.min(purgeRate, walLeft / costs.purgeWalBytes))
    backlog = Math.max(0, backlog + (rate - possible) * 60)
    worstBacklog = Math.max(worstBacklog, backlog)
    worstLagSeconds = Math.max(worstLagSeconds, backlog / rate)
    if (minute >= outage.from && backlog > 0) drained = minute - outage.from + 1
  }
  return { worstBacklog, worstLagSeconds, drainMinutes: drained }
}

const costs = await measure()
const number = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
say(`Measured with ${number(sampleItems)} items of ${bodyBytes} bytes, one item each:`)
say(`  on disk            ${number(costs.diskBytes)} bytes, and ${number(costs.indexBytes)} of indexes`)
say(
  `  WAL                ${number(costs.writeWalBytes)} bytes for the write, ${number(costs.purgeWalBytes)} for ` +
    'the removal',
)
say(
  `  CPU of PostgreSQL  ${number(costs.writeCpuUs)} us for the write, ${number(costs.purgeCpuUs, 1)} us for the ` +
    `removal, ${number(costs.vacuumCpuUs, 1)} us for its vacuum`,
)
say(`  one bucket         ${number(costs.bucketWrites)} writes a second from 256 clients`)
say()
const lifeHours = items / deathsPerSecond / 3600
say(
  `${number(items)} items, ${number(deathsPerSecond)} deaths and as many writes a second: a life of ` +
    `${number(lifeHours, 1)} hours.`,
)
say(
  `A worker: ${worker.cores} cores, ${worker.coresForReads} of them for reads; ${worker.diskTb} TB; ` +
    `${worker.walMbPerSecond} MB of WAL a second.`,
)
say()
say(
  'workers  first to give way                    load    of   backlog at worst   lag s   outage of 10 min ' +
    'caught up after',
)
let chosen: number | undefined
for (let workers = 2; workers <= 512; workers *= 2) {
  const loads = loadsOf(costs, workers)
  const first = loads.toSorted((a, b) => b.perWorker / b.limit - a.perWorker / a.limit)[0]!
  const isEnough = first.perWorker <= first.limit * 0.7
  const days = simulateDays(costs, workers)
  const share = `${number((100 * first.perWorker) / first.limit)} %`
  say(
    `${String(workers).padStart(7)}  ${first.name.padEnd(28)} ${number(first.perWorker, 2).padStart(8)} ` +
      `${first.unit.padEnd(5)} ${share.padStart(6)}   ${number(days.worstBacklog).padStart(15)} ` +
      `${number(days.worstLagSeconds).padStart(7)}` +
      `   ${days.drainMinutes === 0 ? 'never behind' : `${days.drainMinutes} min`}`,
  )
  if (isEnough && chosen === undefined) chosen = workers
  if (chosen !== undefined && workers >= chosen * 2) break
}
say()
if (chosen === undefined) {
  say('No such number of workers is enough.')
} else {
  const perWorker = loadsOf(costs, chosen)
  say(`${chosen} workers keep every load below 70 %:`)
  for (const { name, perWorker: load, limit, unit } of perWorker) {
    say(`  ${name.padEnd(28)} ${number(load, 2).padStart(8)} of ${number(limit)} ${unit}`)
  }
  say(`  ${'shards, 64 buckets'.padEnd(28)} ${number(Math.min(64, chosen * 4)).padStart(8)}`)
  say(`  ${'items in a shard'.padEnd(28)} ${number(items / Math.min(64, chosen * 4)).padStart(8)}`)
  say(
    `  ${'WAL of the cluster, TB a day'.padEnd(28)} ` +
      `${number((deathsPerSecond * (costs.writeWalBytes + costs.purgeWalBytes) * 86_400) / 1e12, 1).padStart(8)}`,
  )
}
