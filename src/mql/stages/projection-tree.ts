/**
 * Projections with computed fields: `$project` and `$addFields`.
 *
 * First the fields that are included are picked, in the order of the document; then what is computed is set, in the order of the
 * specification, each in its place or at the end. Paths go through arrays, and where something is to be computed below a value that
 * is no document, a document takes its place.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import type { Context, Evaluate } from '../expression-scope.ts'
import { DocumentBuilder } from '../expressions/object.ts'

export class ProjectionNode {
  readonly included = new Set<string>()
  readonly children = new Map<string, ProjectionNode>()
  /** What is computed here or below, in order. */
  readonly computed = new Map<string, Evaluate | ProjectionNode>()

  child(name: string): ProjectionNode {
    const known = this.children.get(name)
    if (known !== undefined) return known
    const child = new ProjectionNode()
    this.children.set(name, child)
    return child
  }

  /** Whether the name is spoken for, in whatever way. */
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

/** Picks the included fields. A value that is no document is missing where fields below it were asked for. */
function pick(node: ProjectionNode, document: BsonDocument): BsonDocument {
  const picked: [string, Value][] = []
  for (const [name, value] of document.fields) {
    const child = node.children.get(name)
    const kept = node.included.has(name) ? value : child === undefined ? undefined : pickValue(child, value)
    if (kept !== undefined) picked.push([name, kept])
  }
  return BsonDocument.of(picked)
}

/** Recurses as deep as documents nest. */
function pickValue(node: ProjectionNode, value: Value): Value | undefined {
  if (value.type === bsonType.document) return pick(node, value)
  if (value.type !== bsonType.array) return undefined
  const elements: Value[] = []
  for (const element of value.elements) {
    const kept = pickValue(node, element)
    if (kept !== undefined) elements.push(kept)
    // Something will be computed in its place.
    else if (node.computed.size > 0) elements.push(element)
  }
  return BsonArray.of(elements)
}

/** Sets the computed fields of a document; paths in them begin at the context's root. */
function set(node: ProjectionNode, document: BsonDocument, context: Context): BsonDocument {
  const builder = new DocumentBuilder(document.fields)
  for (const [name, part] of node.computed) {
    const value = typeof part === 'function' ? part(context) : setValue(part, builder.get(name), context)
    if (value === undefined) builder.remove(name)
    else builder.set(name, value)
  }
  return builder.document()
}

const nothing = BsonDocument.of([])

function setValue(node: ProjectionNode, value: Value | undefined, context: Context): Value {
  if (value?.type === bsonType.array) {
    context.spend(value.elements.length)
    return BsonArray.of(value.elements.map(element => setValue(node, element, context)))
  }
  return set(node, value?.type === bsonType.document ? value : nothing, context)
}

export function project(node: ProjectionNode, context: Context): BsonDocument {
  return set(node, pick(node, context.root), context)
}

export function addFields(node: ProjectionNode, context: Context): BsonDocument {
  return set(node, context.root, context)
}
