/**
 * Which resource a path addresses, and the link that its signature covers.
 *
 * Resources are addressed by names, `dbs/shop/colls/carts`, and signed with that path. The .NET and Java SDKs
 * also address them by resource ids, `dbs/zfXEEA==/colls/zfXEEIs7m2E=`, and then sign only the id of the last
 * resource, in lower case. If a name looks like an id, the name wins.
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Engine } from '../../engine/engine.ts'
import { viewOf } from '../http/container-view.ts'
import { parsePath } from '../http/request.ts'
import { databaseRid } from '../http/resource-id.ts'

export interface Address {
  /** Always by names, even if the client used ids. */
  readonly path: readonly string[]
  readonly signedLink: string
  /** The resource type in the signature, if it differs from the last one in the path. */
  readonly signedType?: string
}

export function resolveAddress(engine: Engine, url: string): MaybePromise<Address> {
  const path = parsePath(url)
  if (path[0] === 'offers') return { path, signedLink: (path[1] ?? '').toLowerCase() }
  // An operation on a container is signed as the container itself.
  if (path[4] === 'operations') return { path, signedLink: path.slice(0, 4).join('/'), signedType: 'colls' }
  const byName = { path, signedLink: nameLink(url, path) }
  if (path[0] !== 'dbs' || path[1] === undefined || !isRid(path[1], databaseRidChars)) return byName
  return andThen(engine.catalog.findDatabase(path[1]), named =>
    named === undefined ? byRid(engine, path, byName) : byName,
  )
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

/** Base64 lengths of 4 and of 8 bytes. */
const databaseRidChars = 8
const containerRidChars = 12

function isRid(text: string, chars: number): boolean {
  return text.length === chars && text.endsWith('=')
}

async function byRid(engine: Engine, path: readonly string[], byName: Address): Promise<Address> {
  const database = (await engine.catalog.databases()).find(candidate => databaseRid(candidate) === path[1])
  if (database === undefined) return byName
  const resolved = [...path]
  resolved[1] = database.id
  if (path[3] !== undefined && isRid(path[3], containerRidChars)) {
    const container = (await engine.catalog.containers(database)).find(candidate => viewOf(candidate).rid === path[3])
    if (container !== undefined) resolved[3] = container.id
  }
  const owner = path[path.length % 2 === 1 ? path.length - 2 : path.length - 1]
  return { path: resolved, signedLink: (owner ?? '').toLowerCase() }
}
