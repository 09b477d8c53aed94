/** How long the answers to one operation took: a histogram as Prometheus has it. */

/** Upper bounds of the buckets in seconds. The last bucket takes the rest. */
export const latencyBoundsS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const

export class Latency {
  /** One more than there are bounds. */
  readonly counts = new Float64Array(latencyBoundsS.length + 1)
  sumS = 0
  count = 0

  add(ms: number): void {
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < latencyBoundsS.length && seconds > latencyBoundsS[bucket]!) bucket++
    this.counts[bucket]!++
    this.sumS += seconds
    this.count++
  }
}
