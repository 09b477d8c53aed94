/**
 * The data behind the pictures: a shop in which sessions live an hour. It is written minute by minute while
 * the time of the story goes by, so that everything dies when it should.
 */

import {
  type Container,
  type CosmosClient,
  type Database,
  type JSONObject,
  type OperationInput,
  TriggerOperation,
  TriggerType,
} from '@azure/cosmos'
import type { Db, MongoClient } from 'mongodb'
import type { TimeSource } from '../../src/base/clock.ts'

/** Sunday, 15 November 2026, 13:51:20 UTC. */
export const storyEnd = 1_794_750_680

const minutes = 65
const minuteSeconds = 60

/** The time of a machine that goes by as usual, and now and then jumps forward. */
export class StoryTime implements TimeSource {
  #aheadMs: number

  constructor(startSeconds: number) {
    this.#aheadMs = startSeconds * 1000 - performance.now()
  }

  readonly epochMs = (): number => performance.now() + this.#aheadMs
  readonly monotonicMs = this.epochMs
  readonly uptimeMs = this.epochMs

  jumpTo(epochSeconds: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, epochSeconds * 1000 - performance.now())
  }
}

/** The same numbers in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const random = randomNumbers(7)
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
const hex = (n: number) => n.toString(16).padStart(4, '0')

export interface Story {
  readonly client: CosmosClient
  readonly mongo: MongoClient
  readonly time: StoryTime
}

/** Writes everything. Removal must be paused meanwhile, or nothing dead would be there to be seen. */
export async function tellStory({ client, mongo, time }: Story): Promise<void> {
  const { database: shop } = await client.databases.create({ id: 'shop' })
  const { database: telemetry } = await client.databases.create({ id: 'telemetry' })
  const sessions = await newContainer(shop, 'sessions', '/userId', 3600)
  const carts = await newContainer(shop, 'carts', '/customerId', -1)
  const audit = await newContainer(shop, 'audit', '/day')
  await newContainer(shop, 'wishlists', '/customerId', 30 * 86_400)
  const readings = await newContainer(telemetry, 'readings', '/sensor', 30 * 86_400)
  await newContainer(telemetry, 'alerts', '/sensor', 7 * 86_400)
  await writeScripts(sessions.container)
  const support = mongo.db('support')
  await writeSupport(support)
  await writeAll(audit, 12_000, n => ({
    id: `a-${hex(n)}`,
    day: `2026-11-${1 + (n % 15)}`,
    who: `u${n % 300}`,
    did: 'login',
  }))
  await writeAll(carts, 4_102, n => cart(n))
  await writeAll(carts, 88, n => ({ ...cart(5_000 + n), ttl: -1 }))
  await writeAll(carts, 414, n => ({ ...cart(6_000 + n), ttl: 1800 + 600 * (n % 200) }))
  await writeAll(readings, 20_000, n => ({ id: `r-${hex(n)}`, sensor: `s${n % 40}`, celsius: 15 + (n % 90) / 10 }))
  let written = 0
  for (let minute = minutes; minute > 0; minute -= 1) {
    time.jumpTo(storyEnd - minute * minuteSeconds)
    const count = 230 + Math.round(60 * Math.sin(minute / 5) + 50 * random())
    await writeAll(sessions, count, n => session(written + n, minute))
    written += count
  }
  time.jumpTo(storyEnd - 20)
  await writeAll(support.collection('presence'), 1_077, n => ({
    _id: `p${n}`,
    user: `u${n}`,
    until: new Date((storyEnd + 5 + n * 3) * 1000),
    seenAt: new Date((storyEnd - 60 * (n % 60)) * 1000),
  }))
  await writeAll(sessions, 12, n => watched(n))
  time.jumpTo(storyEnd)
}

interface Place {
  readonly container: Container
  /** The name of the partition key. */
  readonly key: string
}

async function newContainer(database: Database, id: string, path: string, defaultTtl?: number): Promise<Place> {
  const definition = { id, partitionKey: path, throughput: 1_000_000, ...(defaultTtl !== undefined && { defaultTtl }) }
  const policy = id === 'sessions' ? { changeFeedPolicy: { retentionDuration: 60 } } : {}
  const { container } = await database.containers.create({ ...definition, ...policy } as never)
  return { container, key: path.slice(1) }
}

/** Gives the containers the throughput that people see. Written with that, the story would take an hour. */
export async function settle(client: CosmosClient): Promise<void> {
  const { resources: offers } = await client.offers.readAll().fetchAll()
  for (const offer of offers) {
    await client.offer(offer.id!).replace({ ...offer, content: { ...offer.content, offerThroughput: 400 } } as never)
  }
}

interface Collection {
  insertMany(documents: readonly object[]): Promise<unknown>
}

