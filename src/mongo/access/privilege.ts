/**
 * Privileges: which actions are allowed on which resource, in MongoDB's terms.
 *
 *   { cluster: true }                 the server as a whole
 *   { db: 'shop', collection: 'x' }   one collection
 *   { db: 'shop', collection: '' }    the database, and all its collections but `system.*`
 *   { db: '', collection: '' }        all databases but `local` and `config`, with the same collections
 *   { anyResource: true }             everything
 */

/** The actions that the commands and stages of Mayfly ask for. */
export type Action =
  | 'bypassDocumentValidation'
  | 'changeCustomData'
  | 'changePassword'
  | 'changeStream'
  | 'collMod'
  | 'collStats'
  | 'configureFailPoint'
  | 'createCollection'
  | 'createIndex'
  | 'createUser'
  | 'dbStats'
  | 'dropCollection'
  | 'dropDatabase'
  | 'dropIndex'
  | 'dropUser'
  | 'enableSharding'
  | 'find'
  | 'getCmdLineOpts'
  | 'getLog'
  | 'getParameter'
  | 'grantRole'
  | 'hostInfo'
  | 'indexStats'
  | 'inprog'
  | 'insert'
  | 'killAnyCursor'
  | 'killAnySession'
  | 'killop'
  | 'listCollections'
  | 'listDatabases'
  | 'listIndexes'
  | 'listSessions'
  | 'planCacheRead'
  | 'remove'
  | 'renameCollectionSameDB'
  | 'replSetGetConfig'
  | 'replSetGetStatus'
  | 'revokeRole'
  | 'serverStatus'
  | 'setParameter'
  | 'update'
  | 'validate'
  | 'viewRole'
  | 'viewUser'

export type Resource =
  | { readonly cluster: true }
  | { readonly anyResource: true }
  | { readonly db: string; readonly collection: string }

export interface Privilege {
  readonly resource: Resource
  readonly actions: readonly Action[]
}

export const cluster: Resource = { cluster: true }
export const anyResource: Resource = { anyResource: true }
export const anyDatabase: Resource = { db: '', collection: '' }

export function databaseResource(db: string): Resource {
  return { db, collection: '' }
}

export function covers(granted: Resource, asked: Resource): boolean {
  if ('anyResource' in granted) return true
  if ('anyResource' in asked) return false
  if ('cluster' in granted || 'cluster' in asked) return 'cluster' in granted && 'cluster' in asked
  const isDatabase = granted.db === asked.db || (granted.db === '' && asked.db !== 'local' && asked.db !== 'config')
  if (granted.collection === '') return isDatabase && !asked.collection.startsWith('system.')
  return (granted.db === '' || granted.db === asked.db) && granted.collection === asked.collection
}
