/**
 * The PostgreSQL store, called through the port, compared with the bare `pg` client: the cost of the promises
 * over plain statements.
 */

import { withContract } from '../../src/adapters/contract.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { bucketOf, keyColumns } from '../../src/adapters/postgres/rows/keys.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import { effectivePartitionKey } from '../../src/document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../src/document/partition-key.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { BarePostgres } from '../bare-postgres.ts'
import { type Finding, figure, median, type Report } from '../report.ts'
import type { Workload } from '../workload.ts'

const clients = 32
const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const
const start = toEpochSeconds(1_000_000)
const text = 'x'.repeat(960)

interface World {
  readonly clock: ManualClock
  readonly store: Store
  readonly container: ContainerRecord
  readonly bare: BarePostgres
  /** Runs one statement beside both. */
  query(text: string): Promise<unknown[]>
}

async function within<T>(work: (world: World) => Promise<T>): Promise<T> {
  await using server = await startPostgres({ isDurable: true })
  const url = await server.createDatabase()
  const clock = new ManualClock(start)
  const onFatal = (error: Error) => {
    throw error
  }
  await using store = withContract(await openPostgres({ url, clock: () => clock, onFatal }))
  await using bare = await BarePostgres.open(url)
  const database = (await store.createDatabase({ id: 'd', rid: 1, throughput: null }))!
  const container = (await store.createContainer(database, {
    ...{ id: 'c', rid: 2, throughput: null, partitionKey, partitionCount: 1, encoding: 'json' },
    ...{ policy: newPolicy(86_400), logSeconds: null, definition: {} },
  }))!
  return await work({ clock, store, container, bare, query: statement => server.query(url, statement) })
}

function partitionOf(n: number, count: number): string {
  return `partition ${n % count}`
}

function keyFor(pk: string, id: string): ItemKey {
  return { epk: effectivePartitionKey(partitionKey, [pk]), pk: canonicalPartitionKey([pk]), id }
}

function write({ store, container }: World, pk: string, id: string): Promise<unknown> {
  const stamps = (['sequence', 'version', 'ts'] as const).map(name => ({
    name,
    print: String,
    form: { before: '', number: 'decimal' as const },
  }))
  const texts = [`{"id":"${id}","pk":"${pk}","text":"${text}","_rid":"`, '","_etag":"', '","_ts":', '}']
  return store.write(container, { kind: 'upsert', key: keyFor(pk, id), ttl: undefined, draft: { texts, stamps } })
}

const bareBody = (pk: string, id: string) =>
  `{"id":"${id}","pk":"${pk}","text":"${text}","_rid":"1234567890","_etag":"1234567890","_ts":1000000}`

/** Operations per second with that many clients, each with one operation in flight. */
async function rate(width: number, forMs: number, operation: (n: number) => Promise<unknown>): Promise<number> {
  const endMs = machine.monotonicMs() + forMs
  let done = 0
  const startMs = machine.monotonicMs()
  await Promise.all(
    Array.from({ length: width }, async (_, client) => {
      for (let n = client; machine.monotonicMs() < endMs; n += width) {
        await operation(n)
        done++
      }
    }),
  )
  return done / ((machine.monotonicMs() - startMs) / 1000)
}

type Measure = () => Promise<number>

interface Measured {
  readonly bare: number[]
  readonly mayfly: number[]
}

/** Runs all of them in turn, after one warm-up round each. */
async function byTurns<Name extends string>(
  rounds: number,
  measures: Readonly<Record<Name, Measure>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(measures) as Name[]
  const measured = {} as Record<Name, number[]>
  for (const name of names) measured[name] = []
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const figure = await measures[name]()
      if (round > 0) measured[name].push(figure)
    }
  }
  return measured
}

function report(title: string, unit: string, measured: Measured, atLeast: number, notes: readonly string[]): Report {
  const finding = { ...comparison(`mayfly / bare pg, ${unit}`, measured), bound: { atLeast } }
  return {
    title,
    columns: ['what', unit],
    rows: [
      ['bare pg', figure(median(measured.bare))],
      ['mayfly', figure(median(measured.mayfly))],
    ],
    findings: [finding],
    notes: [...notes, 'PostgreSQL, client and store share the machine; the store is called through its port'],
  }
}