async function writeAll(into: Place | Collection, count: number, itemOf: (n: number) => object): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => itemOf(n))
  if ('insertMany' in into) {
    await into.insertMany(items)
    return
  }
  for (let from = 0; from < count; from += 2_000) {
    const operations = items
      .slice(from, from + 2_000)
      .map(item => item as JSONObject)
      .map((resourceBody): OperationInput => {
        return { operationType: 'Create', partitionKey: String(resourceBody[into.key]), resourceBody }
      })
    const results = await into.container.items.executeBulkOperations(operations)
    const failed = results.find(({ error }) => error !== undefined)
    if (failed !== undefined) throw new Error(`the story could not be written: ${JSON.stringify(failed.error)}`)
  }
}

const goods = ['sku-1', 'sku-9', 'sku-14', 'sku-20', 'sku-33']

function session(n: number, minutesAgo: number): object {
  const isOwn = n % 9 === 0
  // Some sessions with a lifespan of their own end in the coming hour, whenever they were written.
  const own = isOwn ? { ttl: (minutesAgo + Math.floor(60 * random())) * minuteSeconds } : {}
  const forEver = n % 44 === 5 ? { ttl: -1 } : {}
  return {
    id: `sess-${hex(0x1000 + n)}`,
    userId: `u${String(100 + (n % 240))}`,
    ...(n % 6 === 0 && { campaign: 'winter' }),
    cart: Array.from({ length: n % 4 }, () => pick(goods)),
    device: pick(['ios 19.1', 'android 17', 'web']),
    locale: pick(['en-GB', 'en-IE', 'de-DE', 'fr-FR']),
    ...own,
    ...forEver,
  }
}

/** Sessions that die while somebody takes pictures. */
function watched(n: number): object {
  return {
    id: `sess-0f${n.toString(16)}a`,
    userId: `u${103 + n}`,
    campaign: 'winter',
    cart: ['sku-1', 'sku-9'],
    device: 'ios 19.1',
    ttl: [22, 25, 30, 34, 41, 49, 58, 66, 75, 92, 120, 86_400][n],
  }
}

function cart(n: number): object {
  return { id: `c-${hex(n)}`, customerId: `c${n % 500}`, lines: 1 + (n % 5), total: (n % 4_000) / 10 }
}

async function writeSupport(support: Db): Promise<void> {
  for (const collection of ['tickets', 'presence']) {
    await support.command({ customAction: 'CreateCollection', collection, offerThroughput: 1_000_000 })
  }
  const tickets = support.collection<{ _id: string }>('tickets')
  await writeAll(tickets as Collection, 8_412, n => ({
    _id: `T-${10_000 + n}`,
    subject: pick(['Cannot log in', 'Refund', 'Where is my parcel', 'Wrong size']),
    status: pick(['open', 'waiting', 'closed']),
    openedAt: new Date((storyEnd - 90_000 - n * 60) * 1000),
    ...(n % 148 === 0 && { ttl: -1 }),
  }))
  await tickets.createIndex({ _ts: 1 } as never, { expireAfterSeconds: 30 * 86_400 })
  await tickets.createIndex({ status: 1 } as never)
  await support.collection('presence').createIndex({ until: 1 }, { expireAfterSeconds: 0 })
  await support.collection('presence').createIndex({ seenAt: 1 }, { expireAfterSeconds: 86_400 })
}

async function writeScripts(container: Container): Promise<void> {
  const procedures = { extendSession, mergeCarts, closeIdle }
  for (const [id, body] of Object.entries(procedures)) await container.scripts.storedProcedures.create({ id, body })
  await container.scripts.triggers.create({
    id: 'stampLocale',
    body: stampLocale,
    triggerType: TriggerType.Pre,
    triggerOperation: TriggerOperation.Create,
  })
  await container.scripts.userDefinedFunctions.create({ id: 'minutesLeft', body: minutesLeft })
  await container.scripts.userDefinedFunctions.create({ id: 'isGuest', body: isGuest })
}

const extendSession = `function extendSession(id, seconds) {
  const collection = getContext().getCollection()
  const link = collection.getAltLink() + '/docs/' + id
  const ok = collection.readDocument(link, function (error, item) {
    if (error) throw error
    if (item.ttl === -1) return
    item.ttl = Math.max(item.ttl ?? 0, seconds)
    console.log('ttl is now', item.ttl)
    collection.replaceDocument(link, item, { etag: item._etag }, done)
  })
  if (!ok) throw new Error(429, 'There is no time left.')

  function done(error, replaced) {
    if (error) throw error
    getContext().getResponse().setBody({ id, ttl: replaced.ttl })
  }
}
`

const mergeCarts = `function mergeCarts(from, to) {
  const collection = getContext().getCollection()
  collection.queryDocuments(collection.getSelfLink(), 'SELECT * FROM c', function (error, items) {
    if (error) throw error
    getContext().getResponse().setBody(items.length)
  })
}
`

const closeIdle = `function closeIdle() {
  getContext().getResponse().setBody('done')
}
`

const stampLocale = `function stampLocale() {
  const request = getContext().getRequest()
  const item = request.getBody()
  item.locale ??= 'en-GB'
  request.setBody(item)
}
`

const minutesLeft = `function minutesLeft(item) {
  return item.ttl ? Math.round(item.ttl / 60) : undefined
}
`

const isGuest = `function isGuest(item) {
  return !item.userId
}
`
