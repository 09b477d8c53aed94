/**
 * Cosmos's own commands: customAction (databases and collections with throughput and shard key) and
 * shardCollection.
 */

import {
  autoscaleThroughputMin,
  autoscaleThroughputStep,
  throughputMax,
  throughputMin,
  throughputStep,
} from '../../base/limits.ts'
import type { ContainerRecord, DatabaseRecord, Throughput } from '../../store/catalog.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { tokenOf } from '../change-streams/token.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import { measure } from '../collections/collection-size.ts'
import {
  type Collection,
  type CollectionIndex,
  changeCollectionThroughput,
  createCollection,
  databaseExists,
  databaseNotFound,
  deleteCollection,
  findCollection,
  keepLog,
  requireCollection,
} from '../collections/collections.ts'
import { mark } from '../collections/watched-collections.ts'
import { isWanted } from '../index-specs/index-conflicts.ts'
import { type IndexSpec, parseIndexSpec } from '../index-specs/index-spec.ts'
import { createIndex, isIdIndex } from '../indexes/create-index.ts'
import { removeIndexes } from '../indexes/index-changes.ts'
import type { Arguments } from '../requests/arguments.ts'
import { checkDatabaseName, checkedNamespace, parseNamespace } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'

type Action = (call: CommandCall) => Promise<Fields>

const actions: Readonly<Record<string, Action>> = {
  CreateDatabase: createDatabase,
  UpdateDatabase: updateDatabase,
  GetDatabase: getDatabase,
  CreateCollection: createSharded,
  UpdateCollection: updateCollection,
  GetCollection: getCollection,
  GetChangeStreamTokens: getChangeStreamTokens,
}

async function customAction(call: CommandCall): Promise<Fields> {
  const name = call.args.requiredString('customAction')
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action === undefined) throw new CommandError('CommandNotSupported', `The custom action '${name}' is not known.`)
  return action(call)
}

async function createDatabase({ service, database, args }: CommandCall): Promise<Fields> {
  checkDatabaseName(database)
  const { catalog } = service.engine
  if ((await catalog.findDatabase(database)) !== undefined) throw databaseExists(database)
  const made = await catalog.createDatabase(database, throughputOf(args) ?? null)
  if (made === undefined) throw databaseExists(database)
  return {}
}

async function updateDatabase(call: CommandCall): Promise<Fields> {
  const database = await requireDatabase(call)
  const throughput = throughputOf(call.args)
  if (throughput === undefined) return {}
  if (!(await call.service.engine.catalog.changeThroughput(database, throughput))) throw databaseNotFound(database.id)
  return {}
}

async function getDatabase(call: CommandCall): Promise<Fields> {
  const database = await requireDatabase(call)
  return { database: database.id, ...shownThroughput(database.throughput) }
}

async function createSharded(call: CommandCall): Promise<Fields> {
  const { service, database, args } = call
  const namespace = checkedNamespace(database, args.requiredString('collection'))
  const shardKey = args.string('shardKey')
  const throughput = throughputOf(args)
  let collection = await createCollection(service.engine, namespace, {
    options: emptyDocument,
    ...(shardKey !== undefined && { shardKey: [shardKey] }),
    ...(throughput !== undefined && { throughput }),
  })
  for (const spec of (args.documents('indexes') ?? []).map(each => parseIndexSpec(each))) {
    collection = await createIndex(call, collection, spec)
  }
  return {}
}

async function updateCollection(call: CommandCall): Promise<Fields> {
  const { service, database, args } = call
  const namespace = checkedNamespace(database, args.requiredString('collection'))
  const collection = await requireCollection(service.engine, namespace)
  const throughput = throughputOf(args)
  const indexes = args.documents('indexes')?.map(each => parseIndexSpec(each, collection.collation))
  if (throughput !== undefined) await changeCollectionThroughput(service.engine, collection, throughput)
  if (indexes !== undefined) await replaceIndexes(call, await requireCollection(service.engine, namespace), indexes)
  return {}
}

async function replaceIndexes(call: CommandCall, collection: Collection, wanted: readonly IndexSpec[]): Promise<void> {
  const { engine, settings } = call.service
  if (!wanted.some(isIdIndex)) throw new CommandError('BadValue', 'An index on _id is required.')
  const isDoomed = (index: CollectionIndex) => !isIdIndex(index) && !wanted.some(each => isWanted(index, each))
  let current = await removeIndexes(engine, collection, settings, collection.indexes.filter(isDoomed))
  for (const spec of wanted) current = await createIndex(call, current, spec)
}

