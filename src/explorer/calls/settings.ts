/** The settings of a container or collection: time to live, definition, throughput, indexes. */

import { RequestError } from '../../base/error.ts'
import { printExtendedJson } from '../../document/bson/extended-json.ts'
import { parseExtendedDocument } from '../../document/bson/parse-extended-json.ts'
import { BsonArray, type BsonDocument, int32, string } from '../../document/bson/value.ts'
import { printIndexPath } from '../../document/index-definition.ts'
import type { ContainerRecord, IndexRecord, Throughput } from '../../store/catalog.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { ConflictError, FieldError } from '../http/error-map.ts'
import { defaultTtlField, optionalFlag, wholeField } from '../http/fields.ts'
import type { ExplorerService } from '../service/service.ts'
import { command, lifespanIndex, throughputField, ttlOf } from './catalog.ts'
import { findContainer, requireContainer, requireMongo, requireNosql } from './containers.ts'
import { sharesOf } from './items.ts'
import { endedNow, indexKey, isLifespanKey, refuseMoreDeaths } from './previews.ts'

export async function showSettings(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  return { json: await settingsOf(service, await requireContainer(service, call)) }
}

async function settingsOf(service: ExplorerService, container: ContainerRecord) {
  const { value, isAbout } = await sharesOf(service, container)
  const shares = { ...value, isAbout }
  const throughput = {
    ...(container.throughput ?? container.database.throughput),
    isShared: container.throughput === null,
  }
  if (container.encoding === 'bson') {
    return { api: 'mongo', ...(await collectionSettings(service, container)), throughput, shares }
  }
  const { etag, definition } = await definitionOf(service, container)
  const ttl = ttlOf(container.policy.defaultTtl, false)
  return { api: 'nosql', etag, definition, throughput, ttl, shares, indexes: container.indexes.map(showIndex) }
}

const systemNames: ReadonlySet<string> = new Set([
  ...['_rid', '_self', '_etag', '_ts', '_docs', '_sprocs', '_triggers', '_udfs', '_conflicts'],
])

async function definitionOf({ nosql }: ExplorerService, { database, id }: ContainerRecord) {
  const { body } = await nosql.ask({ method: 'GET', path: ['dbs', database.id, 'colls', id] })
  const resource = JSON.parse(body) as Record<string, unknown>
  const definition = Object.fromEntries(Object.entries(resource).filter(([name]) => !systemNames.has(name)))
  return { etag: String(resource._etag), definition }
}

function showIndex({ definition, isDeclared, isReady }: IndexRecord) {
  const paths = definition.components.map(
    ({ path, isDescending }) => printIndexPath(path) + (isDescending ? ' DESC' : ''),
  )
  return { paths, state: isReady ? 'ready' : 'building', declared: isDeclared }
}

async function collectionSettings(service: ExplorerService, container: ContainerRecord) {
  const mongo = await service.mongo()
  const { shardKey, indexes, hasDateDeadlines, isView } = mongo.describe(container)
  const { answer } = await mongo.run(
    container.database.id,
    command({ listCollections: int32(1), filter: command({ name: string(container.id) }) }),
  )
  return {
    ...(isView && { isView }),
    shardKey,
    ttl: ttlOf(container.policy.defaultTtl, hasDateDeadlines),
    defaultTtl: container.policy.defaultTtl,
    indexes: indexes.map(showMongoIndex),
    documentTtl: service.mongoSwitches.isDocumentTtlOn,
    expiryEvents: service.mongoSwitches.areExpiryEventsOn,
    validator: validatorIn(answer),
  }
}

function plainJson(document: BsonDocument): Record<string, unknown> {
  return JSON.parse(printExtendedJson(document, { mode: 'relaxed' })) as Record<string, unknown>
}

function showMongoIndex(index: BsonDocument) {
  const { v: _, ns: __, unique, ...shown } = plainJson(index)
  const key = (shown.key ?? {}) as Record<string, unknown>
  const isExpiring = shown.expireAfterSeconds !== undefined
  const kind = !isExpiring ? 'plain' : isLifespanKey(key) ? 'modification' : 'date'
  return { ...shown, kind, isUnique: unique === true, state: 'ready' }
}

function validatorIn(answer: BsonDocument): unknown {
  const cursor = plainJson(answer).cursor as { firstBatch?: { options?: { validator?: unknown } }[] } | undefined
  return cursor?.firstBatch?.[0]?.options?.validator ?? null
}

export async function changeSettings(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const body = await call.body()
  const given = ['definition', 'defaultTtl', 'throughput'].filter(name => Object.hasOwn(body, name))
  if (given.length !== 1) {
    throw new FieldError('definition', 'Change one thing at a time: "definition", "defaultTtl" or "throughput".')
  }
  if (given[0] === 'definition') await replaceDefinition(service, container, call, body)
  else if (given[0] === 'defaultTtl') await changeTtl(service, container, body)
  else await changeThroughput(service, container, throughputField(body))
  service.counts.forget()
  return { json: await settingsOf(service, await findContainer(service, container.database.id, container.id)) }
}

