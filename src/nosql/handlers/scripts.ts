/** /sprocs, /triggers and /udfs: scripts as resources. */

import { RequestError } from '../../base/error.ts'
import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import { parseScript, type ScriptKind, scriptKinds } from '../definitions/script-definition.ts'
import { type ContainerView, viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireContainer } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { hasFlag, headerOf, isQuery, jsonBody, type NosqlRequest } from '../http/request.ts'
import { versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { openScripts } from '../scripts/script-store.ts'
import type { StoredResource, SystemResources } from '../scripts/system-resources.ts'
import { queryDefinitions } from './lazy-queries.ts'

interface Opened {
  readonly view: ContainerView
  readonly kind: ScriptKind
  readonly scripts: SystemResources
}

async function open(request: NosqlRequest): Promise<Opened> {
  const { service, path } = request
  const kind = path[4] as ScriptKind
  const view = viewOf(await requireContainer(request))
  return { view, kind, scripts: await openScripts(service.engine, view, kind) }
}

async function resources(scripts: SystemResources) {
  return (await scripts.list()).map(({ sequence, text }) => ({
    number: sequence,
    resource: JSON.parse(text) as object,
  }))
}

export async function listScripts(request: NosqlRequest): Promise<NosqlResponse> {
  const { view, kind, scripts } = await open(request)
  return definitionFeed(request, scriptKinds[kind].feed, view.rid, await resources(scripts))
}

export async function postScript(request: NosqlRequest): Promise<NosqlResponse> {
  const { view, kind, scripts } = await open(request)
  if (isQuery(request)) {
    const rows = await queryDefinitions(request, await resources(scripts))
    return definitionFeed(request, scriptKinds[kind].feed, view.rid, rows)
  }
  const script = parseScript(kind, jsonBody(request))
  const isUpsert = hasFlag(request, 'x-ms-documentdb-is-upsert')
  const { countMax, quota } = scriptKinds[kind]
  if ((await scripts.find(script.id)) === undefined && (await scripts.list()).length >= countMax) {
    // INFERRED text (the service does not document it). The status is the service's for quotas.
    throw new RequestError('forbidden', `Quota Exceeded. The container has its ${countMax} ${quota} already.`)
  }
  const written = await scripts.write(isUpsert ? 'upsert' : 'create', script, undefined)
  return answer(written.isNew ? 201 : 200, view, written, catalogWriteRu)
}

export async function readScript(request: NosqlRequest): Promise<NosqlResponse> {
  const { view, scripts } = await open(request)
  const found = await scripts.find(request.path[5]!)
  if (found === undefined) throw outcomeError('missing')
  return answer(200, view, found, catalogReadRu)
}

export async function replaceScript(request: NosqlRequest): Promise<NosqlResponse> {
  const { view, kind, scripts } = await open(request)
  const script = parseScript(kind, jsonBody(request))
  if (script.id !== request.path[5]) {
    throw new RequestError('malformed', 'The id of the resource and the id in the path are not the same.')
  }
  return answer(200, view, await scripts.write('replace', script, expectedVersion(request, scripts)), catalogWriteRu)
}

export async function deleteScript(request: NosqlRequest): Promise<NosqlResponse> {
  const { scripts } = await open(request)
  await scripts.delete(request.path[5]!, expectedVersion(request, scripts))
  return { status: 204, chargeRu: catalogWriteRu }
}

function expectedVersion(request: NosqlRequest, { rid }: SystemResources): number | undefined {
  const etag = headerOf(request, 'if-match')
  return etag === undefined ? undefined : versionOfEtag(etag, rid)
}

function answer(status: number, view: ContainerView, { text, etag }: StoredResource, chargeRu: number): NosqlResponse {
  return { status, body: text, chargeRu, headers: header('etag', etag) + view.pathHeaders }
}
