/** Names of databases and collections: which names are valid, and how commands give them. */

import { bsonType, typeName } from '../../document/bson/types.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from './arguments.ts'

/** MongoDB's limits for the name of a database and for `database.collection`. */
const mongoDatabaseNameBytesMax = 63
const mongoNamespaceBytesMax = 255

export function nameOf({ database, collection }: Namespace): string {
  return `${database}.${collection}`
}

/** The collection that a command names in its first field. */
export function namespaceOf({ args, database }: { readonly args: Arguments; readonly database: string }): Namespace {
  const value = args.value(args.name)
  if (value?.type !== bsonType.string) {
    throw new CommandError('InvalidNamespace', `collection name has invalid type ${typeName(value?.type ?? 0)}`)
  }
  return checkedNamespace(database, value.value)
}

/** Splits `database.collection`. */
export function parseNamespace(text: string): Namespace {
  const dot = text.indexOf('.')
  if (dot === -1) throw new CommandError('InvalidNamespace', `Invalid namespace specified '${text}'`)
  return checkedNamespace(text.slice(0, dot), text.slice(dot + 1))
}

export function checkedNamespace(database: string, collection: string): Namespace {
  checkDatabaseName(database)
  const isValid =
    collection !== '' &&
    !collection.startsWith('.') &&
    !collection.includes('$') &&
    !collection.includes('\0') &&
    Buffer.byteLength(database) + 1 + Buffer.byteLength(collection) <= mongoNamespaceBytesMax
  if (!isValid) throw new CommandError('InvalidNamespace', `Invalid namespace specified '${database}.${collection}'`)
  return { database, collection }
}

const forbidden = new Set('/\\. "$*<>:|?\0')

export function isDatabaseName(name: string): boolean {
  return (
    name !== '' &&
    Buffer.byteLength(name) <= mongoDatabaseNameBytesMax &&
    ![...name].some(character => forbidden.has(character))
  )
}

export function checkDatabaseName(name: string): void {
  if (!isDatabaseName(name)) throw new CommandError('InvalidNamespace', `Invalid database name: '${name}'`)
}

/** Names that MongoDB reserves. Nobody may create them. */
export function isSystemCollection(collection: string): boolean {
  return collection.startsWith('system.')
}

/** Tools look for the oplog to copy what changes while they work. It must not look empty. */
export function refuseOplog({ database, collection }: Namespace): void {
  if (database !== 'local' || !collection.startsWith('oplog.')) return
  throw new CommandError(
    'NotImplemented',
    'There is no oplog. Follow changes with a change stream, and use mongodump without --oplog.',
  )
}

/** The collection in which MongoDB keeps views. Here it is made from the catalog when somebody reads it. */
export const systemViews = 'system.views'
