/**
 * The whole REST surface as one table.
 *
 * A path alternates resource types and names. `within` lists the types before it; `feed` handles a path that
 * ends with the type, `one` a path that ends with a name.
 */

import { RequestError } from '../base/error.ts'
import { lazily } from '../base/lazily.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { readAccount } from './handlers/account.ts'
import { deleteContainer, listContainers, readContainer } from './handlers/containers.ts'
import { deleteDatabase, listDatabases, postDatabase, readDatabase } from './handlers/databases.ts'
import { listItems } from './handlers/item-feed.ts'
import { deleteItem, postItem, readItem, replaceItem } from './handlers/items.ts'
import { listPartitionKeyRanges } from './handlers/partition-key-ranges.ts'
import { unlessKnown } from './http/known-version.ts'
import { isChangeFeed, type NosqlRequest } from './http/request.ts'
import type { NosqlResponse } from './http/response.ts'

export type RouteHandler = (request: NosqlRequest) => MaybePromise<NosqlResponse>
type Methods = { readonly [method in 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: RouteHandler }

interface Resource {
  readonly within: readonly string[]
  readonly feed?: Methods
  readonly one?: Methods
}

/** Handlers that many servers never need are loaded with their first request. */
const changeFeed = lazily(
  () => import('./handlers/change-feed.ts'),
  feed => feed.changeFeed,
)
const patchItem = lazily(
  () => import('./handlers/patch.ts'),
  patch => patch.patchItem,
)
const postOperation = lazily(
  () => import('./handlers/partition-key-delete.ts'),
  operations => operations.postOperation,
)
const executeStoredProcedure = lazily(
  () => import('./handlers/stored-procedures.ts'),
  procedures => procedures.executeStoredProcedure,
)
const definitions = () => import('./handlers/container-definitions.ts')
const offers = () => import('./handlers/offers.ts')
const scripts = () => import('./handlers/scripts.ts')
const conflicts = () => import('./handlers/conflicts.ts')
const encryptionKeys = () => import('./handlers/client-encryption-keys.ts')
const users = () => import('./handlers/users.ts')

const database = ['dbs']
const container = ['dbs', 'colls']

const resources: Readonly<Record<string, Resource>> = {
  '': { within: [], feed: { GET: readAccount, HEAD: readAccount } },
  dbs: {
    within: [],
    feed: { GET: listDatabases, POST: postDatabase },
    one: { GET: unlessKnown(readDatabase), HEAD: unlessKnown(readDatabase), DELETE: deleteDatabase },
  },
  colls: {
    within: database,
    feed: { GET: listContainers, POST: lazily(definitions, each => each.postContainer) },
    one: {
      GET: unlessKnown(readContainer),
      HEAD: unlessKnown(readContainer),
      PUT: lazily(definitions, each => each.replaceContainer),
      DELETE: deleteContainer,
    },
  },
  docs: {
    within: container,
    feed: { GET: getItems, POST: postItem },
    one: { GET: readItem, HEAD: readItem, PUT: replaceItem, PATCH: patchItem, DELETE: deleteItem },
  },
  pkranges: { within: container, feed: { GET: listPartitionKeyRanges } },
  offers: {
    within: [],
    feed: { GET: lazily(offers, each => each.listOffers), POST: lazily(offers, each => each.queryOffers) },
    one: { GET: unlessKnown(lazily(offers, each => each.readOffer)), PUT: lazily(offers, each => each.replaceOffer) },
  },
  sprocs: {
    within: container,
    feed: { GET: lazily(scripts, each => each.listScripts), POST: lazily(scripts, each => each.postScript) },
    one: {
      GET: unlessKnown(lazily(scripts, each => each.readScript)),
      PUT: lazily(scripts, each => each.replaceScript),
      DELETE: lazily(scripts, each => each.deleteScript),
      POST: executeStoredProcedure,
    },
  },
  triggers: {
    within: container,
    feed: { GET: lazily(scripts, each => each.listScripts), POST: lazily(scripts, each => each.postScript) },
    one: {
      GET: unlessKnown(lazily(scripts, each => each.readScript)),
      PUT: lazily(scripts, each => each.replaceScript),
      DELETE: lazily(scripts, each => each.deleteScript),
    },
  },
  udfs: {
    within: container,
    feed: { GET: lazily(scripts, each => each.listScripts), POST: lazily(scripts, each => each.postScript) },
    one: {
      GET: unlessKnown(lazily(scripts, each => each.readScript)),
      PUT: lazily(scripts, each => each.replaceScript),
      DELETE: lazily(scripts, each => each.deleteScript),
    },
  },
  conflicts: {
    within: container,
    feed: { GET: lazily(conflicts, each => each.listConflicts), POST: lazily(conflicts, each => each.queryConflicts) },
    one: { GET: lazily(conflicts, each => each.readConflict), DELETE: lazily(conflicts, each => each.readConflict) },
  },
  operations: { within: container, one: { POST: postOperation } },
  clientencryptionkeys: {
    within: database,
    feed: {
      GET: lazily(encryptionKeys, each => each.listEncryptionKeys),
      POST: lazily(encryptionKeys, each => each.postEncryptionKey),
    },
    one: {
      GET: unlessKnown(lazily(encryptionKeys, each => each.readEncryptionKey)),
      PUT: lazily(encryptionKeys, each => each.replaceEncryptionKey),
    },
  },
  users: {
    within: database,
    feed: { GET: lazily(users, each => each.listUsers), POST: lazily(users, each => each.postUser) },
    one: {
      GET: unlessKnown(lazily(users, each => each.readUser)),
      PUT: lazily(users, each => each.replaceUser),
      DELETE: lazily(users, each => each.deleteUser),
    },
  },
  permissions: {
    within: ['dbs', 'users'],
    feed: { GET: lazily(users, each => each.listUsers), POST: lazily(users, each => each.postUser) },
    one: {
      GET: unlessKnown(lazily(users, each => each.readUser)),
      PUT: lazily(users, each => each.replaceUser),
      DELETE: lazily(users, each => each.deleteUser),
    },
  },
}

/** Resource types of the service that are not here, as the beginning of a sentence. */
const missingFeatures: Readonly<Record<string, string>> = {
  attachments: 'Attachments are',
  media: 'Attachments are',
  schemas: 'The schemas of the analytical store are',
  snapshots: 'Snapshots are',
  authpolicyelements: 'Role assignments of Microsoft Entra ID are',
  roledefinitions: 'Role definitions of Microsoft Entra ID are',
  roleassignments: 'Role assignments of Microsoft Entra ID are',
}

/** The feed of items, or the change feed if the request has an A-IM header. */
function getItems(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return isChangeFeed(request) ? changeFeed(request) : listItems(request)
}

/** The first word of each entry of the table. The account has none. */
export const resourceTypes: ReadonlySet<string> = new Set(Object.keys(resources))

/** The last resource type in a path. The signature covers it. */
export function resourceTypeOf(path: readonly string[]): string {
  return path.length === 0 ? '' : path[path.length % 2 === 0 ? path.length - 2 : path.length - 1]!
}

export function findHandler(method: string, path: readonly string[]): RouteHandler {
  const type = resourceTypeOf(path)
  const resource = Object.hasOwn(resources, type) ? resources[type]! : undefined
  const depth = Math.ceil(path.length / 2) - 1
  if (resource === undefined || (depth >= 0 && !isWithin(path, resource.within, depth))) {
    const feature = Object.hasOwn(missingFeatures, type) ? missingFeatures[type] : undefined
    if (feature !== undefined) throw new RequestError('unsupported', `${feature} not available in Mayfly.`)
    throw new RequestError('not_found', 'The requested resource does not exist: no such path.')
  }
  const methods = path.length % 2 === 0 && path.length > 0 ? resource.one : resource.feed
  const handler = methods?.[method as keyof Methods]
  if (handler === undefined) {
    throw new RequestError('method_not_allowed', `The requested verb ${method} is not supported on this resource.`)
  }
  return handler
}

function isWithin(path: readonly string[], within: readonly string[], depth: number): boolean {
  if (within.length !== depth) return false
  for (let level = 0; level < depth; level++) if (path[level * 2] !== within[level]) return false
  return true
}
