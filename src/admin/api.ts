/**
 * The admin API: the clock, the purger, keys, snapshots, Mongo's switches, and expiry in a container. Every
 * call is one entry of a table.
 */

import type { AccountKeys } from '../base/account-keys.ts'
import type { Clock, ManualClock } from '../base/clock.ts'
import { parseDuration } from '../base/duration.ts'
import { RequestError } from '../base/error.ts'
import { parsePartitionKeyHeader } from '../document/partition-key.ts'
import type { Engine } from '../engine/engine.ts'
import { wholeItemKey } from '../engine/item-key.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'
import { listContainers } from './export-calls.ts'
import { requireContainer, requireDatabase } from './named-resource.ts'

export interface AdminContext {
  readonly engine: Engine
  readonly clock: Clock
  readonly keys: AccountKeys
  /** Reads the key file again. */
  readonly reloadKeys: () => void
  /** What can be switched on the Mongo side while it runs. */
  readonly mongoSettings: AdminMongoSettings
  /** The possible keys of the Mongo document that a person named, the likeliest first. */
  readonly documentKeys: (
    container: ContainerRecord,
    id: string,
    partitionKey: string | null,
  ) => Promise<readonly [ItemKey, ...ItemKey[]]>
  /** Whether the documents of a collection die by dates in their fields. */
  readonly diesByDates: (container: ContainerRecord) => boolean
}

export interface AdminMongoSettings {
  isDocumentTtlOn: boolean
  areExpiryEventsOn: boolean
}

