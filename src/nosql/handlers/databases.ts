/** /dbs: creates, lists, reads and deletes databases. */

import type { DatabaseRecord } from '../../store/catalog.ts'
import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import { readObject } from '../definitions/definition-input.ts'
import { parseResourceId } from '../definitions/resource-name.ts'
import { parseThroughput } from '../definitions/throughput.ts'
import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireDatabase } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, isQuery, jsonBody, type NosqlRequest } from '../http/request.ts'
import { databaseRid, etagOf } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { deleteEncryptionKeys } from '../scripts/encryption-key-store.ts'
import { deleteScripts } from '../scripts/script-store.ts'
import { deleteUsers } from '../scripts/user-store.ts'
import { queryDefinitions } from './lazy-queries.ts'

export function databaseResource(database: DatabaseRecord): object {
  const rid = databaseRid(database)
  return {
    id: database.id,
    _rid: rid,
    _self: `dbs/${rid}/`,
    _etag: `"${etagOf(database.rid, database.version)}"`,
    _colls: 'colls/',
    _users: 'users/',
    _ts: database.ts,
  }
}

async function databases(request: NosqlRequest) {
  const all = await request.service.engine.catalog.databases()
  return all.map(database => ({ number: database.number, resource: databaseResource(database) }))
}

export async function listDatabases(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Databases', '', await databases(request))
}

export async function postDatabase(request: NosqlRequest): Promise<NosqlResponse> {
  if (isQuery(request)) {
    return definitionFeed(request, 'Databases', '', await queryDefinitions(request, await databases(request)))
  }
  const id = parseResourceId(readObject(jsonBody(request), 'database').id)
  const { catalog } = request.service.engine
  const database = await catalog.createDatabase(id, requestedThroughput(request) ?? null)
  if (database === undefined) throw outcomeError('nameTaken')
  return answer(201, database, catalogWriteRu)
}

export async function readDatabase(request: NosqlRequest): Promise<NosqlResponse> {
  return answer(200, await requireDatabase(request), catalogReadRu)
}

export async function deleteDatabase(request: NosqlRequest): Promise<NosqlResponse> {
  const { engine } = request.service
  const database = await requireDatabase(request)
  const containers = await engine.catalog.containers(database)
  if (!(await engine.catalog.deleteDatabase(database))) throw outcomeError('missing')
  for (const container of containers) await deleteScripts(engine, viewOf(container))
  await deleteUsers(engine, database)
  await deleteEncryptionKeys(engine, database)
  return { status: 204, chargeRu: catalogWriteRu }
}

export function requestedThroughput(request: NosqlRequest) {
  return parseThroughput({
    throughput: headerOf(request, 'x-ms-offer-throughput'),
    offerType: headerOf(request, 'x-ms-offer-type'),
    autopilot: headerOf(request, 'x-ms-cosmos-offer-autopilot-settings'),
  })
}

function answer(status: number, database: DatabaseRecord, chargeRu: number): NosqlResponse {
  const etag = `"${etagOf(database.rid, database.version)}"`
  return { status, body: JSON.stringify(databaseResource(database)), chargeRu, headers: header('etag', etag) }
}
