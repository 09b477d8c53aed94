/** What a user may do: the privileges of all its roles. */

import { privilegesOf, type RoleName } from './built-in-roles.ts'
import { type Action, covers, type Privilege, type Resource } from './privilege.ts'

export class Rights {
  readonly privileges: readonly Privilege[]

  constructor(roles: readonly RoleName[]) {
    this.privileges = privilegesOf(roles)
  }

  allows(action: Action, resource: Resource): boolean {
    return this.privileges.some(granted => granted.actions.includes(action) && covers(granted.resource, resource))
  }

  allowsAll(needed: readonly Privilege[]): boolean {
    return needed.every(({ resource, actions }) => actions.every(action => this.allows(action, resource)))
  }

  /** Whether anything is allowed on the collection: then its name may be shown. */
  knowsCollection(db: string, collection: string): boolean {
    return this.privileges.some(({ resource }) => covers(resource, { db, collection }))
  }

  /** Whether anything is allowed on the database or on one of its collections. */
  knowsDatabase(db: string): boolean {
    return this.privileges.some(
      ({ resource }) => covers(resource, { db, collection: '' }) || ('db' in resource && resource.db === db),
    )
  }
}
