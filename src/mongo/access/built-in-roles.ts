/** The built-in roles, with MongoDB's names and meanings. */

import { type Action, anyDatabase, anyResource, cluster, databaseResource, type Privilege } from './privilege.ts'

export interface RoleName {
  readonly role: string
  readonly db: string
}

interface BuiltInRole {
  /** Roles of the same database, or of another one, that belong to this one. */
  readonly roles: readonly RoleName[]
  readonly privileges: readonly Privilege[]
}

const read: readonly Action[] = [
  'changeStream',
  'collStats',
  'dbStats',
  'find',
  'listCollections',
  'listIndexes',
  'planCacheRead',
]

const readWrite: readonly Action[] = [
  ...read,
  'createCollection',
  'createIndex',
  'dropCollection',
  'dropIndex',
  'insert',
  'remove',
  'renameCollectionSameDB',
  'update',
]

const dbAdmin: readonly Action[] = [
  'bypassDocumentValidation',
  'collMod',
  'collStats',
  'createCollection',
  'createIndex',
  'dbStats',
  'dropCollection',
  'dropDatabase',
  'dropIndex',
  'listCollections',
  'listIndexes',
  'planCacheRead',
  'renameCollectionSameDB',
  'validate',
]

const userAdmin: readonly Action[] = [
  'changeCustomData',
  'changePassword',
  'createUser',
  'dropUser',
  'grantRole',
  'revokeRole',
  'viewRole',
  'viewUser',
]

const restore: readonly Action[] = [
  'bypassDocumentValidation',
  'collMod',
  'createCollection',
  'createIndex',
  'dropCollection',
  'insert',
]

const statistics: readonly Action[] = ['collStats', 'dbStats', 'indexStats']

type MakeRole = (db: string) => BuiltInRole

function within(actions: readonly Action[]): MakeRole {
  return db => ({ roles: [], privileges: [{ resource: databaseResource(db), actions }] })
}

/** For roles that are the same in any database. */
function always(privileges: readonly Privilege[], roles: readonly (string | RoleName)[] = []): MakeRole {
  return db => ({ roles: roles.map(role => (typeof role === 'string' ? { role, db } : role)), privileges })
}

const databaseRoles: Readonly<Record<string, MakeRole>> = {
  read: within(read),
  readWrite: within(readWrite),
  dbAdmin: within(dbAdmin),
  userAdmin: within(userAdmin),
  dbOwner: always([], ['readWrite', 'dbAdmin', 'userAdmin']),
  enableSharding: always([{ resource: anyDatabase, actions: ['enableSharding'] }]),
}

/** These exist in `admin` only. */
const adminRoles: Readonly<Record<string, MakeRole>> = {
  readAnyDatabase: always([
    { resource: anyDatabase, actions: read },
    { resource: cluster, actions: ['listDatabases'] },
  ]),
  readWriteAnyDatabase: always([{ resource: anyDatabase, actions: readWrite }], ['readAnyDatabase']),
  dbAdminAnyDatabase: always([
    { resource: anyDatabase, actions: dbAdmin },
    { resource: cluster, actions: ['listDatabases'] },
  ]),
  userAdminAnyDatabase: always([
    { resource: anyDatabase, actions: userAdmin },
    { resource: databaseResource('config'), actions: userAdmin },
    { resource: databaseResource('local'), actions: userAdmin },
    { resource: cluster, actions: ['listDatabases', 'viewUser'] },
  ]),
  clusterMonitor: always(
    [
      {
        resource: cluster,
        actions: [
          'getCmdLineOpts',
          'getLog',
          'getParameter',
          'hostInfo',
          'inprog',
          'listDatabases',
          'listSessions',
          'replSetGetConfig',
          'replSetGetStatus',
          'serverStatus',
        ],
      },
      { resource: anyDatabase, actions: statistics },
      { resource: databaseResource('config'), actions: statistics },
      { resource: databaseResource('local'), actions: statistics },
    ],
    [
      { role: 'read', db: 'config' },
      { role: 'read', db: 'local' },
    ],
  ),
  hostManager: always([{ resource: cluster, actions: ['killAnyCursor', 'killAnySession', 'killop', 'setParameter'] }]),
  clusterManager: always(
    [
      { resource: cluster, actions: ['listSessions', 'replSetGetConfig', 'replSetGetStatus'] },
      { resource: anyDatabase, actions: ['enableSharding'] },
    ],
    [{ role: 'read', db: 'config' }],
  ),
  clusterAdmin: always(
    [{ resource: anyDatabase, actions: ['dropDatabase'] }],
    ['clusterMonitor', 'hostManager', 'clusterManager'],
  ),
  backup: always([
    { resource: anyResource, actions: ['collStats', 'listCollections', 'listIndexes'] },
    { resource: anyDatabase, actions: ['find'] },
    { resource: databaseResource('config'), actions: ['find'] },
    { resource: databaseResource('local'), actions: ['find'] },
    { resource: cluster, actions: ['getParameter', 'listDatabases', 'serverStatus'] },
  ]),
  restore: always([
    { resource: anyResource, actions: ['listCollections'] },
    { resource: anyDatabase, actions: [...restore, ...userAdmin] },
    { resource: databaseResource('config'), actions: restore },
    { resource: databaseResource('local'), actions: restore },
    { resource: cluster, actions: ['getParameter'] },
  ]),
  root: always(
    [
      { resource: anyResource, actions: ['validate'] },
      { resource: cluster, actions: ['configureFailPoint'] },
    ],
    ['clusterAdmin', 'userAdminAnyDatabase', 'dbAdminAnyDatabase', 'readWriteAnyDatabase', 'backup', 'restore'],
  ),
}

export function findRole({ role, db }: RoleName): BuiltInRole | undefined {
  const forAdmin = db === 'admin' && Object.hasOwn(adminRoles, role) ? adminRoles[role] : undefined
  const make = forAdmin ?? (Object.hasOwn(databaseRoles, role) ? databaseRoles[role] : undefined)
  return make?.(db)
}

/** The built-in roles of a database, in the order of their names. */
export function rolesOf(db: string): RoleName[] {
  const names = [...Object.keys(databaseRoles), ...(db === 'admin' ? Object.keys(adminRoles) : [])]
  return names.sort().map(role => ({ role, db }))
}

/** The roles and all that they contain, each once. */
function inheritedRoles(roles: readonly RoleName[]): RoleName[] {
  const found = new Map<string, RoleName>()
  const add = (name: RoleName): void => {
    const key = `${name.role}@${name.db}`
    if (found.has(key)) return
    found.set(key, name)
    for (const inner of findRole(name)?.roles ?? []) add(inner)
  }
  for (const role of roles) add(role)
  return [...found.values()]
}

/** What roles allow together: one privilege for each resource, its actions in the order of their names. */
export function privilegesOf(roles: readonly RoleName[]): Privilege[] {
  const found = new Map<string, { readonly resource: Privilege['resource']; readonly actions: Set<Action> }>()
  for (const name of inheritedRoles(roles)) {
    for (const { resource, actions } of findRole(name)?.privileges ?? []) {
      const key = JSON.stringify(resource)
      const same = found.get(key) ?? { resource, actions: new Set() }
      for (const action of actions) same.actions.add(action)
      found.set(key, same)
    }
  }
  return [...found.values()].map(({ resource, actions }) => ({ resource, actions: [...actions].sort() }))
}
