/** `$unionWith`, and `$documents`: the first stage of a pipeline without a collection. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, type BsonDocument, type Value } from '../../document/bson/value.ts'
import { namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { Context } from '../expressions/core/scope.ts'
import type { Namespace } from './namespace.ts'
import { type CompileStage, inBatches } from './stage.ts'

const failedToParse = 9

interface Source {
  readonly from: Namespace | undefined
  readonly stages: Value
}

function readSource(spec: Value, database: string): Source {
  if (spec.type === bsonType.string) return { from: { database, collection: spec.value }, stages: BsonArray.of([]) }
  if (spec.type !== bsonType.document) {
    const problem = 'the $unionWith stage specification must be an object or string, but found'
    return refuse(failedToParse, `${problem} ${nameOfType(spec)}`)
  }
  const { coll, pipeline } = namedArguments(spec, ['coll', 'pipeline'], unknown =>
    refuse(40415, `BSON field '$unionWith.${unknown}' is an unknown field.`),
  )
  if (coll !== undefined && coll.type !== bsonType.string) {
    const expected = `is the wrong type '${nameOfType(coll)}', expected type 'string'`
    return refuse(14, `BSON field '$unionWith.coll' ${expected}`)
  }
  if (pipeline !== undefined && pipeline.type !== bsonType.array) {
    return refuse(14, "'pipeline' option must be specified as an array")
  }
  if (coll === undefined && !beginsWithDocuments(pipeline)) {
    refuse(
      failedToParse,
      '$unionWith stage without explicit collection must have a pipeline with $documents as first stage',
    )
  }
  return {
    from: coll === undefined ? undefined : { database, collection: coll.value },
    stages: pipeline ?? BsonArray.of([]),
  }
}

function beginsWithDocuments(pipeline: Value | undefined): boolean {
  const first = pipeline?.type === bsonType.array ? pipeline.elements[0] : undefined
  return first?.type === bsonType.document && first.get('$documents') !== undefined
}

export const unionWithStage: CompileStage = (spec, compiler, name) => {
  const { from, stages } = readSource(spec, compiler.namespace.database)
  const pipeline = compiler.pipeline(stages, { namespace: from, within: '$unionWith' })
  return {
    name,
    async *run(input, run) {
      yield* input
      yield* pipeline.runOn(from, run)
    },
  }
}

export const documentsStage: CompileStage = (spec, { expressions }, name) => {
  const evaluate = expressions.compile(spec)
  return {
    name,
    /** The input is ignored: there is no collection. */
    async *run(_, { slots, slice }) {
      const value = evaluate(new Context(slots))
      if (value?.type !== bsonType.array) return refuse(5858203, 'an array is expected')
      const documents = value.elements.map((element): BsonDocument => {
        if (element.type === bsonType.document) return element
        const type = nameOfType(element)
        const result = `resulting value was: ${printForMessage(element)}. Type of resulting value: '${type}'`
        return refuse(40228, `'$documents' must evaluate to an object, but ${result}.`)
      })
      yield* inBatches(documents, slice)
    },
  }
}
