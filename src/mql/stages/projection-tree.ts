/**
 * Projections with computed fields: `$project` and `$addFields`.
 *
 * First the included fields are picked, in document order. Then the computed fields are set, in the order of
 * the specification: in place if the field exists, otherwise at the end. Paths go through arrays. If a field
 * is to be computed below a value that is no document, a new document replaces that value.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import type { Context, Evaluate } from '../expressions/core/scope.ts'
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

/** Picks the included fields. If fields below a value are wanted and it is no document, it is dropped. */
function pick(node: ComputedNode, document: BsonDocument): BsonDocument {
  const picked: [string, Value][] = []
  for (const [name, value] of document.fields) {
    const child = node.children.get(name)
    const kept = node.included.has(name) ? value : child === undefined ? undefined : pickValue(child, value)
    if (kept !== undefined) picked.push([name, kept])
  }
  return BsonDocument.of(picked)
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
  return BsonArray.of(elements)
}

/** Sets the computed fields of a document. Paths in their expressions begin at the context's root. */
function set(node: ComputedNode, document: BsonDocument, context: Context): BsonDocument {
  const builder = new DocumentBuilder(document.fields)
  for (const [name, part] of node.computed) {
    const value = typeof part === 'function' ? part(context) : setValue(part, builder.get(name), context)
    if (value === undefined) builder.remove(name)
    else builder.set(name, value)
  }
  return builder.document()
}

const nothing = BsonDocument.of([])

function setValue(node: ComputedNode, value: Value | undefined, context: Context): Value {
  if (value?.type === bsonType.array) {
    context.spend(value.elements.length)
    return BsonArray.of(value.elements.map(element => setValue(node, element, context)))
  }
  return set(node, value?.type === bsonType.document ? value : nothing, context)
}

/**
 * The same on encoded bytes, for projections without embedded fields: kept parts are copied. A computed value
 * goes in place of the field it replaces, if that field is kept, otherwise at the end.
 */
function splice(node: ComputedNode, context: Context, keepsOthers: boolean): BsonDocument {
  const values = new Map<string, Value | undefined>()
  for (const [name, part] of node.computed) values.set(name, (part as Evaluate)(context))
  const { bytes, start, end } = context.root.raw!
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
  return BsonDocument.view(writer.bytes())
}

function canSplice(node: ComputedNode, { root }: Context): boolean {
  return root.raw !== undefined && node.children.size === 0
}

export function project(node: ComputedNode, context: Context): BsonDocument {
  return canSplice(node, context) ? splice(node, context, false) : set(node, pick(node, context.root), context)
}

export function addFields(node: ComputedNode, context: Context): BsonDocument {
  return canSplice(node, context) ? splice(node, context, true) : set(node, context.root, context)
}