function comparison(text: string, { bare, mayfly }: Measured): Finding {
  const single = mayfly.map((value, index) => value / bare[index]!)
  return { text, value: median(mayfly) / median(bare), range: [Math.min(...single), Math.max(...single)] }
}

async function fill(world: World, count: number, partitions: number): Promise<void> {
  for (let first = 0; first < count; first += 1000) {
    const ids = Array.from({ length: Math.min(1000, count - first) }, (_, n) => first + n)
    const pks = ids.map(n => partitionOf(n, partitions))
    await Promise.all(ids.map((n, at) => write(world, pks[at]!, `i${n}`)))
    await world.bare.writeMany(
      pks,
      ids.map(n => `i${n}`),
      start,
      ids.map((n, at) => bareBody(pks[at]!, `i${n}`)),
    )
  }
  await world.query('VACUUM ANALYZE')
}

const pointRead: Workload = {
  name: 'point-read',
  run: ({ quick }) =>
    within(async world => {
      const count = quick ? 2000 : 100_000
      const partitions = 1000
      await fill(world, count, partitions)
      const { store, container, bare } = world
      const forMs = quick ? 300 : 3000
      const at = (n: number) => (n * 7919) % count
      const keyAt = (n: number) => keyFor(partitionOf(at(n), partitions), `i${at(n)}`)
      const { plain, ...measured } = await byTurns(quick ? 1 : 5, {
        plain: () => rate(clients, forMs, n => bare.read(partitionOf(at(n), partitions), `i${at(n)}`)),
        bare: () =>
          rate(clients, forMs, n => {
            const key = keyAt(n)
            const { epk, pk, id } = keyColumns(key)
            const bucket = bucketOf(partitionKey, epk)
            return bare.readAsStore([container.number, bucket, epk, pk, id, null, null])
          }),
        mayfly: () =>
          rate(clients, forMs, async n => {
            const { item } = await store.read(container, keyAt(n))
            if (item === undefined) throw new Error('An item is missing.')
          }),
      })
      const whole = report(`point-read: ${clients} clients, ${count} items of 1 KB`, 'reads/s', measured, 0.6, [
        'bare pg: the same select, over as many pipelined connections',
        'row by key alone: a select that knows nothing of time to live',
      ])
      const alone = {
        ...comparison('mayfly / row by key alone, reads/s', { bare: plain, mayfly: measured.mayfly }),
        bound: { atLeast: 0.6 },
      }
      return {
        ...whole,
        rows: [['row by key alone', figure(median(plain))], ...whole.rows],
        findings: [...whole.findings, alone],
      }
    }),
}

const singleWrites: Workload = {
  name: 'write',
  run: ({ quick }) =>
    within(async world => {
      const count = quick ? 2000 : 20_000
      const partitions = count
      await fill(world, count, partitions)
      const forMs = quick ? 300 : 3000
      const at = (n: number) => (n * 7919) % count
      const measured = await byTurns(quick ? 1 : 5, {
        bare: () =>
          rate(clients, forMs, n => {
            const pk = partitionOf(at(n), partitions)
            return world.bare.write(pk, `i${at(n)}`, start, bareBody(pk, `i${at(n)}`))
          }),
        mayfly: () => rate(clients, forMs, n => write(world, partitionOf(at(n), partitions), `i${at(n)}`)),
      })
      return report(`write: ${clients} clients, upserts over ${count} items of 1 KB`, 'writes/s', measured, 0.5, [
        'bare: one upsert for each, a pool of as many connections',
      ])
    }),
}

