/** createUser and its relatives: users, and the built-in roles that they have. */

import { randomUUID } from 'node:crypto'
import { bsonType } from '../../document/bson/types.ts'
import { type RoleName, rolesOf } from '../access/built-in-roles.ts'
import { deriveCredentials, type Mechanism, mechanisms, scram } from '../access/credentials.ts'
import { readRoles, readUserNames, refuseUnknownRoles } from '../access/role-names.ts'
import { type ShownParts, showRole, showUser } from '../access/shown.ts'
import {
  type StoredCredentials,
  type UserName,
  type UserRecord,
  userExists,
  userKey,
  userNameBytesMax,
} from '../access/users.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, encodeFields, type Fields } from '../answers/fields.ts'
import { filterList } from '../find/list-filter.ts'
import { checkDatabaseName } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { isAccountName } from '../session/scram.ts'

/** A user is read with each of its requests, so it must stay small. */
const userBytesMax = 64 * 1024
/** Long passwords would take long to hash. MongoDB's tools allow far less. */
const passwordBytesMax = 4096

async function createUser(call: CommandCall): Promise<Fields> {
  const { args, database, service } = call
  const name = userOf(call)
  checkDatabaseName(database)
  if (database === 'local') throw new CommandError('BadValue', 'Cannot create users in the local database')
  if (name.user === '') throw new CommandError('BadValue', 'User name cannot be empty')
  if (name.user.includes('\0')) throw new CommandError('BadValue', 'Username cannot contain NULL characters')
  if (Buffer.byteLength(name.user) > userNameBytesMax) {
    throw new CommandError('BadValue', `User names have at most ${userNameBytesMax} bytes`)
  }
  if (args.string('pwd') === undefined) {
    throw new CommandError(
      'BadValue',
      "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db",
    )
  }
  const roles = readRoles(args, database)
  refuseUnknownRoles(roles)
  refuseRestrictions(call)
  if (isAccountName(name.user)) throw userExists(name)
  await service.users.create(
    checkSize({
      ...name,
      userId: randomUUID(),
      roles: withoutDuplicates(roles),
      credentials: await newCredentials(call, name),
      customData: customDataOf(call),
    }),
  )
  return {}
}

async function updateUser(call: CommandCall): Promise<Fields> {
  const { args, database, service } = call
  const name = userOf(call)
  const names = ['pwd', 'mechanisms', 'customData', 'roles', 'authenticationRestrictions']
  if (!names.some(field => args.present(field) !== undefined)) {
    throw new CommandError('BadValue', 'Must specify at least one field to update in updateUser')
  }
  refuseRestrictions(call)
  const roles = args.present('roles') === undefined ? undefined : readRoles(args, database)
  refuseUnknownRoles(roles ?? [])
  const wanted = mechanismsOf(call)
  const credentials = args.string('pwd') === undefined ? undefined : await newCredentials(call, name)
  const customData = customDataOf(call)
  await service.users.change(name, found =>
    checkSize({
      ...found,
      ...(roles !== undefined && { roles: withoutDuplicates(roles) }),
      ...(customData !== undefined && { customData }),
      credentials: credentials ?? trimmed(found.credentials, wanted),
    }),
  )
  return {}
}

async function dropUser(call: CommandCall): Promise<Fields> {
  const name = userOf(call)
  try {
    await call.service.users.change(name, () => undefined)
  } catch (error) {
    const isMissing = error instanceof CommandError && error.message.endsWith(' not found')
    if (!isMissing) throw error
    throw new CommandError('UserNotFound', `User '${name.user}@${name.db}' not found`)
  }
  return {}
}

async function dropAllUsers({ service, database }: CommandCall): Promise<Fields> {
  const doomed = (await service.users.list()).filter(({ db }) => db === database)
  for (const name of doomed) await service.users.change(name, () => undefined)
  return { n: doomed.length }
}

async function changeRoles(
  call: CommandCall,
  change: (present: readonly RoleName[], given: readonly RoleName[]) => readonly RoleName[],
): Promise<Fields> {
  const { args, database, service } = call
  const name = userOf(call)
  const given = readRoles(args, database)
  if (given.length === 0) {
    throw new CommandError('BadValue', `${args.name} command requires a non-empty "roles" array`)
  }
  refuseUnknownRoles(given)
  await service.users.change(name, found => checkSize({ ...found, roles: change(found.roles, given) }))
  return {}
}

async function usersInfo(call: CommandCall): Promise<Fields> {
  const { args, database, service } = call
  const asked = readUserNames(args, database)
  const filter = args.document('filter')
  const parts: ShownParts = {
    credentials: args.flag('showCredentials'),
    customData: args.boolean('showCustomData') ?? true,
    privileges: args.flag('showPrivileges'),
    restrictions: args.flag('showAuthenticationRestrictions'),
  }
  if ((parts.privileges || parts.restrictions) && (typeof asked === 'string' || filter !== undefined)) {
    throw new CommandError('IllegalOperation', 'Privilege or restriction details require exact-match usersInfo queries')
  }
  const wanted = typeof asked === 'string' ? undefined : new Set(asked.map(userKey))
  const users = (await service.users.list())
    .filter(record => wanted?.has(userKey(record)) ?? (asked === 'all databases' || record.db === database))
    .map(record => encodeFields(showUser(record, parts)))
  return { users: new Documents(await filterList(call, filter, users)) }
}

