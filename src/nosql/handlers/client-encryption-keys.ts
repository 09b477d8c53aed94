/**
 * /clientencryptionkeys: the keys with which clients encrypt properties. They cannot be deleted, as in the
 * service.
 */

import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import { parseClientEncryptionKey } from '../definitions/client-encryption-key.ts'
import { malformed } from '../definitions/definition-input.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireOwner } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, isQuery, jsonBody, type NosqlRequest } from '../http/request.ts'
import { databaseRid, versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { openEncryptionKeys } from '../scripts/encryption-key-store.ts'
import type { StoredResource, SystemResources } from '../scripts/system-resources.ts'
import { queryDefinitions } from './lazy-queries.ts'

interface Opened {
  readonly keys: SystemResources
  readonly ownerRid: string
}

async function open(request: NosqlRequest): Promise<Opened> {
  const database = await requireOwner(request)
  return { keys: await openEncryptionKeys(request.service.engine, database), ownerRid: databaseRid(database) }
}

async function resourcesOf(keys: SystemResources) {
  return (await keys.list()).map(({ sequence, text }) => ({ number: sequence, resource: JSON.parse(text) as object }))
}

export async function listEncryptionKeys(request: NosqlRequest): Promise<NosqlResponse> {
  const { keys, ownerRid } = await open(request)
  return definitionFeed(request, 'ClientEncryptionKeys', ownerRid, await resourcesOf(keys))
}

export async function postEncryptionKey(request: NosqlRequest): Promise<NosqlResponse> {
  const { keys, ownerRid } = await open(request)
  if (isQuery(request)) {
    const rows = await queryDefinitions(request, await resourcesOf(keys))
    return definitionFeed(request, 'ClientEncryptionKeys', ownerRid, rows)
  }
  const key = parseClientEncryptionKey(jsonBody(request))
  return answer(201, await keys.write('create', key, undefined), catalogWriteRu)
}

export async function readEncryptionKey(request: NosqlRequest): Promise<NosqlResponse> {
  const { keys } = await open(request)
  const found = await keys.find(request.path[3]!)
  if (found === undefined) throw outcomeError('missing')
  return answer(200, found, catalogReadRu)
}

/** Clients call this to wrap a data key again, with another key of theirs. */
export async function replaceEncryptionKey(request: NosqlRequest): Promise<NosqlResponse> {
  const { keys } = await open(request)
  const key = parseClientEncryptionKey(jsonBody(request))
  if (key.id !== request.path[3]) malformed('The id of the resource and the id in the path are not the same.')
  const etag = headerOf(request, 'if-match')
  const ifVersion = etag === undefined ? undefined : versionOfEtag(etag, keys.rid)
  return answer(200, await keys.write('replace', key, ifVersion), catalogWriteRu)
}

function answer(status: number, { text, etag }: StoredResource, chargeRu: number): NosqlResponse {
  return { status, body: text, chargeRu, headers: header('etag', etag) }
}
