/** Finds the database or container that a request's path names. If there is none, the request is refused. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { ContainerRecord, DatabaseRecord } from '../../store/catalog.ts'
import { outcomeError } from './outcome-error.ts'
import type { NosqlRequest } from './request.ts'

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

export function requireContainer({ service, path }: NosqlRequest): MaybePromise<ContainerRecord> {
  return andThen(service.engine.catalog.findContainer(path[1]!, path[3]!), jsonContainer)
}

/** A Mongo collection does not count as a container: its items are BSON. */
function jsonContainer(found: ContainerRecord | undefined): ContainerRecord {
  if (found?.encoding !== 'json') throw outcomeError('ownerMissing')
  return found
}
