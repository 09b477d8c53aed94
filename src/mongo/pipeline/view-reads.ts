/** find, count and distinct on a view: the same as stages behind those of the view. */

import { pageBytesMax } from '../../base/limits.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, int64, string, type Value } from '../../document/bson/value.ts'
import { DistinctValues } from '../../mql/distinct.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { mongoPageDocumentsMax } from '../find/documents.ts'
import { type Arguments, numberOf } from '../requests/arguments.ts'
import { nameOf } from '../requests/namespace.ts'
import type { CommandCall } from '../service/command.ts'
import { openCursor } from '../service/cursors.ts'
import { type PipelineTarget, pipelineSource, pipelineTarget } from './pipeline-run.ts'

export async function findInView(call: CommandCall, namespace: Namespace): Promise<Fields> {
  const { args, service, session } = call
  const target = await pipelineTarget(call, namespace, readingStages(args))
  return openCursor(service.cursors, await pipelineSource(call, target), {
    namespace: nameOf(namespace),
    session: session?.key,
    hasNoTimeout: false,
    containers: target.collection === undefined ? [] : [target.collection.container.number],
    batchSize: args.count('batchSize'),
    isSingleBatch: args.flag('singleBatch'),
    by: call,
  })
}

export async function countInView(call: CommandCall, namespace: Namespace): Promise<Fields> {
  const target = await pipelineTarget(call, namespace, readingStages(call.args))
  for await (const document of resultsOf(call, target)) return { n: BsonDocument.view(document).get('count') }
  return { n: 0 }
}

export async function distinctInView(call: CommandCall, namespace: Namespace, path: string): Promise<Fields> {
  const target = await pipelineTarget(call, namespace, readingStages(call.args))
  const found = new DistinctValues(path, target.collation)
  for await (const document of resultsOf(call, target)) found.add(document)
  return { values: found.values() }
}

async function* resultsOf(call: CommandCall, target: PipelineTarget): AsyncGenerator<Uint8Array> {
  const source = await pipelineSource(call, target)
  for (let isEnd = false; !isEnd; ) {
    const batch = await source.next({
      documentsMax: mongoPageDocumentsMax,
      bytesMax: pageBytesMax,
      by: call,
      waitMs: 0,
    })
    isEnd = batch.isEnd
    yield* batch.documents
  }
}

/** The stages that do on a view what a reading command asks for. */
export function readingStages(args: Arguments): BsonArray {
  switch (args.name) {
    case 'find':
      return findStages(args)
    case 'count':
      return stages([
        ['$match', args.document('query')],
        ['$skip', count(args.count('skip'))],
        ['$limit', count(args.magnitude('limit'))],
        ['$count', string('count')],
      ])
    default:
      return stages([['$match', args.document('query')]])
  }
}

/** The stages of a find. Refuses what a pipeline cannot do, as MongoDB does. */
function findStages(args: Arguments): BsonArray {
  for (const name of ['min', 'max']) if (args.document(name)?.isEmpty === false) throw notInPipeline(`Option ${name}`)
  for (const name of ['returnKey', 'showRecordId', 'noCursorTimeout', 'allowPartialResults']) {
    if (args.flag(name)) throw notInPipeline(`Option ${name}`)
  }
  if (args.flag('tailable')) {
    throw new CommandError('InvalidPipelineOperator', 'Tailable cursors are not supported in aggregation.')
  }
  const limit = args.count('limit')
  if (args.flag('singleBatch') && limit !== 1) throw notInPipeline('Option singleBatch')
  const sort = args.document('sort')
  const natural = sort?.get('$natural')
  // Without a sort, documents come in the order of the collection.
  if (natural !== undefined && numberOf(natural) !== 1) throw notInPipeline('Sort option $natural')
  return stages([
    ['$match', args.document('filter')],
    ['$sort', natural === undefined ? sort : undefined],
    ['$skip', count(args.count('skip'))],
    ['$limit', count(limit)],
    ['$project', args.document('projection')],
  ])
}

function notInPipeline(what: string): CommandError {
  return new CommandError('InvalidPipelineOperator', `${what} not supported in aggregation.`)
}

function count(number: number | undefined): Value | undefined {
  return number === undefined || number === 0 ? undefined : int64(BigInt(number))
}

/** A pipeline of the stages that are given and not empty. */
function stages(wanted: readonly (readonly [name: string, spec: Value | undefined])[]): BsonArray {
  return BsonArray.of(
    wanted.flatMap(([name, spec]) => {
      const isEmpty = spec === undefined || (spec.type === bsonType.document && spec.isEmpty)
      return isEmpty ? [] : [BsonDocument.of([[name, spec]])]
    }),
  )
}
