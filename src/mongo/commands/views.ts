/** Creates and changes views, and shows them in lists of collections. */

import { createHash } from 'node:crypto'
import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, binary, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { printValue } from '../../mql/errors/print.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { lastStages } from '../../mql/stages/table.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, encodeFields, type Fields } from '../answers/fields.ts'
import {
  fromBase64,
  newViewDefinition,
  type StoredView,
  storedDefinition,
  toBase64,
} from '../collections/collection-definition.ts'
import {
  type Collection,
  changeCollection,
  findEntry,
  findOrCreateDatabase,
  nameTaken,
} from '../collections/collections.ts'
import { unshardedDefinition } from '../collections/document-key.ts'
import { checkViewGraph, stagesOf, type ViewDraft } from '../collections/views.ts'
import { callPipeline } from '../pipeline/pipeline-run.ts'
import { parseCollation, simpleCollation } from '../requests/collation.ts'
import { checkedNamespace, nameOf, systemViews } from '../requests/namespace.ts'
import type { CommandCall } from '../service/command.ts'

/** The options of `create` that a view has. */
const viewOptions: ReadonlySet<string> = new Set(['viewOn', 'pipeline', 'collation'])

export async function createView(call: CommandCall, namespace: Namespace, options: readonly string[]): Promise<Fields> {
  const { args, service } = call
  const foreign = options.find(name => !viewOptions.has(name))
  if (foreign !== undefined) throw notAnOption(foreign)
  const on = args.requiredString('viewOn')
  if (on === '') throw new CommandError('BadValue', "'viewOn' cannot be empty.'")
  const asked = args.document('collation')
  const { collation, document } = asked === undefined ? simpleCollation : parseCollation(asked)
  const draft: ViewDraft = { ...namespace, on, stages: args.array('pipeline') ?? BsonArray.of([]), collation }
  const { engine } = service
  const present = await findEntry(engine, namespace)
  if (present !== undefined) {
    refuseOther(present, draft)
    return {}
  }
  const view = await storedView(call, draft)
  const database = await findOrCreateDatabase(engine, namespace.database)
  const container = await engine.catalog.createContainer(database, {
    id: namespace.collection,
    partitionKey: unshardedDefinition,
    definition: newViewDefinition(view, BsonDocument.view(encodeFields({ collation: document }))),
    throughput: null,
    defaultTtl: null,
    encoding: 'bson',
  })
  if (container === undefined) throw await nameTaken(engine, namespace)
  return {}
}

/** Creating the same view again succeeds, as in MongoDB 7. */
function refuseOther(present: Collection, { database, on, stages, collation }: ViewDraft): void {
  const { name, definition } = present
  const exists = (but: string) => new CommandError('NamespaceExists', `namespace ${name} already exists, but ${but}`)
  if (definition.view === undefined) throw new CommandError('NamespaceExists', `Collection ${name} already exists.`)
  if (definition.view.on !== on) {
    const names = [definition.view.on, on].map(collection => nameOf({ database, collection }))
    throw exists(`is a view on ${names.join(' rather than ')}`)
  }
  const pipelines = [stagesOf(present), stages] as const
  if (present.collation?.name !== collation?.name) throw exists('with another collation')
  if (!equalValues(...pipelines)) throw exists(`with pipeline ${pipelines.map(printValue).join(' rather than ')}`)
}

/** collMod of a view. */
export async function changeView(call: CommandCall, view: Collection, options: readonly string[]): Promise<void> {
  const { args, service } = call
  const foreign = options.find(name => name !== 'viewOn' && name !== 'pipeline')
  if (foreign !== undefined) throw notAnOption(foreign)
  // A user may read what the whole view reads. That can only be checked if the command names all of it.
  if (call.access !== undefined && options.length < 2) {
    throw new CommandError(
      'InvalidOptions',
      "Must specify both 'viewOn' and 'pipeline' when modifying a view and auth is enabled",
    )
  }
  const { database, id } = view.container
  const draft: ViewDraft = {
    database: database.id,
    collection: id,
    on: args.string('viewOn') ?? view.definition.view!.on,
    stages: args.array('pipeline') ?? stagesOf(view),
    collation: view.collation,
  }
  const changed = await storedView(call, draft)
  await changeCollection(service.engine, view, ({ definition }) => ({
    definition: { ...storedDefinition(definition), view: changed },
  }))
}

function notAnOption(name: string): CommandError {
  return new CommandError('InvalidOptions', `option not supported on a view: ${name}`)
}

/** Checks a view and makes what is stored of it. */
async function storedView(call: CommandCall, draft: ViewDraft): Promise<StoredView> {
  const { database, on, stages, collation } = draft
  try {
    checkedNamespace(database, on)
  } catch {
    throw new CommandError('InvalidNamespace', `invalid name for 'viewOn': ${on}`)
  }
  try {
    checkStages(draft)
    // Views that it names need not be known: only the stages are checked.
    const namespace = { database, collection: on }
    callPipeline(call, { namespace, stages, collection: undefined, views: undefined, collation })
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new CommandError(error.code, `Invalid pipeline for view ${nameOf(draft)} :: caused by :: ${error.message}`)
  }
  await checkViewGraph(call.service.engine, draft)
  return { on, pipeline: toBase64(BsonDocument.view(encodeDocument([['pipeline', stages]]))) }
}

/** First stages whose documents come neither from a collection nor from a view. */
const independentStages: ReadonlySet<string> = new Set([
  '$currentOp',
  '$documents',
  '$listLocalSessions',
  '$listSessions',
])

function checkStages({ database, collection, stages }: ViewDraft): void {
  const names = stages.elements.map(stageName)
  const writing = names.findIndex(name => name !== undefined && lastStages.has(name))
  if (writing !== -1) {
    throw new CommandError(
      'OptionNotSupportedOnView',
      `The aggregation stage ${names[writing]} in location ${writing} of the pipeline cannot be used in the view ` +
        `definition of ${nameOf({ database, collection })} because it writes to disk`,
    )
  }
  const [first] = names
  if (first === '$changeStream') {
    throw new CommandError('OptionNotSupportedOnView', '$changeStream cannot be used in a view definition')
  }
  if (first !== undefined && independentStages.has(first)) {
    throw new CommandError('InvalidNamespace', `'${first}' cannot be used in a view definition`)
  }
}

function stageName(stage: Value): string | undefined {
  return stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
}

/** As `listCollections` shows it. */
export function describeView(view: Collection): Uint8Array {
  return encodeFields({
    name: view.container.id,
    type: 'view',
    options: {
      viewOn: view.definition.view!.on,
      pipeline: stagesOf(view),
      collation: fromBase64(view.definition.options).get('collation'),
    },
    info: { readOnly: true },
  })
}

/** `system.views` is there as soon as there is a view. Its id follows from the name of the database. */
export function describeSystemViews(database: string): Uint8Array {
  const digest = createHash('sha256').update(`${database}.${systemViews}`).digest().subarray(0, 16)
  return encodeFields({
    name: systemViews,
    type: 'collection',
    options: emptyDocument,
    info: { readOnly: false, uuid: binary(digest, 4) },
    idIndex: { v: 2, key: { _id: 1 }, name: '_id_' },
  })
}
