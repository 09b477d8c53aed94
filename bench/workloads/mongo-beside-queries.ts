/**
 * Point reads during queries that read everything, with Mongo and with SQL over the same documents. What
 * other clients notice of a scan, a grouping and a sort without an index must be about the same on both
 * sides.
 */

import { type Document, serialize } from 'bson'
import { machine } from '../../src/base/clock.ts'
import { askMongo, openMongo, opMsg } from '../mongo-wire.ts'
import { Clients, itemRequest, type QueryItem, queryItem, queryRequest } from '../query-items.ts'
import { type Finding, figure, median, percentile } from '../report.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly, startMayflyMongo } from '../targets.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const PARTITIONS = 1_000
const KINDS = 100
const PER_MESSAGE = 1_000
/** Fewer than make an index of the path that is sorted by. */
const RUNS = 4
const SORTED = 20

/** One side: what reads one item, and what reads all of them, by what it does. */
interface Side {
  read(n: number): Promise<unknown>
  readonly queries: Readonly<Record<string, () => Promise<unknown>>>
}

function item(n: number): QueryItem {
  return { ...queryItem(n, PARTITIONS), kind: n % KINDS }
}

export const mongoBesideQueries: Workload = {
  name: 'mongo-beside-queries',
  async run({ quick }) {
    const count = quick ? 20_000 : 1_000_000
    using sqlFolder = scratchFolder()
    using mongoFolder = scratchFolder()
    await using sqlServer = await startMayfly(sqlFolder.path)
    await using mongoServer = await startMayflyMongo(mongoFolder.path)
    await fillSql(sqlServer.port, count)
    await fillMongo(mongoServer.port, count)
    // With connections of their own for each measurement: the servers close those that are idle for a minute.
    const open = {
      sql: () => openSql(sqlServer.port, count),
      mongo: () => openMongoSide(mongoServer.port, count),
    }

    const rows: string[][] = []
    const findings: Finding[] = []
    for (const name of ['scan', 'group', 'sort']) {
      const p99 = { sql: 0, mongo: 0 }
      for (const side of ['sql', 'mongo'] as const) {
        using opened = await open[side]()
        const { reads, queryMs } = await readBeside(opened, name)
        p99[side] = percentile(reads, 0.99)
        const figures = [percentile(reads, 0.5), p99[side], percentile(reads, 1)].map(ms => figure(ms, 2))
        rows.push([name, side, figure(median(queryMs)), figure(reads.length), ...figures])
      }
      findings.push({
        text: `read p99 beside a ${name}, Mongo / SQL`,
        value: p99.mongo / p99.sql,
        bound: { atMost: 1.5 },
      })
    }
    return {
      title:
        `mongo-beside-queries: point reads beside queries over all of ${figure(count)} documents of about 200 ` +
        `bytes, ${RUNS} queries each`,
      columns: ['query', 'side', 'query ms', 'reads', 'p50 ms', 'p99 ms', 'max ms'],
      rows,
      findings,
      notes: [
        'one client asks the query again and again, another reads items by id, one at a time',
        `scan: a filter that no index serves and nothing passes; group: ${KINDS} groups with a count and a sum; ` +
          `sort: the first ${SORTED} by a field without an index`,
      ],
    }
  },
}

/** Reads items one after the other as long as the queries run. */
async function readBeside(side: Side, name: string): Promise<{ reads: number[]; queryMs: number[] }> {
  const reads: number[] = []
  const queryMs: number[] = []
  let isOver = false
  const asking = (async () => {
    for (let run = 0; run < RUNS; run++) {
      const startMs = machine.monotonicMs()
      await side.queries[name]!()
      queryMs.push(machine.monotonicMs() - startMs)
    }
    isOver = true
  })()
  for (let n = 0; !isOver; n++) {
    const startMs = machine.monotonicMs()
    await side.read(n)
    reads.push(machine.monotonicMs() - startMs)
  }
  await asking
  return { reads, queryMs }
}

function scattered(n: number, count: number): number {
  return (Math.imul(n + 1, 2_654_435_761) >>> 0) % count
}

async function fillSql(port: number, count: number): Promise<void> {
  await createDatabase(port)
  await createContainer(port, CONTAINER)
  using clients = await Clients.open(port)
  await clients.storm(count, n => itemRequest(CONTAINER, item(n)), 201)
}

async function openSql(port: number, count: number): Promise<Side & Disposable> {
  const reader = await Clients.open(port)
  const asker = await Clients.open(port)
  const query = (text: string) => asker.ask(queryRequest(CONTAINER, text), 200)
  return {
    read: n => {
      const { id, pk } = item(scattered(n, count))
      const path = `/dbs/${DATABASE}/colls/${CONTAINER}/docs/${id}`
      const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
      return reader.ask(signedRequest({ method: 'GET', path, headers }), 200)
    },
    queries: {
      scan: () => query('SELECT VALUE COUNT(1) FROM c WHERE c.price % 1000003 = -1'),
      group: () => query('SELECT c.kind, COUNT(1) AS n, SUM(c["group"]) AS total FROM c GROUP BY c.kind'),
      sort: () => query(`SELECT TOP ${SORTED} c.id, c.price FROM c ORDER BY c.price`),
    },
    [Symbol.dispose]: () => {
      reader[Symbol.dispose]()
      asker[Symbol.dispose]()
    },
  }
}

/** The same items, with the id as `_id`. */
function documentOf(n: number): Document {
  const { id, ...fields } = item(n)
  return { _id: id, ...fields }
}

async function fillMongo(port: number, count: number): Promise<void> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openMongo(port, reject)
  for (let first = 0; first < count; first += PER_MESSAGE) {
    const documents = Array.from({ length: PER_MESSAGE }, (_, n) => serialize(documentOf(first + n)))
    const sequence = { name: 'documents', documents: Buffer.concat(documents) }
    const message = opMsg({ insert: CONTAINER, $db: DATABASE }, sequence)
    await Promise.race([askMongo(connection, message), failure])
  }
  connection.close()
}

async function openMongoSide(port: number, count: number): Promise<Side & Disposable> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const reader = await openMongo(port, reject)
  const asker = await openMongo(port, reject)
  const query = (command: Document) => Promise.race([askMongo(asker, opMsg({ ...command, $db: DATABASE })), failure])
  const group = { _id: '$kind', n: { $sum: 1 }, total: { $sum: '$group' } }
  return {
    read: n => {
      const filter = { _id: item(scattered(n, count)).id }
      const message = opMsg({ find: CONTAINER, filter, limit: 1, singleBatch: true, $db: DATABASE })
      return Promise.race([askMongo(reader, message), failure])
    },
    queries: {
      scan: () => query({ count: CONTAINER, query: { price: { $mod: [1_000_003, -1] } } }),
      group: () => query({ aggregate: CONTAINER, pipeline: [{ $group: group }], cursor: {} }),
      sort: () => query({ find: CONTAINER, sort: { price: 1 }, projection: { price: 1 }, limit: SORTED }),
    },
    [Symbol.dispose]: () => {
      reader.close()
      asker.close()
    },
  }
}
