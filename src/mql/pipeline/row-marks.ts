/**
 * Where the parts of a result come from, as numbers, for the way from one thread to another.
 *
 *   marks    = origin of the document, then for each part with an origin: its path, its origin
 *   path     = its length, then the positions of fields and elements that lead to the part
 *   origin   = the number of items, then for each: sequence, written at, deadline
 *
 * All items are of one container, the one that the thread reads.
 */

import type { Origin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'

/** Undefined if nothing has an origin. */
export function marksOf(document: BsonDocument): readonly number[] | undefined {
  const isInner = document.hasInnerOrigins()
  if (document.origin === undefined && !isInner) return undefined
  const marks: number[] = []
  addOrigin(marks, document.origin)
  if (isInner) addInner(marks, document, [])
  return marks
}

/** Recurses as deep as values nest. `path` leads to the value. */
function addInner(marks: number[], value: BsonDocument | BsonArray, path: number[]): void {
  const isArray = value.type === bsonType.array
  const { length } = isArray ? value.elements : value.fields
  for (let at = 0; at < length; at += 1) {
    const part = isArray ? value.elements[at]! : value.fields[at]![1]
    const isComposite = part.type === bsonType.document || part.type === bsonType.array
    const isInner = isComposite && part.hasInnerOrigins()
    if (part.origin === undefined && !isInner) continue
    path.push(at)
    if (part.origin !== undefined) {
      marks.push(path.length)
      for (const position of path) marks.push(position)
      addOrigin(marks, part.origin)
    }
    if (isInner) addInner(marks, part, path)
    path.pop()
  }
}

function addOrigin(marks: number[], origin: Origin | undefined): void {
  const count = marks.push(0) - 1
  for (let at = origin; at !== undefined; at = at.and) {
    marks.push(at.sequence, at.writtenAt, at.deadline)
    marks[count]! += 1
  }
}

interface Marked {
  origin: Origin | undefined
  readonly parts: Map<number, Marked>
}

/** The document of a row, with the origins that its marks tell of. */
export function markedDocument(row: Uint8Array, marks: ArrayLike<number>, container: number): BsonDocument {
  if (marks.length === 0) return BsonDocument.view(row)
  let at = 0
  const readOrigin = (): Origin | undefined => {
    let origin: Origin | undefined
    for (let count = marks[at++]!; count > 0; count -= 1) {
      origin = { container, sequence: marks[at]!, writtenAt: marks[at + 1]!, deadline: marks[at + 2]!, and: origin }
      at += 3
    }
    return origin
  }
  const root: Marked = { origin: readOrigin(), parts: new Map() }
  while (at < marks.length) {
    let node = root
    for (let depth = marks[at++]!; depth > 0; depth -= 1) {
      const position = marks[at++]!
      const known = node.parts.get(position) ?? { origin: undefined, parts: new Map() }
      node.parts.set(position, known)
      node = known
    }
    node.origin = readOrigin()
  }
  return marked(BsonDocument.view(row), root) as BsonDocument
}

function marked(value: Value, { origin, parts }: Marked): Value {
  return withOrigin(parts.size === 0 ? value : withParts(value, parts), origin)
}

function withParts(value: Value, parts: ReadonlyMap<number, Marked>): Value {
  const part = (inner: Value, at: number) => {
    const known = parts.get(at)
    return known === undefined ? inner : marked(inner, known)
  }
  if (value.type === bsonType.array) return BsonArray.of(value.elements.map(part))
  if (value.type !== bsonType.document) return value
  return BsonDocument.of(value.fields.map(([name, inner], at) => [name, part(inner, at)]))
}
