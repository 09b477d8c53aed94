/** listDatabases, dropDatabase, dbStats: commands on databases as a whole. */

import { double } from '../../document/bson/value.ts'
import { cluster } from '../access/privilege.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, encodeFields, type Fields } from '../answers/fields.ts'
import { dropDatabaseNote } from '../collections/catalog-notes.ts'
import { measure } from '../collections/collection-size.ts'
import { databaseNotFound, deleteCollection, entriesOf, listCollections } from '../collections/collections.ts'
import { viewsOf } from '../collections/views.ts'
import { isWatched } from '../collections/watched-collections.ts'
import { filterList } from '../find/list-filter.ts'
import { checkDatabaseName } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'

async function listDatabases(call: CommandCall): Promise<Fields> {
  const { service, args, access } = call
  const isNameOnly = args.flag('nameOnly')
  const databases: { readonly name: string; readonly bytes: number; readonly shown: Uint8Array }[] = []
  const isForAll = access === undefined || access.rights.allows('listDatabases', cluster)
  const isFiltered = !isForAll || (access !== undefined && args.flag('authorizedDatabases'))
  const all = new Map((await service.engine.catalog.databases()).map(database => [database.id, database]))
  for (const name of [...new Set([...all.keys(), 'admin'])].sort()) {
    if (isFiltered && !access.rights.knowsDatabase(name)) continue
    const database = all.get(name)
    const entries = database === undefined ? [] : await entriesOf(service.engine, database)
    // A database without collections and views does not exist for Mongo, except `admin`.
    if (entries.length === 0 && name !== 'admin') continue
    let bytes = 0
    if (!isNameOnly) for (const each of entries) bytes += (await measure(service.engine, each)).bytes
    const shown = encodeFields({ name, sizeOnDisk: BigInt(bytes), empty: bytes === 0 })
    databases.push({ name, bytes, shown })
  }
  const matching = await filterList(call, args.document('filter'), databases)
  const total = matching.reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    databases: new Documents(matching.map(({ name, shown }) => (isNameOnly ? encodeFields({ name }) : shown))),
    ...(!isNameOnly && { totalSize: BigInt(total), totalSizeMb: BigInt(Math.floor(total / 2 ** 20)) }),
  }
}

/** NoSQL containers in a database of the same name stay. */
async function dropDatabase({ service, database }: CommandCall): Promise<Fields> {
  checkDatabaseName(database)
  if (['admin', 'config', 'local'].includes(database)) {
    throw new CommandError('IllegalOperation', `Dropping the '${database}' database is prohibited.`)
  }
  const { engine, cursors } = service
  const record = await engine.catalog.findDatabase(database)
  if (record === undefined) return {}
  const containers = await engine.catalog.containers(record)
  const dropped = await entriesOf(engine, record)
  for (const collection of dropped) {
    cursors.closeOfContainer(collection.container.number)
    await deleteCollection(engine, collection)
  }
  const isOnlyMongo = containers.every(({ encoding }) => encoding === 'bson')
  // A database without collections does not exist for Mongo.
  const isTold = dropped.length > 0 && (await isWatched(engine, { database, collection: '' }))
  const note = isTold ? dropDatabaseNote(database) : undefined
  if (isOnlyMongo && !(await engine.catalog.deleteDatabase(record, note))) throw databaseNotFound(database)
  if (!isOnlyMongo && note !== undefined) await engine.catalog.noteDatabase(record, note)
  return { dropped: database }
}

async function dbStats({ service, database, args }: CommandCall): Promise<Fields> {
  checkDatabaseName(database)
  const scale = Math.max(1, args.count('scale') ?? 1)
  const collections = await listCollections(service.engine, database)
  let objects = 0
  let dataBytes = 0
  let indexes = 0
  for (const collection of collections) {
    const { count, bytes } = await measure(service.engine, collection)
    objects += count
    dataBytes += bytes
    indexes += collection.indexes.length
  }
  return {
    db: database,
    collections: BigInt(collections.length),
    views: BigInt((await viewsOf(service.engine, database)).length),
    objects: BigInt(objects),
    avgObjSize: double(objects === 0 ? 0 : dataBytes / objects),
    dataSize: double(Math.floor(dataBytes / scale)),
    storageSize: double(Math.floor(dataBytes / scale)),
    indexes: BigInt(indexes),
    indexSize: double(0),
    totalSize: double(Math.floor(dataBytes / scale)),
    scaleFactor: BigInt(scale),
  }
}

export const databaseCommands: readonly Command[] = [
  {
    name: 'listDatabases',
    isForAdmin: true,
    fields: ['filter', 'nameOnly', 'authorizedDatabases'],
    run: listDatabases,
  },
  { name: 'dropDatabase', fields: [], run: dropDatabase },
  { name: 'dbStats', fields: ['scale', 'freeStorage'], run: dbStats },
  { name: 'dbstats', fields: ['scale', 'freeStorage'], run: dbStats },
]
