/** Traces and metrics arrive at a collector of OpenTelemetry, over a real socket; it may also be away. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { telemetrySettings } from '../../src/server/telemetry/settings.ts'
import { runCli, serveCli } from '../support/run-cli.ts'
import { call } from '../support/signed-request.ts'
import { newClient } from '../support/start-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: the bodies are what the tests look at.
type Body = any

/** `statusOf`: what it answers to a path; undefined if it never answers. */
async function startCollector(statusOf: (path: string) => number | undefined = () => 200) {
  const received: { path: string; headers: NodeJS.Dict<string | string[]>; body: Body }[] = []
  const server = createServer(async (req, res) => {
    let text = ''
    for await (const chunk of req) text += chunk
    received.push({ path: req.url!, headers: req.headers, body: JSON.parse(text) })
    const status = statusOf(req.url!)
    if (status !== undefined) res.writeHead(status).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const of = (path: string) => received.filter(each => each.path === path).map(({ body }) => body)
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    spans: () => of('/v1/traces').flatMap(({ resourceSpans: [each] }) => each.scopeSpans[0].spans),
    metrics: () => of('/v1/metrics').map(({ resourceMetrics: [each] }) => each),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const flags = ['--memory', '--port', '0', '--json']
const attribute = (span: Body, name: string) =>
  span.attributes.find(({ key }: Body) => key === name)?.value.stringValue as string | undefined

test('Requests become spans, those with a traceparent within its trace; metrics come too', async () => {
  await using collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=data%20team,x-secret=for-both',
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-team=metrics',
    OTEL_SERVICE_NAME: 'shop-db',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
  }
  const server = await serveCli(flags, { env })
  const { resource } = await newClient({ endpoint: server.endpoint, key: wellKnownKey }).databases.create({
    id: 'shop',
  })
  assert.equal(resource!.id, 'shop')
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = (sampled: string) => ({ traceparent: `00-${trace}-00f067aa0ba902b7-${sampled}` })
  await call(server.endpoint, 'GET', '/dbs/with-parent', { headers: traceparent('01') })
  await call(server.endpoint, 'GET', '/dbs/not-sampled', { headers: traceparent('00') })
  await call(server.endpoint, 'GET', '/dbs/nonsense', { headers: { traceparent: 'nonsense' } })
  await using mongo = new MongoClient(server.ready.mongoUri)
  await mongo.db('market').collection('carts').insertOne({ a: 1 })
  await mongo.close()
  const { code, stderr } = await server.stop()
  assert.equal(code, 0, stderr)

  const spans = collector.spans()
  const withTarget = (target: string) => spans.filter(span => attribute(span, 'mayfly.target') === target)
  const [child] = withTarget('/dbs/with-parent')
  assert.partialDeepStrictEqual(child, { traceId: trace, parentSpanId: '00f067aa0ba902b7', kind: 2 })
  assert.ok(BigInt(child.endTimeUnixNano) >= BigInt(child.startTimeUnixNano))
  assert.equal(withTarget('/dbs/not-sampled').length, 0)
  assert.notEqual(withTarget('/dbs/nonsense')[0].traceId, trace)
  const names = new Set(spans.map(({ name }: Body) => name))
  for (const name of ['create dbs', 'insert']) assert.ok(names.has(name), name)
  const headersOf = (path: string) => collector.received.find(each => each.path === path)!.headers
  assert.equal(headersOf('/v1/traces')['x-team'], 'data team')
  assert.equal(headersOf('/v1/metrics')['x-team'], 'metrics')
  assert.equal(headersOf('/v1/metrics')['x-secret'], undefined, 'those of one signal replace those of both')

  const last = collector.metrics().at(-1)
  const resourceAttribute = (name: string) => attribute(last.resource, name)
  assert.equal(resourceAttribute('service.name'), 'shop-db')
  assert.equal(resourceAttribute('deployment.environment.name'), 'test')
  assert.match(resourceAttribute('service.instance.id')!, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  const { resourceSpans } = collector.received.find(({ path }) => path === '/v1/traces')!.body
  assert.deepEqual(resourceSpans[0].resource, last.resource, 'one process, one identity')
  const metric = (name: string) => last.scopeMetrics[0].metrics.find((each: Body) => each.name === name)
  assert.ok(metric('mayfly_request_units_total').sum.dataPoints[0].asDouble > 0)
  assert.equal(metric('mayfly_store_up').gauge.dataPoints[0].asDouble, 1)
  for (const { count, bucketCounts, explicitBounds } of metric('mayfly_request_duration_seconds').histogram
    .dataPoints) {
    assert.equal(bucketCounts.length, explicitBounds.length + 1)
    const total = bucketCounts.reduce((sum: number, each: string) => sum + Number(each), 0)
    assert.equal(total, Number(count))
  }
})

test('A collector that refuses or is away is logged once, and requests go on', async () => {
  await using refusing = await startCollector(() => 500)
  await using withoutMetrics = await startCollector(path => (path === '/v1/metrics' ? 404 : 200))
  for (const [url, lines] of [
    [refusing.url, 2],
    ['http://127.0.0.1:1', 2],
    [withoutMetrics.url, 1],
  ] as const) {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_METRIC_EXPORT_INTERVAL: '100' }
    const server = await serveCli(flags, { env })
    // More than leave at once, so that some leave before the end. Without a signature the answer is 401.
    for (let n = 0; n < 600; n++) assert.equal((await call(server.endpoint, 'GET', '/dbs')).status, 401)
    const { code, stderr } = await server.stop()
    assert.equal(code, 0)
    assert.equal(stderr.split('does not take data').length - 1, lines, stderr)
    assert.doesNotMatch(stderr, /takes data again/)
  }
})

test('A collector that never answers gets one request of a kind at a time, and holds the end up for 2 s', async () => {
  await using silent = await startCollector(() => undefined)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: silent.url, OTEL_METRIC_EXPORT_INTERVAL: '100' }
  const server = await serveCli(flags, { env })
  while (silent.received.length === 0) await call(server.endpoint, 'GET', '/dbs')
  const startMs = performance.now()
  const { code, stderr } = await server.stop()
  assert.equal(code, 0, stderr)
  const ms = performance.now() - startMs
  assert.ok(ms >= 1900 && ms < 6000, `${ms} ms`)
  assert.equal(silent.metrics().length, 1)
})

test('A protocol that Mayfly does not speak is replaced by http/json, with a warning', async () => {
  await using collector = await startCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc',
  }
  const server = await serveCli(flags, { env })
  const { code, stderr } = await server.stop()
  assert.equal(code, 0, stderr)
  assert.match(stderr, /OTEL_EXPORTER_OTLP_PROTOCOL asks for http\/protobuf, but traces are sent as http\/json/)
  assert.match(stderr, /OTEL_EXPORTER_OTLP_METRICS_PROTOCOL asks for grpc, but metrics are sent as http\/json/)
  assert.equal(collector.received[0]!.headers['content-type'], 'application/json')
})

