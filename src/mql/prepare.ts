/**
 * The entry point for queries: compiles what a command asks for, and turns it into a statement. A statement
 * is plain data for another thread, which makes a program from it.
 */

import { assert } from '../base/error.ts'
import { bsonType } from '../document/bson/types.ts'
import { type BsonArray, BsonDocument, int32, type Value } from '../document/bson/value.ts'
import { encodedForMessage } from '../document/bson/writer.ts'
import { type Collation, collationOf } from '../document/collation/collation.ts'
import type { Collector, FoundRows } from '../query/collect-rows.ts'
import type { Program } from '../query/program.ts'
import { documentOrigin } from '../query/row-origins.ts'
import type { IdOrder, MqlEvaluation, MqlFilter, MqlPipeline, MqlStatement, MqlVariables } from '../query/statement.ts'
import { evaluationProgram } from './evaluation.ts'
import type { CommandVariables } from './expressions/core/scope.ts'
import { expressionTest, expressionValue } from './expressions/expression.ts'
import { compileFilter, compileParsed, type FilterSpec, type Matcher } from './filter/match.ts'
import { parseSmallTerms } from './filter/parse-filter.ts'
import { compileSort, type Sort, type SortComponent } from './paths/sort-order.ts'
import { commandScope, compilePipeline, type Pipeline, type PipelineSpec } from './pipeline/pipeline.ts'
import { marksOf } from './pipeline/row-marks.ts'
import { countProgram, distinctProgram, type FindQuery, findProgram } from './program.ts'
import { compileProjection, type Projection } from './projection/projection.ts'
import { type DocumentBatch, documentBytes, type FindRequest, PipelineSlice } from './stages/stage.ts'

export function prepareFilter(spec: FilterSpec): Matcher {
  const expression = expressionTest(commandScope(spec.variables))
  const { filter, allowsNear, variables } = spec
  const { collation } = variables.constants
  return { ...compileFilter(filter, { expression, collation }, { isWholeDocument: true, allowsNear }), spec }
}

/** Prepares a filter that is known to be valid, takes long to parse, and gives no order. */
export function prepareKnownFilter(spec: FilterSpec): Matcher {
  const expression = expressionTest(commandScope(spec.variables))
  const { filter, allowsNear, variables } = spec
  const { collation } = variables.constants
  const parsed = parseSmallTerms(filter, { isWholeDocument: true, allowsNear })
  return { ...compileParsed(parsed, { expression, collation }), spec }
}

export function prepareProjection(spec: BsonDocument, variables: CommandVariables): Projection {
  const scope = commandScope(variables)
  const { collation } = variables.constants
  return compileProjection(spec, { expression: expressionTest(scope), collation, compute: expressionValue(scope) })
}

/** The find that replaces the first stages of a pipeline. */
export function prepareLeadingFind(request: FindRequest): FindQuery {
  const { filter, sort, skip, limit, expression, variables, collation } = request
  return {
    matcher: {
      ...compileFilter(filter, { expression, collation }, { isWholeDocument: true, allowsNear: false }),
      spec: variables && { filter, variables, allowsNear: false },
    },
    sort: prepareSort(sort, collation),
    skip,
    limit: limit ?? Number.POSITIVE_INFINITY,
  }
}

/** `$natural` order is the order of `_id` here, because documents are stored in that order. */
export function prepareSort(spec: BsonDocument | undefined, collation: Collation | undefined): Sort | undefined {
  if (spec === undefined || spec.isEmpty) return undefined
  const sort = compileSort(spec, collation)
  if (sort.components.length > 0) return sort
  return sort.isReversed ? compileSort(BsonDocument.of([['_id', int32(-1)]])) : undefined
}

type MakeStatement = ((idOrder?: IdOrder) => MqlStatement) | undefined

/** A function that makes the statement. Undefined if the filter cannot be sent to another thread. */
export function findStatement(query: FindQuery): MakeStatement {
  const { matcher, sort, skip = 0, limit = Number.POSITIVE_INFINITY, projection, isTieReversed } = query
  const spec = matcher.spec
  if (query.each !== undefined) return pipelineStatement(query.each.spec, query)
  if (spec === undefined) return undefined
  return idOrder =>
    statementOf(spec, {
      kind: 'find',
      ...filterBytes(spec),
      ...{ sort: sort?.components, skip, limit, isTieReversed, idOrder },
      projection: projection && encodedForMessage(projection.spec),
    })
}

export function countStatement({ spec }: Matcher): MakeStatement {
  return spec && (idOrder => statementOf(spec, { kind: 'count', idOrder, ...filterBytes(spec) }))
}

export function distinctStatement({ spec }: Matcher, path: string): MakeStatement {
  return spec && (idOrder => statementOf(spec, { kind: 'distinct', path, idOrder, ...filterBytes(spec) }))
}

/** A part of a pipeline, over the documents that the query finds. */
export function pipelineStatement({ stages, options }: PipelineSpec, query: FindQuery): NonNullable<MakeStatement> {
  const { namespace, geoPath } = options
  const { isTieReversed } = query
  return idOrder => ({
    language: 'mql',
    variables: plainVariables(options),
    query: {
      kind: 'pipeline',
      pipeline: encodedForMessage(BsonDocument.of([['pipeline', stages]])),
      ...{ namespace, geoPath, isTieReversed, idOrder },
    },
  })
}

