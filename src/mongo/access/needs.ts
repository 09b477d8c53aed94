/**
 * The table of what each command needs: the privileges that a user must have to run it. Commands that are
 * allowed before login are not asked, nor are those that refuse everybody.
 *
 * A command without an entry is refused to all users but the account. A test compares this table with the
 * table of commands.
 */

import { bsonType } from '../../document/bson/types.ts'
import { bsonCommandDepthMax, validateDocument } from '../../document/bson/validate.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { Arguments } from '../requests/arguments.ts'
import { DocumentList } from '../requests/document-list.ts'
import { parseNamespace } from '../requests/namespace.ts'
import type { DocumentSequence } from '../wire/op-msg.ts'
import type { RoleName } from './built-in-roles.ts'
import { pipelineNeeds } from './pipeline-needs.ts'
import { type Action, anyDatabase, cluster, databaseResource, type Privilege, type Resource } from './privilege.ts'
import type { Rights } from './rights.ts'
import { readRoles, readUserNames } from './role-names.ts'
import type { UserName } from './users.ts'

export interface AccessRequest {
  readonly args: Arguments
  readonly sequences: readonly DocumentSequence[]
  readonly database: string
  readonly user: UserName
  readonly roles: readonly RoleName[]
  readonly rights: Rights
}

export type Need = (request: AccessRequest) => readonly Privilege[]

/**
 * Any user may run the command. If it touches what belongs to a user, the command itself checks the owner.
 */
const nothing: Need = () => []

const onCollection =
  (...actions: Action[]): Need =>
  request => [{ resource: collectionOf(request), actions }]

const onDatabase =
  (...actions: Action[]): Need =>
  ({ database }) => [{ resource: databaseResource(database), actions }]

const onCluster =
  (...actions: Action[]): Need =>
  () => [{ resource: cluster, actions }]

/** The collection in the first field of the command; without one, the database. */
function collectionOf({ args, database }: AccessRequest): Resource {
  const name = args.value(args.name)
  return { db: database, collection: name?.type === bsonType.string ? name.value : '' }
}

function statementsOf({ args, sequences }: AccessRequest, name: string): BsonDocument[] {
  const inBody = args.documents(name) ?? []
  const inSequences = sequences
    .filter(sequence => sequence.name === name)
    .flatMap(sequence => [...DocumentList.ofSequence(sequence)])
    .map(bytes => {
      validateDocument(bytes, { end: bytes.length, depthMax: bsonCommandDepthMax })
      return BsonDocument.view(bytes)
    })
  return [...inBody, ...inSequences]
}

function isSet(value: Value | undefined): boolean {
  return value !== undefined && !(value.type === bsonType.bool && !value.value) && value.type !== bsonType.null
}

/** The privilege to write documents that break the rules of the collection, if that is asked for. */
function bypassing(request: AccessRequest): Action[] {
  return isSet(request.args.value('bypassDocumentValidation')) ? ['bypassDocumentValidation'] : []
}

function insertNeeds(request: AccessRequest): readonly Privilege[] {
  return [{ resource: collectionOf(request), actions: ['insert', ...bypassing(request)] }]
}

function updateNeeds(request: AccessRequest): readonly Privilege[] {
  const resource = collectionOf(request)
  // There may be very many statements. They are looked at only if something depends on it.
  const isOpen = request.rights.allows('update', resource) && !request.rights.allows('insert', resource)
  const isUpsert = isOpen && isAnyUpsert(request)
  const actions: Action[] = ['find', 'update', ...(isUpsert ? (['insert'] as const) : []), ...bypassing(request)]
  return [{ resource, actions }]
}

function isAnyUpsert(request: AccessRequest): boolean {
  return statementsOf(request, 'updates').some(({ fields }) =>
    fields.some(([name, value]) => name === 'upsert' && isSet(value)),
  )
}

function findAndModifyNeeds(request: AccessRequest): readonly Privilege[] {
  const { args } = request
  const actions: Action[] = ['find', ...bypassing(request)]
  if (isSet(args.value('remove'))) actions.push('remove')
  else actions.push('update')
  if (isSet(args.value('upsert'))) actions.push('insert')
  return [{ resource: collectionOf(request), actions }]
}

function aggregateNeeds(request: AccessRequest): readonly Privilege[] {
  const { args, database } = request
  const name = args.value(args.name)
  const collection = name?.type === bsonType.string ? name.value : undefined
  const needs = pipelineNeeds(args.requiredArray('pipeline'), { database, collection })
  const bypassed = bypassing(request)
  if (bypassed.length === 0) return needs
  return needs.map(({ resource, actions }) =>
    actions.includes('insert') || actions.includes('update')
      ? { resource, actions: [...actions, ...bypassed] }
      : { resource, actions },
  )
}

