/** Lists, creates and deletes databases and containers. */

import { RequestError } from '../../base/error.ts'
import {
  autoscaleThroughputMin,
  autoscaleThroughputStep,
  throughputMax,
  throughputMin,
  throughputStep,
} from '../../base/limits.ts'
import { BsonArray, BsonDocument, int32, string, type Value } from '../../document/bson/value.ts'
import type { ContainerRecord, Throughput } from '../../store/catalog.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { choiceOf, defaultTtlField, textField } from '../http/fields.ts'
import { dyingWithin, figuresOf } from '../items/figures.ts'
import type { ExplorerService } from '../service/service.ts'
import { findContainer, requireContainer, requireDatabase } from './containers.ts'

export async function showTree(service: ExplorerService): Promise<ApiAnswer> {
  const { engine } = service
  const databases = []
  for (const { id, throughput, ...database } of await engine.catalog.databases()) {
    const containers = []
    for (const container of await engine.catalog.containers({ id, throughput, ...database })) {
      containers.push(await showContainer(service, container))
    }
    databases.push({ id, throughput, containers })
  }
  return { json: { databases } }
}

export async function showContainer(service: ExplorerService, container: ContainerRecord) {
  const { id, encoding, partitionKey, policy, throughput, logSeconds, rid } = container
  const isMongo = encoding === 'bson'
  const { isView, shardKey, hasDateDeadlines } = isMongo
    ? (await service.mongo()).describe(container)
    : { isView: false, shardKey: [], hasDateDeadlines: false }
  const { living, dead, next, isAbout } = await figuresOf(service, container)
  return {
    id,
    api: isMongo ? 'mongo' : 'nosql',
    ...(isView && { isView }),
    partitionKey: isMongo ? shardKey : partitionKey.paths,
    rid: rid.toString(16),
    ttl: ttlOf(policy.defaultTtl, hasDateDeadlines),
    defaultTtl: policy.defaultTtl,
    ...{ living, dead, isAbout, next, throughput },
    keepsLog: logSeconds !== null,
  }
}

export function ttlOf(defaultTtl: number | null, hasDateDeadlines: boolean) {
  if (hasDateDeadlines) return { kind: 'date' }
  if (defaultTtl === null) return { kind: 'off' }
  return defaultTtl === -1 ? { kind: 'no default' } : { kind: 'on', seconds: defaultTtl }
}

/** The number of items from which the size of a container is estimated. */
const sampledItems = 100

export async function showOne(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const shown = await showContainer(service, container)
  const size = { itemsMax: sampledItems, examineMax: sampledItems }
  const { bytes, examined } = await service.engine.listLives(container, { filter: 'all', order: 'newest' }, {}, size)
  const scripts = container.encoding === 'json' ? await countScripts(service, container) : undefined
  const about = examined === 0 ? 0 : Math.round((bytes / examined) * (shown.living + shown.dead))
  return { json: { ...shown, bytes: about, scripts } }
}

async function countScripts({ nosql }: ExplorerService, { database, id }: ContainerRecord) {
  const count = async (type: string) => {
    const { body } = await nosql.ask({ method: 'GET', path: ['dbs', database.id, 'colls', id, type] })
    return (JSON.parse(body) as { _count: number })._count
  }
  return { procedures: await count('sprocs'), triggers: await count('triggers'), functions: await count('udfs') }
}

const hourS = 3600
const minuteS = 60

export async function showOverview(service: ExplorerService): Promise<ApiAnswer> {
  const containers = []
  let withinMinute = 0
  for (const database of await service.engine.catalog.databases()) {
    for (const container of await service.engine.catalog.containers(database)) {
      const hour = await dyingWithin(service, container, hourS)
      withinMinute += (await dyingWithin(service, container, minuteS)).value
      const named = { database: database.id, container: container.id }
      containers.push({ ...named, withinHour: hour.value, isAbout: hour.isAbout })
    }
  }
  return { json: { containers, withinMinute } }
}

export async function createDatabase({ nosql }: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const body = await call.body()
  const id = textField(body, 'id')
  await nosql.ask({
    method: 'POST',
    path: ['dbs'],
    headers: throughputHeaders(throughputField(body)),
    body: JSON.stringify({ id }),
  })
  return { status: 201, json: { id } }
}

export async function deleteDatabase(service: ExplorerService, { names }: ApiCall): Promise<ApiAnswer> {
  const database = await requireDatabase(service, names[0]!)
  const containers = await service.engine.catalog.containers(database)
  // The Mongo edge also ends cursors and tells change streams.
  if (containers.some(({ encoding }) => encoding === 'bson')) {
    await (await service.mongo()).run(database.id, command({ dropDatabase: int32(1) }))
  }
  if ((await service.engine.catalog.findDatabase(database.id)) !== undefined) {
    await service.nosql.ask({ method: 'DELETE', path: ['dbs', database.id] })
  }
  service.counts.forget()
  return { status: 204 }
}

export async function createContainer(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const body = await call.body()
  const database = call.names[0]!
  const id = textField(body, 'id')
  const api = choiceOf(body.api, 'api', ['nosql', 'mongo'], 'nosql')
  const defaultTtl = defaultTtlField(body)
  const throughput = throughputField(body)
  const paths = pathsField(body)
  const uniqueKeys = uniqueKeysField(body)
  await requireDatabase(service, database)
  if (api === 'nosql') {
    if (paths.length === 0) throw new FieldError('partitionKey', 'A container needs a partition key, such as /id.')
    const partitionKey = { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 }
    await checkAtField('partitionKey', () => service.nosql.checkField('partitionKey', partitionKey))
    await checkUniqueKeys(service, uniqueKeys)
    const definition = {
      ...{ id, partitionKey },
      ...(defaultTtl !== undefined && defaultTtl !== null && { defaultTtl }),
      ...(uniqueKeys.length > 0 && { uniqueKeyPolicy: { uniqueKeys } }),
    }
    await service.nosql.ask({
      method: 'POST',
      path: ['dbs', database, 'colls'],
      headers: throughputHeaders(throughput),
      body: JSON.stringify(definition),
    })
  } else {
    if (uniqueKeys.length > 0) throw new FieldError('uniqueKeys', 'A collection has unique indexes, not unique keys.')
    await createCollection(service, { database, id, shardKey: paths, defaultTtl: defaultTtl ?? null, throughput })
  }
  return { status: 201, json: await showContainer(service, await findContainer(service, database, id)) }
}

