/** createIndexes, listIndexes, dropIndexes: commands on the indexes of a collection. */

import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { printDocument } from '../../mql/errors/print.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import {
  type Collection,
  type CollectionIndex,
  collectionOf,
  createCollection,
  findEntry,
  notOnView,
  requireCollection,
} from '../collections/collections.ts'
import { withIndex } from '../collections/planned-collection.ts'
import { compareSpecs } from '../index-specs/index-conflicts.ts'
import { type IndexSpec, parseIndexSpec } from '../index-specs/index-spec.ts'
import { createIndex, isIdIndex } from '../indexes/create-index.ts'
import { removeIndexes } from '../indexes/index-changes.ts'
import { nameOf, namespaceOf } from '../requests/namespace.ts'
import { catalogOf, planCollection } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { listSource, openCursor } from '../service/cursors.ts'
import { notInTransaction } from '../service/statement.ts'

async function createIndexes(call: CommandCall): Promise<Fields> {
  const { service, args } = call
  const { engine } = service
  const namespace = namespaceOf(call)
  const given = args.documents('indexes') ?? []
  if (given.length === 0) throw new CommandError('BadValue', 'Must specify at least one index to create')
  const found = await findEntry(catalogOf(call), namespace)
  if (found?.isView === true) throw notOnView('Cannot create indexes on a view')
  const wanted = given.map(each => wantedIndex(each, found?.collation))
  if (call.isInTransaction) return createInTransaction(call, namespace, wanted, found)
  const collection = found ?? (await createCollection(engine, namespace, { options: emptyDocument }))
  let current = collection
  for (const spec of wanted) current = await createIndex(call, current, spec)
  return createdIndexes({ before: collection, after: current, isNew: found === undefined })
}

function createdIndexes({ before, after, isNew }: { before: Collection; after: Collection; isNew: boolean }): Fields {
  return {
    _t: 'CreateIndexesResponse',
    numIndexesBefore: before.indexes.length,
    numIndexesAfter: after.indexes.length,
    createdCollectionAutomatically: isNew,
    note: after.indexes.length === before.indexes.length ? 'all indexes already exist' : undefined,
  }
}

/** A transaction can give indexes to a collection that it creates, as long as that is empty. */
async function createInTransaction(
  call: CommandCall,
  namespace: Namespace,
  wanted: readonly IndexSpec[],
  found: Collection | undefined,
): Promise<Fields> {
  const transaction = call.session!.transaction!
  const before = found ?? planCollection(call, namespace, { options: emptyDocument })
  let after = before
  for (const spec of wanted) {
    if (isIdIndex(spec) || after.indexes.some(present => compareSpecs(present, spec) === 'same')) continue
    const plan = transaction.planned.get(before.name)
    if (plan === undefined) {
      throw notInTransaction(
        `Cannot create new indexes on existing collection ${before.name} in a multi-document transaction.`,
      )
    }
    if ((transaction.overlay(before)?.pending().length ?? 0) > 0) {
      throw notInTransaction(
        `Cannot create new indexes on non-empty collection ${before.name} in a multi-document transaction.`,
      )
    }
    const changed = withIndex(plan, spec)
    transaction.planned.set(before.name, changed)
    transaction.forget(before)
    after = collectionOf(changed.container)
  }
  return createdIndexes({ before, after, isNew: found === undefined })
}

/** An error names the specification that it is about. */
function wantedIndex(given: BsonDocument, inherited: Collation | undefined): IndexSpec {
  try {
    return parseIndexSpec(given, inherited)
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new CommandError(
      error.code,
      `Error in specification ${printDocument(given)} :: caused by :: ${error.message}`,
    )
  }
}

async function listIndexes(call: CommandCall): Promise<Fields> {
  const { service, args, session } = call
  const namespace = namespaceOf(call)
  const { indexes, container } = await requireCollection(service.engine, namespace)
  const shown = indexes.map(({ document }) => encodeDocument(document))
  return openCursor(service.cursors, listSource(shown), {
    namespace: nameOf(namespace),
    session: session?.key,
    hasNoTimeout: false,
    containers: [container.number],
    batchSize: args.within('cursor')?.count('batchSize'),
    isSingleBatch: false,
    by: call,
  })
}

async function dropIndexes(call: CommandCall): Promise<Fields> {
  const { service, args } = call
  const { engine, settings } = service
  const namespace = namespaceOf(call)
  const collection = await findEntry(engine, namespace)
  if (collection?.isView === true) throw notOnView(`Cannot drop indexes on view ${nameOf(namespace)}`)
  if (collection === undefined) throw new CommandError('NamespaceNotFound', `ns not found ${nameOf(namespace)}`)
  const doomed = doomedIndexes(call, collection)
  const isAll = args.present('index')?.type === bsonType.string && args.string('index') === '*'
  await removeIndexes(engine, collection, settings, doomed)
  return {
    nIndexesWas: collection.indexes.length,
    msg: isAll ? 'non-_id indexes dropped for collection' : undefined,
  }
}

function doomedIndexes({ args }: CommandCall, { indexes }: Collection): CollectionIndex[] {
  const asked = args.required('index')
  const named = asked.type === bsonType.array ? asked.elements : [asked]
  return named.flatMap(value => {
    if (value.type === bsonType.string) {
      if (value.value === '*') return indexes.filter(index => !isIdIndex(index))
      const found = indexes.find(({ name }) => name === value.value)
      if (found === undefined) throw new CommandError('IndexNotFound', `index not found with name [${value.value}]`)
      return [checkedDoomed(found)]
    }
    if (value.type !== bsonType.document) {
      throw new CommandError('TypeMismatch', "BSON field 'dropIndexes.index' is the wrong type")
    }
    const found = indexes.filter(({ key }) => equalValues(key, value))
    if (found.length === 0) throw new CommandError('IndexNotFound', `can't find index with key: ${keyText(value)}`)
    if (found.length > 1) {
      throw new CommandError(
        'AmbiguousIndexKeyPattern',
        `${found.length} indexes found for key: ${keyText(value)}, identify by name instead.`,
      )
    }
    return [checkedDoomed(found[0]!)]
  })
}

function checkedDoomed(index: CollectionIndex): CollectionIndex {
  if (isIdIndex(index)) throw new CommandError('InvalidOptions', 'cannot drop _id index')
  return index
}

function keyText(key: BsonDocument): string {
  return `{ ${key.fields.map(([name]) => name).join(', ')} }`
}

export const indexCommands: readonly Command[] = [
  {
    name: 'createIndexes',
    fields: ['indexes', 'commitQuorum', 'ignoreUnknownIndexOptions', 'v'],
    isTransactional: true,
    run: createIndexes,
  },
  { name: 'listIndexes', fields: ['cursor', 'includeBuildUUIDs', 'includeIndexBuildInfo'], run: listIndexes },
  { name: 'dropIndexes', fields: ['index'], run: dropIndexes },
  { name: 'deleteIndexes', fields: ['index'], run: dropIndexes },
]
