/** Stores the client encryption keys of a database. */

import type { Engine } from '../../engine/engine.ts'
import type { DatabaseRecord } from '../../store/catalog.ts'
import { databaseRid, userRid } from '../http/resource-id.ts'
import { SystemResources } from './system-resources.ts'

export function openEncryptionKeys(engine: Engine, database: DatabaseRecord): Promise<SystemResources> {
  const rid = databaseRid(database)
  return SystemResources.open(engine, 'encryption keys', {
    owner: rid,
    self: `dbs/${rid}/clientencryptionkeys/`,
    // INFERRED: in the service such an id has another mark, and the same length.
    rid: sequence => userRid(database, sequence),
  })
}

/** Deletes the keys of a deleted database. */
export async function deleteEncryptionKeys(engine: Engine, database: DatabaseRecord): Promise<void> {
  if (!(await engine.systemItems.hasContainers())) return
  await (await openEncryptionKeys(engine, database)).deleteAll()
}