/** What the explained command needs. */
function explainNeeds(request: AccessRequest): readonly Privilege[] {
  const inner = request.args.requiredDocument('explain')
  const args = new Arguments(inner.raw!.bytes, inner.raw!.start)
  const need = Object.hasOwn(needs, args.name) ? needs[args.name]! : nothing
  return args.name === 'explain' ? [] : need({ ...request, args, sequences: [] })
}

/** Who may insert may also create. A view must not show more than its creator may read. */
function createNeeds(request: AccessRequest): readonly Privilege[] {
  const { rights, args, database } = request
  const resource = collectionOf(request)
  const viewOn = args.value('viewOn')
  if (viewOn?.type !== bsonType.string) {
    return [{ resource, actions: rights.allows('createCollection', resource) ? [] : ['insert'] }]
  }
  return [{ resource, actions: ['createCollection'] }, ...viewNeeds(request, resource, viewOn.value, database)]
}

function viewNeeds({ rights, args }: AccessRequest, view: Resource, source: string, database: string) {
  const stages = args.value('pipeline')
  if (!rights.allows('find', view)) return []
  const place = { database, collection: source }
  return [
    { resource: { db: database, collection: source }, actions: ['find'] as const },
    ...(stages === undefined ? [] : pipelineNeeds(stages, place)),
  ]
}

function collModNeeds(request: AccessRequest): readonly Privilege[] {
  const resource = collectionOf(request)
  const viewOn = request.args.value('viewOn')
  const view = viewOn?.type === bsonType.string ? viewNeeds(request, resource, viewOn.value, request.database) : []
  return [{ resource, actions: ['collMod'] }, ...view]
}

/** A new name must not let a user read a collection that it could not read before. */
function renameNeeds({ args, rights }: AccessRequest): readonly Privilege[] {
  const from = parseNamespace(args.requiredString('renameCollection'))
  const to = parseNamespace(args.requiredString('to'))
  const source = { db: from.database, collection: from.collection }
  const target = { db: to.database, collection: to.collection }
  const dropped: Privilege[] = isSet(args.value('dropTarget'))
    ? [{ resource: target, actions: ['dropCollection'] }]
    : []
  if (from.database === to.database && rights.allows('renameCollectionSameDB', source)) {
    const mayRead = !rights.allows('find', target) || rights.allows('find', source)
    return [{ resource: source, actions: mayRead ? ['renameCollectionSameDB'] : ['find'] }, ...dropped]
  }
  return [
    { resource: source, actions: ['find', 'dropCollection'] },
    { resource: target, actions: ['insert', 'createIndex'] },
    ...dropped,
  ]
}

/** Without the privilege a user may list the names of the collections that it may use. */
function listCollectionsNeeds({ args, database }: AccessRequest): readonly Privilege[] {
  if (isSet(args.value('nameOnly')) && isSet(args.value('authorizedCollections'))) return []
  return [{ resource: databaseResource(database), actions: ['listCollections'] }]
}

/** Without the privilege the list has only the databases that the user may use. */
function listDatabasesNeeds({ args }: AccessRequest): readonly Privilege[] {
  const isForAll = args.has('authorizedDatabases') && !isSet(args.value('authorizedDatabases'))
  return isForAll ? [{ resource: cluster, actions: ['listDatabases'] }] : []
}

function currentOpNeeds({ args }: AccessRequest): readonly Privilege[] {
  return isSet(args.value('$ownOps')) ? [] : [{ resource: cluster, actions: ['inprog'] }]
}

const customActions: Readonly<Record<string, Need>> = {
  CreateDatabase: onDatabase('createCollection'),
  UpdateDatabase: onDatabase('collMod'),
  GetDatabase: onDatabase('dbStats'),
  CreateCollection: onNamed('createCollection', 'createIndex'),
  UpdateCollection: onNamed('collMod', 'createIndex', 'dropIndex'),
  GetCollection: onNamed('collStats'),
  GetChangeStreamTokens: onNamed('changeStream', 'find'),
}

function onNamed(...actions: Action[]): Need {
  return ({ args, database }) => [{ resource: { db: database, collection: args.string('collection') ?? '' }, actions }]
}

function customActionNeeds(request: AccessRequest): readonly Privilege[] {
  const name = request.args.requiredString('customAction')
  return Object.hasOwn(customActions, name) ? customActions[name]!(request) : []
}

function shardCollectionNeeds({ args }: AccessRequest): readonly Privilege[] {
  const { database: db, collection } = parseNamespace(args.requiredString(args.name))
  return [{ resource: { db, collection }, actions: ['enableSharding'] }]
}

function enableShardingNeeds({ args }: AccessRequest): readonly Privilege[] {
  return [{ resource: databaseResource(args.requiredString(args.name)), actions: ['enableSharding'] }]
}

