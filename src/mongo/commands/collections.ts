/**
 * create, drop, renameCollection, listCollections, collStats, validate: commands on collections as a whole.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, binary, double, type Field } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields, type Fields } from '../answers/fields.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import { measure, storageStats } from '../collections/collection-size.ts'
import {
  type Collection,
  createCollection,
  deleteCollection,
  entriesOf,
  findCollection,
  findEntry,
  moveCollection,
  nameTaken,
  notOnView,
  requireEntry,
} from '../collections/collections.ts'
import { readValidationOptions } from '../collections/validation.ts'
import { viewsOf } from '../collections/views.ts'
import { filterList } from '../find/list-filter.ts'
import { isIdIndex } from '../indexes/create-index.ts'
import type { Arguments } from '../requests/arguments.ts'
import { parseCollation } from '../requests/collation.ts'
import {
  checkDatabaseName,
  isSystemCollection,
  nameOf,
  namespaceOf,
  parseNamespace,
  systemViews,
} from '../requests/namespace.ts'
import { catalogOf, planCollection } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { listSource, openCursor } from '../service/cursors.ts'
import { constantsOf } from '../service/query-language.ts'
import { notInTransaction } from '../service/statement.ts'
import { createView, describeSystemViews, describeView } from './views.ts'

/** The options of `create`, and what is done with each. */
const createOptions: Readonly<Record<string, 'kept' | 'ignored' | 'refused' | 'validation' | 'view'>> = {
  changeStreamPreAndPostImages: 'kept',
  autoIndexId: 'ignored',
  flags: 'ignored',
  idIndex: 'ignored',
  indexOptionDefaults: 'ignored',
  storageEngine: 'ignored',
  temp: 'ignored',
  collation: 'kept',
  capped: 'refused',
  size: 'refused',
  max: 'refused',
  clusteredIndex: 'refused',
  encryptedFields: 'refused',
  expireAfterSeconds: 'refused',
  pipeline: 'view',
  timeseries: 'refused',
  validationAction: 'validation',
  validationLevel: 'validation',
  validator: 'validation',
  viewOn: 'view',
}

async function create(call: CommandCall): Promise<Fields> {
  const { args, service } = call
  const namespace = namespaceOf(call)
  const isView = args.present('viewOn') !== undefined
  if (isSystemCollection(namespace.collection)) {
    throw new CommandError(
      'InvalidNamespace',
      isView && namespace.collection === systemViews
        ? `Cannot create a view called '${systemViews}': this is a reserved system namespace`
        : `Invalid system namespace: ${nameOf(namespace)}`,
    )
  }
  if (isView && call.isInTransaction) throw notInTransaction('Cannot create a view in a multi-document transaction.')
  if (isView) return createView(call, namespace, givenOptions(args))
  if (args.present('pipeline') !== undefined) {
    throw new CommandError('InvalidOptions', "'pipeline' requires 'viewOn' to also be specified")
  }
  const kept: Field[] = []
  for (const name of givenOptions(args)) {
    const fate = createOptions[name]
    if (fate === 'refused') throw new CommandError('NotImplemented', `The option '${name}' of create is not supported.`)
    if (fate === 'kept') kept.push([name, name === 'collation' ? collationOf(args)! : args.present(name)!])
  }
  const rules = readValidationOptions(args, namespace, () => constantsOf(call, undefined))
  kept.push(...rules.filter(([, value]) => value.type !== bsonType.document || !value.isEmpty))
  const draft = { options: BsonDocument.view(encodeDocument(kept)) }
  if (!call.isInTransaction) await createCollection(service.engine, namespace, draft)
  else if ((await findEntry(catalogOf(call), namespace)) === undefined) planCollection(call, namespace, draft)
  else throw await nameTaken(catalogOf(call), namespace)
  return {}
}

/** The names of the given options that have an effect: an option may also say what holds without it. */
function givenOptions(args: Arguments): string[] {
  return args.names.filter(name => {
    const value = Object.hasOwn(createOptions, name) ? args.present(name) : undefined
    if (value === undefined || createOptions[name] === 'ignored') return false
    if (name === 'collation') return collationOf(args) !== undefined
    const isHarmless = value.type === bsonType.bool && !value.value
    return createOptions[name] === 'kept' || !isHarmless
  })
}

/** The collation with all its options; undefined: the simple one. */
function collationOf(args: Arguments): BsonDocument | undefined {
  return parseCollation(args.requiredDocument('collation')).document
}

async function drop(call: CommandCall): Promise<Fields> {
  const { engine, cursors } = call.service
  const namespace = namespaceOf(call)
  const collection = await findEntry(engine, namespace)
  if (collection === undefined) {
    // `system.views` is the list of the views, so dropping it drops all views.
    const views = namespace.collection === systemViews ? await viewsOf(engine, namespace.database) : []
    for (const view of views) await deleteCollection(engine, view)
    return views.length === 0 ? {} : { nIndexesWas: 1, ns: nameOf(namespace) }
  }
  cursors.closeOfContainer(collection.container.number)
  await deleteCollection(engine, collection)
  if (collection.isView) return { ns: nameOf(namespace) }
  return { nIndexesWas: collection.indexes.length, ns: nameOf(namespace) }
}

