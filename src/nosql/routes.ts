/**
 * The whole REST surface as one table.
 *
 * A path alternates resource types and names. `within` lists the types before it; `feed` handles a path that
 * ends with the type, `one` a path that ends with a name.
 */

import { RequestError } from '../base/error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { readAccount } from './handlers/account.ts'
import { changeFeed, isChangeFeed } from './handlers/change-feed.ts'
import {
  listEncryptionKeys,
  postEncryptionKey,
  readEncryptionKey,
  replaceEncryptionKey,
} from './handlers/client-encryption-keys.ts'
import { listConflicts, queryConflicts, readConflict } from './handlers/conflicts.ts'
import {
  deleteContainer,
  listContainers,
  postContainer,
  readContainer,
  replaceContainer,
} from './handlers/containers.ts'
import { deleteDatabase, listDatabases, postDatabase, readDatabase } from './handlers/databases.ts'
import { listItems } from './handlers/item-feed.ts'
import { deleteItem, patchItem, postItem, readItem, replaceItem } from './handlers/items.ts'
import { listOffers, queryOffers, readOffer, replaceOffer } from './handlers/offers.ts'
import { postOperation } from './handlers/partition-key-delete.ts'
import { listPartitionKeyRanges } from './handlers/partition-key-ranges.ts'
import { deleteScript, listScripts, postScript, readScript, replaceScript } from './handlers/scripts.ts'
import { executeStoredProcedure } from './handlers/stored-procedures.ts'
import { deleteUser, listUsers, postUser, readUser, replaceUser } from './handlers/users.ts'
import { unlessKnown } from './http/known-version.ts'
import type { NosqlRequest } from './http/request.ts'
import type { NosqlResponse } from './http/response.ts'

export type RouteHandler = (request: NosqlRequest) => MaybePromise<NosqlResponse>
type Methods = { readonly [method in 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: RouteHandler }

interface Resource {
  readonly within: readonly string[]
  readonly feed?: Methods
  readonly one?: Methods
}

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
    feed: { GET: listContainers, POST: postContainer },
    one: {
      GET: unlessKnown(readContainer),
      HEAD: unlessKnown(readContainer),
      PUT: replaceContainer,
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
    feed: { GET: listOffers, POST: queryOffers },
    one: { GET: unlessKnown(readOffer), PUT: replaceOffer },
  },
  sprocs: {
    within: container,
    feed: { GET: listScripts, POST: postScript },
    one: { GET: unlessKnown(readScript), PUT: replaceScript, DELETE: deleteScript, POST: executeStoredProcedure },
  },
  triggers: {
    within: container,
    feed: { GET: listScripts, POST: postScript },
    one: { GET: unlessKnown(readScript), PUT: replaceScript, DELETE: deleteScript },
  },
  udfs: {
    within: container,
    feed: { GET: listScripts, POST: postScript },
    one: { GET: unlessKnown(readScript), PUT: replaceScript, DELETE: deleteScript },
  },
  conflicts: {
    within: container,
    feed: { GET: listConflicts, POST: queryConflicts },
    one: { GET: readConflict, DELETE: readConflict },
  },
  operations: { within: container, one: { POST: postOperation } },
  clientencryptionkeys: {
    within: database,
    feed: { GET: listEncryptionKeys, POST: postEncryptionKey },
    one: { GET: unlessKnown(readEncryptionKey), PUT: replaceEncryptionKey },
  },
  users: {
    within: database,
    feed: { GET: listUsers, POST: postUser },
    one: { GET: unlessKnown(readUser), PUT: replaceUser, DELETE: deleteUser },
  },
  permissions: {
    within: ['dbs', 'users'],
    feed: { GET: listUsers, POST: postUser },
    one: { GET: unlessKnown(readUser), PUT: replaceUser, DELETE: deleteUser },
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