/** Who gives or takes a role needs that right in the database of the role. */
function onRoles(action: 'grantRole' | 'revokeRole', { args, database }: AccessRequest): Privilege[] {
  return readRoles(args, database).map(({ db }) => ({ resource: databaseResource(db), actions: [action] }))
}

function createUserNeeds(request: AccessRequest): readonly Privilege[] {
  return [...onDatabase('createUser')(request), ...onRoles('grantRole', request)]
}

/** Nobody knows which roles the user loses, so the right to take any role is needed. */
function updateUserNeeds(request: AccessRequest): readonly Privilege[] {
  const { args } = request
  const own: Action[] = []
  if (args.has('pwd') || args.has('mechanisms')) own.push('changePassword')
  if (args.has('customData')) own.push('changeCustomData')
  const roles: Privilege[] = args.has('roles')
    ? [{ resource: anyDatabase, actions: ['revokeRole'] }, ...onRoles('grantRole', request)]
    : []
  return [...(own.length === 0 ? [] : onDatabase(...own)(request)), ...roles]
}

/** A user may see itself. */
function usersInfoNeeds({ args, database, user }: AccessRequest): readonly Privilege[] {
  const asked = readUserNames(args, database)
  if (asked === 'all databases') return [{ resource: cluster, actions: ['viewUser'] }]
  if (asked === 'this database') return [{ resource: databaseResource(database), actions: ['viewUser'] }]
  return asked
    .filter(name => name.user !== user.user || name.db !== user.db)
    .map(({ db }) => ({ resource: databaseResource(db), actions: ['viewUser'] as const }))
}

/** A user may see its own roles. */
function rolesInfoNeeds({ args, database, roles }: AccessRequest): readonly Privilege[] {
  const value = args.value(args.name)
  const isAll = value?.type !== bsonType.string && value?.type !== bsonType.document && value?.type !== bsonType.array
  if (isAll) return [{ resource: databaseResource(database), actions: ['viewRole'] }]
  return readRoles(args, database, args.name)
    .filter(({ role, db }) => !roles.some(own => own.role === role && own.db === db))
    .map(({ db }) => ({ resource: databaseResource(db), actions: ['viewRole'] as const }))
}

export const needs: Readonly<Record<string, Need>> = {
  abortTransaction: nothing,
  aggregate: aggregateNeeds,
  collMod: collModNeeds,
  collStats: onCollection('collStats'),
  collstats: onCollection('collStats'),
  commitTransaction: nothing,
  configureFailPoint: onCluster('configureFailPoint'),
  count: onCollection('find'),
  create: createNeeds,
  createIndexes: onCollection('createIndex'),
  createUser: createUserNeeds,
  currentOp: currentOpNeeds,
  customAction: customActionNeeds,
  dbStats: onDatabase('dbStats'),
  dbstats: onDatabase('dbStats'),
  delete: onCollection('find', 'remove'),
  deleteIndexes: onCollection('dropIndex'),
  distinct: onCollection('find'),
  drop: onCollection('dropCollection'),
  dropAllUsersFromDatabase: onDatabase('dropUser'),
  dropDatabase: onDatabase('dropDatabase'),
  dropIndexes: onCollection('dropIndex'),
  dropUser: onDatabase('dropUser'),
  enableSharding: enableShardingNeeds,
  endSessions: nothing,
  explain: explainNeeds,
  find: onCollection('find'),
  findAndModify: findAndModifyNeeds,
  findandmodify: findAndModifyNeeds,
  getCmdLineOpts: onCluster('getCmdLineOpts'),
  getLastRequestStatistics: nothing,
  getLog: onCluster('getLog'),
  getMore: nothing,
  getParameter: onCluster('getParameter'),
  grantRolesToUser: request => onRoles('grantRole', request),
  hostInfo: onCluster('hostInfo'),
  insert: insertNeeds,
  killAllSessions: onCluster('killAnySession'),
  killAllSessionsByPattern: onCluster('killAnySession'),
  killCursors: nothing,
  killOp: nothing,
  killSessions: nothing,
  listCollections: listCollectionsNeeds,
  listCommands: nothing,
  listDatabases: listDatabasesNeeds,
  listIndexes: onCollection('listIndexes'),
  profile: nothing,
  refreshSessions: nothing,
  renameCollection: renameNeeds,
  replSetGetConfig: onCluster('replSetGetConfig'),
  replSetGetStatus: onCluster('replSetGetStatus'),
  revokeRolesFromUser: request => onRoles('revokeRole', request),
  rolesInfo: rolesInfoNeeds,
  serverStatus: onCluster('serverStatus'),
  setParameter: onCluster('setParameter'),
  shardCollection: shardCollectionNeeds,
  startSession: nothing,
  update: updateNeeds,
  updateUser: updateUserNeeds,
  usersInfo: usersInfoNeeds,
  validate: onCollection('validate'),
}
