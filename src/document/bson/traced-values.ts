/**
 * Gives values their origins (`origin.ts`), and takes out of values the parts whose documents are dead.
 *
 * A document or array that is a view of bytes may have an origin, but the parts within it have none.
 */

import { bothOf, type IsAlive, type Origin } from './origin.ts'
import { bsonType } from './types.ts'
import { BsonArray, BsonDocument, isTraced, nullValue, type Value } from './value.ts'

/** The same value with an origin, or without one. */
export function withOrigin<Some extends Value>(value: Some, origin: Origin | undefined): Some {
  if (value.origin === origin) return value
  if (value.type === bsonType.document || value.type === bsonType.array) return value.withOrigin(origin) as Some
  return { ...value, origin }
}

/** The same value, which now also needs the documents of `origin` to be alive. */
export function comingFrom<Some extends Value>(value: Some, origin: Origin | undefined): Some {
  return origin === undefined ? value : withOrigin(value, bothOf(value.origin, origin))
}

/**
 * A value as the smallest or largest of many. It is computed from all of them, so a scalar loses its origin
 * and stays when its document is dead. A document or an array shows more than an extreme, so it keeps its
 * origin.
 */
export function asExtreme(value: Value): Value {
  const isShown = value.type === bsonType.document || value.type === bsonType.array
  return isShown ? value : withOrigin(value, undefined)
}

/** All origins in a value. Recurses as deep as values nest. */
export function* originsIn(value: Value): Generator<Origin> {
  for (let at = value.origin; at !== undefined; at = at.and) yield at
  if (!isTraced(value)) return
  if (value.type === bsonType.document && value.raw === undefined) {
    for (const [, inner] of value.fields) yield* originsIn(inner)
  }
  if (value.type === bsonType.array && value.raw === undefined) {
    for (const element of value.elements) yield* originsIn(element)
  }
}

/** The part of a document that may be shown: dead elements of arrays are left out, dead fields are null. */
export function livingPart(document: BsonDocument, isAlive: IsAlive): BsonDocument | undefined {
  return livingValue(document, isAlive) as BsonDocument | undefined
}

/** The living part of a value; the same value if all of it is alive. Recurses as deep as values nest. */
function livingValue(value: Value, isAlive: IsAlive): Value | undefined {
  if (value.origin !== undefined && !isAlive(value.origin)) return undefined
  if ((value.type !== bsonType.document && value.type !== bsonType.array) || !value.hasInnerOrigins()) return value
  if (value.type === bsonType.document) {
    let isWhole = true
    const fields = value.fields.map(field => {
      const living = livingValue(field[1], isAlive)
      if (living === field[1]) return field
      isWhole = false
      return [field[0], living ?? nullValue] as const
    })
    return isWhole ? value : BsonDocument.of(fields)
  }
  const elements = value.elements.flatMap(element => livingValue(element, isAlive) ?? [])
  const isWhole = elements.length === value.elements.length && elements.every((each, at) => each === value.elements[at])
  return isWhole ? value : BsonArray.of(elements)
}
