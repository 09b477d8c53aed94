/**
 * Which resource a path addresses, and the links that its signature may cover.
 *
 * Resources are addressed by names, `dbs/shop/colls/carts`, and signed with that path. SDKs also address them
 * by their `_self`, which is made of resource ids, `dbs/zfXEEA==/colls/zfXEEIs7m2E=`. Then they sign only the
 * id of the last resource, in lower case. Names and ids may be mixed. If a name looks like an id, the name
 * wins, except for items: an item's own `_rid` is never the id of another one in practice.
 */

import { RequestError } from '../../base/error.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { canonicalPartitionKey } from '../../document/partition-key.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ContainerRecord, DatabaseRecord } from '../../store/catalog.ts'
import { isScriptKind } from '../definitions/script-definition.ts'
import { namedPartitionKey, viewOf } from '../http/container-view.ts'
import { parsePath } from '../http/request.ts'
import { databaseRid, sequenceOfRid } from '../http/resource-id.ts'
import { openEncryptionKeys } from '../scripts/encryption-key-store.ts'
import { openScripts } from '../scripts/script-store.ts'
import type { SystemResources } from '../scripts/system-resources.ts'
import { openPermissions, openUsers, type User } from '../scripts/user-store.ts'

export interface Address {
  /** By names wherever they are known, even if the client used ids. */
  readonly path: readonly string[]
  readonly signedLink: string
  /** Another link that the signature may cover. */
  readonly otherSignedLink?: string
  /** The resource type in the signature, if it differs from the last one in the path. */
  readonly signedType?: string
}

/** `partitionKey` is the header of the request. An item with another key is not found by its id. */
export function resolveAddress(engine: Engine, url: string, partitionKey?: string): MaybePromise<Address> {
  // Nearly all paths begin with `/dbs`.
  if (!url.startsWith('/dbs') && directModePath.test(url)) refuseDirectMode()
  const path = parsePath(url)
  if (path[0] === 'offers') return { path, signedLink: (path[1] ?? '').toLowerCase() }
  const isOperation = path[4] === 'operations'
  if (!isOperation && !hasRid(path)) return { path, signedLink: nameLink(url, path) }
  const signed = isOperation ? signedAsContainer(path.slice(0, 4)) : signedLinks(path, nameLink(url, path))
  return andThen(namesOf(engine, path, partitionKey), names => ({ path: names, ...signed }))
}

const directModePath = /^\/*addresses\b/

/** Called before the signature is checked, because a client in direct mode signs in another way. */
function refuseDirectMode(): never {
  throw new RequestError(
    'unsupported',
    'Direct mode is not available in Mayfly. Set the connection mode of the client to Gateway (.NET: ' +
      'ConnectionMode.Gateway, Java: gatewayMode()).',
  )
}

type Signed = Omit<Address, 'path'>

/** An operation on a container is signed as the container itself. */
function signedAsContainer(container: readonly string[]): Signed {
  return { ...signedLinks(container, container.join('/')), signedType: 'colls' }
}

/** The path of names up to the resource itself, or up to the owner of the feed. */
function nameLink(url: string, path: readonly string[]): string {
  const isFeed = path.length % 2 === 1
  let chars = path.length
  for (const name of path) chars += name.length
  // If parts are escaped or empty, the decoded path has another length than the URL.
  if (chars !== url.length || !url.startsWith('/')) return (isFeed ? path.slice(0, -1) : path).join('/')
  return isFeed ? url.slice(1, Math.max(1, url.length - path.at(-1)!.length - 1)) : url.slice(1)
}

/** SDKs treat a path as made of ids if the name of its database looks like an id. */
function signedLinks(path: readonly string[], nameLink: string): Signed {
  if (path[0] !== 'dbs' || path[1] === undefined || !isRid(path[1], databaseRidChars)) return { signedLink: nameLink }
  const owner = path[path.length % 2 === 1 ? path.length - 2 : path.length - 1]!
  return { signedLink: owner.toLowerCase(), otherSignedLink: nameLink }
}

/** Lengths in base64 of 4 bytes, of 8 (containers and users) and of 16 (what is in those). */
const databaseRidChars = 8
const ownerRidChars = 12
const innerRidChars = 24

function isRid(text: string | undefined, chars: number): boolean {
  return text?.length === chars && text.endsWith('=')
}

function hasRid(path: readonly string[]): boolean {
  if (path[0] !== 'dbs') return false
  return isRid(path[1], databaseRidChars) || isRid(path[3], ownerRidChars) || isRid(path[5], innerRidChars)
}

/** The path with names instead of ids, as far as the resources exist. */
async function namesOf(
  engine: Engine,
  path: readonly string[],
  partitionKey: string | undefined,
): Promise<readonly string[]> {
  const names = [...path]
  const [, databaseName, ownerType, ownerName, innerType, innerName] = path
  const database = await findDatabase(engine, databaseName!)
  if (database === undefined) return names
  names[1] = database.id
  if (ownerName === undefined) return names
  if (ownerType === 'clientencryptionkeys') {
    const key = await findResource(await openEncryptionKeys(engine, database), ownerName, ownerRidChars)
    names[3] = key?.id ?? ownerName
    return names
  }
  if (ownerType === 'users') {
    const user = await findResource(await openUsers(engine, database), ownerName, ownerRidChars)
    if (user === undefined) return names
    names[3] = user.id
    if (isRid(innerName, innerRidChars)) {
      const permission = await findResource(await openPermissions(engine, user as User), innerName!, innerRidChars)
      names[5] = permission?.id ?? innerName!
    }
    return names
  }
  const container = await findContainer(engine, database, ownerName)
  if (container === undefined) return names
  names[3] = container.id
  if (isRid(innerName, innerRidChars)) {
    const found = await nameWithin(engine, container, innerType!, innerName!, partitionKey)
    names[5] = found ?? innerName!
  }
  return names
}

async function findDatabase(engine: Engine, name: string): Promise<DatabaseRecord | undefined> {
  const named = await engine.catalog.findDatabase(name)
  if (named !== undefined || !isRid(name, databaseRidChars)) return named
  return (await engine.catalog.databases()).find(candidate => databaseRid(candidate) === name)
}

async function findContainer(
  engine: Engine,
  database: DatabaseRecord,
  name: string,
): Promise<ContainerRecord | undefined> {
  const named = await engine.catalog.findContainer(database.id, name)
  if (named !== undefined || !isRid(name, ownerRidChars)) return named
  return (await engine.catalog.containers(database)).find(candidate => viewOf(candidate).rid === name)
}

/** The id of the item or the script that has this `_rid`. */
async function nameWithin(
  engine: Engine,
  container: ContainerRecord,
  type: string,
  rid: string,
  partitionKey: string | undefined,
): Promise<string | undefined> {
  const view = viewOf(container)
  if (isScriptKind(type)) return (await findResource(await openScripts(engine, view, type), rid, innerRidChars))?.id
  const sequence = type === 'docs' ? sequenceOfRid(container, rid) : undefined
  if (sequence === undefined) return undefined
  const key = (await engine.findBySequence(container, sequence))?.key
  const components = namedPartitionKey(view, partitionKey)
  if (components !== undefined && key?.pk !== canonicalPartitionKey(components)) return undefined
  return key?.id
}

async function findResource(
  resources: SystemResources,
  name: string,
  ridChars: number,
): Promise<{ readonly id: string } | undefined> {
  const found = (await resources.find(name)) ?? (isRid(name, ridChars) ? await resources.findByRid(name) : undefined)
  return found && JSON.parse(found.text)
}
