/** Compiles the stages of a pipeline and of its nested pipelines. */

import type { BsonArray, BsonDocument, Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import type { Compiler, Context, VariableScope } from '../expressions/core/scope.ts'
import { expressionCompiler, expressionTest } from '../expressions/expression.ts'
import { geoNearStage } from '../stages/geo-near.ts'
import { allOf } from '../stages/join-filter.ts'
import { limitOf, skipOf } from '../stages/limit.ts'
import { matchStage } from '../stages/match.ts'
import type { Namespace } from '../stages/namespace.ts'
import { sortStage } from '../stages/sort.ts'
import {
  type Run,
  type Stage,
  type StageCompiler,
  type Stream,
  type SubPipeline,
  type SubPipelineOptions,
  viewsOf,
} from '../stages/stage.ts'
import { stages, unsupportedStages } from '../stages/table.ts'
import { withEqualityHints } from './equality-hints.ts'
import { splitLeadingFind } from './leading-find.ts'
import { readStages, type StageSpec } from './stage-list.ts'

const pipelineDepthMax = 20

/** MongoDB's name for the collection of a pipeline without one. */
const noCollection = '$cmd.aggregate'

interface CompilerOptions {
  readonly geoPath?: string | undefined
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
  readonly #depth: number

  constructor(scope: VariableScope, namespace: Namespace, { geoPath, depth = 0, isLazy }: CompilerOptions = {}) {
    this.scope = scope
    this.namespace = namespace
    this.geoPath = geoPath
    this.expressions = expressionCompiler(scope, { isLazy })
    this.#depth = depth
  }

  compile(specs: readonly StageSpec[]): readonly Stage[] {
    return specs.map(({ name, spec }, index) => {
      if (name === '$sort') return sortStage(spec, wantedBehind(specs.slice(index + 1)))
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
    const specs = readStages(pipeline, within)
    const target: Namespace = namespace ?? { database: this.namespace.database, collection: noCollection }
    const compiler = new PipelineCompiler(scope, target, { depth: this.#depth + 1 })
    const all = compiler.compile(specs)
    const { lead, count } = splitLeadingFind(specs)
    const rest = all.slice(count)
    return {
      runOver: (input, run) => runStages(all, input, run),
      runOn: (from, run, filter) => {
        const matching = filter === undefined ? [] : [matchStage(filter, compiler, '$match')]
        if (specs[0]?.name === '$documents') {
          return runStages([...all.slice(0, 1), ...matching, ...all.slice(1)], nothing(), run)
        }
        if (from === undefined) return runStages(all, nothing(), run)
        const expression = expressionTest(scope, run.slots)
        const hinted = withEqualityHints(lead.filter, scope, run.slots)
        const whole = filter === undefined ? hinted : allOf([filter, hinted])
        return runStages(rest, viewsOf(run.collections.find(from, { ...lead, filter: whole, expression })), run)
      },
    }
  }
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

export function runStages(compiled: readonly Stage[], input: Stream, run: Run): Stream {
  return compiled.reduce((stream, stage) => stage.run(stream, run), input)
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
