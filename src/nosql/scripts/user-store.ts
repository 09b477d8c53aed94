/** Stores the users of a database and their permissions. */

import type { Engine } from '../../engine/engine.ts'
import type { DatabaseRecord } from '../../store/catalog.ts'
import { databaseRid, permissionRid, userOfPermission, userRid } from '../http/resource-id.ts'
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

export function openPermissions(
  engine: Engine,
  { _rid, _self }: Pick<User, '_rid' | '_self'>,
): Promise<SystemResources> {
  return SystemResources.open(engine, 'users', {
    owner: `${_rid} permissions`,
    self: `${_self}permissions/`,
    rid: sequence => permissionRid(_rid, sequence),
  })
}

/** Whether the permission with this `_rid` still exists. */
export async function hasPermission(engine: Engine, rid: string): Promise<boolean> {
  if (!(await engine.systemItems.hasContainers())) return false
  const permissions = await openPermissions(engine, { _rid: userOfPermission(rid), _self: '' })
  return (await permissions.findByRid(rid)) !== undefined
}

/** Deletes the users and permissions of a deleted database. */
export async function deleteUsers(engine: Engine, database: DatabaseRecord): Promise<void> {
  if (!(await engine.systemItems.hasContainers())) return
  const users = await openUsers(engine, database)
  for (const { text } of await users.list()) await (await openPermissions(engine, JSON.parse(text) as User)).deleteAll()
  await users.deleteAll()
}
