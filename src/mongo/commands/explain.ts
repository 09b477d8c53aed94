/** explain: which index serves a query, and what it finds. Expired documents are not found here either. */

import { hostname } from 'node:os'
import { machine } from '../../base/clock.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonArray, BsonDocument } from '../../document/bson/value.ts'
import type { IndexComponent } from '../../document/index-definition.ts'
import type { Engine } from '../../engine/engine.ts'
import { prepareLeadingFind, prepareSort } from '../../mql/prepare.ts'
import type { FindQuery } from '../../mql/program.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { type Collection, findCollection } from '../collections/collections.ts'
import { withHint } from '../collections/hint.ts'
import { findReadable, ResolvedView } from '../collections/views.ts'
import { countDocuments, documentSource, findItems, mongoPageDocumentsMax } from '../find/documents.ts'
import { keysWithin, partitionWithin } from '../find/partition-of-filter.ts'
import { promising } from '../index-specs/wildcard-index.ts'
import { callPipeline, pipelineTarget } from '../pipeline/pipeline-run.ts'
import { readingStages } from '../pipeline/view-reads.ts'
import { Arguments, numberOf } from '../requests/arguments.ts'
import { collationOfCall, shownCollation } from '../requests/collation.ts'
import { nameOf, namespaceOf } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { compileCallFilter } from '../service/query-language.ts'
import { mongoVersion } from './diagnostics.ts'
import { setName } from './hello.ts'

const verbosities = ['queryPlanner', 'executionStats', 'allPlansExecution'] as const
type Verbosity = (typeof verbosities)[number]

interface Explained extends Pick<FindQuery, 'matcher' | 'sort' | 'skip' | 'limit'> {
  readonly filter: BsonDocument
  /** Only the number of documents is asked for. */
  readonly isCount?: boolean
}

async function explain(call: CommandCall): Promise<Fields> {
  const { raw } = call.args.requiredDocument('explain')
  const args = new Arguments(raw!.bytes, raw!.start)
  const asked = call.args.string('verbosity') ?? 'allPlansExecution'
  const verbosity = verbosities.find(name => name === asked)
  if (verbosity === undefined) {
    throw new CommandError('BadValue', "verbosity must be 'queryPlanner', 'executionStats' or 'allPlansExecution'")
  }
  const inner: CommandCall = { ...call, args }
  const answer = await explainCall(inner, verbosity)
  call.chargeRu = inner.chargeRu
  return answer
}

async function explainCall(call: CommandCall, verbosity: Verbosity): Promise<Fields> {
  const { args } = call
  if (args.name === 'aggregate') {
    return explainPipeline(call, namespaceOf(call), args.requiredArray('pipeline'), verbosity)
  }
  const filter = filterOf(args)
  const namespace = namespaceOf(call)
  const isReading = args.name === 'find' || args.name === 'count' || args.name === 'distinct'
  const collection = await findReadable(call.service.engine, namespace)
  if (isReading && collection instanceof ResolvedView) {
    return explainPipeline(call, namespace, readingStages(args), verbosity)
  }
  const own = collection instanceof ResolvedView ? undefined : collection
  const collation = await collationOfCall(statementOf(args), own)
  const matcher = compileCallFilter(call, filter, collation)
  const sort = prepareSort(args.document('sort'), collation)
  const query = { matcher, filter, sort, ...windowOf(args), isCount: args.name === 'count' }
  return explained(call, namespace, query, verbosity)
}

/** Each command has its filter in a different field. */
function filterOf(args: Arguments): BsonDocument {
  switch (args.name) {
    case 'find':
      return args.document('filter') ?? emptyDocument
    case 'count':
    case 'distinct':
    case 'findAndModify':
    case 'findandmodify':
      return args.document('query') ?? emptyDocument
    case 'update':
    case 'delete': {
      const [first] = args.documents(args.name === 'update' ? 'updates' : 'deletes') ?? []
      const q = first?.get('q')
      return q?.type === bsonType.document ? q : emptyDocument
    }
    default:
      throw new CommandError('CommandNotFound', `Explain failed due to unknown command: ${args.name}`)
  }
}

/** Where a command has its hint and its collation: an update or delete has them in its statements. */
function statementOf(args: Arguments): Arguments {
  if (args.name !== 'update' && args.name !== 'delete') return args
  const [first] = args.documents(args.name === 'update' ? 'updates' : 'deletes') ?? []
  return first?.raw === undefined ? args : new Arguments(first.raw.bytes, first.raw.start)
}

/** The skip and limit of a command. */
function windowOf(args: Arguments): Pick<FindQuery, 'skip' | 'limit'> {
  switch (args.name) {
    case 'find': {
      const limit = args.count('limit') ?? 0
      return { skip: args.count('skip') ?? 0, ...(limit > 0 && { limit }) }
    }
    case 'findAndModify':
    case 'findandmodify':
      return { limit: 1 }
    case 'update':
    case 'delete': {
      const [first] = args.documents(args.name === 'update' ? 'updates' : 'deletes') ?? []
      const multi = first?.get('multi')
      const limit = first?.get('limit')
      const isMany = multi?.type === bsonType.bool ? multi.value : limit !== undefined && numberOf(limit) === 0
      return isMany ? {} : { limit: 1 }
    }
    default:
      return {}
  }
}

