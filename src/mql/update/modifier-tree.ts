/**
 * The modifiers of an update as a tree of their paths, so that one walk over a document applies them all.
 *
 *   {$set: {'a.b': 1}, $inc: {'list.$[x].n': 1, c: 1}}
 *
 *   fields a -- fields b -- $set 1
 *          c -- $inc 1
 *          list -- elements x -- fields n -- $inc 1
 *
 * Two modifiers for the same path, or for a path and one below it, are a conflict. With `$` or `$[x]` this
 * shows only on a concrete document: then the nodes that reach the same element are merged.
 */

import { spend } from '../../base/work.ts'
import type { ElementCursor } from '../../document/bson/view.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { Modifier, RawValue } from './modifier.ts'
import { arrayIndex, comparePathParts, filterIdentifier } from './update-path.ts'

/** Sorting one name into its place takes about half a microsecond. */
const sortedSteps = 25

export type UpdateNode = ModifierNode | FieldsNode | ElementsNode

export interface ModifierNode {
  readonly kind: 'modifier'
  readonly modifier: Modifier
}

/** Whether an array filter selects an element. */
export type ElementFilter = (element: RawValue) => boolean

/** Changes selected elements of an array: `$[name]`, or all for `$[]`, whose name is empty. */
export class ElementsNode {
  readonly kind = 'elements'
  readonly children = new Map<string, UpdateNode>()
}

export interface Child {
  readonly name: string
  readonly node: UpdateNode
  /** The array index that the name means, or -1. */
  readonly index: number
  /** Position among its siblings. */
  readonly order: number
}

/** Changes named fields of a document, or elements of an array by index. */
export class FieldsNode {
  readonly kind = 'fields'
  readonly children = new Map<string, UpdateNode>()
  /** The child under `$`. */
  positional: UpdateNode | undefined
  #sorted: readonly Child[] | undefined
  #lengths = new Set<number>()
  #named = new Map<string, Child>()
  #indexed: ReadonlyMap<number, Child> | undefined

  child(part: string): UpdateNode | undefined {
    return part === '$' ? this.positional : this.children.get(part)
  }

  setChild(part: string, node: UpdateNode): void {
    if (part === '$') this.positional = node
    else this.children.set(part, node)
  }

  /** Children in the order in which new fields are added. After the first call the node must not change. */
  get sorted(): readonly Child[] {
    if (this.#sorted === undefined) {
      spend(sortedSteps * this.children.size)
      const names = [...this.children.keys()].sort(comparePathParts)
      this.#sorted = names.map((name, order) => {
        return { name, node: this.children.get(name)!, index: arrayIndex(name), order }
      })
      for (const child of this.#sorted) {
        this.#lengths.add(Buffer.byteLength(child.name))
        this.#named.set(child.name, child)
      }
    }
    return this.#sorted
  }

  /** The child that has the name of the element under the cursor. */
  named(cursor: ElementCursor): Child | undefined {
    // Comparing name lengths first rules out most fields cheaply.
    return this.#lengths.has(cursor.nameEnd - cursor.nameStart) ? this.#named.get(cursor.name()) : undefined
  }

  /** The children whose names are array indexes, in ascending order. */
  indexed(path: () => string): ReadonlyMap<number, Child> {
    if (this.#indexed === undefined) {
      const indexed = new Map<number, Child>()
      for (const child of this.sorted.filter(({ index }) => index !== -1).sort((a, b) => a.index - b.index)) {
        // Two names for one index, such as 1 and 01. (MongoDB would apply one after the other.)
        if (indexed.has(child.index)) throw conflictAt(`${path()}.${child.name}`)
        indexed.set(child.index, child)
      }
      this.#indexed = indexed
    }
    return this.#indexed
  }
}

/** Adds a modifier at a path. */
export function addModifier(root: FieldsNode, parts: readonly string[], modifier: Modifier): void {
  let current: FieldsNode | ElementsNode = root
  for (const [at, part] of parts.entries()) {
    const name: string = filterIdentifier(part) ?? part
    const found: UpdateNode | undefined = childOf(current, name)
    const next = parts[at + 1]
    if (next === undefined) {
      if (found !== undefined) throw refused(parts, parts.length)
      setChild(current, name, { kind: 'modifier', modifier })
      return
    }
    const kind = filterIdentifier(next) === undefined ? 'fields' : 'elements'
    if (found === undefined) {
      const created = kind === 'fields' ? new FieldsNode() : new ElementsNode()
      setChild(current, name, created)
      current = created
    } else {
      if (found.kind !== kind) throw refused(parts, at + 1)
      current = found as FieldsNode | ElementsNode
    }
  }
}

function childOf(node: FieldsNode | ElementsNode, name: string): UpdateNode | undefined {
  return node.kind === 'fields' ? node.child(name) : node.children.get(name)
}

function setChild(node: FieldsNode | ElementsNode, name: string, child: UpdateNode): void {
  if (node.kind === 'fields') node.setChild(name, child)
  else node.children.set(name, child)
}

function refused(parts: readonly string[], length: number): MongoError {
  const at = parts.slice(0, length).join('.')
  return new MongoError(40, `Updating the path '${parts.join('.')}' would create a conflict at '${at}'`)
}

function conflictAt(path: string): MongoError {
  return new MongoError(40, `Update created a conflict at '${path}'`)
}

/** One node that does what both do. Recurses as deep as paths are long. */
export function merged(left: UpdateNode, right: UpdateNode, path: () => string): UpdateNode {
  if (left.kind === 'fields' && right.kind === 'fields') {
    const node = new FieldsNode()
    mergeChildren(node.children, left.children, right.children, name => `${path()}.${name}`)
    const [a, b] = [left.positional, right.positional]
    node.positional = a !== undefined && b !== undefined ? merged(a, b, () => `${path()}.$`) : (a ?? b)
    return node
  }
  if (left.kind === 'elements' && right.kind === 'elements') {
    const node = new ElementsNode()
    mergeChildren(node.children, left.children, right.children, name => `${path()}.$[${name}]`)
    return node
  }
  throw conflictAt(path())
}

function mergeChildren(
  into: Map<string, UpdateNode>,
  left: ReadonlyMap<string, UpdateNode>,
  right: ReadonlyMap<string, UpdateNode>,
  pathTo: (name: string) => string,
): void {
  for (const [name, node] of left) into.set(name, node)
  for (const [name, node] of right) {
    const present = into.get(name)
    into.set(name, present === undefined ? node : merged(present, node, () => pathTo(name)))
  }
}

/** A copy of the node in which the child under `$` is moved to the matched index. */
export function withPosition(node: FieldsNode, position: number | undefined, path: () => string): FieldsNode {
  const { positional } = node
  if (positional === undefined) return node
  if (position === undefined) {
    throw new MongoError(2, 'The positional operator did not find the match needed from the query.')
  }
  const name = String(position)
  const resolved = new FieldsNode()
  for (const [part, child] of node.children) resolved.children.set(part, child)
  const present = node.children.get(name)
  resolved.children.set(
    name,
    present === undefined ? positional : merged(positional, present, () => `${path()}.${name}`),
  )
  return resolved
}
