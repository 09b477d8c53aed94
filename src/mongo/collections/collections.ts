/**
 * Collections: containers whose items are BSON. Mongo clients do not see NoSQL containers, and vice versa.
 *
 * A view is an entry of the same catalog, so that names are unique among both. What expects a collection
 * refuses a view; only commands that read ask `findEntry` and know views (`views.ts`).
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, binary } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { Catalog, ContainerEdit } from '../../engine/catalog.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { ContainerRecord, DatabaseRecord, IndexDraft, Throughput } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument } from '../answers/fields.ts'
import { type IndexSpec, modifiedField, storedIndexSpec } from '../index-specs/index-spec.ts'
import { shownCollation, storedCollation } from '../requests/collation.ts'
import { isSystemCollection, nameOf, systemViews } from '../requests/namespace.ts'
import { collectionNote, epitaphOf, mongoChangeLogSeconds } from './catalog-notes.ts'
import { fromBase64, newDefinition, type StoredDefinition, storedDefinition } from './collection-definition.ts'
import { shardedDefinition, shardOf, unshardedDefinition, unshardedPartition } from './document-key.ts'
import { Validation } from './validation.ts'
import { isWatched } from './watched-collections.ts'

/** An index as it was declared, and the store's index that serves it. */
export interface CollectionIndex extends IndexSpec {
  readonly number: number | undefined
}

export class Collection {
  readonly container: ContainerRecord
  readonly name: string
  readonly definition: StoredDefinition
  readonly indexes: readonly CollectionIndex[]
  /** TTL indexes on date fields. */
  readonly dateRules: readonly CollectionIndex[]
  /** Compound indexes, as the store has them. */
  readonly compoundIndexes: readonly IndexDefinition[]
  /** The TTL index on `_ts`: documents live for a while after their last write. */
  readonly lifespanRule: CollectionIndex | undefined
  /** What documents must be. Undefined: anything. */
  readonly validation: Validation | undefined
  /** The collation of operations and indexes that name none. */
  readonly collation: Collation | undefined

  constructor(container: ContainerRecord) {
    this.container = container
    this.name = nameOf({ database: container.database.id, collection: container.id })
    this.definition = storedDefinition(container.definition)
    this.indexes = this.definition.indexes.map(({ spec, number }) => {
      const index = storedIndexSpec(fromBase64(spec))
      return { ...index, number: number ?? collatedIdIndex(container, index) }
    })
    this.collation = collationIn(fromBase64(this.definition.options))
    this.compoundIndexes = container.indexes.flatMap(({ definition }) =>
      definition.components.length > 1 ? [definition] : [],
    )
    const expiring = this.indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    this.lifespanRule = expiring.find(isLifespanRule)
    this.validation = Validation.of(fromBase64(this.definition.options))
    this.dateRules = expiring.filter(rule => !isLifespanRule(rule))
  }

  get shardKey(): readonly string[] | undefined {
    return this.definition.shardKey
  }

  get isView(): boolean {
    return this.definition.view !== undefined
  }

  /** The key of the item with this id, in the partition that the document belongs to. */
  keyOf(id: string, document: Uint8Array): ItemKey {
    const { shardKey } = this.definition
    if (shardKey === undefined) return { ...unshardedPartition, id }
    return { ...shardOf(this.container.partitionKey, shardKey, BsonDocument.view(document)), id }
  }
}

/**
 * The key of an item is made of the bytes of `_id`. So in a collection with a collation an index of the
 * store keeps `_id` unique. It is made together with the collection.
 */
function collatedIdIndex({ indexes }: ContainerRecord, { name, collation }: IndexSpec): number | undefined {
  if (name !== '_id_' || collation === undefined) return undefined
  const candidates = indexes.filter(({ definition }) => isIdOnly(definition))
  return (candidates.find(({ isReady }) => isReady) ?? candidates[0])?.definition.number
}

function isIdOnly({ components, uniqueness }: IndexDefinition): boolean {
  return uniqueness === 'container' && components.length === 1 && components[0]!.path.join('.') === '_id'
}

export function idIndexOf({ options }: Collation): IndexDraft {
  const components = [{ path: ['_id'], isDescending: false }]
  return { components, uniqueness: 'container', options: { collation: options }, isDeclared: true }
}

export function collationIn(options: BsonDocument): Collation | undefined {
  const collation = options.get('collation')
  return collation?.type === bsonType.document ? storedCollation(collation) : undefined
}

