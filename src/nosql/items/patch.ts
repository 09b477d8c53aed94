/**
 * Patches (partial updates): parsing, and applying them to an item.
 *
 *   add       puts a value at a path; in an array before the element, or at the end (`-` or its length)
 *   set       the same, but replaces the element of an array
 *   replace   replaces an existing value
 *   remove    removes a value
 *   incr      adds to a number; a missing one counts as 0
 *   move      removes a value and adds it elsewhere
 *
 * Paths are JSON pointers (RFC 6901: `~0` is `~`, `~1` is `/`). Operations are numbered from 1 in error
 * texts, and each sees the result of those before it. The texts are those of the service's page on partial
 * updates; the link after them was seen in its answers (azure-cosmos-dotnet-v3, ItemPatchFailureTest).
 */

import { RequestError } from '../../base/error.ts'
import { nestingDepthMax } from '../../base/limits.ts'
import { fieldOf, invalidInputText, isJsonObject, malformed } from '../definitions/definition-input.ts'
import { depthOf } from '../json/json-text.ts'
import { JsonTree } from '../json/json-tree.ts'
import { parseJson } from '../json/parse-json.ts'
import { systemProperties } from './item-body.ts'

/** The service's limit for the operations of one patch. */
const patchOperationsMax = 10

const kinds = ['add', 'set', 'replace', 'remove', 'incr', 'move'] as const

type Path = readonly string[]

type Operation = { readonly path: Path } & (
  | { readonly kind: 'add' | 'set' | 'replace' | 'incr'; readonly value: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'move'; readonly from: Path }
)

export interface Patch {
  readonly operations: readonly Operation[]
  /** `from c where …`; undefined matches any item. */
  readonly condition: string | undefined
}

const wrongSyntax = 'Invalid patch request: check syntax of patch specification'

export function parsePatch(text: string): Patch {
  return readPatch(text, parseJson(text))
}

/** Accepts `{"operations": […], "condition": …}` and the bare list of operations; SDKs send both. */
export function readPatch(text: string, parsed: unknown): Patch {
  const tree = new JsonTree(text)
  const list = Array.isArray(parsed) ? tree : isJsonObject(parsed) ? tree.get('operations') : undefined
  if (list?.kind !== 'array' || list.elements.length === 0) malformed(wrongSyntax)
  if (list.elements.length > patchOperationsMax) {
    malformed(`The number of patch operations can't exceed '${patchOperationsMax}'`)
  }
  const condition = isJsonObject(parsed) ? fieldOf(parsed, 'condition') : undefined
  if (condition !== undefined && typeof condition !== 'string') malformed(wrongSyntax)
  return { operations: list.elements.map(parseOperation), condition }
}

function parseOperation(element: JsonTree): Operation {
  const input = element.parse()
  if (!isJsonObject(input)) malformed(wrongSyntax)
  const word = fieldOf(input, 'op')
  const kind = typeof word === 'string' ? kinds.find(each => each === word.toLowerCase()) : undefined
  if (kind === undefined) malformed(wrongSyntax)
  const path = parsePath(fieldOf(input, 'path'))
  if (kind === 'remove') return { kind, path }
  if (kind === 'move') return { kind, path, from: parsePath(fieldOf(input, 'from')) }
  // The item gets the client's text, not the parsed value.
  const value = element.get('value')?.toString().trim()
  if (value === undefined) malformed(wrongSyntax)
  if (kind === 'incr' && typeof input.value !== 'number') malformed(wrongSyntax)
  return { kind, path, value }
}

/**
 * The service's text for a path without a slash (azure-docs #84019) and for a lone `~`
 * (azure-cosmos-dotnet-v3 #2921).
 */
function parsePath(path: unknown): Path {
  if (typeof path !== 'string' || !path.startsWith('/') || /~(?![01])/.test(path)) malformed(invalidInputText)
  const names = path
    .slice(1)
    .split('/')
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const [first] = names
  if (systemProperties.has(first!) || first === 'id') {
    malformed(`Invalid patch request: Cannot patch system property ${first}.`)
  }
  return names
}

/** Changes the tree of an item. On an error the tree is half changed, and the caller must drop it. */
export function applyPatch(item: JsonTree, operations: readonly Operation[]): void {
  for (const [at, operation] of operations.entries()) applyOperation(item, operation, at + 1)
}

function applyOperation(item: JsonTree, operation: Operation, number: number): void {
  const { kind, path } = operation
  if (kind === 'remove') {
    remove(item, path, number)
  } else if (kind === 'move') {
    move(item, operation, number)
  } else if (kind === 'incr') {
    increment(item, path, operation.value, number)
  } else {
    put(parentOf(item, path, number, kind), path, new JsonTree(operation.value), number, kind)
  }
}

