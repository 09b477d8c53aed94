/** Stores the users of a database and their permissions. */

import type { Engine } from '../../engine/engine.ts'
import type { DatabaseRecord } from '../../store/catalog.ts'
import { databaseRid, permissionRid, userRid } from '../http/resource-id.ts'
import { SystemResources } from './system-resources.ts'

export interface User {
  readonly id: string
  readonly _rid: string
  readonly _self: string
}

export function openUsers(engine: Engine, database: DatabaseRecord): Promise<SystemResources> {
  const rid = databaseRid(database)
  return SystemResources.open(engine, 'users', {
    owner: `${rid} users`,
    self: `dbs/${rid}/users/`,
    rid: sequence => userRid(database, sequence),
    links: ',"_permissions":"permissions/"',
  })
}

export function openPermissions(engine: Engine, { _rid, _self }: User): Promise<SystemResources> {
  return SystemResources.open(engine, 'users', {
    owner: `${_rid} permissions`,
    self: `${_self}permissions/`,
    rid: sequence => permissionRid(_rid, sequence),
  })
}

/** Deletes the users and permissions of a deleted database. */
export async function deleteUsers(engine: Engine, database: DatabaseRecord): Promise<void> {
  if (!(await engine.systemItems.hasContainers())) return
  const users = await openUsers(engine, database)
  for (const { text } of await users.list()) await (await openPermissions(engine, JSON.parse(text) as User)).deleteAll()
  await users.deleteAll()
}
