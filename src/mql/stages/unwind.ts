/** `$unwind`: makes one document per element of an array. */

import { comingFrom } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type BsonDocument, int64, nullValue, type Value } from '../../document/bson/value.ts'
import { isNullish, namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { atPath, withPath } from './nested-field.ts'
import type { CompileStage } from './stage.ts'
import { pipelineBatchDocumentsMax } from './stage.ts'

interface Options {
  readonly path: readonly string[]
  readonly indexPath: readonly string[] | undefined
  readonly keepsEmpty: boolean
}

function readOptions(spec: Value): Options {
  if (spec.type === bsonType.string) return { path: readPath(spec.value), indexPath: undefined, keepsEmpty: false }
  if (spec.type !== bsonType.document) {
    const problem = 'expected either a string or an object as specification for $unwind stage, got'
    return refuse(15981, `${problem} ${nameOfType(spec)}`)
  }
  const options = namedArguments(spec, ['path', 'preserveNullAndEmptyArrays', 'includeArrayIndex'], unknown =>
    refuse(28811, `unrecognized option to $unwind stage: ${unknown}`),
  )
  const { path, preserveNullAndEmptyArrays: keeps, includeArrayIndex: index } = options
  if (path !== undefined && path.type !== bsonType.string) {
    refuse(28808, `expected a string as the path for $unwind stage, got ${nameOfType(path)}`)
  }
  if (keeps !== undefined && keeps.type !== bsonType.bool) {
    const problem = 'expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got'
    return refuse(28809, `${problem} ${nameOfType(keeps)}`)
  }
  return {
    path: readPath(path?.type === bsonType.string ? path.value : ''),
    indexPath: index === undefined ? undefined : readIndexPath(index),
    keepsEmpty: keeps?.value === true,
  }
}

function readPath(path: string): readonly string[] {
  if (path === '') refuse(28812, 'no path specified to $unwind stage')
  if (!path.startsWith('$')) refuse(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`)
  return checkedPath(path.slice(1))
}

function readIndexPath(value: Value): readonly string[] {
  if (value.type !== bsonType.string || value.value === '') {
    const problem = 'expected a non-empty string for the includeArrayIndex  option to $unwind stage, got'
    return refuse(28810, `${problem} ${nameOfType(value)}`)
  }
  const path = value.value
  if (path.startsWith('$')) {
    refuse(28822, `includeArrayIndex option to $unwind stage should not be prefixed with a '$': ${path}`)
  }
  return checkedPath(path)
}

function* unwound(document: BsonDocument, { path, indexPath, keepsEmpty }: Options): Generator<BsonDocument> {
  const numbered = (made: BsonDocument, index: number | undefined) =>
    indexPath === undefined ? made : withPath(made, indexPath, index === undefined ? nullValue : int64(BigInt(index)))
  const value = atPath(document, path)
  if (value?.type === bsonType.array) {
    const { elements } = value
    if (elements.length === 0 && keepsEmpty) yield numbered(withPath(document, path, undefined), undefined)
    for (const [index, element] of elements.entries()) {
      yield comingFrom(numbered(withPath(document, path, element), index), element.origin)
    }
  } else if (!isNullish(value) || keepsEmpty) {
    yield numbered(document, undefined)
  }
}

export const unwindStage: CompileStage = (spec, _, name) => {
  const options = readOptions(spec)
  return {
    name,
    each: () => (document, emit) => {
      for (const one of unwound(document, options)) if (!emit(one)) return false
      return true
    },
    async *run(input, { slice }) {
      let made: BsonDocument[] = []
      for await (const batch of input) {
        for (const document of batch) {
          for (const one of unwound(document, options)) {
            made.push(one)
            if (slice.isOver) await slice.turn()
            if (made.length < pipelineBatchDocumentsMax) continue
            yield made
            made = []
          }
        }
        // Yields early, so that the next stage need not wait for the rest.
        if (made.length > 0) yield made
        made = []
      }
    },
  }
}
