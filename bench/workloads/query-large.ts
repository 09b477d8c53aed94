/**
 * Queries by index in a large container, compared with a small one and with bare SQLite; and what an index
 * build costs other requests.
 */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { machine } from '../../src/base/clock.ts'
import { keyRange } from '../../src/document/ordered-key.ts'
import { Clients, itemRequest, queryItem, queryRequest } from '../query-items.ts'
import { type Finding, figure, median } from '../report.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import type { Workload } from '../workload.ts'

const PARTITIONS = 1_000
const INDEX_WAIT_MS = 600_000

export const queryLarge: Workload = {
  name: 'query-large',
  async run({ quick }) {
    const sizes = { small: 10_000, large: quick ? 20_000 : 1_000_000 }
    const samples = quick ? 20 : 300
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    await fill(server.port, sizes)
    using clients = await Clients.open(server.port)
    using others = await Clients.open(server.port)

    const read = (n: number) =>
      signedRequest({
        method: 'GET',
        path: `/dbs/${DATABASE}/colls/small/docs/q${n % sizes.small}`,
        headers: { 'x-ms-documentdb-partitionkey': `["p${n % PARTITIONS}"]` },
      })
    const quiet = await others.time(samples * 10, read)
    // The queries continue until their paths have an index; another client reads items meanwhile.
    let isBuilding = true
    const during: number[] = []
    const reading = (async () => {
      for (let n = 0; isBuilding; n++) during.push(...(await others.time(1, () => read(n))))
    })()
    const buildStartMs = machine.monotonicMs()
    for (const name of Object.keys(sizes)) await untilIndexed(clients, server.port, name)
    const buildMs = machine.monotonicMs() - buildStartMs
    isBuilding = false
    await reading

    const queries = {
      'equality, 10 rows': (name: string, n: number) =>
        queryRequest(name, `SELECT * FROM c WHERE c["group"] = ${(n * 7919) % (sizes[name as 'small'] / 10)}`),
      'ORDER BY price OFFSET 0 LIMIT 20': (name: string) =>
        queryRequest(name, 'SELECT * FROM c ORDER BY c.price OFFSET 0 LIMIT 20'),
    }
    const rows: string[][] = []
    const findings: Finding[] = []
    for (const [text, request] of Object.entries(queries)) {
      const times: Record<string, number[]> = { small: [], large: [] }
      for (let n = 0; n < samples; n++) {
        for (const name of ['small', 'large']) times[name]!.push(...(await clients.time(1, () => request(name, n))))
      }
      for (const name of ['small', 'large']) rows.push([text, name, figure(median(times[name]!), 3)])
      findings.push({
        text: `${text}, large / small`,
        value: median(times.large!) / median(times.small!),
        bound: { atMost: 1.5 },
      })
    }

    const [low, high] = [0, sizes.large / 40]
    const count = queryRequest(
      'large',
      `SELECT VALUE COUNT(1) FROM c WHERE c["group"] >= ${low} AND c["group"] < ${high}`,
    )
    const bare = bareCount(join(folder.path, 'mayfly.db'), low, high)
    const counted = { mayfly: [] as number[], bare: [] as number[] }
    for (let n = 0; n < samples / 5; n++) {
      counted.mayfly.push(...(await clients.time(1, () => count)))
      counted.bare.push(bare.time())
    }
    bare.close()
    rows.push(
      ['COUNT of a quarter', 'mayfly', figure(median(counted.mayfly), 3)],
      ['COUNT of a quarter', 'bare SQLite', figure(median(counted.bare), 3)],
    )
    findings.push({
      text: 'COUNT, bare / mayfly, ms',
      value: median(counted.bare) / median(counted.mayfly),
      bound: { atLeast: 0.5 },
    })

    const p99 = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
    rows.push(
      ['read p99 before', '', figure(p99(quiet), 3)],
      ['read p99 while scanning and building', '', figure(p99(during), 3)],
    )
    findings.push({
      text: 'read p99 while scanning and building / before',
      value: p99(during) / p99(quiet),
      bound: { atMost: 1.5 },
    })
    return {
      title:
        `query-large: ${figure(sizes.small)} and ${figure(sizes.large)} items of about 200 bytes, ${samples} ` +
        'samples by turns',
      columns: ['query', 'container', 'median ms'],
      rows,
      findings: [...findings, ...(await indexCost(server.port, quick))],
      notes: [
        `two indexes of each container were made while queries asked for them, in ${figure(buildMs / 1000, 1)} s`,
        'bare SQLite: the same count over the same entries of the same file, in this process',
      ],
    }
  },
}