async function createCollection(
  service: ExplorerService,
  wanted: {
    readonly database: string
    readonly id: string
    readonly shardKey: readonly string[]
    readonly defaultTtl: number | null
    readonly throughput: Throughput | undefined
  },
): Promise<void> {
  const { database, id, shardKey, defaultTtl, throughput } = wanted
  if (shardKey.length > 1) throw new FieldError('partitionKey', 'A shard key is one field.')
  const mongo = await service.mongo()
  const [key] = shardKey
  await mongo.run(
    database,
    command({
      customAction: string('CreateCollection'),
      collection: string(id),
      ...(key !== undefined && { shardKey: string(key) }),
      ...(throughput?.kind === 'manual' && { offerThroughput: int32(throughput.ruPerSecond) }),
      ...(throughput?.kind === 'autoscale' && {
        autoScaleSettings: BsonDocument.of([['maxThroughput', int32(throughput.maxRuPerSecond)]]),
      }),
    }),
  )
  if (defaultTtl !== null) await mongo.run(database, lifespanIndex(id, defaultTtl))
}

export function command(fields: Readonly<Record<string, Value>>): BsonDocument {
  return BsonDocument.of(Object.entries(fields))
}

/** The command that makes the TTL index on `_ts`. */
export function lifespanIndex(collection: string, seconds: number): BsonDocument {
  const index = command({
    key: command({ _ts: int32(1) }),
    name: string('_ts_1'),
    expireAfterSeconds: int32(seconds),
  })
  return command({ createIndexes: string(collection), indexes: BsonArray.of([index]) })
}

export async function deleteContainer(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const { id, encoding, database } = await requireContainer(service, call)
  if (encoding === 'bson') await (await service.mongo()).run(database.id, command({ drop: string(id) }))
  else await service.nosql.ask({ method: 'DELETE', path: ['dbs', database.id, 'colls', id] })
  service.counts.forget()
  return { status: 204 }
}

function pathsField(body: Readonly<Record<string, unknown>>): readonly string[] {
  const { partitionKey = [] } = body
  if (!Array.isArray(partitionKey) || partitionKey.some(path => typeof path !== 'string')) {
    throw new FieldError('partitionKey', '"partitionKey" must be a list of paths, such as ["/userId"].')
  }
  return partitionKey as readonly string[]
}

interface UniqueKey {
  readonly paths: readonly string[]
}

function uniqueKeysField(body: Readonly<Record<string, unknown>>): readonly UniqueKey[] {
  const { uniqueKeys = [] } = body
  const isPaths = (key: unknown) => Array.isArray(key) && key.every(path => typeof path === 'string')
  if (!Array.isArray(uniqueKeys) || !uniqueKeys.every(isPaths)) {
    throw new FieldError('uniqueKeys', '"uniqueKeys" must be a list of lists of paths, such as [["/email"]].')
  }
  return (uniqueKeys as readonly (readonly string[])[]).map(paths => ({ paths }))
}

/** Checks each key, so that the form can mark the wrong one, and then their number. */
async function checkUniqueKeys({ nosql }: ExplorerService, uniqueKeys: readonly UniqueKey[]): Promise<void> {
  const check = (keys: readonly UniqueKey[]) => nosql.checkField('uniqueKeyPolicy', { uniqueKeys: keys })
  for (const [at, key] of uniqueKeys.entries()) await checkAtField(`uniqueKeys/${at}`, () => check([key]))
  await checkAtField('uniqueKeys', () => check(uniqueKeys))
}

/** If the protocol refuses one field, the form shows the reason at that field. */
async function checkAtField(field: string, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    throw error instanceof RequestError ? new FieldError(field, error.message) : error
  }
}

export function throughputField(body: Readonly<Record<string, unknown>>): Throughput | undefined {
  const { throughput } = body
  if (throughput === undefined || throughput === null) return undefined
  if (typeof throughput !== 'object') throw new FieldError('throughput', '"throughput" must be an object.')
  const fields = throughput as Readonly<Record<string, unknown>>
  const kind = choiceOf(fields.kind, 'throughput', ['manual', 'autoscale'], 'manual')
  const [ru, least, step] =
    kind === 'manual'
      ? [fields.ruPerSecond, throughputMin, throughputStep]
      : [fields.maxRuPerSecond, autoscaleThroughputMin, autoscaleThroughputStep]
  if (typeof ru !== 'number' || !(ru >= least && ru <= throughputMax) || ru % step !== 0) {
    throw new FieldError('throughput', `Use ${least} to ${throughputMax} RU/s, in steps of ${step}.`)
  }
  return kind === 'manual' ? { kind, ruPerSecond: ru } : { kind, maxRuPerSecond: ru }
}

function throughputHeaders(throughput: Throughput | undefined): Readonly<Record<string, string>> {
  if (throughput === undefined) return {}
  return throughput.kind === 'manual'
    ? { 'x-ms-offer-throughput': String(throughput.ruPerSecond) }
    : { 'x-ms-cosmos-offer-autopilot-settings': JSON.stringify({ maxThroughput: throughput.maxRuPerSecond }) }
}
