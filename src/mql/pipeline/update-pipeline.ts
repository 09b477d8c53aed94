/** Pipelines as updates: they turn a document into its replacement. */

import { type BsonArray, BsonDocument } from '../../document/bson/value.ts'
import { Context, type VariableScope } from '../expressions/core/scope.ts'
import type { Namespace } from '../stages/namespace.ts'
import { documentBytes } from '../stages/stage.ts'
import { changesOf, PipelineCompiler } from './compiler.ts'
import { readStages } from './stage-list.ts'

/** For the option `pipeline` of `compileUpdate`. The scope has `$$NOW` and the command's variables. */
export function updatePipeline(scope: VariableScope, namespace: Namespace) {
  return (stages: BsonArray): ((document: Uint8Array) => Uint8Array) => {
    const change = changesOf(new PipelineCompiler(scope, namespace, { isLazy: true }).compile(readStages(stages)))
    const context = new Context()
    return document => documentBytes(change(context.at(BsonDocument.view(document))))
  }
}
