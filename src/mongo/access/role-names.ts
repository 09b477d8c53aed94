/** Reads the names of roles and users in a command: a name, `{role, db}` or `{user, db}`, or a list. */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'
import { checkDatabaseName } from '../requests/namespace.ts'
import { findRole, type RoleName } from './built-in-roles.ts'
import type { UserName } from './users.ts'

/** A plain name belongs to the database of the command. */
function readName(
  value: Value,
  kind: 'role' | 'user',
  database: string,
): { readonly name: string; readonly db: string } {
  if (value.type === bsonType.string) return { name: value.value, db: database }
  const what = kind === 'role' ? 'Role' : 'User'
  if (value.type !== bsonType.document) {
    throw new CommandError('BadValue', `${what} names must be either strings or objects`)
  }
  const [name, db] = [value.get(kind), value.get('db')]
  if (name?.type !== bsonType.string || db?.type !== bsonType.string) {
    throw new CommandError('BadValue', `${what} names must have the string fields '${kind}' and 'db'`)
  }
  return { name: name.value, db: db.value }
}

export function readRoles(args: Arguments, database: string, field = 'roles'): RoleName[] {
  const given = args.required(field)
  const elements = given.type === bsonType.array || field === 'roles' ? args.requiredArray(field).elements : [given]
  return elements.map(element => {
    const { name, db } = readName(element, 'role', database)
    checkDatabaseName(db)
    return { role: name, db }
  })
}

export function refuseUnknownRoles(roles: readonly RoleName[]): void {
  const unknown = new Set(roles.filter(role => findRole(role) === undefined).map(({ role, db }) => `${role}@${db}`))
  if (unknown.size === 0) return
  throw new CommandError(
    'RoleNotFound',
    `Could not find role${unknown.size > 1 ? 's' : ''}: ${[...unknown].join(', ')}`,
  )
}

export type AskedUsers = readonly UserName[] | 'this database' | 'all databases'

/** The argument of `usersInfo`. */
export function readUserNames(args: Arguments, database: string): AskedUsers {
  const given = args.required(args.name)
  if (given.type === bsonType.document) {
    const isForAll = given.get('forAllDBs')
    if (isForAll !== undefined) {
      if (isForAll.type === bsonType.bool && isForAll.value) return 'all databases'
      throw new CommandError('BadValue', "The field 'forAllDBs' of usersInfo must be true")
    }
  }
  const isList = given.type === bsonType.array || given.type === bsonType.document || given.type === bsonType.string
  if (!isList) return 'this database'
  return (given.type === bsonType.array ? given.elements : [given]).map(element => {
    const { name, db } = readName(element, 'user', database)
    return { user: name, db }
  })
}