/** The object or array that contains the target of the path. */
function parentOf(item: JsonTree, path: Path, number: number, kind: Operation['kind']): JsonTree {
  let node = item
  for (const name of path.slice(0, -1)) {
    const child = childOf(node, name)
    if (child === undefined || child.kind === 'value') {
      const word = kind === 'add' ? 'Add' : 'Given'
      refuse(
        number,
        `${word} Operation can only create a child object of an existing node(array or object) and cannot ` +
          `create path recursively, no path found beyond: '${name}'.`,
      )
    }
    node = child
  }
  return node
}

function childOf(node: JsonTree, name: string): JsonTree | undefined {
  if (node.kind === 'object') return node.get(name)
  const index = node.kind === 'array' ? indexOf(name) : undefined
  return index === undefined ? undefined : node.elements[index]
}

/** `0`, or digits without a leading zero (RFC 6901). */
function indexOf(name: string): number | undefined {
  return /^(0|[1-9][0-9]{0,9})$/.test(name) ? Number(name) : undefined
}

function put(parent: JsonTree, path: Path, node: JsonTree, number: number, kind: 'add' | 'set' | 'replace'): void {
  const depth = path.length + depthOf(node.toString(), nestingDepthMax)
  if (depth > nestingDepthMax) {
    malformed(`The JSON is nested deeper than the ${nestingDepthMax} levels allowed.`)
  }
  const name = path.at(-1)!
  if (parent.kind === 'object') {
    if (kind === 'replace' && parent.get(name) === undefined) refuseAbsent(number, path, 'replaced')
    parent.set(name, node)
    return
  }
  const { elements } = parent
  const isEnd = name === '-' && kind !== 'replace'
  const index = isEnd ? elements.length : indexOf(name)
  const last = kind === 'replace' ? elements.length - 1 : elements.length
  if (index === undefined || index > last) refuseIndex(number, name)
  elements.splice(index, kind === 'add' ? 0 : 1, node)
}

function remove(item: JsonTree, path: Path, number: number): JsonTree {
  const parent = parentOf(item, path, number, 'remove')
  const name = path.at(-1)!
  const node = childOf(parent, name)
  if (parent.kind === 'object') {
    if (node === undefined) refuseAbsent(number, path, 'removed')
    parent.delete(name)
  } else {
    if (node === undefined) refuseIndex(number, name)
    parent.elements.splice(indexOf(name)!, 1)
  }
  return node
}

function move(item: JsonTree, { path, from }: Operation & { kind: 'move' }, number: number): void {
  if (from.length < path.length && from.every((name, at) => name === path[at])) {
    // The rule is in RFC 6902. INFERRED text (the service does not document it).
    refuse(number, `Node('${from.join('/')}') cannot be moved into one of its children.`)
  }
  const node = remove(item, from, number)
  put(parentOf(item, path, number, 'move'), path, node, number, 'add')
}

function increment(item: JsonTree, path: Path, value: string, number: number): void {
  const parent = parentOf(item, path, number, 'incr')
  const present = childOf(parent, path.at(-1)!)
  if (present !== undefined && typeof (present.kind === 'value' ? present.parse() : undefined) !== 'number') {
    refuse(number, `Node('${path.join('/')}') is not a number.`)
  }
  const total = present === undefined ? value : sum(present.toString().trim(), value)
  if (total === undefined) refuse(number, `Node('${path.join('/')}') would leave the range of numbers.`) // INFERRED.
  put(parent, path, new JsonTree(total), number, 'set')
}

/** 64-bit integers are added exactly, as in the service. Undefined if no double can hold the sum. */
function sum(one: string, other: string): string | undefined {
  const isWhole = [one, other].every(text => /^-?[0-9]{1,19}$/.test(text))
  if (isWhole) {
    const exact = BigInt(one) + BigInt(other)
    if (BigInt.asIntN(64, exact) === exact) return String(exact)
  }
  const rounded = Number(one) + Number(other)
  return Number.isFinite(rounded) ? JSON.stringify(rounded) : undefined
}

function refuseIndex(number: number, name: string): never {
  refuse(number, `Index(${name.slice(0, 64)}) to operate on is out of array bounds.`)
}

function refuseAbsent(number: number, path: Path, what: 'replaced' | 'removed'): never {
  const note = what === 'removed' ? ' Note: it may also have been removed earlier in the transaction.' : ''
  refuse(number, `Node('${path.join('/')}') to be ${what} is absent.${note}`)
}

function refuse(number: number, text: string): never {
  const shown = text.length <= 1000 ? text : `${text.slice(0, 1000)}…`
  throw new RequestError('malformed', `For Operation(${number}): ${shown} Learn more: https://aka.ms/cosmosdbpatchdocs`)
}
