/** Compares this checkout with another one in turn: how a change affects the speed of common operations. */

import type { LoadOrder } from '../load.ts'
import { DOCUMENT_BYTES, documentId } from '../mongo-documents.ts'
import { fillMongo, sampleReply } from '../mongo-fill.ts'
import { findOne, type MongoInserts, mongoSource } from '../mongo-requests.ts'
import type { Load, ServerProcess } from '../processes.ts'
import { Clients, itemRequest, queryItem, queryRequest } from '../query-items.ts'
import { type Finding, figure, median } from '../report.ts'
import {
  createContainer,
  createDatabase,
  scratchFolder,
  startMayfly,
  startMayflyMongo,
  startOtherMayfly,
} from '../targets.ts'
import { compare, fill, interleave, type Target, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Context, Workload } from '../workload.ts'
import { createLatency } from './create-latency.ts'

const HERE = 'this checkout'
const OTHER = 'the other'
const CONTAINER = 'items'
const ITEM_BYTES = 1024

type Order = Pick<LoadOrder, 'requests' | 'answers'>

interface Comparison {
  readonly name: string
  readonly isMongo?: boolean
  /** Fills a server and says what to ask of it; `done` counts what was asked before. */
  prepare(load: Load, server: ServerProcess, quick: boolean): Promise<(done: number) => Order>
}

const comparisons: readonly Comparison[] = [
  {
    name: 'point-read',
    async prepare(load, server, quick) {
      const items = quick ? 2_000 : 100_000
      await createItems(server)
      await fill(load, server, { container: CONTAINER, count: items, bytes: ITEM_BYTES })
      return () => ({ requests: { kind: 'read', container: CONTAINER, items }, answers: { status: 200 } })
    },
  },
  {
    name: 'create',
    async prepare(_, server) {
      await createItems(server)
      return done => ({
        requests: { kind: 'create', container: CONTAINER, firstItem: done, bytes: ITEM_BYTES },
        answers: { status: 201 },
      })
    },
  },
  {
    name: 'mongo-find-one',
    isMongo: true,
    async prepare(load, server, quick) {
      const documents = quick ? 2_000 : 100_000
      await fillMongo(load, server, {
        collection: 'orders',
        count: documents,
        bytes: DOCUMENT_BYTES,
        groups: documents,
      })
      const sample = await sampleReply(server.port, findOne('orders', documentId(0)))
      return () => ({
        requests: { kind: 'mongo-find-one', collection: 'orders', documents },
        answers: { replyBytes: sample.length, needsLogin: true },
      })
    },
  },
  {
    name: 'mongo-insert-one',
    isMongo: true,
    async prepare(_, server) {
      const inserts = (firstDocument: number): MongoInserts => ({
        kind: 'mongo-insert',
        bytes: DOCUMENT_BYTES,
        groups: 1_000_000,
        perMessage: 1,
        collection: 'plain',
        isRetryable: false,
        firstDocument,
      })
      const sample = await sampleReply(server.port, mongoSource(inserts(0))(0))
      return done => ({
        requests: inserts(done + 1),
        answers: { replyBytes: sample.length, needsLogin: true },
      })
    },
  },
]

async function createItems(server: ServerProcess): Promise<void> {
  await createDatabase(server.port)
  await createContainer(server.port, CONTAINER)
}

export function againstCheckout(checkout: string): readonly Workload[] {
  const throughput = comparisons.map(comparison => ({
    name: comparison.name,
    run: (context: Context) => runComparison(comparison, checkout, context),
  }))
  const query: Workload = { name: 'query', run: context => runQueries(checkout, context) }
  return [...throughput, createLatency(checkout), query]
}

async function runComparison(
  { name, isMongo, prepare }: Comparison,
  checkout: string,
  { load, quick }: Context,
): ReturnType<Workload['run']> {
  const rounds = quick ? 2 : 11
  const ms = quick ? 300 : 2_000
  using here = scratchFolder()
  using there = scratchFolder()
  await using first = await (isMongo ? startMayflyMongo(here.path) : startMayfly(here.path))
  await using second = await (isMongo ? startMayflyMongo(there.path, checkout) : startOtherMayfly(checkout, there.path))
  const targets: Target[] = [
    { name: HERE, server: first },
    { name: OTHER, server: second },
  ]
  const orders = new Map<Target, (done: number) => Order>()
  for (const target of targets) orders.set(target, await prepare(load, target.server, quick))
  const done = new Map(targets.map(target => [target, 0]))
  const measured = await interleave(
    load,
    targets,
    rounds,
    target => ({ ...orders.get(target)!(done.get(target)!), atMost: { ms } }),
    (target, count) => done.set(target, done.get(target)! + count),
  )
  return {
    title: `${name}: this checkout and another one, 32 connections, ${rounds} rounds of ${ms} ms by turns`,
    columns: THROUGHPUT_COLUMNS,
    rows: throughputRows(measured),
    findings: compare(measured, HERE, OTHER),
    notes: [],
  }
}

const QUERIES: Readonly<Record<string, (n: number) => string>> = {
  'by an index': n => `SELECT * FROM c WHERE c["group"] = ${(n * 7919) % 520}`,
  'ORDER BY of a whole container': () => 'SELECT TOP 10 * FROM c ORDER BY c.price',
}

async function runQueries(checkout: string, { quick }: Context): ReturnType<Workload['run']> {
  const rounds = quick ? 2 : 9
  using here = scratchFolder()
  using there = scratchFolder()
  await using first = await startMayfly(here.path)
  await using second = await startOtherMayfly(checkout, there.path)
  const servers = [first, second]
  for (const server of servers) {
    await createItems(server)
    using clients = await Clients.open(server.port)
    await clients.storm(5_200, n => itemRequest(CONTAINER, queryItem(n, 50)), 201)
  }
  const rows: string[][] = []
  const findings: Finding[] = []
  for (const [name, query] of Object.entries(QUERIES)) {
    const rates: number[][] = [[], []]
    for (let round = 0; round <= rounds; round++) {
      for (const [i, server] of servers.entries()) {
        using clients = await Clients.open(server.port)
        const rate = await clients.storm(quick ? 50 : 1_000, n => queryRequest(CONTAINER, query(n)), 200)
        // The first round is a warm-up, in which the index is made.
        if (round > 0) rates[i]!.push(rate)
      }
    }
    const [hereRate, otherRate] = rates.map(median)
    rows.push([name, figure(hereRate), figure(otherRate)])
    const single = rates[0]!.map((rate, i) => rate / rates[1]![i]!)
    findings.push({
      text: `${HERE} / ${OTHER}, ${name}`,
      value: hereRate! / otherRate!,
      range: [Math.min(...single), Math.max(...single)],
    })
  }
  return {
    title: `query: this checkout and another one over 5,200 items, 32 connections, ${rounds} rounds by turns`,
    columns: ['query', `${HERE}, queries/s`, `${OTHER}, queries/s`],
    rows,
    findings,
    notes: [],
  }
}
