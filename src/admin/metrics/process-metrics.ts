/** Metrics of the process: memory, processor, open files, and the delay of its event loop. */

import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { machine } from '../../base/clock.ts'
import type { Metric } from './metric.ts'

/** How often the event loop is looked at. Shorter intervals cost more. */
const resolutionMs = 20

/** Begins with the first request for metrics, so that other servers pay nothing. */
let delays: ReturnType<typeof monitorEventLoopDelay> | undefined

const startedS = machine.epochMs() / 1000 - process.uptime()

/** The names are those of Prometheus' own clients, so that common dashboards find them. */
export function processMetrics(): Metric[] {
  const memory = process.memoryUsage()
  const processor = process.cpuUsage()
  const late = loopDelays()
  const gauge = (name: string, help: string, value: number): Metric => ({
    name,
    type: 'gauge',
    help,
    samples: [{ value }],
  })
  return [
    {
      name: 'process_cpu_seconds_total',
      type: 'counter',
      help: 'Processor time that the process has used.',
      samples: [{ value: (processor.user + processor.system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Memory that the process occupies.', memory.rss),
    gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', startedS),
    ...openFiles(gauge),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript objects of the main thread.', memory.heapUsed),
    gauge('nodejs_external_memory_bytes', 'Buffers and other memory outside of the heap.', memory.external),
    {
      name: 'nodejs_eventloop_lag_seconds',
      type: 'gauge',
      help: 'How late the event loop was since the last look at the metrics, by quantile.',
      samples: late,
    },
  ]
}

function loopDelays(): Metric['samples'] {
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution: resolutionMs })
    delays.enable()
    return []
  }
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000)
  const samples = [50, 99, 100].map(percent => ({
    labels: { quantile: String(percent / 100) },
    value: seconds(delays!.percentile(percent)),
  }))
  delays.reset()
  return samples
}

/** Only Linux tells it at a low cost. */
function openFiles(gauge: (name: string, help: string, value: number) => Metric): Metric[] {
  try {
    return [gauge('process_open_fds', 'Open files and sockets.', readdirSync('/proc/self/fd').length)]
  } catch {
    return []
  }
}
