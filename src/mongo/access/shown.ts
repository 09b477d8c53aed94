/** Users, roles and privileges as commands show them. */

import { BsonDocument, binary } from '../../document/bson/value.ts'
import type { Fields, FieldValue } from '../answers/fields.ts'
import { findRole, privilegesOf, type RoleName } from './built-in-roles.ts'
import type { Privilege } from './privilege.ts'
import { type UserRecord, userKey } from './users.ts'

export function showPrivileges(privileges: readonly Privilege[]): FieldValue {
  return privileges.map(({ resource, actions }) => ({ resource: { ...resource }, actions }))
}

function showRoles(roles: readonly RoleName[]): FieldValue {
  return roles.map(({ role, db }) => ({ role, db }))
}

export interface ShownParts {
  readonly credentials: boolean
  readonly customData: boolean
  readonly privileges: boolean
  readonly restrictions: boolean
}

export function showUser(record: UserRecord, parts: ShownParts): Fields {
  const { user, db, userId, roles, credentials, customData } = record
  const isWhole = parts.privileges || parts.restrictions
  return {
    _id: userKey(record),
    userId: binary(Buffer.from(userId.replaceAll('-', ''), 'hex'), 4),
    user,
    db,
    ...(parts.credentials && { credentials: { ...credentials } as Fields }),
    ...(parts.customData &&
      customData !== undefined && { customData: BsonDocument.view(Buffer.from(customData, 'base64')) }),
    roles: showRoles(roles),
    mechanisms: Object.keys(credentials),
    ...(isWhole && { inheritedRoles: showRoles(roles) }),
    ...(parts.privileges && { inheritedPrivileges: showPrivileges(privilegesOf(roles)) }),
    ...(isWhole && { inheritedAuthenticationRestrictions: [] }),
    ...(parts.restrictions && { authenticationRestrictions: [] }),
  }
}

/** Undefined if there is no such role. */
export function showRole(name: RoleName, parts: { readonly privileges: boolean }): Fields | undefined {
  if (findRole(name) === undefined) return undefined
  const privileges = showPrivileges(privilegesOf([name]))
  return {
    role: name.role,
    db: name.db,
    isBuiltin: true,
    // As in MongoDB, a built-in role has its privileges itself, whatever it is made of.
    roles: [],
    inheritedRoles: [],
    ...(parts.privileges && { privileges, inheritedPrivileges: privileges }),
  }
}