export function isLifespanRule({ parts, expireAfterSeconds }: IndexSpec): boolean {
  return expireAfterSeconds !== undefined && parts[0]?.path === modifiedField
}

/**
 * Records are immutable: a changed definition is a new record. So a collection can be cached by its record.
 */
const known = new WeakMap<ContainerRecord, Collection>()

export function collectionOf(container: ContainerRecord): Collection {
  let collection = known.get(container)
  if (collection === undefined) {
    collection = new Collection(container)
    known.set(container, collection)
  }
  return collection
}

/** Finds containers: the engine's, or those of a transaction, with the ones that it will create. */
export interface CatalogReader {
  readonly catalog: Pick<Catalog, 'findContainer' | 'findDatabase' | 'containers'>
}

/** A collection or a view. */
export function findEntry(
  engine: CatalogReader,
  { database, collection }: Namespace,
): MaybePromise<Collection | undefined> {
  return andThen(engine.catalog.findContainer(database, collection), found =>
    found?.encoding === 'bson' ? collectionOf(found) : undefined,
  )
}

/** A collection. A view of this name is refused. */
export function findCollection(engine: CatalogReader, namespace: Namespace): MaybePromise<Collection | undefined> {
  return andThen(findEntry(engine, namespace), found => {
    if (found?.isView === true) throw notOnView(`Namespace ${found.name} is a view, not a collection`)
    if (found === undefined && namespace.collection === systemViews) throw systemNamespace(namespace)
    return found
  })
}

/** Clients may not create or write such a collection. */
export function systemNamespace(namespace: Namespace): CommandError {
  return new CommandError('InvalidNamespace', `Invalid system namespace: ${nameOf(namespace)}`)
}

export function notOnView(message: string): CommandError {
  return new CommandError('CommandNotSupportedOnView', message)
}

export function requireCollection(engine: CatalogReader, namespace: Namespace): MaybePromise<Collection> {
  return andThen(findCollection(engine, namespace), found => found ?? refuseMissing(namespace))
}

/** A collection or a view. */
export function requireEntry(engine: CatalogReader, namespace: Namespace): MaybePromise<Collection> {
  return andThen(findEntry(engine, namespace), found => found ?? refuseMissing(namespace))
}

function refuseMissing(namespace: Namespace): never {
  throw namespaceNotFound(nameOf(namespace))
}

/** Sorted by name. */
export async function listCollections(engine: CatalogReader, database: string): Promise<Collection[]> {
  const record = await engine.catalog.findDatabase(database)
  if (record === undefined) return []
  return collectionsOf(engine, record)
}

export async function collectionsOf(engine: CatalogReader, database: DatabaseRecord): Promise<Collection[]> {
  return (await entriesOf(engine, database)).filter(({ isView }) => !isView)
}

/** Collections and views, sorted by name. */
export async function entriesOf(engine: CatalogReader, database: DatabaseRecord): Promise<Collection[]> {
  const containers = await engine.catalog.containers(database)
  return containers
    .filter(({ encoding }) => encoding === 'bson')
    .map(collectionOf)
    .sort((a, b) => (a.container.id < b.container.id ? -1 : 1))
}

export interface CollectionDraft {
  readonly options: BsonDocument
  readonly shardKey?: readonly string[]
  readonly throughput?: ContainerRecord['throughput']
}

const noOptions: CollectionDraft = { options: emptyDocument }

/** The first write to a collection creates it. */
export function findOrCreateCollection(engine: Engine, namespace: Namespace): MaybePromise<Collection> {
  return andThen(findCollection(engine, namespace), found => found ?? createForWrite(engine, namespace))
}

async function createForWrite(engine: Engine, namespace: Namespace): Promise<Collection> {
  try {
    return await createCollection(engine, namespace, noOptions)
  } catch (error) {
    // Another client created it first.
    const found = await findCollection(engine, namespace)
    if (found !== undefined) return found
    throw error
  }
}