test('Without an endpoint nothing is sent; wrong variables are refused, without their values', async () => {
  const read = (environment: NodeJS.ProcessEnv) => telemetrySettings(environment, sentence => assert.fail(sentence))
  assert.equal(read({}), undefined)
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }
  assert.equal(read({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }), undefined)
  const only = read({ ...endpoint, OTEL_METRICS_EXPORTER: 'none' })!
  assert.deepEqual([only.traces?.url, only.metrics], ['http://127.0.0.1:4318/v1/traces', undefined])
  const own = read({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:1/own' })!
  assert.deepEqual([own.traces, own.metrics?.url], [undefined, 'http://127.0.0.1:1/own'])
  const nameFrom = (environment: object) => read({ ...endpoint, ...environment })!.resource['service.name']
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a' }
  assert.deepEqual([{}, attributes, { ...attributes, OTEL_SERVICE_NAME: 'b' }].map(nameFrom), ['mayfly', 'a', 'b'])
  const quarter = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }
  assert.deepEqual(read({ ...endpoint, ...quarter })!.sampling, { followsParent: true, ratio: 0.25 })
  const wrong: readonly NodeJS.ProcessEnv[] = [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://me:secret@127.0.0.1:4318/v1/traces' },
    { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'carrier-pigeon' },
    { ...endpoint, OTEL_TRACES_SAMPLER: 'sometimes' },
    { ...endpoint, OTEL_TRACES_SAMPLER_ARG: '2' },
    { ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: 'soon' },
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=%secret' },
  ]
  for (const environment of wrong) {
    assert.throws(() => read(environment), { kind: 'malformed', message: /^The variable OTEL_\w+ takes / })
    assert.throws(
      () => read(environment),
      error => !(error as Error).message.includes('secret'),
    )
  }
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }
  const { code, stderr } = await runCli(flags, { env })
  assert.equal(code, 1)
  assert.match(stderr, /^mayfly: The variable OTEL_EXPORTER_OTLP_ENDPOINT takes a URL/m)
})
