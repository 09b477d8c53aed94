/** aggregate: runs documents through a pipeline. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, type Value } from '../../document/bson/value.ts'
import type { Pipeline } from '../../mql/pipeline/pipeline.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { isChangeStream, nameOfStage, parseStreamOptions } from '../change-streams/options.ts'
import { openChangeStream, type StreamRequest } from '../change-streams/stream.ts'
import type { WatchScope } from '../collections/watched-collections.ts'
import { callPipeline, pipelineOver, pipelineSource, pipelineTarget } from '../pipeline/pipeline-run.ts'
import { givenCollation } from '../requests/collation.ts'
import { checkDatabaseName, nameOf, namespaceOf, refuseOplog } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { type CursorSource, openCursor } from '../service/cursors.ts'
import { notInTransaction } from '../service/statement.ts'
import { explainPipeline } from './explain.ts'

async function aggregate(call: CommandCall): Promise<Fields> {
  const { args, service, session } = call
  const namespace = aggregateNamespace(call)
  refuseOplog(namespace)
  const stages = args.requiredArray('pipeline')
  const cursor = args.within('cursor')
  if (args.flag('explain')) return explainPipeline(call, namespace, stages, 'queryPlanner')
  if (cursor === undefined) {
    throw new CommandError(
      'FailedToParse',
      "The 'cursor' option is required, except for aggregate with the explain argument",
    )
  }
  refuseReadConcern(call, stages)
  // A stream has its place from the moment at which the command arrives, so nothing is awaited before this.
  const stream = isChangeStream(stages) ? await changeStreamSource(call, namespace, stages) : undefined
  const isStream = stream !== undefined
  const target = await pipelineTarget(call, namespace, stages)
  if (call.isInTransaction) refuseInTransaction(callPipeline(call, target), stages)
  const { collection } = target
  const source = stream ?? (await pipelineSource(call, target))
  return openCursor(service.cursors, source, {
    namespace: nameOf(namespace),
    session: session?.key,
    hasNoTimeout: false,
    containers: collection === undefined || isStream ? [] : [collection.container.number],
    batchSize: cursor.count('batchSize'),
    isSingleBatch: false,
    by: call,
  })
}

/** Refuses read concerns that the stages cannot have. */
function refuseReadConcern({ args, isInTransaction }: CommandCall, stages: BsonArray): void {
  const isStream = isChangeStream(stages)
  if (isInTransaction && isStream) throw notWithStage('$changeStream')
  const level = args.has('readConcern') ? args.within('readConcern')?.string('level') : undefined
  if (level === undefined) return
  const last = nameOfStage(stages.elements.at(-1))
  const reason =
    isStream && level !== 'majority'
      ? "Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. " +
        `Current readConcern: ${level}`
      : level === 'linearizable' && (last === '$out' || last === '$merge')
        ? `${last} cannot be used with a 'linearizable' read concern level`
        : undefined
  if (reason === undefined) return
  const concern = `{ readConcern: { level: "${level}", provenance: "clientSupplied" } }`
  throw new CommandError('InvalidOptions', `Command aggregate does not support ${concern} :: caused by :: ${reason}`)
}

const splitStage = '$changeStreamSplitLargeEvent'

/** The stages that may follow: those that look at one event at a time. */
const streamStages: ReadonlySet<string> = new Set([
  '$addFields',
  '$match',
  '$project',
  '$redact',
  '$replaceRoot',
  '$replaceWith',
  '$set',
  '$unset',
])

/** Refuses stages that write, and those that tell about the server. */
function refuseInTransaction({ source, target }: Pipeline, stages: BsonArray): void {
  const name =
    target !== undefined ? nameOfStage(stages.elements.at(-1)) : source.kind === 'stage' ? source.name : undefined
  if (name !== undefined) throw notWithStage(name)
}

function notWithStage(name: string): CommandError {
  return notInTransaction(`Stage not supported inside of a multi-document transaction: ${name}`)
}

/** A stream watches a collection, a database, or, if asked of `admin`, everything. */
function changeStreamSource(call: CommandCall, namespace: Namespace, stages: BsonArray): Promise<CursorSource> {
  const splitsEvents = nameOfStage(stages.elements.at(-1)) === splitStage
  const rest = splitsEvents ? BsonArray.of(stages.elements.slice(0, -1)) : stages
  const collation = givenCollation(call.args)
  const target = { namespace, stages: rest, collection: undefined, views: undefined, collation }
  const compiled = () => callPipeline(call, target)
  for (const stage of rest.elements.slice(1)) {
    const name = nameOfStage(stage)
    if (name === splitStage) throw new CommandError(7182802, `${splitStage} must be the last stage in the pipeline`)
    if (name === undefined || !name.startsWith('$') || streamStages.has(name)) continue
    // A stage that is wrong, or unknown, has an error of its own.
    compiled()
    throw new CommandError('IllegalOperation', `${name} is not permitted in a $changeStream pipeline`)
  }
  const { source } = compiled()
  const options = parseStreamOptions((source as { spec: Value }).spec)
  const isDatabase = namespace.collection === '$cmd.aggregate'
  if (options.isForCluster && (call.database !== 'admin' || !isDatabase)) {
    throw new CommandError('InvalidOptions', 'A change stream over everything is opened on the admin database')
  }
  const scope: WatchScope = options.isForCluster
    ? { kind: 'cluster' }
    : isDatabase
      ? { kind: 'database', database: call.database }
      : { kind: 'collection', namespace }
  const pipeline: StreamRequest['pipeline'] =
    rest.elements.length > 1 ? (events, by) => pipelineOver(call, target, events, by) : undefined
  return openChangeStream(call, { scope, options, pipeline, splitsEvents })
}

/** `aggregate: 1` names a database without a collection. */
function aggregateNamespace(call: CommandCall): Namespace {
  const name = call.args.value(call.args.name)
  if (name?.type === bsonType.string) return namespaceOf(call)
  checkDatabaseName(call.database)
  return { database: call.database, collection: '$cmd.aggregate' }
}

export const aggregateCommands: readonly Command[] = [
  {
    name: 'aggregate',
    fields: [
      'pipeline',
      'cursor',
      'explain',
      'allowDiskUse',
      'bypassDocumentValidation',
      'collation',
      'hint',
      'let',
      'fromMongos',
      'needsMerge',
      'exchange',
    ],
    isTransactional: true,
    run: aggregate,
  },
]
