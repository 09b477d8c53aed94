/** Finds the database or container that a request's path names. If there is none, the request is refused. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { ContainerRecord, DatabaseRecord } from '../../store/catalog.ts'
import { viewOf } from './container-view.ts'
import { SubstatusError } from './error-map.ts'
import { outcomeError } from './outcome-error.ts'
import { headerOf, type NosqlRequest } from './request.ts'

export function requireDatabase({ service, path }: NosqlRequest): MaybePromise<DatabaseRecord> {
  return andThen(service.engine.catalog.findDatabase(path[1]!), found => {
    if (found === undefined) throw outcomeError('missing')
    return found
  })
}

/** For requests about something inside the database: clients tell a missing owner from a missing resource. */
export function requireOwner({ service, path }: NosqlRequest): MaybePromise<DatabaseRecord> {
  return andThen(service.engine.catalog.findDatabase(path[1]!), found => {
    if (found === undefined) throw outcomeError('ownerMissing')
    return found
  })
}

export function requireContainer(request: NosqlRequest): MaybePromise<ContainerRecord> {
  const { service, path } = request
  const intendedRid = headerOf(request, 'x-ms-cosmos-intended-collection-rid')
  return andThen(service.engine.catalog.findContainer(path[1]!, path[3]!), found => {
    const container = jsonContainer(found)
    if (intendedRid !== undefined) checkIntendedRid(container, intendedRid)
    return container
  })
}

/**
 * A client says which container it knows. If another one has the name now, perhaps with another partition
 * key, the client reads its definition and tries again.
 */
function checkIntendedRid(container: ContainerRecord, intendedRid: string): void {
  if (viewOf(container).rid === intendedRid) return
  // INFERRED text. Status and sub-status are those that the SDKs for .NET, Python and Java look for.
  throw new SubstatusError(
    1024,
    'The container has been created again: the collection rid in the request is not that of the container. Read ' +
      'the container and try again.',
  )
}

/** A Mongo collection does not count as a container: its items are BSON. */
function jsonContainer(found: ContainerRecord | undefined): ContainerRecord {
  if (found?.encoding !== 'json') throw outcomeError('ownerMissing')
  return found
}

/** Throws if the item would get another id, and the client may only touch the item that the path names. */
export function checkMayRename({ grant }: NosqlRequest): void {
  if (grant !== undefined && grant.path.length > 4) throw outcomeError('notPermitted')
}
