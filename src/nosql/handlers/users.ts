/** /users and their /permissions, and the tokens of permissions. */

import { machine } from '../../base/clock.ts'
import { canonicalPartitionKey, parsePartitionKeyHeader } from '../../document/partition-key.ts'
import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import { resolveAddress } from '../access/resource-address.ts'
import { issueToken } from '../access/resource-token.ts'
import { fieldOf, invalidInput, malformed, readObject, readString } from '../definitions/definition-input.ts'
import { parseResourceId } from '../definitions/resource-name.ts'
import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireOwner } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { hasFlag, headerOf, isQuery, jsonBody, type NosqlRequest, parsePath } from '../http/request.ts'
import { databaseRid, versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import type { StoredResource, SystemResources } from '../scripts/system-resources.ts'
import { openPermissions, openUsers, type User } from '../scripts/user-store.ts'
import { queryDefinitions } from './lazy-queries.ts'

/** Lifetime of a resource token in seconds: the service's limits, and its default of an hour. */
const tokenSecondsMin = 10
const tokenSecondsDefault = 3600
const tokenSecondsMax = 86_400

interface Permission {
  readonly id: string
  readonly permissionMode: string
  readonly resource: string
  readonly resourcePartitionKey?: readonly unknown[]
}

/** The differences between the two kinds of resources. */
interface Kind {
  readonly feed: string
  open(request: NosqlRequest): Promise<{ resources: SystemResources; ownerRid: string }>
  parse(input: unknown): { readonly id: string }
  /** The resource as a client gets it. */
  show(request: NosqlRequest, stored: StoredResource): Promise<object>
  /** Deletes what belongs to the resource. */
  afterDelete(request: NosqlRequest, deleted: StoredResource): Promise<void>
}

async function openUsersOf(request: NosqlRequest) {
  const database = await requireOwner(request)
  return { resources: await openUsers(request.service.engine, database), ownerRid: databaseRid(database) }
}

const users: Kind = {
  feed: 'Users',
  open: openUsersOf,
  parse: input => ({ id: parseResourceId(readObject(input, 'body').id) }),
  show: async (_, { text }) => JSON.parse(text),
  afterDelete: async ({ service }, { text }) =>
    (await openPermissions(service.engine, JSON.parse(text) as User)).deleteAll(),
}

const permissions: Kind = {
  feed: 'Permissions',
  open: async request => {
    const { resources } = await openUsersOf(request)
    const found = await resources.find(request.path[3]!)
    if (found === undefined) throw outcomeError('missing')
    const user = JSON.parse(found.text) as User
    return { resources: await openPermissions(request.service.engine, user), ownerRid: user._rid }
  },
  parse: parsePermission,
  show: withToken,
  afterDelete: async () => {},
}

function parsePermission(input: unknown): Permission {
  const fields = readObject(input, 'body')
  const permissionMode = readString(fieldOf(fields, 'permissionMode'), 'permissionMode')
  if (!['read', 'all'].includes(permissionMode.toLowerCase())) invalidInput("'permissionMode' must be read or all")
  const resource = readString(fieldOf(fields, 'resource'), 'resource')
  const [dbs, , colls, container] = parsePath(resource)
  // A permission for less than a container would be a permission for everything.
  if (dbs !== 'dbs' || colls !== 'colls' || container === undefined) invalidInput("'resource' must be in a container")
  const key = fieldOf(fields, 'resourcePartitionKey')
  if (key !== undefined) parsePartitionKeyHeader(JSON.stringify(key))
  return {
    id: parseResourceId(fields.id),
    permissionMode,
    resource,
    ...(key === undefined ? {} : { resourcePartitionKey: key as readonly unknown[] }),
  }
}

/** Every read of a permission returns a new token, whose lifetime starts then. */
async function withToken(request: NosqlRequest, { text }: StoredResource): Promise<object> {
  const permission = JSON.parse(text) as Permission & { readonly _rid: string }
  const { permissionMode, resource, resourcePartitionKey } = permission
  const { engine, keys } = request.service
  const keyHeader = resourcePartitionKey && JSON.stringify(resourcePartitionKey)
  const { path } = await resolveAddress(engine, resource, keyHeader)
  const partitionKey = keyHeader && canonicalPartitionKey(parsePartitionKeyHeader(keyHeader))
  const mode = permissionMode.toLowerCase() === 'all' ? 'all' : 'read'
  const expires = Math.floor(machine.epochMs() / 1000) + tokenSeconds(request)
  const container = await engine.catalog.findContainer(path[1]!, path[3]!)
  const grant = { path, mode, container: container && viewOf(container).rid, permission: permission._rid } as const
  return { ...permission, _token: issueToken(keys, { ...grant, partitionKey, expires }) }
}

function tokenSeconds(request: NosqlRequest): number {
  const header = headerOf(request, 'x-ms-documentdb-expiry-seconds')
  if (header === undefined) return tokenSecondsDefault
  const seconds = Number(header)
  if (!Number.isInteger(seconds) || seconds < tokenSecondsMin || seconds > tokenSecondsMax) {
    malformed(
      `The value '${header.slice(0, 32)}' specified for the header 'x-ms-documentdb-expiry-seconds' is invalid.`,
    )
  }
  return seconds
}

function kindOf({ path }: NosqlRequest): Kind {
  return path.length > 4 ? permissions : users
}

async function shown(request: NosqlRequest, kind: Kind, resources: SystemResources) {
  const all = await resources.list()
  return Promise.all(all.map(async each => ({ number: each.sequence, resource: await kind.show(request, each) })))
}

export async function listUsers(request: NosqlRequest): Promise<NosqlResponse> {
  const kind = kindOf(request)
  const { resources, ownerRid } = await kind.open(request)
  return definitionFeed(request, kind.feed, ownerRid, await shown(request, kind, resources))
}

export async function postUser(request: NosqlRequest): Promise<NosqlResponse> {
  const kind = kindOf(request)
  const { resources, ownerRid } = await kind.open(request)
  if (isQuery(request)) {
    const rows = await queryDefinitions(request, await shown(request, kind, resources))
    return definitionFeed(request, kind.feed, ownerRid, rows)
  }
  const way = hasFlag(request, 'x-ms-documentdb-is-upsert') ? 'upsert' : 'create'
  const written = await resources.write(way, kind.parse(jsonBody(request)), undefined)
  return answer(request, kind, written.isNew ? 201 : 200, written, catalogWriteRu)
}

export async function readUser(request: NosqlRequest): Promise<NosqlResponse> {
  const kind = kindOf(request)
  const { resources } = await kind.open(request)
  const found = await resources.find(request.path.at(-1)!)
  if (found === undefined) throw outcomeError('missing')
  return answer(request, kind, 200, found, catalogReadRu)
}

/** Unlike databases, containers and scripts, users and permissions may change their id. */
export async function replaceUser(request: NosqlRequest): Promise<NosqlResponse> {
  const kind = kindOf(request)
  const { resources } = await kind.open(request)
  const resource = kind.parse(jsonBody(request))
  const id = request.path.at(-1)!
  const ifVersion = expectedVersion(request, resources)
  const written =
    resource.id === id
      ? await resources.write('replace', resource, ifVersion)
      : await resources.rename(id, resource, ifVersion)
  return answer(request, kind, 200, written, catalogWriteRu)
}

export async function deleteUser(request: NosqlRequest): Promise<NosqlResponse> {
  const kind = kindOf(request)
  const { resources } = await kind.open(request)
  const id = request.path.at(-1)!
  const found = await resources.find(id)
  await resources.delete(id, expectedVersion(request, resources))
  if (found !== undefined) await kind.afterDelete(request, found)
  return { status: 204, chargeRu: catalogWriteRu }
}

function expectedVersion(request: NosqlRequest, { rid }: SystemResources): number | undefined {
  const etag = headerOf(request, 'if-match')
  return etag === undefined ? undefined : versionOfEtag(etag, rid)
}

async function answer(
  request: NosqlRequest,
  kind: Kind,
  status: number,
  stored: StoredResource,
  chargeRu: number,
): Promise<NosqlResponse> {
  const body = JSON.stringify(await kind.show(request, stored))
  return { status, body, chargeRu, headers: header('etag', stored.etag) }
}
