/** `/metrics` in the text format of Prometheus. It answers also while the store is away. */

import { machine } from '../../base/clock.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ContainerStatus } from '../../ttl/report-shapes.ts'
import { type HistogramMetric, type Metric, printMetric } from './metric.ts'
import { processMetrics } from './process-metrics.ts'
import type { RequestCounters } from './request-counters.ts'

/** A store that has not answered by then counts as away. Prometheus waits 10 s for all metrics. */
const storeMsMax = 3000

export interface MetricsContext {
  readonly engine: Engine
  readonly counters: RequestCounters
  readonly memory: MemoryAccount
  readonly version: string
  readonly storeName: string
  /** The state of the Mongo side; undefined if no client has come yet. */
  readonly mongoState: () => MongoState | undefined
  /** Connections to the store, by their state; undefined if it has none. */
  readonly storeConnections: () => Readonly<Record<string, number>> | undefined
}

export interface MongoState {
  readonly connections: number
  readonly cursors: number
  readonly sessions: number
}

export async function metricsText(context: MetricsContext): Promise<string> {
  return (await collectMetrics(context)).map(printMetric).join('')
}

export async function collectMetrics(context: MetricsContext): Promise<readonly (Metric | HistogramMetric)[]> {
  const stored = await storeMetrics(context.engine)
  return [
    buildInfo(context),
    {
      name: 'mayfly_store_up',
      type: 'gauge',
      help: '1 if the store answers. 0: what it knows is missing below.',
      samples: [{ value: stored === undefined ? 0 : 1 }],
    } as const,
    ...requestMetrics(context.counters),
    ...(stored ?? []),
    ...memoryMetrics(context.memory),
    ...connectionMetrics(context),
    ...processMetrics(),
  ]
}

function buildInfo({ version, storeName }: MetricsContext): Metric {
  const labels = { version, node: process.versions.node, store: storeName }
  return { name: 'mayfly_build_info', type: 'gauge', help: 'What is running.', samples: [{ labels, value: 1 }] }
}

function requestMetrics(counters: RequestCounters): (Metric | HistogramMetric)[] {
  return [
    {
      name: 'mayfly_requests_total',
      type: 'counter',
      help: 'Requests answered, by HTTP status. Every answer of the Mongo protocol counts as 200.',
      samples: [...counters.requests].map(([status, value]) => ({ labels: { status: String(status) }, value })),
    },
    {
      name: 'mayfly_mongo_answers_total',
      type: 'counter',
      help: 'Mongo commands answered, by error code. 0 is success.',
      samples: [...counters.mongoCodes].map(([code, value]) => ({ labels: { code: String(code) }, value })),
    },
    {
      name: 'mayfly_request_duration_seconds',
      type: 'histogram',
      help: 'Time from the arrival of a request to its answer.',
      series: [...counters.latencies()],
    },
    {
      name: 'mayfly_request_units_total',
      type: 'counter',
      help: 'Request units charged to requests. Purging charges nobody.',
      samples: [{ value: counters.chargeRu }],
    },
  ]
}

/** Undefined if the store does not answer. */
async function storeMetrics(engine: Engine): Promise<Metric[] | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const limit = machine.setTimeout(() => resolve(undefined), storeMsMax)
  try {
    return await Promise.race([askStore(engine), late])
  } catch {
    return undefined
  } finally {
    machine.clearTimeout(limit)
  }
}

async function askStore(engine: Engine): Promise<Metric[]> {
  const { moment, sure } = await engine.time()
  const containers: { labels: Record<string, string>; status: ContainerStatus }[] = []
  for (const database of await engine.catalog.databases()) {
    for (const container of await engine.catalog.containers(database)) {
      const labels = { database: database.id, container: container.id }
      containers.push({ labels, status: await engine.reports.ttlStatus(container) })
    }
  }
  const perContainer = (pick: (status: ContainerStatus) => number) =>
    containers.map(({ labels, status }) => ({ labels, value: pick(status) }))
  return [
    {
      name: 'mayfly_items_living',
      type: 'gauge',
      help: 'Items that are alive.',
      samples: perContainer(status => status.living),
    },
    {
      name: 'mayfly_items_backlog',
      type: 'gauge',
      help: 'Items that are dead, invisible, and not yet removed.',
      samples: perContainer(status => status.backlog),
    },
    {
      name: 'mayfly_purge_lag_seconds',
      type: 'gauge',
      help: 'How long the oldest item of the backlog has been dead.',
      samples: perContainer(status => status.lagSeconds),
    },
    {
      name: 'mayfly_items_purged_total',
      type: 'counter',
      help: 'Dead items removed since the start.',
      samples: perContainer(status => status.purged),
    },
    {
      name: 'mayfly_purge_paused',
      type: 'gauge',
      help: '1 while the purger is paused.',
      samples: [{ value: engine.purger.isPaused ? 1 : 0 }],
    },
    {
      name: 'mayfly_clock_doubt_seconds',
      type: 'gauge',
      help: 'By how much item time is ahead of sure time. Above 0, what died in between is not removed.',
      samples: [{ value: moment - sure }],
    },
  ]
}

function memoryMetrics(memory: MemoryAccount): Metric[] {
  return [
    {
      name: 'mayfly_memory_held_bytes',
      type: 'gauge',
      help: 'Bytes that are held for requests, by what they are for.',
      samples: Object.entries(memory.heldByKind()).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    {
      name: 'mayfly_memory_held_bytes_max',
      type: 'gauge',
      help: 'Bytes that may be held for requests: half of the memory budget.',
      samples: [{ value: memory.bytesMax }],
    },
  ]
}

function connectionMetrics({ mongoState, storeConnections }: MetricsContext): Metric[] {
  const { connections = 0, cursors = 0, sessions = 0 } = mongoState() ?? {}
  const gauge = (name: string, help: string, samples: Metric['samples']): Metric => ({
    name,
    type: 'gauge',
    help,
    samples,
  })
  const pool = storeConnections()
  const poolSamples = Object.entries(pool ?? {}).map(([state, value]) => ({ labels: { state }, value }))
  return [
    gauge('mayfly_mongo_connections', 'Open connections of Mongo clients.', [{ value: connections }]),
    gauge('mayfly_mongo_cursors', 'Open cursors.', [{ value: cursors }]),
    gauge('mayfly_mongo_sessions', 'Sessions of Mongo clients.', [{ value: sessions }]),
    ...(pool === undefined
      ? []
      : [gauge('mayfly_store_connections', 'Connections to PostgreSQL, and requests that wait for one.', poolSamples)]),
  ]
}