export async function createCollection(
  engine: Engine,
  namespace: Namespace,
  { options, shardKey, throughput = null }: CollectionDraft,
): Promise<Collection> {
  if (isSystemCollection(namespace.collection)) throw systemNamespace(namespace)
  const database = await findOrCreateDatabase(engine, namespace.database)
  const collation = collationIn(options)
  await collation?.prepare()
  const shown = collation && shownCollation(collation)
  const definition = newDefinition(options, shardKey, shown)
  const idIndex = { v: 2, key: { _id: 1 }, name: '_id_', ...(shown !== undefined && { collation: shown }) }
  const description = { idIndex, ...Object.fromEntries(options.fields) }
  const note = collectionNote('create', { database, id: namespace.collection, definition }, { description })
  const container = await engine.catalog.createContainer(database, {
    id: namespace.collection,
    partitionKey: shardKey === undefined ? unshardedDefinition : shardedDefinition(shardKey),
    definition,
    throughput,
    defaultTtl: null,
    encoding: 'bson',
    ...(collation !== undefined && { declaredIndexes: [idIndexOf(collation)] }),
    ...((await isWatched(engine, namespace)) && { logSeconds: mongoChangeLogSeconds, note }),
  })
  if (container === undefined) throw await nameTaken(engine, namespace)
  if (container.logSeconds !== null) return collectionOf(container)
  // Somebody may have begun to watch meanwhile, without seeing the collection.
  return (await isWatched(engine, namespace)) ? keepLog(engine, container) : collectionOf(container)
}

/**
 * Gives a collection another name within its database. Another one that has that name is dropped. Returns
 * undefined if the collection is gone, or the name is taken.
 */
export async function moveCollection(
  engine: Engine,
  { container }: Collection,
  to: string,
  target: Collection | undefined,
): Promise<ContainerRecord | undefined> {
  const database = container.database.id
  const mustLog = await isWatched(engine, { database, collection: to })
  if (target !== undefined)
    await engine.catalog.deleteContainer(target.container, epitaphOf('replaced', target.container))
  const dropTarget = target && binary(Buffer.from(target.definition.uuid, 'hex'), 4)
  const description = { to: { db: database, coll: to }, dropTarget }
  return engine.catalog.changeContainer(container, current => ({
    id: to,
    notes: [collectionNote('rename', current, { to, description })],
    ...(mustLog && { logSeconds: mongoChangeLogSeconds }),
  }))
}

export async function nameTaken(engine: CatalogReader, namespace: Namespace): Promise<CommandError> {
  const other = await findEntry(engine, namespace)
  const name = nameOf(namespace)
  if (other === undefined) {
    return new CommandError('NamespaceExists', `The name ${name} is taken by a container of the NoSQL API.`)
  }
  return new CommandError(
    'NamespaceExists',
    other.isView ? `A view already exists. NS: ${name}` : `Collection ${name} already exists.`,
  )
}

/** The edit is made from the present definition, in the transaction that stores the new one. */
export async function changeCollection(
  engine: Engine,
  { container, name }: Collection,
  edit: (current: ContainerRecord) => ContainerEdit,
): Promise<Collection> {
  const changed = await engine.catalog.changeContainer(container, edit)
  if (changed === undefined) throw namespaceNotFound(name)
  return collectionOf(changed)
}

export async function changeCollectionThroughput(
  engine: Engine,
  { container, name }: Collection,
  throughput: Throughput,
): Promise<void> {
  if (!(await engine.catalog.changeThroughput(container, throughput))) throw namespaceNotFound(name)
}

export async function deleteCollection(
  engine: Engine,
  { container, name }: Collection,
  type: 'drop' | 'replaced' = 'drop',
): Promise<void> {
  if (!(await engine.catalog.deleteContainer(container, epitaphOf(type, container)))) throw namespaceNotFound(name)
}

function namespaceNotFound(name: string): CommandError {
  return new CommandError('NamespaceNotFound', `ns does not exist: ${name}`)
}

/** Turns on the change log of a collection, for change streams. */
export async function keepLog(engine: Engine, container: ContainerRecord): Promise<Collection> {
  const logging = await engine.catalog.changeContainer(container, (current, moment) =>
    current.logSeconds === null
      ? {
          logSeconds: mongoChangeLogSeconds,
          definition: { ...storedDefinition(current.definition), loggedSince: moment },
        }
      : {},
  )
  return collectionOf(logging ?? container)
}

export async function findOrCreateDatabase(engine: Engine, id: string): Promise<DatabaseRecord> {
  const { catalog } = engine
  const found = (await catalog.findDatabase(id)) ?? (await catalog.createDatabase(id, null))
  // Another client may have created it first.
  const database = found ?? (await catalog.findDatabase(id))
  if (database === undefined) throw databaseExists(id)
  return database
}

export function databaseExists(id: string): CommandError {
  return new CommandError('NamespaceExists', `Database ${id} already exists.`)
}

export function databaseNotFound(id: string): CommandError {
  return new CommandError('NamespaceNotFound', `Database ${id} does not exist.`)
}
