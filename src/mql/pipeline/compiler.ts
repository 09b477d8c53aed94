/** Compiles the stages of a pipeline and of its nested pipelines. */

import type { BsonArray, BsonDocument, Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import type { Compiler, Context, VariableScope } from '../expressions/core/scope.ts'
import { expressionCompiler, expressionTest } from '../expressions/expression.ts'
import { geoNearStage } from '../stages/geo-near.ts'
import { limitOf, skipOf } from '../stages/limit.ts'
import { matchStage } from '../stages/match.ts'
import type { Namespace } from '../stages/namespace.ts'
import { sortStage } from '../stages/sort.ts'
import type {
  DocumentBatch,
  LeadingFind,
  Run,
  Stage,
  StageCompiler,
  Stream,
  SubPipeline,
  SubPipelineOptions,
} from '../stages/stage.ts'
import { stages, unsupportedStages } from '../stages/table.ts'
import { withEqualityHints } from './equality-hints.ts'
import type { ViewPipelines } from './foreign-collections.ts'
import { splitLeadingFind } from './leading-find.ts'
import { readStages, type StageSpec } from './stage-list.ts'

const pipelineDepthMax = 20

/** MongoDB's name for the collection of a pipeline without one. */
const noCollection = '$cmd.aggregate'

interface CompilerOptions {
  readonly geoPath?: string | undefined
  readonly views?: ViewPipelines | undefined
  /** Nesting depth of the pipeline. */
  readonly depth?: number
  /** Constants that cannot be computed fail at the first document. */
  readonly isLazy?: boolean
}

export class PipelineCompiler implements StageCompiler {
  readonly scope: VariableScope
  readonly namespace: Namespace
  readonly expressions: Compiler
  readonly geoPath: string | undefined
  readonly #views: ViewPipelines | undefined
  readonly #depth: number

  constructor(scope: VariableScope, namespace: Namespace, { geoPath, views, depth = 0, isLazy }: CompilerOptions = {}) {
    this.scope = scope
    this.namespace = namespace
    this.geoPath = geoPath
    this.expressions = expressionCompiler(scope, { isLazy })
    this.#views = views
    this.#depth = depth
  }

  compile(specs: readonly StageSpec[]): readonly Stage[] {
    return specs.map(({ name, spec }, index) => {
      if (name === '$sort') {
        return sortStage(spec, wantedBehind(specs.slice(index + 1)), this.scope.constants.collation)
      }
      if (name === '$geoNear') return geoNearStage(spec, this, wantedBehind(specs.slice(index + 1)))
      const compileStage = stages[name] ?? unsupportedStages[name] ?? refuse(238, `${name} is not supported here`)
      return compileStage(spec, this, name)
    })
  }

  changes(pipeline: BsonArray, scope: VariableScope): (context: Context) => BsonDocument {
    const compiled = new PipelineCompiler(scope, this.namespace, { depth: this.#depth, isLazy: true }).compile(
      readStages(pipeline),
    )
    return changesOf(compiled)
  }

  pipeline(pipeline: Value, { scope = this.scope, namespace, within }: SubPipelineOptions): SubPipeline {
    if (this.#depth >= pipelineDepthMax) {
      refuse(232, `Maximum number of nested sub-pipelines exceeded. Limit is ${pipelineDepthMax}`)
    }
    const view = namespace && this.#views?.get(namespace.collection)
    const head = view === undefined ? [] : readStages(view.stages)
    const specs = [...head, ...readStages(pipeline, within)]
    const target: Namespace = namespace ?? { database: this.namespace.database, collection: noCollection }
    const compiler = new PipelineCompiler(scope, view?.on ?? target, { views: this.#views, depth: this.#depth + 1 })
    const all = compiler.compile(specs)
    const found = splitLeadingFind(specs)
    const isPipelineSource = specs[0]?.name === '$documents'
    // A filter on the documents goes behind the stages that make them: those of a view, or `$documents`.
    const madeBy = Math.max(head.length, isPipelineSource ? 1 : 0)
    const whole: RunnablePipeline = { lead: found.lead, behind: all.slice(found.count) }
    const filtered = (filter: BsonDocument): RunnablePipeline => {
      const match = { name: '$match', spec: filter }
      const { lead, count } = splitLeadingFind([...specs.slice(0, madeBy), match, ...specs.slice(madeBy)])
      if (count > madeBy) return { lead, behind: all.slice(count - 1) }
      const matching = matchStage(filter, compiler, match.name)
      return { lead, behind: [...all.slice(count, madeBy), matching, ...all.slice(madeBy)] }
    }
    return {
      isOnlyFilter: whole.behind.length === 0 && isOnlyFilter(found.lead),
      runOver: (input, run) => runStages(all, input, run),
      runOn: (from, run, filter) => {
        const { lead, behind } = filter === undefined ? whole : filtered(filter)
        if (isPipelineSource) return runStages(behind, nothing(), run)
        if (from === undefined) return runStages(all, nothing(), run)
        const expression = expressionTest(scope, run.slots)
        const hinted = withEqualityHints(lead.filter, scope, run.slots)
        const request = { ...lead, filter: hinted, expression, collation: scope.constants.collation }
        return runStages(behind, run.collections.find(view?.on ?? from, request), run)
      },
    }
  }
}

/** A find, and the stages behind it. */
interface RunnablePipeline {
  readonly lead: LeadingFind
  readonly behind: readonly Stage[]
}

function isOnlyFilter({ sort, skip, limit }: LeadingFind): boolean {
  return sort === undefined && skip === 0 && limit === undefined
}

async function* nothing(): AsyncGenerator<readonly BsonDocument[]> {}

/** How many documents the stages after a sort need, if that is known. */
function wantedBehind(specs: readonly StageSpec[]): number | undefined {
  let skipped = 0
  for (const { name, spec } of specs) {
    if (name === '$skip') skipped += skipOf(spec)
    else return name === '$limit' ? skipped + limitOf(spec) : undefined
  }
  return undefined
}

/**
 * Each stage pulls from the stage before it on one call stack. A thousand stages would overflow the stack.
 */
const stagesPerCall = 50

export function runStages(compiled: readonly Stage[], input: Stream, run: Run): Stream {
  let stream = input
  for (const [index, stage] of compiled.entries()) {
    stream = stage.run(stream, run)
    if (index % stagesPerCall === stagesPerCall - 1) stream = askedAnew(stream)
  }
  return stream
}

/** The same stream, but each batch is pulled with an empty call stack. */
async function* askedAnew(stream: Stream): AsyncGenerator<DocumentBatch> {
  const batches = stream[Symbol.asyncIterator]()
  try {
    for (;;) {
      await undefined
      const { done, value } = await batches.next()
      if (done === true) return
      yield value
    }
  } finally {
    await undefined
    await batches.return?.()
  }
}

/** Combines stages that change one document at a time into one function. */
export function changesOf(compiled: readonly Stage[]): (context: Context) => BsonDocument {
  const changes = compiled.map(
    ({ name, change }) => change ?? refuse(72, `${name} is not allowed to be used within an update`),
  )
  return context => {
    let document = context.root
    for (const change of changes) document = change(context.at(document))
    return document
  }
}
