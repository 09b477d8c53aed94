/**
 * Reads the change feed of a large container from the beginning, compared with SQLite alone on the same rows.
 */

import { join } from 'node:path'
import { machine } from '../../src/base/clock.ts'
import { readBare } from '../bare-items.ts'
import { openHttp } from '../http.ts'
import { figure, median } from '../report.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
const PAGE_ITEMS = 1000

export async function readFeed(port: number, expected: number): Promise<{ ms: number; items: number }> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openHttp(port, reject)
  const startMs = machine.monotonicMs()
  let items = 0
  let etag = ''
  while (items < expected) {
    const request = signedRequest({
      method: 'GET',
      path: `/dbs/${DATABASE}/colls/${CONTAINER}/docs`,
      headers: {
        'a-im': 'Incremental Feed',
        'x-ms-documentdb-partitionkeyrangeid': '0',
        'x-ms-max-item-count': String(PAGE_ITEMS),
        ...(etag === '' ? {} : { 'if-none-match': etag }),
      },
    })
    const { status, headers } = await Promise.race([connection.ask(request), failure])
    if (status !== 200) throw new Error(`The feed answered ${status}.`)
    const header = (name: string) => headers[headers.findIndex((each, at) => at % 2 === 0 && each === name) + 1]!
    items += Number(header('x-ms-item-count'))
    etag = header('etag')
  }
  connection.close()
  return { ms: machine.monotonicMs() - startMs, items }
}

export const changeFeed: Workload = {
  name: 'change-feed',
  async run({ load, quick }) {
    const items = quick ? 20_000 : 1_000_000
    const rounds = quick ? 1 : 3
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    await createContainer(server.port, CONTAINER)
    await fill(load, server, { container: CONTAINER, count: items, bytes: ITEM_BYTES })
    const measured = { 'bare scan': [] as number[], mayfly: [] as number[] }
    for (let round = 0; round <= rounds; round++) {
      const bare = readBare(join(folder.path, 'mayfly.db'), PAGE_ITEMS)
      const feed = await readFeed(server.port, items)
      if (bare.items !== items || feed.items !== items) {
        throw new Error(`${bare.items} and ${feed.items} items were read, not ${items}.`)
      }
      if (round === 0) continue
      measured['bare scan'].push((items * 1000) / bare.ms)
      measured.mayfly.push((items * 1000) / feed.ms)
    }
    const single = measured.mayfly.map((rate, at) => rate / measured['bare scan'][at]!)
    return {
      title:
        `change-feed: ${figure(items)} items of 1 KB in pages of ${PAGE_ITEMS}, one connection, ${rounds} rounds ` +
        'by turns',
      columns: ['what', 'items/s'],
      rows: Object.entries(measured).map(([name, rates]) => [name, figure(median(rates))]),
      findings: [
        {
          text: 'mayfly / bare scan, items/s',
          value: median(measured.mayfly) / median(measured['bare scan']),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atLeast: 0.4 },
        },
      ],
      notes: ['bare scan: node:sqlite alone reads the rows of the same file and joins them to the same pages'],
    }
  },
}