function rolesInfo({ args, database }: CommandCall): Fields {
  const asked = args.required('rolesInfo')
  const isExact = asked.type === bsonType.string || asked.type === bsonType.document || asked.type === bsonType.array
  const shown = args.value('showPrivileges')
  if (shown?.type === bsonType.string) {
    throw new CommandError('NotImplemented', `showPrivileges: '${shown.value}' is not supported.`)
  }
  const parts = { privileges: args.flag('showPrivileges') }
  const names = isExact
    ? readRoles(args, database, 'rolesInfo')
    : args.flag('showBuiltinRoles')
      ? rolesOf(database)
      : []
  return { roles: names.flatMap(name => showRole(name, parts) ?? []) }
}

function userOf({ args, database }: CommandCall): UserName {
  return { user: args.requiredString(args.name), db: database }
}

function refuseRestrictions({ args }: CommandCall): void {
  if ((args.array('authenticationRestrictions')?.elements.length ?? 0) === 0) return
  throw new CommandError('NotImplemented', "The field 'authenticationRestrictions' of a user is not supported.")
}

function mechanismsOf({ args }: CommandCall): readonly Mechanism[] {
  const given = args.array('mechanisms')
  if (given === undefined) return mechanisms
  if (given.elements.length === 0) throw new CommandError('BadValue', 'mechanisms field must not be empty')
  return given.elements.map(element => {
    const name = element.type === bsonType.string ? element.value : ''
    const found = mechanisms.find(each => each === name)
    if (found === undefined) throw new CommandError('BadValue', `Unknown auth mechanism '${name}'`)
    return found
  })
}

async function newCredentials(call: CommandCall, { user }: UserName): Promise<UserRecord['credentials']> {
  const { args } = call
  const password = args.requiredString('pwd')
  if (password === '') throw new CommandError('BadValue', 'Password cannot be empty')
  if (Buffer.byteLength(password) > passwordBytesMax) {
    throw new CommandError('BadValue', `Passwords have at most ${passwordBytesMax} bytes`)
  }
  const wanted = mechanismsOf(call)
  const isDigested = args.boolean('digestPassword') === false
  if (isDigested && wanted.includes('SCRAM-SHA-256')) {
    throw new CommandError('BadValue', 'Use of SCRAM-SHA-256 requires undigested passwords')
  }
  const made: Partial<Record<Mechanism, StoredCredentials>> = {}
  // In MongoDB's order.
  for (const mechanism of mechanisms.toReversed().filter(each => wanted.includes(each))) {
    const { salt, storedKey, serverKey } = await deriveCredentials(mechanism, { user, password, isDigested })
    made[mechanism] = {
      iterationCount: scram[mechanism].iterations,
      salt: salt.toString('base64'),
      storedKey: storedKey.toString('base64'),
      serverKey: serverKey.toString('base64'),
    }
  }
  return made
}

/** Without a password, credentials can only be removed. */
function trimmed(present: UserRecord['credentials'], wanted: readonly Mechanism[]): UserRecord['credentials'] {
  const kept = Object.entries(present).filter(([mechanism]) => wanted.includes(mechanism as Mechanism))
  if (kept.length === 0) {
    throw new CommandError('BadValue', 'mechanisms field must be a subset of previously set mechanisms')
  }
  return Object.fromEntries(kept)
}

function customDataOf({ args }: CommandCall): string | undefined {
  const raw = args.document('customData')?.raw
  return raw === undefined ? undefined : Buffer.from(raw.bytes.subarray(raw.start, raw.end)).toString('base64')
}

function checkSize(record: UserRecord): UserRecord {
  if (JSON.stringify(record).length <= userBytesMax) return record
  throw new CommandError('BSONObjectTooLarge', `A user with its roles and customData has at most ${userBytesMax} bytes`)
}

function withoutDuplicates(roles: readonly RoleName[]): RoleName[] {
  return roles.filter(
    ({ role, db }, index) => roles.findIndex(other => other.role === role && other.db === db) === index,
  )
}

const grant = (call: CommandCall) => changeRoles(call, (present, given) => withoutDuplicates([...present, ...given]))

const revoke = (call: CommandCall) =>
  changeRoles(call, (present, given) =>
    present.filter(({ role, db }) => !given.some(each => each.role === role && each.db === db)),
  )

const described = ['pwd', 'roles', 'customData', 'mechanisms', 'digestPassword', 'authenticationRestrictions']

export const userCommands: readonly Command[] = [
  { name: 'createUser', fields: described, run: createUser },
  { name: 'updateUser', fields: described, run: updateUser },
  { name: 'dropUser', fields: [], run: dropUser },
  { name: 'dropAllUsersFromDatabase', fields: [], run: dropAllUsers },
  { name: 'grantRolesToUser', fields: ['roles'], run: grant },
  { name: 'revokeRolesFromUser', fields: ['roles'], run: revoke },
  {
    name: 'usersInfo',
    fields: ['showCredentials', 'showCustomData', 'showPrivileges', 'showAuthenticationRestrictions', 'filter'],
    run: usersInfo,
  },
  {
    name: 'rolesInfo',
    fields: ['showPrivileges', 'showBuiltinRoles', 'showAuthenticationRestrictions'],
    run: rolesInfo,
  },
]
