/**
 * The operations whose cost is measured at each size: one client, one request at a time, items by chance from
 * all of them.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { machine } from '../../src/base/clock.ts'
import { encodeFeedEtag } from '../../src/nosql/http/feed-etag.ts'
import { DOCUMENT_BYTES, documentId } from '../mongo-documents.ts'
import { cpuUs } from '../processes.ts'
import { median, percentile } from '../report.ts'
import { DATABASE, rawRequest } from '../requests.ts'
import type { Client } from './client.ts'
import { COLLECTION, CONTAINER, documents, groupOf, idOf, itemText, partitionOf, scattered } from './items.ts'
import { containerDefinition, DEFAULT_TTL_S, importItems } from './prepare.ts'

export interface Operation {
  readonly name: string
  /** Whether the cost may grow with the number of items. */
  readonly grows?: boolean
  /** What must be there first. Not counted. */
  before?(n: number): Promise<void>
  once(n: number): Promise<unknown>
  /** It is about so many items, and the cost is that of one. */
  readonly items?: number
  /** How often it can still be done. */
  left?(): number
  /** Undoes what is left, when it was measured often enough. */
  after?(): Promise<unknown>
}

export interface Cost {
  readonly operation: string
  readonly grows: boolean
  readonly count: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly cpuUs: number | null
}

const warmUps = 2
const countMin = 5
const countMax = 2000

/** Items that stay in every cache. */
const hotItems = 1000
const pageItems = 100
const purgedAtOnce = 1000
/** After this time, items with a TTL of a second are dead. */
const deathMs = 2100

