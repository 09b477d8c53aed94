/**
 * Projections with computed fields: `$project` and `$addFields`.
 *
 * First the included fields are picked, in document order. Then the computed fields are set, in the order of
 * the specification: in place if the field exists, otherwise at the end. Paths go through arrays. If a field
 * is to be computed below a value that is no document, a new document replaces that value.
 */

import { spend } from '../../base/work.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, isTraced, type Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { type Context, type Evaluate, tracedValue } from '../expressions/core/scope.ts'
import { DocumentBuilder } from '../expressions/values/document-builder.ts'

export class ComputedNode {
  readonly included = new Set<string>()
  readonly children = new Map<string, ComputedNode>()
  /** Computed fields here or below, in order. */
  readonly computed = new Map<string, Evaluate | ComputedNode>()

  child(name: string): ComputedNode {
    const known = this.children.get(name)
    if (known !== undefined) return known
    const child = new ComputedNode()
    this.children.set(name, child)
    return child
  }

  /** Whether the name is already included, computed or a parent. */
  has(name: string): boolean {
    return this.included.has(name) || this.children.has(name) || this.computed.has(name)
  }

  compute(path: readonly string[], evaluate: Evaluate): void {
    const [name, ...rest] = path as [string, ...string[]]
    if (rest.length === 0) {
      this.computed.set(name, evaluate)
      return
    }
    const child = this.child(name)
    if (!this.computed.has(name)) this.computed.set(name, child)
    child.compute(rest, evaluate)
  }

  include(path: readonly string[]): void {
    const [name, ...rest] = path as [string, ...string[]]
    if (rest.length === 0) this.included.add(name)
    else this.child(name).include(rest)
  }
}

/** Picks the included fields. A scalar is dropped if fields below it are wanted. */
export function pick(node: ComputedNode, document: BsonDocument): BsonDocument {
  const picked: [string, Value][] = []
  for (const [name, value] of document.fields) {
    const child = node.children.get(name)
    const kept = node.included.has(name) ? value : child === undefined ? undefined : pickValue(child, value)
    if (kept !== undefined) picked.push([name, kept])
  }
  return withOrigin(BsonDocument.of(picked), document.origin)
}

/** The opposite: drops the named fields. Recurses as deep as documents nest. */
export function omit(node: ComputedNode, document: BsonDocument): BsonDocument {
  const rest: [string, Value][] = []
  for (const [name, value] of document.fields) {
    const child = node.children.get(name)
    if (!node.included.has(name)) rest.push([name, child === undefined ? value : omitInside(child, value)])
  }
  return withOrigin(BsonDocument.of(rest), document.origin)
}

function omitInside(node: ComputedNode, value: Value): Value {
  if (value.type === bsonType.document) return omit(node, value)
  if (value.type !== bsonType.array) return value
  return withOrigin(BsonArray.of(value.elements.map(element => omitInside(node, element))), value.origin)
}

/** Recurses as deep as documents nest. */
function pickValue(node: ComputedNode, value: Value): Value | undefined {
  if (value.type === bsonType.document) return pick(node, value)
  if (value.type !== bsonType.array) return undefined
  const elements: Value[] = []
  for (const element of value.elements) {
    const kept = pickValue(node, element)
    if (kept !== undefined) elements.push(kept)
    // A computed field will replace it.
    else if (node.computed.size > 0) elements.push(element)
  }
  return withOrigin(BsonArray.of(elements), value.origin)
}

/** Sets the computed fields of a document. Paths in their expressions begin at the context's root. */
function set(node: ComputedNode, document: BsonDocument, context: Context): BsonDocument {
  const builder = new DocumentBuilder(document.fields)
  for (const [name, part] of node.computed) {
    const isLeaf = typeof part === 'function'
    const value = isLeaf ? tracedValue(part, context) : setValue(part, builder.get(name), context)
    if (value === undefined) builder.remove(name)
    else builder.set(name, value)
  }
  return withOrigin(builder.document(), document.origin)
}

const nothing = BsonDocument.of([])

function setValue(node: ComputedNode, value: Value | undefined, context: Context): Value {
  if (value?.type === bsonType.array) {
    spend(value.elements.length)
    return withOrigin(BsonArray.of(value.elements.map(element => setValue(node, element, context))), value.origin)
  }
  return set(node, value?.type === bsonType.document ? value : nothing, context)
}

/**
 * Picks and sets on encoded bytes, for projections without nested fields: kept parts are copied. With
 * `keepsOthers`, a computed value goes in place of the field it replaces. All other computed values go at the
 * end. Undefined if that is not possible, such as for a value with an origin, which bytes cannot have.
 */
function splice(node: ComputedNode, context: Context, keepsOthers: boolean): BsonDocument | undefined {
  const { root } = context
  if (root.raw === undefined || node.children.size > 0) return undefined
  const values = new Map<string, Value | undefined>()
  for (const [name, part] of node.computed) {
    const value = (part as Evaluate)(context)
    if (value !== undefined && isTraced(value)) return undefined
    values.set(name, value)
  }
  const { bytes, start, end } = root.raw
  const writer = new BsonWriter(end - start + 64)
  const opened = writer.open()
  const cursor = new ElementCursor(bytes, start)
  // Adjacent kept fields are copied in one piece.
  let keptFrom = -1
  let elementStart = cursor.valueEnd
  while (cursor.next()) {
    const name = cursor.name()
    const isComputed = values.has(name)
    const isKept = keepsOthers ? !isComputed : node.included.has(name)
    if (isKept) {
      if (keptFrom === -1) keptFrom = elementStart
    } else {
      if (keptFrom !== -1) writer.raw(bytes, keptFrom, elementStart)
      keptFrom = -1
      const value = keepsOthers ? values.get(name) : undefined
      if (value !== undefined) writer.field(name, value)
      // Of duplicate field names, the first is replaced; the others stay.
      if (keepsOthers) values.delete(name)
    }
    elementStart = cursor.valueEnd
  }
  if (keptFrom !== -1) writer.raw(bytes, keptFrom, elementStart)
  for (const [name, value] of values) if (value !== undefined) writer.field(name, value)
  writer.close(opened)
  return BsonDocument.view(writer.bytes(), 0, root.origin)
}

export function project(node: ComputedNode, context: Context): BsonDocument {
  return splice(node, context, false) ?? set(node, pick(node, context.root), context)
}

export function addFields(node: ComputedNode, context: Context): BsonDocument {
  return splice(node, context, true) ?? set(node, context.root, context)
}