/** A whole pipeline with the views that it names, for a thread that holds it (`pipeline/hosted-run.ts`). */
export function hostedStatement({ stages, options }: PipelineSpec): MqlStatement {
  const { namespace, geoPath, views } = options
  const wrapped = (array: Value) => encodedForMessage(BsonDocument.of([['pipeline', array]]))
  return {
    language: 'mql',
    variables: plainVariables(options),
    query: {
      ...{
        kind: 'pipeline',
        pipeline: wrapped(stages),
        namespace,
        geoPath,
        isTieReversed: undefined,
        idOrder: undefined,
      },
      views: [...(views ?? [])].map(([name, view]) => ({
        name,
        on: { database: view.on.database, collection: view.on.collection },
        pipeline: wrapped(view.stages),
      })),
    },
  }
}

export function hostedPipeline({ query, variables }: MqlStatement): Pipeline {
  assert(query.kind === 'pipeline', 'a thread holds pipelines')
  const { namespace, geoPath, views = [] } = query
  const options = {
    ...variablesOf(variables),
    ...{ namespace, geoPath },
    views: new Map(views.map(({ name, on, pipeline }) => [name, { on, stages: stagesIn(pipeline) }])),
  }
  return compilePipeline(stagesIn(query.pipeline), options)
}

function stagesIn(wrapped: Uint8Array): BsonArray {
  const stages = BsonDocument.view(wrapped).get('pipeline')
  assert(stages?.type === bsonType.array, 'a pipeline is an array')
  return stages
}

export function evaluationStatement(query: Omit<MqlEvaluation, 'kind'>, variables: CommandVariables): MqlStatement {
  return { language: 'mql', variables: plainVariables(variables), query: { kind: 'evaluation', ...query } }
}

function statementOf({ variables }: FilterSpec, query: MqlStatement['query']): MqlStatement {
  return { language: 'mql', variables: plainVariables(variables), query }
}

function plainVariables({ constants, let: variables }: CommandVariables): MqlVariables {
  const { now, clusterTime, collation } = constants
  return { now, clusterTime, collation: collation?.options, let: variables && encodedForMessage(variables) }
}

function filterBytes({ filter, allowsNear }: FilterSpec): MqlFilter {
  return { filter: encodedForMessage(filter), allowsNear }
}

export function prepareStatement({ query, variables }: MqlStatement): Program {
  const known = variablesOf(variables)
  if (query.kind === 'pipeline') {
    const { pipeline, find, spec } = preparePipeline(query, known)
    return findProgram({ ...find, each: { make: pipeline.ownEach(), spec } })
  }
  if (query.kind === 'evaluation') {
    const request = { ...query, inputs: BsonDocument.view(query.inputs), variables: known }
    return evaluationProgram(request, { filter: prepareFilter, projection: prepareProjection })
  }
  const matcher = prepareFilter({
    filter: BsonDocument.view(query.filter),
    allowsNear: query.allowsNear,
    variables: known,
  })
  switch (query.kind) {
    case 'count':
      return countProgram({ matcher, idOrder: query.idOrder })
    case 'distinct':
      return distinctProgram({ ...query, matcher })
    case 'find': {
      const { sort, projection, ...plain } = query
      return findProgram({
        ...plain,
        matcher,
        sort: sort && sortOf(sort, known.constants.collation),
        projection: projection && prepareProjection(BsonDocument.view(projection), known),
      })
    }
  }
}

/** A collector that runs the part of a pipeline that collects documents. */
export function prepareCollector({ query, variables }: MqlStatement): Collector {
  assert(query.kind === 'pipeline', 'only pipelines collect')
  const { pipeline, find } = preparePipeline(query, variablesOf(variables))
  return {
    program: () => findProgram(find),
    async *run(found, { container }) {
      const documents = documentsOf(found, container)
      for await (const batch of pipeline.runOwn(documents, new PipelineSlice())) {
        yield batch.map(document => ({
          row: documentBytes(document),
          marks: container === undefined ? undefined : marksOf(document),
        }))
      }
    },
  }
}

/** Documents have origins if the number of their container is given. */
async function* documentsOf(
  found: AsyncIterable<FoundRows>,
  container: number | undefined,
): AsyncGenerator<DocumentBatch> {
  for await (const { rows, origins } of found) {
    yield rows.map((row, at) =>
      BsonDocument.view(row, 0, container === undefined ? undefined : documentOrigin(container, origins, at)),
    )
  }
}

function preparePipeline(query: MqlPipeline, variables: CommandVariables) {
  const { namespace, geoPath, isTieReversed, idOrder } = query
  const stages = stagesIn(query.pipeline)
  const spec: PipelineSpec = { stages, options: { ...variables, namespace, geoPath } }
  const pipeline = compilePipeline(stages, spec.options)
  assert(pipeline.source.kind === 'collection', 'the pipeline begins with a collection')
  const lead = prepareLeadingFind(pipeline.source.find)
  return { pipeline, spec, find: { ...lead, isTieReversed, idOrder } satisfies FindQuery }
}

function variablesOf({ now, clusterTime, collation, let: variables }: MqlVariables): CommandVariables {
  return {
    constants: {
      now,
      ...(clusterTime !== undefined && { clusterTime }),
      random: Math.random,
      collation: collation && collationOf(collation),
    },
    let: variables && BsonDocument.view(variables),
  }
}

function sortOf(components: readonly SortComponent[], collation: Collation | undefined): Sort {
  const spec = BsonDocument.of(components.map(({ path, isDescending }) => [path, int32(isDescending ? -1 : 1)]))
  return compileSort(spec, collation)
}
