/** The demo: a container with 200 items that die within half a minute, to watch. */

import { randomBytes } from 'node:crypto'
import type { ApiAnswer } from '../http/call.ts'
import { ConflictError } from '../http/error-map.ts'
import { createItem } from '../items/writes.ts'
import type { ExplorerService } from '../service/service.ts'
import { findContainer } from './containers.ts'
import { patiently } from './item-writes.ts'

const database = 'demo'
const id = 'sessions'
const partitionPath = '/userId'
const count = 200
const ttl = 30
const writtenAtOnce = 20

export async function createDemo(service: ExplorerService): Promise<ApiAnswer> {
  const { nosql, engine } = service
  if ((await engine.catalog.findDatabase(database)) === undefined) {
    await nosql.ask({ method: 'POST', path: ['dbs'], body: JSON.stringify({ id: database }) })
  }
  const present = await engine.catalog.findContainer(database, id)
  if (present === undefined) {
    const partitionKey = { paths: [partitionPath], kind: 'Hash', version: 2 }
    const body = JSON.stringify({ id, partitionKey, defaultTtl: ttl })
    await nosql.ask({ method: 'POST', path: ['dbs', database, 'colls'], body })
  } else if (present.encoding !== 'json' || present.partitionKey.paths.join() !== partitionPath) {
    throw new ConflictError(`There is a ${database}/${id} already, with another partition key or of the other API.`)
  }
  const container = await findContainer(service, database, id)
  const run = randomBytes(3).toString('hex')
  for (let at = 0; at < count; at += writtenAtOnce) {
    const items = Array.from({ length: writtenAtOnce }, (_, offset) => demoItem(run, at + offset))
    await Promise.all(items.map(item => patiently(() => createItem(service, container, JSON.stringify(item)))))
  }
  service.counts.forget()
  return { status: 201, json: { database, container: id, items: count, ttl } }
}

const campaigns = ['winter', 'spring', 'news']
const devices = ['ios 19.1', 'android 17', 'firefox', 'chrome']

/** Most items have a ttl of their own, so that they die one after the other, not all at once. */
function demoItem(run: string, at: number): object {
  const own = at % 8 === 7 ? {} : { ttl: 5 + (at % (ttl - 5)) }
  return {
    id: `sess-${run}-${String(at).padStart(3, '0')}`,
    userId: `u${100 + (at % 40)}`,
    campaign: campaigns[at % campaigns.length],
    device: devices[at % devices.length],
    cart: Array.from({ length: at % 4 }, (_, line) => ({ sku: `sku-${(at * 7 + line) % 50}`, qty: 1 + (line % 3) })),
    ...own,
  }
}
