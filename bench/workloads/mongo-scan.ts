/**
 * Filters stored documents: the raw matcher, compared with decoding each document and matching with mingo.
 */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Document, deserialize, serialize } from 'bson'
import { dataFile, itemTable } from '../../src/adapters/sqlite/file/schema.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { machine, SystemClock } from '../../src/base/clock.ts'
import { scanBytesMax, scanItemsMax } from '../../src/base/limits.ts'
import { BsonDocument } from '../../src/document/bson/value.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { documentBytes } from '../mongo-documents.ts'
import { PER_MESSAGE } from '../mongo-fill.ts'
import { askMongo, openMongo, opMsg } from '../mongo-wire.ts'
import { type Finding, figure, median } from '../report.ts'
import { DATABASE } from '../requests.ts'
import { install, packageFolder, scratchFolder, startMayflyMongo } from '../targets.ts'
import type { Workload } from '../workload.ts'

const COLLECTION = 'orders'
const MINGO_VERSION = '7.2.6'

const FILTERS: Readonly<Record<string, Document>> = {
  equality: { city: 'city-0042' },
  range: { quantity: { $gte: 1_000, $lt: 2_000 } },
  'nested path': { 'address.geo.zone': 42 },
  $elemMatch: { lines: { $elemMatch: { sku: 'sku-0042', quantity: { $gt: 2 } } } },
}

interface Mingo {
  readonly Query: new (filter: Document) => { test(document: Document): boolean }
}

const WAYS = ['stored', 'storedMingo', 'inMemory', 'inMemoryMingo'] as const
type Way = (typeof WAYS)[number]

/** Counts the documents that match a filter. */
type Count = () => number | Promise<number>

/** mingo, or the reason why it is missing. */
function loadMingo(): { readonly Query?: Mingo['Query']; readonly missing?: string } {
  const installed = install('mingo', MINGO_VERSION)
  if (!installed.installed) return { missing: `mingo: not compared, its installation failed: ${installed.reason}` }
  return createRequire(import.meta.url)(packageFolder('mingo')) as Mingo
}

async function insertAll(folder: string, documents: readonly Buffer[]): Promise<void> {
  await using server = await startMayflyMongo(folder)
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openMongo(server.port, reject)
  for (let at = 0; at < documents.length; at += PER_MESSAGE) {
    const part = Buffer.concat(documents.slice(at, at + PER_MESSAGE))
    const message = opMsg({ insert: COLLECTION, $db: DATABASE }, { name: 'documents', documents: part })
    await Promise.race([askMongo(connection, message), failure])
  }
  connection.close()
}

/** Reads a collection as the server does: page by page, and only living documents. */
async function scan(opened: Store, container: ContainerRecord, matches: (bytes: Uint8Array) => boolean) {
  let count = 0
  let after: ItemKey | undefined
  do {
    const range = { min: '', maxExclusive: 'FF', after }
    const page = await opened.scan(container, range, { itemsMax: scanItemsMax, bytesMax: scanBytesMax })
    for (const { body } of page.items) if (matches(body as Uint8Array)) count++
    after = page.last
  } while (after !== undefined)
  return count
}

function counted<T>(list: Iterable<T>, matches: (each: T) => boolean): number {
  let count = 0
  for (const each of list) if (matches(each)) count++
  return count
}

/** Runs all ways in turn and returns the milliseconds of each round. All must count the same. */
async function measure(ways: Partial<Record<Way, Count>>, rounds: number, name: string) {
  const times = new Map<Way, number[]>()
  const counts = new Set<number>()
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    for (const way of WAYS) {
      const count = ways[way]
      if (count === undefined) continue
      const startMs = machine.monotonicMs()
      counts.add(await count())
      const ms = machine.monotonicMs() - startMs
      if (round > 0) times.set(way, [...(times.get(way) ?? []), ms])
    }
  }
  const [hits] = counts
  if (counts.size !== 1) throw new Error(`${name}: not all found the same number: ${[...counts].join(', ')}.`)
  return { times, hits }
}

function ratio(text: string, a: readonly number[] | undefined, b: readonly number[]): Finding {
  const bound = { atLeast: 4 }
  if (a === undefined) return { text, value: undefined, bound }
  const single = a.map((ms, round) => ms / b[round]!)
  return { text, value: median(a) / median(b), range: [Math.min(...single), Math.max(...single)], bound }
}

export const mongoScan: Workload = {
  name: 'mongo-scan',
  async run({ quick }) {
    const { Query, missing } = loadMingo()
    const rounds = quick ? 1 : 7
    const documents = Array.from({ length: quick ? 5_000 : 100_000 }, (_, n) => documentBytes(n))
    using folder = scratchFolder()
    await insertAll(folder.path, documents)

    await using opened = openSqlite({
      directory: folder.path,
      clock: stored => new SystemClock(stored),
      onFatal: error => {
        throw error
      },
    })
    const container = await opened.findContainer(DATABASE, COLLECTION)
    if (container === undefined) throw new Error('The collection is not there.')
    using db = new DatabaseSync(join(folder.path, dataFile), { readOnly: true })
    const select = db.prepare(`SELECT body FROM ${itemTable(container.number)}`)

    const rows: string[][] = []
    const findings: Finding[] = []
    for (const [name, filter] of Object.entries(FILTERS)) {
      const matcher = compileFilter(BsonDocument.view(serialize(filter)))
      const ways: Partial<Record<Way, Count>> = {
        stored: () => scan(opened, container, matcher.matches),
        inMemory: () => counted(documents, matcher.matches),
      }
      if (Query !== undefined) {
        const query = new Query(filter)
        const matches = (bytes: Uint8Array) => query.test(deserialize(bytes))
        const bodies = () => select.iterate() as Iterable<{ body: Uint8Array }>
        ways.storedMingo = () => counted(bodies(), ({ body }) => matches(body))
        ways.inMemoryMingo = () => counted(documents, matches)
      }
      const { times, hits } = await measure(ways, rounds, name)
      const nsPerDocument = (way: Way) => {
        const ms = times.get(way)
        return figure(ms === undefined ? undefined : (median(ms) / documents.length) * 1e6)
      }
      rows.push([name, figure(hits), ...WAYS.map(nsPerDocument)])
      findings.push(
        ratio(`${name}, stored: mingo / mayfly`, times.get('storedMingo'), times.get('stored')!),
        ratio(`${name}, in memory: mingo / mayfly`, times.get('inMemoryMingo'), times.get('inMemory')!),
      )
    }
    return {
      title:
        `mongo-scan: a filter over ${figure(documents.length)} stored documents, ${rounds} rounds by turns; ns ` +
        'per document',
      columns: ['filter', 'hits', 'mayfly', 'mingo', 'mayfly, in memory', 'mingo, in memory'],
      rows,
      findings,
      notes: [
        'mayfly: pages of the store as the server reads them, and its matcher over their bytes; in this process',
        missing ??
          `mingo: rows of the same file with a bare SELECT, decoded with bson, matched with mingo ${MINGO_VERSION}`,
        'in memory: the same without reading',
      ],
    }
  },
}
