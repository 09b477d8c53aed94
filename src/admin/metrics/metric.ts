/** A metric, and how it is printed in the text format of Prometheus. */

import { type Latency, latencyBoundsS } from './latency.ts'

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly samples: readonly Sample[]
}

export interface HistogramMetric {
  readonly name: string
  readonly type: 'histogram'
  readonly help: string
  readonly series: readonly { readonly labels: Readonly<Record<string, string>>; readonly latency: Latency }[]
}

export function printMetric(metric: Metric | HistogramMetric): string {
  const { name, type, help } = metric
  const lines =
    metric.type === 'histogram'
      ? metric.series.flatMap(({ labels, latency }) => printLatency(name, labels, latency))
      : metric.samples.map(sample => printSample(name, sample))
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function printLatency(name: string, labels: Readonly<Record<string, string>>, latency: Latency): string[] {
  let soFar = 0
  const buckets = [...latencyBoundsS, Number.POSITIVE_INFINITY].map((bound, at) => {
    soFar += latency.counts[at]!
    const le = Number.isFinite(bound) ? String(bound) : '+Inf'
    return printSample(`${name}_bucket`, { labels: { ...labels, le }, value: soFar })
  })
  return [
    ...buckets,
    printSample(`${name}_sum`, { labels, value: latency.sumS }),
    printSample(`${name}_count`, { labels, value: latency.count }),
  ]
}

function printSample(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