export function operationsOf(client: Client, size: number): readonly Operation[] {
  let seed = 0
  const byChance = () => scattered(seed++, size)
  const addresses = (n: number) => ({ path: `/docs/${idOf(n)}`, headers: keyHeader(n) })
  const made: { item: number; like: number }[] = []
  let documentsMade = 0
  const read = (n: number) => client.resource('GET', addresses(n))
  const query = async (text: string, headers: Record<string, string>, rows: number) => {
    const all = { 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True', ...headers }
    const answer = await client.resource('POST', { path: '/docs', headers: all, body: JSON.stringify({ query: text }) })
    const { _count } = JSON.parse(answer.body) as { _count: number }
    if (_count !== rows) throw new Error(`${text} gave ${_count} rows, not ${rows}.`)
  }
  const everywhere = { 'x-ms-documentdb-partitionkeyrangeid': '0' }
  const find = async (filter: object, rows: number) => {
    const { cursor } = await client.command({ find: COLLECTION, filter })
    if (cursor.firstBatch.length !== rows) throw new Error(`${cursor.firstBatch.length} documents, not ${rows}.`)
  }
  const one = (name: string, once: Operation['once']): Operation => ({ name, once })
  const remove = async () => {
    const last = made.pop()!
    await client.resource('DELETE', { path: `/docs/${idOf(last.item)}`, headers: keyHeader(last.like), status: 204 })
  }
  const removeDocument = async () => {
    const deleted = { q: { _id: documentId(size + --documentsMade) }, limit: 1 }
    const { n } = await client.command({ delete: COLLECTION, deletes: [deleted] })
    if (n !== 1) throw new Error('The document was not there.')
  }
  const feed = async (position: number) => {
    const etag = encodeFeedEtag('latest', { position: String(position) })
    const headers = { ...everywhere, 'a-im': 'Incremental Feed', 'x-ms-max-item-count': String(pageItems) }
    await client.resource('GET', { path: '/docs', headers: { ...headers, 'if-none-match': etag } })
  }
  return [
    one('point read', () => read(byChance())),
    one(`point read of ${hotItems} items`, n => read(scattered(n % hotItems, size))),
    one('query by partition', () => {
      const n = byChance()
      return query('SELECT * FROM c', keyHeader(n), 20)
    }),
    one('query by index', () => query(`SELECT * FROM c WHERE c["group"] = ${groupOf(byChance())}`, everywhere, 10)),
    one('query by id', () => query(`SELECT * FROM c WHERE c.id = "${idOf(byChance())}"`, everywhere, 1)),
    one('newest first by index', () =>
      query('SELECT TOP 10 * FROM c ORDER BY c["group"] DESC, c.pk DESC', everywhere, 10),
    ),
    one('count by index', () =>
      query(`SELECT VALUE COUNT(1) FROM c WHERE c["group"] = ${groupOf(byChance())}`, everywhere, 1),
    ),
    one('change feed page', () => feed(scattered(seed++, size - pageItems))),
    one('create', async () => {
      const item = size + made.length
      const like = byChance()
      const headers = keyHeader(like)
      await client.resource('POST', { path: '/docs', headers, body: itemText(item, like), status: 201 })
      made.push({ item, like })
    }),
    one('replace', async n => {
      const item = byChance()
      await client.resource('PUT', { ...addresses(item), body: itemText(item, item, `"round":${n},`) })
    }),
    one('upsert', async n => {
      const item = byChance()
      const headers = { ...keyHeader(item), 'x-ms-documentdb-is-upsert': 'True' }
      await client.resource('POST', { path: '/docs', headers, body: itemText(item, item, `"round":${n},`) })
    }),
    one('patch', async n => {
      const operations = [{ op: 'set', path: '/price', value: n }]
      await client.resource('PATCH', { ...addresses(byChance()), body: JSON.stringify({ operations }) })
    }),
    {
      name: 'delete',
      once: remove,
      left: () => made.length,
      after: async () => {
        while (made.length > 0) await remove()
      },
    },
    one('ttl status', () => client.admin('GET', `ttl/${DATABASE}/${CONTAINER}`)),
    one('metrics of the server', () => client.ask(rawRequest({ method: 'GET', path: '/metrics' }))),
    one('default TTL changed', async n => {
      await client.resource('PUT', { body: containerDefinition(DEFAULT_TTL_S + (n % 2) * 86_400) })
    }),
    one('default TTL previewed', async () => {
      await client.admin('POST', `ttl/${DATABASE}/${CONTAINER}/preview`, { defaultTtl: DEFAULT_TTL_S / 2 })
    }),
    one('expiry histogram of a day', async () => {
      await client.admin('GET', `ttl/${DATABASE}/${CONTAINER}/forecast?window=24h&buckets=24`)
    }),
    {
      name: 'expiry histogram with every item in it',
      grows: true,
      once: () => client.admin('GET', `ttl/${DATABASE}/${CONTAINER}/forecast?window=4000d&buckets=24`),
    },
    {
      name: 'purge, per item',
      items: purgedAtOnce,
      before: async n => {
        await client.admin('POST', 'purge', { pause: true })
        await importItems(client, purgedAtOnce, at => {
          const like = byChance()
          return itemText(2 * size + n * purgedAtOnce + at, like, '"ttl":1,')
        })
        await sleep(deathMs)
      },
      once: async () => {
        const { removed } = await client.admin('POST', 'purge', { db: DATABASE, container: CONTAINER })
        if (removed !== purgedAtOnce) throw new Error(`${removed} items were removed, not ${purgedAtOnce}.`)
      },
      after: () => client.admin('POST', 'purge', { pause: false }),
    },
    one('Mongo find one', () => find({ _id: documentId(byChance()) }, 1)),
    one('Mongo find by index', () => find({ group: groupOf(byChance()) }, 10)),
    one('Mongo aggregate by index', async () => {
      const $group = { _id: null, count: { $sum: 1 }, total: { $sum: '$quantity' } }
      const pipeline = [{ $match: { group: groupOf(byChance()) } }, { $group }]
      const { cursor } = await client.command({ aggregate: COLLECTION, pipeline, cursor: {} })
      if (cursor.firstBatch[0]?.count !== 10) throw new Error('The pipeline did not find its ten documents.')
    }),
    one('Mongo insert one', async () => {
      const bytes = documents.room(1)
      documents.write(bytes, 0, size + documentsMade++)
      await client.command({ insert: COLLECTION }, { name: 'documents', documents: bytes.subarray(0, DOCUMENT_BYTES) })
    }),
    one('Mongo update one', async n => {
      const update = { q: { _id: documentId(byChance()) }, u: { $set: { quantity: n } } }
      await client.command({ update: COLLECTION, updates: [update] })
    }),
    {
      name: 'Mongo delete one',
      once: removeDocument,
      left: () => documentsMade,
      after: async () => {
        while (documentsMade > 0) await removeDocument()
      },
    },
  ]
}

function keyHeader(n: number): Record<string, string> {
  return { 'x-ms-documentdb-partitionkey': JSON.stringify([partitionOf(n)]) }
}

/** Measures for so long, and five times at least. */
export async function measureCost(operation: Operation, pid: number, ms: number): Promise<Cost> {
  const { name, items = 1, grows = false, before, once, left, after } = operation
  // Compiled code and open pages are not what is measured.
  for (let n = 0; n < warmUps; n++) {
    await before?.(n)
    await once(n)
  }
  const times: number[] = []
  const usedUs = () => cpuUs(pid) ?? Number.NaN
  const startUs = usedUs()
  let asideUs = 0
  const endMs = machine.monotonicMs() + ms
  const isEnough = () => times.length >= countMax || (times.length >= countMin && machine.monotonicMs() > endMs)
  while (!isEnough() && left?.() !== 0) {
    if (before !== undefined) {
      const beforeUs = usedUs()
      await before(warmUps + times.length)
      asideUs += usedUs() - beforeUs
    }
    const startMs = machine.monotonicMs()
    await once(times.length)
    times.push((machine.monotonicMs() - startMs) / items)
  }
  const cpu = (usedUs() - startUs - asideUs) / (times.length * items)
  await after?.()
  return {
    ...{ operation: name, grows, count: times.length },
    medianMs: median(times),
    p99Ms: percentile(times, 0.99),
    cpuUs: Number.isNaN(cpu) ? null : cpu,
  }
}