/** Cosmos has a stream and a token for each physical partition. Ours has one for the whole collection. */
async function getChangeStreamTokens(call: CommandCall): Promise<Fields> {
  const { service, database, args } = call
  const { engine } = service
  if (args.present('startAtOperationTime') !== undefined) {
    throw new CommandError('CommandNotSupported', 'Tokens are of now; give startAtOperationTime to the stream itself.')
  }
  const namespace = checkedNamespace(database, args.requiredString('collection'))
  const { container } = await requireCollection(engine, namespace)
  await mark(engine, { kind: 'collection', namespace })
  if (container.logSeconds === null) await keepLog(engine, container)
  const { tick, ts: seconds } = await engine.journalNow()
  const position = { tick, seconds, isInvalidate: false, owesInvalidate: false, fragment: undefined }
  return { resumeAfterTokens: [tokenOf(position)] }
}

async function getCollection(call: CommandCall): Promise<Fields> {
  const { service, database, args } = call
  const namespace = checkedNamespace(database, args.requiredString('collection'))
  const collection = await requireCollection(service.engine, namespace)
  const { container, shardKey, indexes } = collection
  return {
    database,
    collection: container.id,
    ...(shardKey !== undefined && { shardKeyDefinition: Object.fromEntries(shardKey.map(path => [path, 'hashed'])) }),
    ...shownThroughput((container as ContainerRecord).throughput),
    indexes: indexes.map(({ document }) => document),
  }
}

/** Only an empty collection can be sharded, because its documents would have to move. */
async function shardCollection({ service, args }: CommandCall): Promise<Fields> {
  const namespace = parseNamespace(args.requiredString('shardCollection'))
  const key = args.requiredDocument('key')
  if (key.isEmpty) throw new CommandError('BadValue', 'Shard key cannot be empty')
  const shardKey = key.fields.map(([path]) => path)
  const found = await findCollection(service.engine, namespace)
  if (found !== undefined) {
    if (found.shardKey?.join() === shardKey.join())
      return { collectionsharded: `${namespace.database}.${namespace.collection}` }
    if (found.shardKey !== undefined || (await measure(service.engine, found)).count > 0) {
      throw new CommandError(
        'IllegalOperation',
        `${found.name} cannot be sharded: it is sharded already, or not empty.`,
      )
    }
    await deleteCollection(service.engine, found, 'replaced')
  }
  const options = found === undefined ? emptyDocument : fromBase64(found.definition.options)
  await createCollection(service.engine, namespace, { options, shardKey })
  return { collectionsharded: `${namespace.database}.${namespace.collection}` }
}

async function requireDatabase({ service, database }: CommandCall): Promise<DatabaseRecord> {
  const found = await service.engine.catalog.findDatabase(database)
  if (found === undefined) throw databaseNotFound(database)
  return found
}

function throughputOf(args: Arguments): Throughput | undefined {
  const offer = args.number('offerThroughput')
  const autoscale = args.within('autoScaleSettings')?.number('maxThroughput')
  if (offer !== undefined && autoscale !== undefined) {
    throw new CommandError('BadValue', 'Give offerThroughput or autoScaleSettings, not both.')
  }
  if (offer !== undefined) {
    checkThroughput(offer, throughputMin, throughputStep)
    return { kind: 'manual', ruPerSecond: offer }
  }
  if (autoscale !== undefined) {
    checkThroughput(autoscale, autoscaleThroughputMin, autoscaleThroughputStep)
    return { kind: 'autoscale', maxRuPerSecond: autoscale }
  }
  return undefined
}

function checkThroughput(value: number, min: number, step: number): void {
  if (!Number.isInteger(value) || value < min || value > throughputMax || value % step !== 0) {
    throw new CommandError(
      'BadValue',
      `Throughput goes from ${min} to ${throughputMax} in steps of ${step}, not ${value}.`,
    )
  }
}

/** Autoscale scales down to a tenth. */
const autoscaleRange = 10

function shownThroughput(throughput: Throughput | null): Fields {
  if (throughput === null) return {}
  return throughput.kind === 'manual'
    ? { provisionedThroughput: throughput.ruPerSecond }
    : {
        provisionedThroughput: throughput.maxRuPerSecond / autoscaleRange,
        autoScaleSettings: { maxThroughput: throughput.maxRuPerSecond },
      }
}

export const customActionCommands: readonly Command[] = [
  { name: 'customAction', run: customAction },
  { name: 'shardCollection', isForAdmin: true, run: shardCollection },
  { name: 'enableSharding', isForAdmin: true, run: () => ({}) },
]
