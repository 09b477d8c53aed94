/**
 * Where traces and metrics are sent, by the standard variables of OpenTelemetry. Without an endpoint nothing
 * is sent.
 */

import { RequestError } from '../../base/error.ts'

export interface Sampling {
  /** If the client has decided whether its trace is kept, we decide the same for our part of it. */
  readonly followsParent: boolean
  /** The share of other traces that is kept. */
  readonly ratio: number
}

/** Where one kind of data goes. */
export interface SignalTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export interface TelemetrySettings {
  /** Undefined if none are sent. */
  readonly traces: SignalTarget | undefined
  readonly metrics: SignalTarget | undefined
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

/** The protocols of OTLP that Mayfly does not speak. Collectors that speak them usually take JSON, too. */
const otherProtocols = ['http/protobuf', 'grpc']

/** Undefined if nothing is to be sent. `warn` hears what is done otherwise than the variables say. */
export function telemetrySettings(
  environment: NodeJS.ProcessEnv,
  warn: (sentence: string) => void,
): TelemetrySettings | undefined {
  const get = (name: string) => environment[`OTEL_${name}`] || undefined
  if (get('SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const traces = signalTarget('TRACES', get, warn)
  const metrics = signalTarget('METRICS', get, warn)
  if (traces === undefined && metrics === undefined) return undefined
  const sampler = samplers[get('TRACES_SAMPLER') ?? 'parentbased_always_on']
  if (sampler === undefined) throw refused('TRACES_SAMPLER', Object.keys(samplers).join(', '))
  const serviceName = get('SERVICE_NAME')
  return {
    traces,
    metrics,
    resource: {
      'service.name': 'mayfly',
      ...pairs(get('RESOURCE_ATTRIBUTES'), 'RESOURCE_ATTRIBUTES'),
      ...(serviceName !== undefined && { 'service.name': serviceName }),
    },
    sampling: sampler(numberOf(get('TRACES_SAMPLER_ARG') ?? '1', 'TRACES_SAMPLER_ARG', 0, 1)),
    metricsIntervalMs: numberOf(get('METRIC_EXPORT_INTERVAL') ?? '60000', 'METRIC_EXPORT_INTERVAL', 100, 86_400_000),
  }
}

/** A variable for one signal counts more than the one for both, and replaces it. */
function signalTarget(
  signal: 'TRACES' | 'METRICS',
  get: (name: string) => string | undefined,
  warn: (sentence: string) => void,
): SignalTarget | undefined {
  if (get(`${signal}_EXPORTER`) === 'none') return undefined
  const nameOf = (option: string) => {
    const own = `EXPORTER_OTLP_${signal}_${option}`
    return get(own) === undefined ? `EXPORTER_OTLP_${option}` : own
  }
  const endpoint = nameOf('ENDPOINT')
  const given = get(endpoint)
  if (given === undefined) return undefined
  const isForBoth = endpoint === 'EXPORTER_OTLP_ENDPOINT'
  const url = isForBoth ? `${given.replace(/\/$/, '')}/v1/${signal.toLowerCase()}` : given
  const { protocol, username, password } = URL.parse(url) ?? {}
  if ((protocol !== 'http:' && protocol !== 'https:') || username || password) {
    throw refused(endpoint, 'a URL that begins with http:// or https://, without a user name')
  }
  const asked = get(nameOf('PROTOCOL')) ?? 'http/json'
  if (otherProtocols.includes(asked)) {
    warn(
      `OTEL_${nameOf('PROTOCOL')} asks for ${asked}, but ${signal.toLowerCase()} are sent as http/json. Collectors ` +
        'take it on port 4318.',
    )
  } else if (asked !== 'http/json') {
    throw refused(nameOf('PROTOCOL'), ['http/json', ...otherProtocols].join(', '))
  }
  return { url, headers: pairs(get(nameOf('HEADERS')), nameOf('HEADERS')) }
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

/** Never shows the value, because headers have secrets. */
function refused(name: string, wanted: string): RequestError {
  return new RequestError('malformed', `The variable OTEL_${name} takes ${wanted}.`)
}
