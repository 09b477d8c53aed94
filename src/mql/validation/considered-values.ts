/** The values of a document that a condition on a path looks at, for reports. */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'

/** As in MongoDB (`internalQueryMaxDocValidationErrorConsideredValues`). */
const consideredValuesMax = 10

export interface Considered {
  /** Undefined if the path leads nowhere. */
  readonly values: readonly Value[] | undefined
  /** There are more than are listed. */
  readonly isCut: boolean
}

/** `entersLastArray`: an array at the end of the path stands for its elements. */
export function considered(document: BsonDocument, path: string, entersLastArray: boolean): Considered {
  const parts = path.split('.')
  const values: Value[] = []
  let isCut = false
  for (const value of valuesAt(document, parts, 0, entersLastArray)) {
    // MongoDB stops at the first place where there is nothing.
    if (value === undefined) break
    if (values.length === consideredValuesMax) {
      isCut = true
      break
    }
    values.push(value)
  }
  if (values.length > 0) return { values, isCut }
  const [first] = valuesAt(document, parts, 0, false)
  return { values: first === undefined ? undefined : [], isCut }
}

/** Undefined stands for a missing value. */
function* valuesAt(
  value: Value | undefined,
  parts: readonly string[],
  at: number,
  entersLastArray: boolean,
): Generator<Value | undefined> {
  const name = parts[at]
  if (name === undefined) {
    if (value?.type === bsonType.array && entersLastArray) yield* value.elements
    else yield value
  } else if (value?.type === bsonType.document) {
    yield* valuesAt(value.get(name), parts, at + 1, entersLastArray)
  } else if (value?.type === bsonType.array) {
    for (const [index, element] of value.elements.entries()) {
      if (element.type === bsonType.document) yield* valuesAt(element, parts, at, entersLastArray)
      if (name === String(index)) yield* valuesAt(element, parts, at + 1, entersLastArray)
    }
  } else {
    yield undefined
  }
}
