/** /colls: lists, reads and deletes containers. container-definitions.ts creates and replaces them. */

import { RequestError } from '../../base/error.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireContainer, requireOwner } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { hasFlag, headerOf, type NosqlRequest } from '../http/request.ts'
import { databaseRid, etagOf, versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { deleteScripts } from '../scripts/script-store.ts'

export function containerResource(container: ContainerRecord): object {
  const view = viewOf(container)
  return {
    ...(container.definition as ContainerDefinition),
    _rid: view.rid,
    _ts: container.ts,
    _self: view.self,
    _etag: `"${etagOf(container.rid, container.version)}"`,
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  }
}

export async function containersOf(request: NosqlRequest) {
  const { engine } = request.service
  const database = await requireOwner(request)
  const all = (await engine.catalog.containers(database)).filter(({ encoding }) => encoding === 'json')
  const resources = all.map(container => ({ number: container.number, resource: containerResource(container) }))
  return { database, resources }
}

export async function listContainers(request: NosqlRequest): Promise<NosqlResponse> {
  const { database, resources } = await containersOf(request)
  return definitionFeed(request, 'DocumentCollections', databaseRid(database), resources)
}

export async function readContainer(request: NosqlRequest): Promise<NosqlResponse> {
  return answerContainer(request, 200, await requireContainer(request), catalogReadRu)
}

export async function deleteContainer(request: NosqlRequest): Promise<NosqlResponse> {
  const container = await requireContainer(request)
  checkIfMatch(request, container)
  const { engine } = request.service
  if (!(await engine.catalog.deleteContainer(container))) throw outcomeError('missing')
  await deleteScripts(engine, viewOf(container))
  return { status: 204, chargeRu: catalogWriteRu }
}

export function checkIfMatch(request: NosqlRequest, container: ContainerRecord): void {
  const etag = headerOf(request, 'if-match')
  if (etag === undefined) return
  const version = versionOfEtag(etag, container.rid)
  if (version !== undefined && version !== container.version) {
    throw new RequestError('precondition_failed', 'One of the specified pre-condition is not met')
  }
}

export async function answerContainer(
  request: NosqlRequest,
  status: number,
  container: ContainerRecord,
  chargeRu: number,
): Promise<NosqlResponse> {
  // The paths are those of the database; the Java SDK appends the container's name itself.
  let headers =
    header('etag', `"${etagOf(container.rid, container.version)}"`) +
    header('x-ms-content-path', databaseRid(container.database)) +
    header('x-ms-alt-content-path', encodeURI(`dbs/${container.database.id}`))
  if (hasFlag(request, 'x-ms-documentdb-populatequotainfo')) headers += await quotaHeaders(request, container)
  const statistics = hasFlag(request, 'x-ms-documentdb-populatepartitionstatistics')
    ? { statistics: await rangeStatistics(request, container) }
    : {}
  return { status, body: JSON.stringify({ ...containerResource(container), ...statistics }), chargeRu, headers }
}

/** What each range holds. The service samples sizes and partition keys; here they are 0 and empty. */
async function rangeStatistics(request: NosqlRequest, container: ContainerRecord): Promise<object[]> {
  const { reports } = request.service.engine
  const { ranges } = viewOf(container)
  const statistics: object[] = []
  for (const [index, range] of ranges.entries()) {
    const documentCount =
      ranges.length === 1 ? await reports.countLiving(container) : await reports.countWithin(container, range)
    const sampled = { sizeInKB: 0, sampledDistinctPartitionKeyCount: 0, partitionKeys: [] }
    statistics.push({ id: String(index), ...sampled, documentCount })
  }
  return statistics
}

/** Sizes are in KB. The limits are those of a 10 GB container, which clients' tests expect. */
async function quotaHeaders(request: NosqlRequest, container: ContainerRecord): Promise<string> {
  const { living } = await request.service.engine.reports.ttlStatus(container)
  return (
    header(
      'x-ms-resource-quota',
      'documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;',
    ) +
    header('x-ms-resource-usage', `documentSize=0;documentsSize=0;documentsCount=${living};collectionSize=0;`) +
    header('x-ms-documentdb-collection-index-transformation-progress', indexProgress(container))
  )
}

/** How much of the declared indexes is ready, in percent. */
function indexProgress({ indexes }: ContainerRecord): number {
  const declared = indexes.filter(({ isDeclared }) => isDeclared)
  const ready = declared.filter(({ isReady }) => isReady)
  return declared.length === 0 ? 100 : Math.floor((ready.length / declared.length) * 100)
}