export async function explainPipeline(
  call: CommandCall,
  namespace: Namespace,
  stages: BsonArray,
  verbosity: Verbosity,
): Promise<Fields> {
  if (call.args.has('writeConcern')) {
    throw new CommandError('FailedToParse', "Aggregation explain does not support the'writeConcern' option")
  }
  const target = await pipelineTarget(call, namespace, stages)
  const { source } = callPipeline(call, target)
  if (source.kind !== 'collection') return { stages: target.stages, ...common() }
  const query = prepareLeadingFind(source.find)
  const plan = await explained(call, target.namespace, { ...query, filter: source.find.filter }, verbosity)
  const { queryPlanner, executionStats } = plan
  const behind = target.stages.elements.slice(source.stageCount)
  // A find on a view that is nothing but a find on its collection.
  if (call.args.name !== 'aggregate' && behind.length === 0) return plan
  return { stages: [{ $cursor: { queryPlanner, executionStats } }, ...behind], ...common() }
}

async function explained(
  call: CommandCall,
  namespace: Namespace,
  asked: Explained,
  verbosity: Verbosity,
): Promise<Fields> {
  const collection = await findCollection(call.service.engine, namespace)
  const query = withHint(statementOf(call.args), collection, asked)
  const { winningPlan, isByKey } = collection === undefined ? noPlan : planOf(call.service.engine, collection, query)
  const startMs = machine.monotonicMs()
  const isRun = verbosity !== 'queryPlanner' && collection !== undefined
  const nReturned = isRun ? await runThrough(call, collection, query) : 0
  const totalDocsExamined = call.documentsRead
  return {
    explainVersion: '1',
    queryPlanner: {
      namespace: nameOf(namespace),
      parsedQuery: query.filter,
      indexFilterSet: false,
      collation: query.matcher.collation && shownCollation(query.matcher.collation),
      winningPlan,
      rejectedPlans: [],
    },
    executionStats:
      verbosity === 'queryPlanner'
        ? undefined
        : {
            executionSuccess: true,
            nReturned,
            executionTimeMillis: Math.round(machine.monotonicMs() - startMs),
            totalKeysExamined: isByKey ? totalDocsExamined : 0,
            totalDocsExamined,
            executionStages: { ...winningPlan, nReturned },
          },
    ...common(),
  }
}

async function runThrough(call: CommandCall, collection: Collection, query: Explained): Promise<number> {
  if (query.isCount === true) return countDocuments(call, collection, query.matcher)
  const source = documentSource(call, collection, query)
  let returned = 0
  for (let isEnd = false; !isEnd; ) {
    const wanted = { documentsMax: mongoPageDocumentsMax, bytesMax: pageBytesMax, by: call, waitMs: 0 }
    const batch = await source.next(wanted)
    returned += batch.documents.length
    isEnd = batch.isEnd
  }
  return returned
}

interface Plan {
  readonly winningPlan: Fields
  /** Documents are found by keys: of an index, or their own. */
  readonly isByKey: boolean
}

const noPlan: Plan = { winningPlan: { stage: 'EOF' }, isByKey: false }

function planOf(engine: Engine, collection: Collection, { matcher, sort }: Explained): Plan {
  const { container, shardKey, indexes } = collection
  if (matcher.hint === undefined && keysWithin(collection, matcher) !== undefined) {
    return { winningPlan: { stage: 'IDHACK' }, isByKey: true }
  }
  const { index: choice, idOrder } = engine.explainQuery(container, findItems(collection, { matcher, sort }))
  const scan =
    choice !== undefined
      ? { stage: 'FETCH', inputStage: indexScan(choice.index.definition.number) }
      : idOrder !== undefined
        ? byIds(idOrder.isReverse)
        : matcher.hint === 'ids'
          ? byIds(false)
          : { stage: 'COLLSCAN', direction: 'forward' }
  const isSorted = sort === undefined || choice?.isOrdered === true || idOrder !== undefined
  const plan = isSorted ? scan : { stage: 'SORT', inputStage: scan }
  const isNarrowed = shardKey !== undefined && partitionWithin(collection, matcher) !== undefined
  return {
    winningPlan: isNarrowed ? { stage: 'SINGLE_SHARD', shards: [{ shardName: setName, winningPlan: plan }] } : plan,
    isByKey: choice !== undefined || idOrder !== undefined,
  }

  function byIds(isReverse: boolean): Fields {
    if (matcher.hint === 'none') return { stage: 'COLLSCAN', direction: isReverse ? 'backward' : 'forward' }
    return { stage: 'FETCH', inputStage: keyScan(isReverse) }
  }

  function indexScan(number: number): Fields {
    const [{ path }] = choice!.index.definition.components as [IndexComponent]
    const declared = indexes.find(index => index.number === number) ?? promising(indexes, path)
    const isWildcard = declared?.kind === 'wildcard'
    return {
      stage: 'IXSCAN',
      indexName: declared?.name ?? 'adaptive',
      keyPattern: isWildcard ? { $_path: 1, [path.map(String).join('.')]: 1 } : declared?.key,
      collation: declared?.document.get('collation'),
      isMultiKey: choice!.index.hasSeveralKeys,
      isUnique: declared?.isUnique ?? false,
      isSparse: declared?.isSparse ?? false,
      isPartial: declared?.partialFilter !== undefined,
      direction: choice!.isReverse ? 'backward' : 'forward',
    }
  }
}

function keyScan(isReverse: boolean): Fields {
  return {
    stage: 'IXSCAN',
    indexName: '_id_',
    keyPattern: { _id: 1 },
    isMultiKey: false,
    isUnique: true,
    isSparse: false,
    isPartial: false,
    direction: isReverse ? 'backward' : 'forward',
  }
}

function common(): Fields {
  return { serverInfo: { host: hostname(), version: mongoVersion } }
}

export const explainCommands: readonly Command[] = [{ name: 'explain', fields: ['verbosity'], run: explain }]