export interface AdminCall {
  readonly method: string
  /** The parts of the path after `/_mayfly/`, decoded. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
  readonly body: unknown
}

type Call = (context: AdminContext, call: AdminCall) => Promise<unknown>

export async function answerAdminCall(context: AdminContext, call: AdminCall): Promise<unknown> {
  const { method, path } = call
  const [area, , , topic = ''] = path
  const calls: Readonly<Record<string, Call>> = area === 'ttl' && path.length >= 3 ? ttlCalls : rootCalls
  const name = area === 'ttl' && path.length >= 3 ? topic : path.join('/')
  const handler = Object.hasOwn(calls, `${method} ${name}`) ? calls[`${method} ${name}`] : undefined
  if (handler === undefined) throw new RequestError('not_found', `There is no ${method} /_mayfly/${path.join('/')}.`)
  return handler(context, call)
}

const rootCalls: Readonly<Record<string, Call>> = {
  'GET clock': async ({ engine, clock }) => clockState(engine, clock),
  'POST clock': moveClock,
  'POST keys/reload': reloadKeys,
  'POST purge': purge,
  'POST reset': reset,
  'GET snapshot': async ({ engine }) => ({ snapshots: engine.snapshots.list() }),
  'POST snapshot': changeSnapshots,
  'GET containers': async (context, { query }) => listContainers(context, query.get('db')),
  'GET mongo': async ({ mongoSettings }) => settingsState(mongoSettings),
  'POST mongo': switchMongo,
}

/** The calls after `/_mayfly/ttl/{database}/{container}`. */
const ttlCalls: Readonly<Record<string, Call>> = {
  'GET ': async (context, call) => context.engine.reports.ttlStatus(await containerOf(context, call)),
  'GET forecast': forecastDeaths,
  'GET explain': explainItem,
  'POST preview': previewChange,
}

async function reloadKeys({ reloadKeys, keys }: AdminContext) {
  reloadKeys()
  return { keys: keys.all.length, readOnly: keys.all.filter(({ isReadOnly }) => isReadOnly).length }
}

/** `doubt`: only while there is one. */
export async function clockState(engine: Engine, clock: Clock) {
  const { moment, sure, doubt } = await engine.time()
  const doubted = doubt && { kind: doubt.kind, since: doubt.since, sure, aheadSeconds: moment - sure }
  return { now: moment, mode: clock.mode, ...(doubted && { doubt: doubted }) }
}

async function moveClock({ engine, clock }: AdminContext, { body }: AdminCall) {
  const { trust } = bodyFields(body)
  if (trust !== undefined) {
    if (trust !== true) throw new RequestError('malformed', 'Say {"trust":true}.')
    await engine.trustTime()
    return clockState(engine, clock)
  }
  if (clock.mode !== 'manual') {
    throw new RequestError('precondition_failed', 'The clock is the system’s; start with --clock manual to move it.')
  }
  const { advance, set } = bodyFields(body)
  if ((advance === undefined) === (set === undefined)) {
    throw new RequestError('malformed', 'Say either {"advance":"90d"} or {"set":epochSeconds}.')
  }
  const manual = clock as ManualClock
  // Where several servers share a store, others may have moved its time; the clock follows when it is asked
  // for.
  await engine.moment()
  if (advance !== undefined) manual.advance(parseDuration(advance))
  else if (typeof set === 'number') manual.set(set)
  else throw new RequestError('malformed', `The clock takes whole seconds since 1970, not ${JSON.stringify(set)}.`)
  return clockState(engine, clock)
}

async function changeSnapshots({ engine }: AdminContext, { body }: AdminCall) {
  const { keep, restore, drop } = bodyFields(body)
  const given = [keep, restore, drop].filter(name => name !== undefined)
  if (given.length !== 1 || typeof given[0] !== 'string') {
    throw new RequestError('malformed', 'Say {"keep":"name"}, {"restore":"name"} or {"drop":"name"}.')
  }
  if (typeof keep === 'string') return engine.snapshots.keep(keep)
  if (typeof restore === 'string') return engine.snapshots.restore(restore)
  engine.snapshots.drop(given[0])
  return { dropped: given[0] }
}

/** The call answers with a status only. */
async function reset({ engine }: AdminContext): Promise<undefined> {
  await engine.snapshots.alone(() => engine.catalog.reset())
}

async function purge({ engine }: AdminContext, { body }: AdminCall) {
  const { pause, db, container } = bodyFields(body)
  if (pause !== undefined) {
    if (typeof pause !== 'boolean') throw new RequestError('malformed', '"pause" is true or false.')
    engine.purger.isPaused = pause
    return { paused: pause }
  }
  const containers = await selectContainers(engine, db, container)
  const removed = await engine.purger.purgeNow(containers)
  let remaining = 0
  for (const each of containers) remaining += await backlogOf(engine, each)
  return { removed, remaining }
}

function settingsState({ isDocumentTtlOn, areExpiryEventsOn }: AdminMongoSettings) {
  return { documentTtl: isDocumentTtlOn, expiryEvents: areExpiryEventsOn }
}

async function switchMongo({ mongoSettings }: AdminContext, { body }: AdminCall) {
  const { documentTtl = mongoSettings.isDocumentTtlOn, expiryEvents = mongoSettings.areExpiryEventsOn } =
    bodyFields(body)
  if (typeof documentTtl !== 'boolean' || typeof expiryEvents !== 'boolean') {
    throw new RequestError('malformed', '"documentTtl" and "expiryEvents" are true or false.')
  }
  mongoSettings.isDocumentTtlOn = documentTtl
  mongoSettings.areExpiryEventsOn = expiryEvents
  return settingsState(mongoSettings)
}

/** A container that was deleted meanwhile has none. */
async function backlogOf(engine: Engine, container: ContainerRecord): Promise<number> {
  try {
    return (await engine.reports.ttlStatus(container)).backlog
  } catch (error) {
    if (error instanceof RequestError && error.kind === 'namespace_not_found') return 0
    throw error
  }
}

async function selectContainers(engine: Engine, db: unknown, container: unknown): Promise<ContainerRecord[]> {
  if (db === undefined && container === undefined) {
    const databases = await engine.catalog.databases()
    const all = await Promise.all(databases.map(database => engine.catalog.containers(database)))
    return all.flat()
  }
  if (typeof db !== 'string' || (container !== undefined && typeof container !== 'string')) {
    throw new RequestError('malformed', 'Name a database in "db", and a container of it in "container" if you like.')
  }
  if (container !== undefined) return [await requireContainer(engine, db, container)]
  return [...(await engine.catalog.containers(await requireDatabase(engine, db)))]
}

async function containerOf({ engine }: AdminContext, { path }: AdminCall): Promise<ContainerRecord> {
  return requireContainer(engine, path[1]!, path[2]!)
}

async function forecastDeaths(context: AdminContext, call: AdminCall) {
  const windowSeconds = parseDuration(call.query.get('window') ?? '24h')
  const bucketCount = Number(call.query.get('buckets') ?? 24)
  return context.engine.reports.forecast(await containerOf(context, call), { windowSeconds, bucketCount })
}

async function explainItem(context: AdminContext, call: AdminCall) {
  const id = call.query.get('id')
  const partitionKey = call.query.get('partitionKey')
  const container = await containerOf(context, call)
  const isDocument = container.encoding === 'bson'
  if (id === null || (partitionKey === null && !isDocument)) {
    throw new RequestError('malformed', 'Name the item by its id and its partition key: ?id=…&partitionKey=["…"].')
  }
  if (isDocument) {
    return context.engine.reports.explain(container, ...(await context.documentKeys(container, id, partitionKey)))
  }
  const components = parsePartitionKeyHeader(partitionKey!)
  return context.engine.reports.explain(container, wholeItemKey(container, components, id))
}

async function previewChange(context: AdminContext, call: AdminCall) {
  const { defaultTtl } = bodyFields(call.body)
  if (defaultTtl === undefined) {
    throw new RequestError('malformed', 'Say {"defaultTtl":n}, with seconds, -1 or null, to see what it would do.')
  }
  return context.engine.reports.preview(await containerOf(context, call), defaultTtl as number | null)
}

function bodyFields(body: unknown): Readonly<Record<string, unknown>> {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new RequestError('malformed', 'The body is one JSON object.')
  }
  return body as Record<string, unknown>
}
