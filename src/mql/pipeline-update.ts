/** Pipelines as updates: from a document to the document that takes its place. */

import { type BsonArray, BsonDocument } from '../document/bson/value.ts'
import { Context, type Scope } from './expression-scope.ts'
import { changesOf, PipelineCompiler } from './pipeline-compiler.ts'
import { readStages } from './pipeline-spec.ts'
import { documentBytes, type Namespace } from './stage.ts'

/** For the option `pipeline` of `compileUpdate`. The scope has `$$NOW` and the command's variables. */
export function updatePipeline(scope: Scope, namespace: Namespace) {
  return (stages: BsonArray): ((document: Uint8Array) => Uint8Array) => {
    const change = changesOf(new PipelineCompiler(scope, namespace).compile(readStages(stages)))
    const context = new Context()
    return document => documentBytes(change(context.at(BsonDocument.view(document))))
  }
}