/** With separate connections, because the server closes connections that are idle for a minute. */
async function fill(port: number, sizes: Readonly<Record<string, number>>): Promise<void> {
  using clients = await Clients.open(port)
  for (const [name, count] of Object.entries(sizes)) {
    await createContainer(port, name)
    await clients.storm(count, n => itemRequest(name, queryItem(n, PARTITIONS)), 201)
  }
}

const SCANS = 6

/** Queries both paths until an index is due, then waits until /status says that both have one. */
async function untilIndexed(clients: Clients, port: number, container: string): Promise<void> {
  for (let n = 0; n < SCANS; n++) {
    await clients.ask(queryRequest(container, 'SELECT VALUE COUNT(1) FROM c WHERE c["group"] = -1'), 200)
    await clients.ask(queryRequest(container, 'SELECT TOP 1 c.id FROM c ORDER BY c.price'), 200)
  }
  await untilReady(port, container, 2)
}

async function untilReady(port: number, container: string, count: number): Promise<void> {
  const startMs = machine.monotonicMs()
  while (machine.monotonicMs() - startMs < INDEX_WAIT_MS) {
    const status = (await (await fetch(`http://127.0.0.1:${port}/status`)).json()) as Status
    const found = status.databases.flatMap(({ containers }) => containers).find(({ id }) => id === container)
    if (found?.indexes.filter(({ state }) => state === 'ready').length === count) return
    await new Promise<void>(resolve => machine.setTimeout(resolve, 200))
  }
  throw new Error(`${container} has no ${count} indexes after ${INDEX_WAIT_MS / 1000} s.`)
}

interface Status {
  readonly databases: readonly {
    readonly containers: readonly { readonly id: string; readonly indexes: readonly { readonly state: string }[] }[]
  }[]
}

function bareCount(path: string, low: number, high: number) {
  const db = new DatabaseSync(path, { readOnly: true })
  const { container } = db.prepare("SELECT number AS container FROM containers WHERE id = 'large'").get() as {
    container: number
  }
  const indexes = db.prepare('SELECT number, components FROM indexes WHERE container = ?').all(container) as {
    number: number
    components: string
  }[]
  const { number } = indexes.find(({ components }) => components.includes('/group/'))!
  const range = keyRange({ min: low, minInclusive: true, max: high, maxInclusive: false })
  const statement = db.prepare(
    `SELECT count(*) AS n FROM entries_${container} WHERE number = ? AND key >= ? AND key < ?`,
  )
  return {
    time: () => {
      const startMs = machine.monotonicMs()
      statement.get(number, range.low, range.high)
      return machine.monotonicMs() - startMs
    },
    close: () => db.close(),
  }
}

/** Creates and updates in two containers of the same size, one of which has an index. */
async function indexCost(port: number, quick: boolean): Promise<Finding[]> {
  const items = quick ? 3_000 : 20_000
  const rounds = quick ? 1 : 5
  await fill(port, { plain: items, indexed: items })
  using clients = await Clients.open(port)
  const scan = queryRequest('indexed', 'SELECT VALUE COUNT(1) FROM c WHERE c.price = -1')
  for (let n = 0; n < 10; n++) await clients.ask(scan, 200)
  await untilReady(port, 'indexed', 1)
  const rates = {
    create: { plain: [] as number[], indexed: [] as number[] },
    update: { plain: [] as number[], indexed: [] as number[] },
  }
  for (let round = 0; round < rounds; round++) {
    for (const name of ['plain', 'indexed'] as const) {
      const first = items * (round + 1)
      rates.create[name].push(
        await clients.storm(items / 2, n => itemRequest(name, queryItem(first + n, PARTITIONS)), 201),
      )
      rates.update[name].push(
        await clients.storm(items / 2, n => itemRequest(name, { ...queryItem(n, PARTITIONS), note: round }, true), 200),
      )
    }
  }
  return [
    {
      text: 'create without / with one index, op/s',
      value: median(rates.create.plain) / median(rates.create.indexed),
      bound: { atMost: 1.33 },
    },
    {
      text: 'update that leaves the key, without / with, op/s',
      value: median(rates.update.plain) / median(rates.update.indexed),
      bound: { atMost: 1.1 },
    },
  ]
}
