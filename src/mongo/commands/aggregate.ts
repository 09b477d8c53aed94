/** aggregate: runs documents through a pipeline. */

import { bsonType } from '../../document/bson/types.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { parseStreamOptions } from '../change-streams/options.ts'
import { openChangeStream } from '../change-streams/stream.ts'
import { checkHint } from '../collections/hint.ts'
import type { WatchScope } from '../collections/watched-collections.ts'
import { callPipeline, type PipelineTarget, pipelineSource, pipelineTarget } from '../pipeline/pipeline-run.ts'
import { checkDatabaseName, nameOf, namespaceOf } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { type CursorSource, openCursor } from '../service/cursors.ts'
import { refuseCollation } from '../service/query-language.ts'
import { explainPipeline } from './explain.ts'

async function aggregate(call: CommandCall): Promise<Fields> {
  const { args, service, session } = call
  const namespace = aggregateNamespace(call)
  refuseCollation(args)
  const stages = args.requiredArray('pipeline')
  const cursor = args.within('cursor')
  if (args.flag('explain')) return explainPipeline(call, namespace, stages, 'queryPlanner')
  if (cursor === undefined) {
    throw new CommandError(
      'FailedToParse',
      "The 'cursor' option is required, except for aggregate with the explain argument",
    )
  }
  const target = await pipelineTarget(call, namespace, stages)
  const { collection } = target
  const stream = await changeStreamSource(call, target)
  const isStream = stream !== undefined
  const source = stream ?? (await pipelineSource(call, target))
  checkHint(args, collection)
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

/** A stream watches a collection, a database, or, if asked of `admin`, everything. */
async function changeStreamSource(call: CommandCall, target: PipelineTarget): Promise<CursorSource | undefined> {
  const { source } = callPipeline(call, target)
  if (source.kind !== 'stage' || source.name !== '$changeStream') return undefined
  const options = parseStreamOptions(source.spec)
  const { namespace } = target
  const isDatabase = namespace.collection === '$cmd.aggregate'
  if (options.isForCluster && (call.database !== 'admin' || !isDatabase)) {
    throw new CommandError('InvalidOptions', 'A change stream over everything is opened on the admin database')
  }
  const scope: WatchScope = options.isForCluster
    ? { kind: 'cluster' }
    : isDatabase
      ? { kind: 'database', database: call.database }
      : { kind: 'collection', namespace }
  return openChangeStream(call, { scope, options, pipeline: () => callPipeline(call, target) })
}

/** `aggregate: 1` names a database without a collection. */
export function aggregateNamespace(call: CommandCall): Namespace {
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
