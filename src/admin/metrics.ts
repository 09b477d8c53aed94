/** `/metrics` in the Prometheus text format, and the counters behind it. */

import type { MemoryAccount } from '../base/memory-account.ts'
import type { Engine } from '../engine/engine.ts'
import type { ContainerStatus } from '../ttl/report-shapes.ts'

export class RequestCounters {
  readonly #requests = new Map<number, number>()
  #chargeRu = 0

  count(status: number, chargeRu: number): void {
    this.#requests.set(status, (this.#requests.get(status) ?? 0) + 1)
    this.#chargeRu += chargeRu
  }

  /** All answers. */
  get answers(): number {
    let answers = 0
    for (const count of this.#requests.values()) answers += count
    return answers
  }

  get chargeRu(): number {
    return this.#chargeRu
  }

  get requests(): ReadonlyMap<number, number> {
    return this.#requests
  }
}

interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[]
}

interface Measured {
  readonly engine: Engine
  readonly counters: RequestCounters
  readonly memory: MemoryAccount
}

export async function metricsText({ engine, counters, memory }: Measured): Promise<string> {
  const containers: { labels: Record<string, string>; status: ContainerStatus }[] = []
  for (const database of await engine.catalog.databases()) {
    for (const container of await engine.catalog.containers(database)) {
      const labels = { database: database.id, container: container.id }
      containers.push({ labels, status: await engine.reports.ttlStatus(container) })
    }
  }
  const { moment, sure } = await engine.time()
  const perContainer = (pick: (status: ContainerStatus) => number) =>
    containers.map(({ labels, status }) => ({ labels, value: pick(status) }))
  const metrics: Metric[] = [
    {
      name: 'mayfly_requests_total',
      type: 'counter',
      help: 'Requests answered, by HTTP status. Every answer of the Mongo protocol counts as 200.',
      samples: [...counters.requests].map(([status, value]) => ({ labels: { status: String(status) }, value })),
    },
    {
      name: 'mayfly_request_units_total',
      type: 'counter',
      help: 'Request units charged to requests. Purging charges nobody.',
      samples: [{ value: counters.chargeRu }],
    },
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
  return metrics.map(print).join('')
}

function print({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
    return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
  })
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