const groupedWrites: Workload = {
  name: 'grouped-write',
  run: ({ quick }) =>
    within(async world => {
      const count = quick ? 2000 : 20_000
      const partitions = 8
      const width = 1024
      const group = 256
      await fill(world, count, partitions)
      const forMs = quick ? 300 : 3000
      const at = (n: number) => (n * 7919) % count
      let next = 0
      const measured = await byTurns(quick ? 1 : 5, {
        bare: async () =>
          group *
          (await rate(width / group, forMs, () => {
            const ids = Array.from({ length: group }, () => at(next++))
            const pks = ids.map(n => partitionOf(n, partitions))
            const bodies = ids.map((n, k) => bareBody(pks[k]!, `i${n}`))
            return world.bare.writeMany(
              pks,
              ids.map(n => `i${n}`),
              start,
              bodies,
            )
          })),
        mayfly: () => rate(width, forMs, n => write(world, partitionOf(at(n), partitions), `i${at(n)}`)),
      })
      return report(`grouped-write: ${width} clients on ${partitions} partition keys`, 'rows/s', measured, 0.4, [
        `bare: ${group} rows in each statement (unnest), ${width / group} statements at once`,
      ])
    }),
}

const purge: Workload = {
  name: 'purge',
  run: ({ quick }) =>
    within(async world => {
      const { store, container, bare, clock } = world
      const count = quick ? 2000 : 50_000
      const rounds = quick ? 1 : 5
      const measured = { bare: [] as number[], mayfly: [] as number[] }
      for (let round = 0; round <= rounds; round++) {
        await fill(world, count, 1000)
        clock.advance(86_400)
        const sweepMayfly = async () => (await store.sweep(container, sweepRowsMax)).removed
        const sides = [
          { name: 'bare' as const, sweep: () => bare.sweep(clock.now(), sweepRowsMax), removed: 0, ms: 0 },
          { name: 'mayfly' as const, sweep: sweepMayfly, removed: 0, ms: 0 },
        ]
        // Sweep by sweep, so that a checkpoint or a slow phase of the disk affects both.
        while (sides.some(side => side.removed < count)) {
          for (const side of sides) {
            if (side.removed === count) continue
            const startMs = machine.monotonicMs()
            const removed = await side.sweep()
            side.ms += machine.monotonicMs() - startMs
            side.removed += removed
            if (removed === 0) throw new Error(`${side.removed} rows were removed, not ${count}.`)
          }
        }
        if (round > 0) for (const { name, removed, ms } of sides) measured[name].push(removed / (ms / 1000))
      }
      return report(`purge: a backlog of ${count} items of 1 KB`, 'rows/s', measured, 0.6, [
        `bare: the delete that skips locked rows, ${sweepRowsMax} rows at a time; both by turns, sweep by sweep`,
      ])
    }),
}

const defaultChange: Workload = {
  name: 'default-change',
  run: ({ quick }) =>
    within(async world => {
      const { store, container } = world
      const count = quick ? 2000 : 1_000_000
      await fill(world, count, 1000)
      const written =
        'SELECT sum(n_tup_upd)::int AS n FROM pg_stat_user_tables WHERE schemaname = $$mayfly$$ AND relname IN ' +
        '($$items$$, $$containers$$)'
      const updates = async () => {
        await world.query('SELECT pg_stat_force_next_flush()')
        await new Promise(resolve => machine.setTimeout(() => resolve(undefined), 1500))
        return ((await world.query(written)) as { n: number }[])[0]!.n
      }
      const before = await updates()
      const startMs = machine.monotonicMs()
      await store.updateContainer(container, ({ policy }) => ({ policy: { ...policy, defaultTtl: 100_000 } }))
      const ms = machine.monotonicMs() - startMs
      const rows = (await updates()) - before
      return {
        title: `default-change: one change of the default at ${count} items`,
        columns: ['what', 'value'],
        rows: [
          ['ms', figure(ms, 1)],
          ['rows of items and containers written', figure(rows)],
        ],
        findings: [{ text: 'rows written', value: rows, digits: 0, bound: { atMost: 1 } }],
        notes: [],
      }
    }),
}

export const postgresWorkloads: readonly Workload[] = [pointRead, singleWrites, groupedWrites, purge, defaultChange]
