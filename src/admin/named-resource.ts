/** Finds the named database or container, of either API, or refuses the request if there is none. */

import { RequestError } from '../base/error.ts'
import type { Encoding } from '../document/body.ts'
import type { Engine } from '../engine/engine.ts'
import type { ContainerRecord, DatabaseRecord } from '../store/catalog.ts'

export async function requireDatabase(engine: Engine, id: string): Promise<DatabaseRecord> {
  const found = await engine.catalog.findDatabase(id)
  if (found === undefined) {
    throw new RequestError('not_found', 'Entity with the specified id does not exist in the system.')
  }
  return found
}

export async function requireContainer(
  engine: Engine,
  database: string,
  id: string,
  encoding: Encoding | 'any' = 'any',
): Promise<ContainerRecord> {
  const found = await engine.catalog.findContainer(database, id)
  if (found === undefined || (encoding !== 'any' && found.encoding !== encoding)) {
    throw new RequestError('namespace_not_found', 'Owner resource does not exist')
  }
  return found
}
