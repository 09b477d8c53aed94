/** Finds the named database or container, of either API, or refuses the request if there is none. */

import { RequestError } from '../base/error.ts'
import type { Engine } from '../engine/engine.ts'
import type { ContainerRecord, DatabaseRecord } from '../store/catalog.ts'

export async function requireDatabase(engine: Engine, id: string): Promise<DatabaseRecord> {
  const found = await engine.catalog.findDatabase(id)
  if (found === undefined) {
    throw new RequestError('namespace_not_found', `The database ${id} does not exist.`)
  }
  return found
}

export async function requireContainer(engine: Engine, database: string, id: string): Promise<ContainerRecord> {
  const found = await engine.catalog.findContainer(database, id)
  if (found !== undefined) return found
  await requireDatabase(engine, database)
  throw new RequestError('namespace_not_found', `The container ${database}/${id} does not exist.`)
}
