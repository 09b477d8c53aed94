/** Dashboard, alerts and docs/monitoring.md name metrics that a server has; the page names all of them. */

import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import { MongoClient } from 'mongodb'
import { parse } from 'yaml'
import { mayfly } from '../../src/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Family, parsePrometheus } from '../support/prometheus.ts'
import { call } from '../support/signed-request.ts'
import { textOf } from '../support/source-tree.ts'
import { testServer } from '../support/start-server.ts'

/** What a server on PostgreSQL answers after requests of both protocols, and after the death of an item. */
async function scrapeAfterRequests(): Promise<Map<string, Family>> {
  await using postgres = await startPostgres()
  await using db = await mayfly({ clock: 'manual', store: await postgres.createDatabase() })
  const container = await testServer(db).newContainer({ defaultTtl: 10 })
  await container.items.create({ id: 'a', pk: 'a' })
  await using mongo = new MongoClient(db.mongoUri)
  const pets = mongo.db('zoo').collection<{ _id: number }>('pets')
  await pets.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3 }])
  await assert.rejects(pets.findOne({ $bad: 1 }), { code: 2 })
  // The cursor and its session stay open.
  await pets.find().batchSize(1).next()
  await db.clock.advance('10s')
  await db.purge()
  const scrape = async () => (await call(db.endpoint, 'GET', '/metrics')).text
  // The lag of the event loop is measured from one look to the next.
  await scrape()
  return parsePrometheus(await scrape())
}

let sent: Map<string, Family>
before(async () => {
  sent = await scrapeAfterRequests()
})

const labelsOf = (name: string) => {
  const labels = sent.get(name)!.samples.flatMap(sample => Object.keys(sample.labels))
  return [...new Set(labels)]
}

/** The labels that Prometheus itself gives to what it reads. */
const ofPrometheus = ['instance', 'job']

/** The names of metrics in an expression of PromQL, as the families that they belong to. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '')
  const names = [...bare.matchAll(/[a-zA-Z_:][\w:]*(?![\w:]| *\()/g)].map(([name]) => name)
  return names.filter(name => !/^(and|or|unless)$/.test(name)).map(name => name.replace(/_(bucket|sum|count)$/, ''))
}

/** Labels that an expression asks for by their names. */
function labelsIn(expression: string): string[] {
  const grouped = [...expression.matchAll(/\b(?:by|on) *\(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/ *, */))
  const matched = [...expression.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label!)
  return [...grouped, ...matched]
}

interface Shown {
  readonly expression: string
  /** Text with labels of the metric in it. */
  readonly legend: string
}

const dashboard = JSON.parse(textOf('examples/grafana/mayfly.json'))
const panels: Shown[] = dashboard.panels.flatMap(
  ({ targets }: { targets: { expr: string; legendFormat?: string }[] }) =>
    targets.map(({ expr, legendFormat = '' }) => ({ expression: expr, legend: legendFormat })),
)
const { groups } = parse(textOf('examples/grafana/alerts.yml'))
const alerts: Shown[] = groups.flatMap(({ rules }: { rules: { expr: string; annotations: { summary: string } }[] }) =>
  rules.map(({ expr, annotations }) => ({ expression: expr, legend: annotations.summary })),
)

for (const { expression, legend } of [...panels, ...alerts]) {
  test(`the server has what is asked for by ${expression}`, () => {
    const metrics = metricsIn(expression)
    assert.ok(metrics.length > 0)
    assert.deepEqual(
      metrics.filter(name => !sent.has(name)),
      [],
    )
    const known = [...ofPrometheus, ...metrics.flatMap(labelsOf)]
    const inLegend = [...legend.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g)].map(([, label]) => label!)
    assert.deepEqual(
      [...labelsIn(expression), ...inLegend].filter(label => !known.includes(label)),
      [],
    )
  })
}

const rows = textOf('docs/monitoring.md').match(/^\| `.*$/gm)!
const documented = rows.flatMap(row => [...row.split('|')[1]!.matchAll(/`(\w+)(?:\{([\w,]+)\})?`/g)])

test('docs/monitoring.md lists exactly the metrics that the server sends', () => {
  assert.deepEqual(documented.map(([, name]) => name).toSorted(), [...sent.keys()].toSorted())
})

test('docs/monitoring.md has the labels of each metric', () => {
  for (const [, name, labels = ''] of documented) {
    const own = labelsOf(name!).filter(label => label !== 'le')
    assert.deepEqual(labels.split(',').filter(Boolean).toSorted(), own.toSorted(), name)
  }
})

test('each metric has a value after requests of both protocols', () => {
  const empty = [...sent].filter(([, { samples }]) => samples.length === 0)
  assert.deepEqual(empty, [])
  const measured = (name: string, labels: Readonly<Record<string, string>>) => {
    const isAsked = (own: Readonly<Record<string, string>>) =>
      Object.entries(labels).every(([label, value]) => own[label] === value)
    return sent.get(name)!.samples.find(sample => isAsked(sample.labels))?.value
  }
  assert.equal(measured('mayfly_mongo_answers_total', { code: '2' }), 1)
  assert.equal(measured('mayfly_mongo_cursors', {}), 1)
  assert.equal(measured('mayfly_items_purged_total', { container: 'items' }), 1)
  for (const name of ['mayfly_mongo_connections', 'mayfly_mongo_sessions', 'mayfly_memory_held_bytes_max']) {
    assert.ok(measured(name, {})! >= 1, name)
  }
  for (const name of ['process_open_fds', 'process_resident_memory_bytes', 'nodejs_heap_size_used_bytes']) {
    if (sent.has(name)) assert.ok(measured(name, {})! > 1, name)
  }
  const { samples } = sent.get('mayfly_request_duration_seconds')!
  for (const [protocol, operation] of [
    ['nosql', 'create docs'],
    ['mongo', 'insert'],
  ]) {
    const own = samples.filter(({ labels }) => labels.protocol === protocol && labels.operation === operation)
    assert.ok(own.length > 3 && own.some(({ value }) => value > 0), protocol)
  }
})
