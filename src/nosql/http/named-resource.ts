/** The database or the container that the path of a request names. If there is none, it is refused. */

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

/** The database as the owner of what the request is about. */
export function requireOwner({ service, path }: NosqlRequest): MaybePromise<DatabaseRecord> {
  return andThen(service.engine.catalog.findDatabase(path[1]!), found => {
    if (found === undefined) throw outcomeError('ownerMissing')
    return found
  })
}

export function requireContainer({ service, path }: NosqlRequest): MaybePromise<ContainerRecord> {
  return andThen(service.engine.catalog.findContainer(path[1]!, path[3]!), jsonContainer)
}

/** A collection of the Mongo API is no container: its items are written in another language. */
function jsonContainer(found: ContainerRecord | undefined): ContainerRecord {
  if (found?.encoding !== 'json') throw outcomeError('ownerMissing')
  return found
}