/** Open cursors of the collection end, as in MongoDB. */
async function renameCollection({ service, args }: CommandCall): Promise<Fields> {
  const { engine, cursors } = service
  const from = parseNamespace(args.requiredString('renameCollection'))
  const to = parseNamespace(args.requiredString('to'))
  if (isSystemCollection(to.collection)) {
    throw new CommandError('IllegalOperation', `Invalid system namespace: ${nameOf(to)}`)
  }
  if (from.collection === systemViews) {
    throw new CommandError(
      'IllegalOperation',
      'renaming system.views collection or renaming to system.views is not allowed',
    )
  }
  const collection = await findEntry(engine, from)
  if (collection?.isView === true) throw notOnView(`cannot rename view: ${nameOf(from)}`)
  if (collection === undefined)
    throw new CommandError('NamespaceNotFound', `Source collection ${nameOf(from)} does not exist`)
  if (from.database !== to.database) {
    throw new CommandError('NotImplemented', 'A collection cannot be moved to another database.')
  }
  if (nameOf(from) === nameOf(to)) throw new CommandError('IllegalOperation', "Can't rename a collection to itself")
  const target = await findEntry(engine, to)
  if (target?.isView === true) {
    throw new CommandError('NamespaceExists', `a view already exists with that name: ${nameOf(to)}`)
  }
  if (target !== undefined) {
    if (!args.flag('dropTarget')) throw new CommandError('NamespaceExists', 'target namespace exists')
    cursors.closeOfContainer(target.container.number)
  }
  cursors.closeOfContainer(collection.container.number)
  const renamed = await moveCollection(engine, collection, to.collection, target)
  if (renamed === undefined) throw new CommandError('NamespaceExists', 'target namespace exists')
  return {}
}

async function list(call: CommandCall): Promise<Fields> {
  const { service, args, database, session, access } = call
  checkDatabaseName(database)
  const isNameOnly = args.flag('nameOnly')
  const isFiltered = access !== undefined && args.flag('authorizedCollections')
  const isKnown = (name: string) => !isFiltered || access.rights.knowsCollection(database, name)
  const record = await service.engine.catalog.findDatabase(database)
  const entries = record === undefined ? [] : await entriesOf(service.engine, record)
  const described = entries
    .filter(({ container }) => isKnown(container.id))
    .map(entry => (entry.isView ? describeView(entry) : describe(entry)))
  const hasViews = entries.some(({ isView }) => isView)
  if (hasViews && isKnown(systemViews)) described.push(describeSystemViews(database))
  const matching = await filterList(call, args.document('filter'), described)
  const shown = isNameOnly ? matching.map(onlyName) : matching
  return openCursor(service.cursors, listSource(shown), {
    namespace: `${database}.$cmd.listCollections`,
    session: session?.key,
    hasNoTimeout: false,
    containers: [],
    batchSize: args.within('cursor')?.count('batchSize'),
    isSingleBatch: false,
    by: call,
  })
}

function onlyName(entry: Uint8Array): Uint8Array {
  const whole = BsonDocument.view(entry)
  return encodeFields({ name: whole.get('name'), type: whole.get('type') })
}

function describe({ container, definition, indexes }: Collection): Uint8Array {
  return encodeFields({
    name: container.id,
    type: 'collection',
    options: fromBase64(definition.options),
    info: { readOnly: false, uuid: binary(Buffer.from(definition.uuid, 'hex'), 4) },
    idIndex: indexes.find(isIdIndex)!.document,
  })
}

async function collStats(call: CommandCall): Promise<Fields> {
  const { engine } = call.service
  const namespace = namespaceOf(call)
  const scale = Math.max(1, call.args.count('scale') ?? 1)
  return {
    ns: nameOf(namespace),
    ...(await storageStats(engine, await findCollection(engine, namespace), scale)),
  }
}

async function validate(call: CommandCall): Promise<Fields> {
  const { engine } = call.service
  const namespace = namespaceOf(call)
  for (const name of ['full', 'repair'] as const) {
    if (call.args.flag('background') && call.args.flag(name)) {
      throw new CommandError(
        'InvalidOptions',
        `Running the validate command with both { background: true } and { ${name}: true } is not supported.`,
      )
    }
  }
  const collection = await requireEntry(engine, namespace)
  if (collection.isView) throw notOnView('Cannot validate a view')
  const { count } = await measure(engine, collection)
  const names = collection.indexes.map(({ name }) => name)
  return {
    ns: nameOf(namespace),
    nInvalidDocuments: 0,
    nNonCompliantDocuments: 0,
    nrecords: count,
    nIndexes: names.length,
    keysPerIndex: Object.fromEntries(names.map(name => [name, count])),
    indexDetails: Object.fromEntries(names.map(name => [name, { valid: true }])),
    valid: true,
    repaired: false,
    warnings: [],
    errors: [],
    extraIndexEntries: [],
    missingIndexEntries: [],
    corruptRecords: [],
    ok: double(1),
  }
}

export const collectionCommands: readonly Command[] = [
  { name: 'create', fields: Object.keys(createOptions), isTransactional: true, run: create },
  { name: 'drop', fields: [], run: drop },
  { name: 'renameCollection', isForAdmin: true, fields: ['to', 'dropTarget'], run: renameCollection },
  {
    name: 'listCollections',
    fields: ['filter', 'nameOnly', 'authorizedCollections', 'cursor', 'includePendingDrops'],
    run: list,
  },
  { name: 'collStats', fields: ['scale'], run: collStats },
  { name: 'collstats', fields: ['scale'], run: collStats },
  {
    name: 'validate',
    // Old drivers send `scandata`.
    fields: ['full', 'scandata', 'repair', 'metadata', 'checkBSONConformance', 'background', 'enforceFastCount'],
    run: validate,
  },
]
