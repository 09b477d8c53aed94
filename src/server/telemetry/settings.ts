/**
 * Where traces and metrics are sent, by the standard variables of OpenTelemetry. Without an endpoint nothing
 * is sent.
 */

import { RequestError } from '../../base/error.ts'

export interface Sampling {
  /** A client that decided for its trace has decided for our part of it. */
  readonly followsParent: boolean
  /** The share of other traces that is kept. */
  readonly ratio: number
}

export interface TelemetrySettings {
  readonly tracesUrl: string | undefined
  readonly metricsUrl: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Attributes of the process that everything comes from. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: Sampling
  readonly metricsIntervalMs: number
}

const samplers: Readonly<Record<string, (ratio: number) => Sampling>> = {
  always_on: () => ({ followsParent: false, ratio: 1 }),
  always_off: () => ({ followsParent: false, ratio: 0 }),
  traceidratio: ratio => ({ followsParent: false, ratio }),
  parentbased_always_on: () => ({ followsParent: true, ratio: 1 }),
  parentbased_always_off: () => ({ followsParent: true, ratio: 0 }),
  parentbased_traceidratio: ratio => ({ followsParent: true, ratio }),
}

/** Undefined if nothing is to be sent. */
export function telemetrySettings(environment: NodeJS.ProcessEnv): TelemetrySettings | undefined {
  const get = (name: string) => environment[`OTEL_${name}`] || undefined
  if (get('SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const base = get('EXPORTER_OTLP_ENDPOINT')?.replace(/\/$/, '')
  const urlOf = (signal: 'TRACES' | 'METRICS') => {
    if (get(`${signal}_EXPORTER`) === 'none') return undefined
    const url = get(`EXPORTER_OTLP_${signal}_ENDPOINT`) ?? (base && `${base}/v1/${signal.toLowerCase()}`)
    if (url !== undefined && !/^https?:\/\//.test(url))
      throw refused('EXPORTER_OTLP_ENDPOINT', 'a URL that begins with http://')
    return url
  }
  const [tracesUrl, metricsUrl] = [urlOf('TRACES'), urlOf('METRICS')]
  if (tracesUrl === undefined && metricsUrl === undefined) return undefined
  const protocol = get('EXPORTER_OTLP_PROTOCOL') ?? 'http/json'
  if (protocol !== 'http/json') throw refused('EXPORTER_OTLP_PROTOCOL', 'http/json, which collectors take on port 4318')
  const sampler = samplers[get('TRACES_SAMPLER') ?? 'parentbased_always_on']
  if (sampler === undefined) throw refused('TRACES_SAMPLER', Object.keys(samplers).join(', '))
  return {
    tracesUrl,
    metricsUrl,
    headers: pairs(get('EXPORTER_OTLP_HEADERS'), 'EXPORTER_OTLP_HEADERS'),
    resource: {
      'service.name': get('SERVICE_NAME') ?? 'mayfly',
      ...pairs(get('RESOURCE_ATTRIBUTES'), 'RESOURCE_ATTRIBUTES'),
    },
    sampling: sampler(numberOf(get('TRACES_SAMPLER_ARG') ?? '1', 'TRACES_SAMPLER_ARG', 0, 1)),
    metricsIntervalMs: numberOf(get('METRIC_EXPORT_INTERVAL') ?? '60000', 'METRIC_EXPORT_INTERVAL', 100, 86_400_000),
  }
}

/** `name=value,other=value`, with escapes as in URLs. */
function pairs(text: string | undefined, name: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const pair of text === undefined ? [] : text.split(',')) {
    const [, key, value] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? []
    if (key === undefined) throw refused(name, 'name=value pairs with commas between them')
    found[key] = unescaped(value!.trim(), name)
  }
  return found
}

function unescaped(text: string, name: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused(name, 'values that are escaped as in URLs')
  }
}

function numberOf(text: string, name: string, min: number, max: number): number {
  const number = Number(text)
  if (number >= min && number <= max) return number
  throw refused(name, `a number from ${min} to ${max}`)
}

/** Never with the value: headers have secrets. */
function refused(name: string, wanted: string): RequestError {
  return new RequestError('malformed', `The variable OTEL_${name} takes ${wanted}.`)
}
