/**
 * Writes the origins of the parts of a result as numbers, to send them from one thread to another.
 *
 *   marks    = origin of the document, then for each part with an origin: its path, its origin
 *   path     = its length, then the positions of fields and elements that lead to the part
 *   origin   = the number of items, then for each: container, sequence, written at, deadline
 */

import type { Origin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { type PackedRows, packRows, unpackRows } from '../../query/packed-rows.ts'
import { documentBytes } from '../stages/stage.ts'

/** Packs documents into one piece, with the origins of their parts. */
export function packDocuments(documents: readonly BsonDocument[]): PackedRows | undefined {
  const marks: number[] = []
  for (const document of documents) {
    const count = marks.push(0) - 1
    addMarks(marks, document)
    marks[count] = marks.length - count - 1
  }
  return packRows(documents.map(documentBytes), marks)
}

export function unpackDocuments(piece: PackedRows): BsonDocument[] {
  const { marks } = piece
  if (marks === undefined) return unpackRows(piece).map(row => BsonDocument.view(row))
  let at = 0
  return unpackRows(piece).map(row => {
    const start = at + 1
    at = start + marks[at]!
    return markedDocument(row, marks.subarray(start, at))
  })
}

/** Undefined if nothing has an origin. */
export function marksOf(document: BsonDocument): readonly number[] | undefined {
  const marks: number[] = []
  addMarks(marks, document)
  return marks.length === 0 ? undefined : marks
}

/** Adds nothing if nothing has an origin. */
function addMarks(marks: number[], document: BsonDocument): void {
  const isInner = document.hasInnerOrigins()
  if (document.origin === undefined && !isInner) return
  addOrigin(marks, document.origin)
  if (isInner) addInner(marks, document, [])
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
    marks.push(at.container, at.sequence, at.writtenAt, at.deadline)
    marks[count]! += 1
  }
}

interface Marked {
  origin: Origin | undefined
  readonly parts: Map<number, Marked>
}

/** The document of a row, with the origins that are in its marks. */
function markedDocument(row: Uint8Array, marks: ArrayLike<number>): BsonDocument {
  if (marks.length === 0) return BsonDocument.view(row)
  let at = 0
  const readOrigin = (): Origin | undefined => {
    let origin: Origin | undefined
    for (let count = marks[at++]!; count > 0; count -= 1) {
      const [container, sequence, writtenAt, deadline] = [marks[at]!, marks[at + 1]!, marks[at + 2]!, marks[at + 3]!]
      origin = { container, sequence, writtenAt, deadline, and: origin }
      at += 4
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
