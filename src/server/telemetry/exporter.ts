/**
 * Sends traces and metrics to a collector of OpenTelemetry (OTLP over HTTP, as JSON).
 *
 * Spans wait in a bounded queue and leave together. A collector that is away or slow costs spans, never
 * requests: what does not fit is dropped. For traces and for metrics it is logged once when sending fails,
 * and once when it works again.
 */

import { randomUUID } from 'node:crypto'
import type { HistogramMetric, Metric } from '../../admin/metrics/metric.ts'
import type { Answered } from '../../base/answered.ts'
import { machine } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { otlpMetric } from './metric-points.ts'
import { attributes } from './otlp-values.ts'
import type { SignalTarget, TelemetrySettings } from './settings.ts'
import { spanOf, type TraceSpan } from './spans.ts'

/** The defaults of OpenTelemetry's batches. */
const spansHeldMax = 2048
const spansAtOnceMax = 512
const spansDelayMs = 5000

/** A collector that takes longer is away. */
const sendMsMax = 10_000

/** For everything that is left when the server stops: a collector must not hold it up. */
const lastSendsMsMax = 2000

export interface TelemetrySources {
  readonly version: string
  readonly collect: () => Promise<readonly (Metric | HistogramMetric)[]>
  readonly log: Logger
}

export class TelemetryExporter implements AsyncDisposable {
  readonly #settings: TelemetrySettings
  readonly #collect: () => Promise<readonly (Metric | HistogramMetric)[]>
  readonly #log: Logger
  readonly #scope: { readonly name: string; readonly version: string }
  readonly #resource: object
  readonly #startMs = machine.epochMs()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #ending = new AbortController()
  #spans: TraceSpan[] = []
  /**
   * What is being sent, by its target. One request at a time: a slow collector must not get more and more of
   * them.
   */
  readonly #sending = new Map<SignalTarget, Promise<void>>()
  /** Targets to which the last request failed. */
  readonly #failing = new Set<SignalTarget>()

  constructor(settings: TelemetrySettings, { version, collect, log }: TelemetrySources) {
    this.#settings = settings
    this.#scope = { name: 'mayfly', version }
    const own = { 'service.version': version, 'service.instance.id': randomUUID() }
    this.#resource = { resource: { attributes: attributes({ ...own, ...settings.resource }) } }
    this.#collect = collect
    this.#log = log
    const { traces, metrics, metricsIntervalMs } = settings
    const every = (ms: number, work: () => void) => {
      const timer = machine.setInterval(work, ms)
      timer.unref()
      this.#timers.push(timer)
    }
    if (traces !== undefined) every(spansDelayMs, () => this.#sendSpans(traces))
    if (metrics !== undefined) every(metricsIntervalMs, () => this.#sendMetrics(metrics))
  }

  readonly observe = (answered: Answered): void => {
    const { traces, sampling } = this.#settings
    if (traces === undefined || this.#spans.length >= spansHeldMax) return
    const span = spanOf(answered, machine.epochMs(), sampling)
    if (span === undefined) return
    this.#spans.push(span)
    if (this.#spans.length >= spansAtOnceMax) this.#sendSpans(traces)
  }

  /** Sends what is left, and gives up what takes too long. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) machine.clearInterval(timer)
    const { promise: isOver, resolve } = Promise.withResolvers<void>()
    const timer = machine.setTimeout(() => {
      this.#ending.abort(new Error('it took too long when the server stopped'))
      resolve()
    }, lastSendsMsMax)
    const { traces, metrics } = this.#settings
    const sendLast = async () => {
      await Promise.all(this.#sending.values())
      if (traces !== undefined) this.#sendSpans(traces)
      if (metrics !== undefined) this.#sendMetrics(metrics)
      await Promise.all(this.#sending.values())
    }
    await Promise.race([sendLast(), isOver])
    machine.clearTimeout(timer)
  }

  #sendSpans(target: SignalTarget): void {
    if (this.#spans.length === 0) return
    this.#send(target, async () => {
      const spans = this.#spans
      this.#spans = []
      return { resourceSpans: [{ ...this.#resource, scopeSpans: [{ scope: this.#scope, spans }] }] }
    })
  }

  #sendMetrics(target: SignalTarget): void {
    this.#send(target, async () => {
      const now = machine.epochMs()
      const metrics = (await this.#collect()).map(metric => otlpMetric(metric, this.#startMs, now))
      const scopeMetrics = [{ scope: this.#scope, metrics }]
      return { resourceMetrics: [{ ...this.#resource, scopeMetrics }] }
    })
  }

  /** Does nothing if the target has not answered the last request. */
  #send(target: SignalTarget, makeBody: () => Promise<object>): void {
    if (this.#sending.has(target)) return
    const sent = this.#post(target, makeBody).finally(() => this.#sending.delete(target))
    this.#sending.set(target, sent)
  }

  async #post(target: SignalTarget, makeBody: () => Promise<object>): Promise<void> {
    const { url, headers } = target
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(await makeBody()),
        signal: AbortSignal.any([AbortSignal.timeout(sendMsMax), this.#ending.signal]),
        redirect: 'error',
      })
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`it answers ${answer.status}`)
      if (this.#failing.delete(target)) this.#log.info({ url }, 'the OpenTelemetry collector takes data again')
    } catch (error) {
      const reason =
        error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error)
      if (!this.#failing.has(target)) this.#log.warn({ url, reason }, 'the OpenTelemetry collector does not take data')
      this.#failing.add(target)
    }
  }
}