async function replaceDefinition(
  { nosql, engine }: ExplorerService,
  container: ContainerRecord,
  { req }: ApiCall,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  requireNosql(container)
  const { definition } = body
  const expected = req.headers['if-match']
  if (expected === undefined)
    throw new FieldError('if-match', 'Say which version is meant: if-match with the etag, or *.')
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    throw new FieldError('definition', '"definition" must be an object.')
  }
  await refuseMoreDeaths(body, async () => {
    return engine.reports.preview(container, defaultTtlField(definition as Readonly<Record<string, unknown>>) ?? null)
  })
  await nosql.ask({
    method: 'PUT',
    path: ['dbs', container.database.id, 'colls', container.id],
    headers: expected === '*' ? {} : { 'if-match': expected },
    body: JSON.stringify(definition),
  })
}

async function changeTtl(
  service: ExplorerService,
  container: ContainerRecord,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const defaultTtl = defaultTtlField(body)!
  await refuseMoreDeaths(body, () => service.engine.reports.preview(container, defaultTtl))
  if (container.encoding === 'bson') {
    await changeLifespanIndex(service, container, defaultTtl)
    return
  }
  const { etag, definition } = await definitionOf(service, container)
  const { defaultTtl: _, ...rest } = definition
  await service.nosql.ask({
    method: 'PUT',
    path: ['dbs', container.database.id, 'colls', container.id],
    headers: { 'if-match': etag },
    body: JSON.stringify({ ...rest, ...(defaultTtl !== null && { defaultTtl }) }),
  })
}

/** In Mongo the index on `_ts` is the setting. */
async function changeLifespanIndex(
  service: ExplorerService,
  container: ContainerRecord,
  defaultTtl: number | null,
): Promise<void> {
  const mongo = await service.mongo()
  const present = mongo
    .describe(container)
    .indexes.map(plainJson)
    .find(({ key, expireAfterSeconds }) => expireAfterSeconds !== undefined && isLifespanKey(key as never))
  const run = (asked: BsonDocument) => mongo.run(container.database.id, asked)
  if (present === undefined) {
    if (defaultTtl !== null) await run(lifespanIndex(container.id, defaultTtl))
    return
  }
  const name = string(String(present.name))
  if (defaultTtl === null) await run(command({ dropIndexes: string(container.id), index: name }))
  else {
    const index = command({ name, expireAfterSeconds: int32(defaultTtl) })
    await run(command({ collMod: string(container.id), index }))
  }
}

async function changeThroughput(
  { engine }: ExplorerService,
  container: ContainerRecord,
  throughput: Throughput | undefined,
): Promise<void> {
  if (throughput === undefined) throw new FieldError('throughput', 'Name the throughput.')
  if (container.throughput === null) {
    throw new ConflictError('The container shares the throughput of its database and has none of its own.')
  }
  if (!(await engine.catalog.changeThroughput(container, throughput))) {
    throw new RequestError('namespace_not_found', 'The container does not exist any more.')
  }
}

export async function createIndex(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  requireMongo(container)
  const body = await call.body()
  const { expectNow: _, ...given } = body
  await refuseMoreDeaths(body, () => endedNow(service, container, given, call.gone))
  const asked = { ...given, name: given.name ?? Object.entries(indexKey(given)).flat().join('_') }
  const index = parseExtendedDocument(JSON.stringify(asked))
  const mongo = await service.mongo()
  await mongo.run(
    container.database.id,
    command({ createIndexes: string(container.id), indexes: BsonArray.of([index]) }),
  )
  service.counts.forget()
  return {
    status: 201,
    json: await settingsOf(service, await findContainer(service, container.database.id, container.id)),
  }
}

export async function changeIndex(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  requireMongo(container)
  const body = await call.body()
  const name = call.names[2]!
  const seconds = wholeField(body, 'expireAfterSeconds', -1, 2_147_483_647)
  await refuseMoreDeaths(body, () => endedNow(service, container, { name, expireAfterSeconds: seconds }, call.gone))
  const index = command({ name: string(name), expireAfterSeconds: int32(seconds) })
  await (await service.mongo()).run(container.database.id, command({ collMod: string(container.id), index }))
  service.counts.forget()
  return { json: await settingsOf(service, await findContainer(service, container.database.id, container.id)) }
}

export async function dropIndex(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  requireMongo(container)
  const asked = command({ dropIndexes: string(container.id), index: string(call.names[2]!) })
  await (await service.mongo()).run(container.database.id, asked)
  service.counts.forget()
  return { json: await settingsOf(service, await findContainer(service, container.database.id, container.id)) }
}

export async function showSwitches({ mongoSwitches }: ExplorerService): Promise<ApiAnswer> {
  const { isDocumentTtlOn, areExpiryEventsOn } = mongoSwitches
  return { json: { documentTtl: isDocumentTtlOn, expiryEvents: areExpiryEventsOn } }
}

export async function changeSwitches(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const { mongoSwitches } = service
  const body = await call.body()
  const documentTtl = optionalFlag(body, 'documentTtl')
  const expiryEvents = optionalFlag(body, 'expiryEvents')
  mongoSwitches.isDocumentTtlOn = documentTtl ?? mongoSwitches.isDocumentTtlOn
  mongoSwitches.areExpiryEventsOn = expiryEvents ?? mongoSwitches.areExpiryEventsOn
  return showSwitches(service)
}
