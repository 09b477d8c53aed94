/** Turns the metrics of `/metrics` into those of OTLP. */

import { latencyBoundsS } from '../../admin/metrics/latency.ts'
import type { HistogramMetric, Metric } from '../../admin/metrics/metric.ts'
import { attributes, nanoseconds } from './otlp-values.ts'

/** Counted since the start of the process. */
const cumulative = 2

export function otlpMetric(metric: Metric | HistogramMetric, startMs: number, nowMs: number): object {
  const { name, help: description } = metric
  const times = { startTimeUnixNano: nanoseconds(startMs), timeUnixNano: nanoseconds(nowMs) }
  if (metric.type === 'histogram') {
    const dataPoints = metric.series.map(({ labels, latency }) => ({
      attributes: attributes(labels),
      ...times,
      count: String(latency.count),
      sum: latency.sumS,
      explicitBounds: latencyBoundsS,
      bucketCounts: [...latency.counts].map(String),
    }))
    return { name, description, unit: 's', histogram: { aggregationTemporality: cumulative, dataPoints } }
  }
  const dataPoints = metric.samples.map(({ labels = {}, value }) => ({
    attributes: attributes(labels),
    ...times,
    asDouble: value,
  }))
  return metric.type === 'gauge'
    ? { name, description, gauge: { dataPoints } }
    : { name, description, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } }
}
