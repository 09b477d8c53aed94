/**
 * Sends traces and metrics to a collector of OpenTelemetry (OTLP over HTTP, as JSON).
 *
 * Spans wait in a bounded queue and leave together. A collector that is away or slow costs spans, never
 * requests: what does not fit is dropped. It is logged once when sending fails, and once when it works again.
 */

import type { HistogramMetric, Metric } from '../../admin/metrics/metric.ts'
import type { Answered } from '../../base/answered.ts'
import { machine } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { otlpMetric } from './metric-points.ts'
import { attributes } from './otlp-values.ts'
import type { TelemetrySettings } from './settings.ts'
import { spanOf, type TraceSpan } from './spans.ts'

/** The defaults of OpenTelemetry's batches. */
const spansHeldMax = 2048
const spansAtOnceMax = 512
const spansDelayMs = 5000

/** A collector that takes longer is away. */
const sendMsMax = 10_000

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
  readonly #startMs = machine.epochMs()
  readonly #timers: NodeJS.Timeout[] = []
  #spans: TraceSpan[] = []
  #sending: Promise<void> = Promise.resolve()
  #hasFailed = false

  constructor(settings: TelemetrySettings, { version, collect, log }: TelemetrySources) {
    this.#settings = settings
    this.#scope = { name: 'mayfly', version }
    this.#collect = collect
    this.#log = log
    const every = (ms: number, work: () => Promise<void>) => {
      const timer = machine.setInterval(() => {
        this.#sending = this.#sending.then(work)
      }, ms)
      timer.unref()
      this.#timers.push(timer)
    }
    if (settings.tracesUrl !== undefined) every(spansDelayMs, () => this.#sendSpans())
    if (settings.metricsUrl !== undefined) every(settings.metricsIntervalMs, () => this.#sendMetrics())
  }

  readonly observe = (answered: Answered): void => {
    if (this.#settings.tracesUrl === undefined || this.#spans.length >= spansHeldMax) return
    const span = spanOf(answered, machine.epochMs(), this.#settings.sampling)
    if (span === undefined) return
    this.#spans.push(span)
    if (this.#spans.length === spansAtOnceMax) this.#sending = this.#sending.then(() => this.#sendSpans())
  }

  /** Sends what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) machine.clearInterval(timer)
    await this.#sending
    await this.#sendSpans()
    await this.#sendMetrics()
  }

  async #sendSpans(): Promise<void> {
    const { tracesUrl } = this.#settings
    const spans = this.#spans
    if (tracesUrl === undefined || spans.length === 0) return
    this.#spans = []
    await this.#send(tracesUrl, { resourceSpans: [{ ...this.#resource, scopeSpans: [{ scope: this.#scope, spans }] }] })
  }

  async #sendMetrics(): Promise<void> {
    const { metricsUrl } = this.#settings
    if (metricsUrl === undefined) return
    const now = machine.epochMs()
    const metrics = (await this.#collect()).map(metric => otlpMetric(metric, this.#startMs, now))
    const scopeMetrics = [{ scope: this.#scope, metrics }]
    await this.#send(metricsUrl, { resourceMetrics: [{ ...this.#resource, scopeMetrics }] })
  }

  get #resource() {
    return {
      resource: { attributes: attributes({ ...this.#settings.resource, 'service.version': this.#scope.version }) },
    }
  }

  async #send(url: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json', ...this.#settings.headers }
    try {
      const signal = AbortSignal.timeout(sendMsMax)
      const answer = await fetch(url, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal,
        redirect: 'error',
      })
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`it answers ${answer.status}`)
      if (this.#hasFailed) this.#log.info({ url }, 'the OpenTelemetry collector takes data again')
      this.#hasFailed = false
    } catch (error) {
      const reason =
        error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error)
      if (!this.#hasFailed) this.#log.warn({ url, reason }, 'the OpenTelemetry collector does not take data')
      this.#hasFailed = true
    }
  }
}
