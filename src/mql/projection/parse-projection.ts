/** Parses the projection documents of find. */

import { assert } from '../../base/error.ts'
import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import type { BsonDocument, NumericValue, Value } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { printValue } from '../errors/print.ts'
import { isTrue } from '../expressions/core/define-operator.ts'
import { compileElemMatch, type MatchOptions } from '../filter/match.ts'
import { refusePath } from '../paths/sort-order.ts'
import type { ElementTest } from '../paths/stored-path.ts'

export interface ProjectionOptions extends MatchOptions {
  /** Compiles the expression of a computed field. */
  readonly compute?: (spec: Value) => (document: Uint8Array) => Value | undefined
}

type Compute = (document: Uint8Array) => Value | undefined

export interface ProjectionNode {
  readonly fields: ReadonlyMap<string, ProjectionPlan>
  /** Computed fields, written after the others. A nested node is created if its document is missing. */
  readonly computed: readonly (readonly [name: string, part: Compute | ProjectionNode])[]
}

export type ProjectionPlan =
  | { readonly kind: 'keep' | 'drop' }
  | { readonly kind: 'node'; readonly node: ProjectionNode }
  | { readonly kind: 'slice'; readonly skip: number; readonly limit: number }
  | { readonly kind: 'elemMatch'; readonly test: ElementTest }
  /** The matched element of the first array on the path. Before an array, `node` continues the path. */
  | { readonly kind: 'positional'; readonly node: ProjectionNode | undefined }

interface GrowingNode extends ProjectionNode {
  readonly fields: Map<string, ProjectionPlan>
  readonly computed: [name: string, part: Compute | ProjectionNode][]
}

export interface ParsedProjection {
  readonly node: ProjectionNode
  readonly isInclusion: boolean
  readonly isPositional: boolean
}

export function parseProjection(spec: BsonDocument, options: ProjectionOptions): ParsedProjection {
  const reader = new ProjectionReader(options)
  reader.readFields(spec, [])
  return reader.finish()
}

class ProjectionReader {
  readonly #options: ProjectionOptions
  readonly #root: GrowingNode = { fields: new Map(), computed: [] }
  #isInclusion: boolean | undefined
  #positional: string | undefined
  #hasElemMatch = false
  #id: boolean | undefined

  constructor(options: ProjectionOptions) {
    this.#options = options
  }

  finish(): ParsedProjection {
    if (this.#positional !== undefined && this.#hasElemMatch) {
      throw new MongoError(31255, 'Cannot specify positional operator and $elemMatch.')
    }
    // Only `_id` and slices do not tell whether the projection includes or excludes. Then `_id: 1` makes it
    // an inclusion.
    const isInclusion = this.#isInclusion ?? this.#id === true
    if (this.#positional !== undefined && !isInclusion) {
      throw new MongoError(31395, 'positional projection cannot be used with exclusion')
    }
    if (this.#id !== undefined) this.#root.fields.set('_id', { kind: this.#id ? 'keep' : 'drop' })
    else if (isInclusion && !this.#root.fields.has('_id')) this.#root.fields.set('_id', { kind: 'keep' })
    return { node: this.#root, isInclusion, isPositional: this.#positional !== undefined }
  }

  /** Recurses as deep as documents nest. */
  readFields(spec: BsonDocument, prefix: readonly string[]): void {
    for (const [name, value] of spec.fields) {
      if (name.startsWith('$') && prefix.length > 0) {
        throw new MongoError(31325, `Unknown expression ${name}`)
      }
      this.#readField([...prefix, ...this.#partsOf(name)], value)
    }
  }

  #partsOf(name: string): string[] {
    const path = name.endsWith('.$') ? name.slice(0, -2) : name
    if (path.includes('.$.')) {
      throw new MongoError(
        31394,
        "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection " +
          'may only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, ' +
          "remove the parts following the '$' and the results will be equivalent.",
      )
    }
    refusePath(path)
    return name.endsWith('.$') ? [...path.split('.'), '$'] : path.split('.')
  }

  #readField(path: readonly string[], value: Value): void {
    if (path.at(-1) === '$') this.#readPositional(path.slice(0, -1), value)
    else if (isNumeric(value) || value.type === bsonType.bool) this.#readFlag(path, isTrue(value))
    else if (value.type === bsonType.document) this.#readDocument(path, value)
    else this.#readComputed(path, value)
  }

  #readFlag(path: readonly string[], isIncluded: boolean): void {
    if (path.length === 1 && path[0] === '_id') {
      this.#id = isIncluded
      return
    }
    this.#setMode(isIncluded, path)
    this.#add(path, { kind: isIncluded ? 'keep' : 'drop' })
  }

  #setMode(isInclusion: boolean, path: readonly string[]): void {
    if (this.#isInclusion === undefined || this.#isInclusion === isInclusion) {
      this.#isInclusion = isInclusion
      return
    }
    const field = path.join('.')
    throw isInclusion
      ? new MongoError(31253, `Cannot do inclusion on field ${field} in exclusion projection`)
      : new MongoError(31254, `Cannot do exclusion on field ${field} in inclusion projection`)
  }

  #readPositional(path: readonly string[], value: Value): void {
    if (this.#positional !== undefined) {
      throw new MongoError(31276, 'Cannot specify more than one positional projection per query.')
    }
    this.#positional = path.join('.')
    if (!isTrue(value)) throw new MongoError(31395, 'positional projection cannot be used with exclusion')
    this.#setMode(true, path)
    const rest = path.slice(1).reduceRight<ProjectionNode | undefined>((node, name) => {
      return { fields: new Map([[name, { kind: 'positional', node }]]), computed: [] }
    }, undefined)
    this.#add([path[0]!], { kind: 'positional', node: rest })
  }

  #readDocument(path: readonly string[], value: BsonDocument): void {
    const [first] = value.fields
    if (first === undefined) {
      throw new MongoError(51270, 'An empty sub-projection is not a valid value. Found empty object at path')
    }
    const [operator, operand] = first
    if (!operator.startsWith('$')) this.readFields(value, path)
    else if (operator === '$slice' && this.#isFindSlice(operand)) this.#add(path, sliceOf(operand))
    else if (operator === '$elemMatch') this.#readElemMatch(path, operand)
    else if (operator === '$meta') {
      throw new MongoError(40218, `query requires ${printValue(operand)} metadata, but it is not available`)
    } else this.#readComputed(path, value)
  }

  /** The `$slice` of find takes one or two numbers; the `$slice` of expressions begins with an array. */
  #isFindSlice(operand: Value): boolean {
    if (operand.type !== bsonType.array || this.#options.compute === undefined) return true
    const [first] = operand.elements
    return isNumeric(first) && operand.elements.length === 2
  }

  #readElemMatch(path: readonly string[], operand: Value): void {
    if (operand.type !== bsonType.document) {
      throw new MongoError(31274, `elemMatch: Invalid argument, object required, but got ${typeName(operand.type)}`)
    }
    if (path.length > 1) throw new MongoError(31275, 'Cannot use $elemMatch projection on a nested field.')
    this.#setMode(true, path)
    this.#hasElemMatch = true
    this.#add(path, { kind: 'elemMatch', test: compileElemMatch(operand, this.#options) })
  }

  #readComputed(path: readonly string[], value: Value): void {
    const { compute } = this.#options
    if (compute === undefined)
      throw new MongoError(9, `expressions are not allowed in this projection: ${printValue(value)}`)
    this.#setMode(true, path)
    const { node, name } = this.#nodeOf(path)
    if (node.fields.has(name)) refuseCollision(path, path)
    node.fields.set(name, { kind: 'drop' })
    node.computed.push([name, compute(value)])
    for (let length = path.length - 1; length > 0; length -= 1) {
      const above = this.#nodeOf(path.slice(0, length))
      const plan = above.node.fields.get(above.name)
      assert(plan?.kind === 'node', 'the path to a computed field leads through nodes')
      if (!above.node.computed.some(([, part]) => part === plan.node)) above.node.computed.push([above.name, plan.node])
    }
  }

  #add(path: readonly string[], plan: ProjectionPlan): void {
    const { node, name } = this.#nodeOf(path)
    if (node.fields.has(name)) refuseCollision(path, path)
    node.fields.set(name, plan)
  }

  /** The node that holds the last part of the path. */
  #nodeOf(path: readonly string[]): { node: GrowingNode; name: string } {
    let node = this.#root
    for (const [at, name] of path.slice(0, -1).entries()) {
      let plan = node.fields.get(name)
      if (plan === undefined) {
        plan = { kind: 'node', node: { fields: new Map(), computed: [] } }
        node.fields.set(name, plan)
      }
      if (plan.kind !== 'node') refuseCollision(path, path.slice(0, at + 1))
      node = plan.node as GrowingNode
    }
    return { node, name: path.at(-1)! }
  }
}

function refuseCollision(path: readonly string[], at: readonly string[]): never {
  const pathText = path.join('.')
  const rest = path.slice(at.length).join('.')
  throw rest === ''
    ? new MongoError(31250, `Path collision at ${pathText}`)
    : new MongoError(31249, `Path collision at ${pathText} remaining portion ${rest}`)
}

function sliceOf(operand: Value): ProjectionPlan {
  if (isNumeric(operand)) {
    const count = clamped(operand)
    return count < 0 ? { kind: 'slice', skip: count, limit: -count } : { kind: 'slice', skip: 0, limit: count }
  }
  if (operand.type !== bsonType.array) {
    throw new MongoError(28667, '$slice only supports numbers and [skip, limit] arrays')
  }
  const [skip, limit, ...others] = operand.elements
  if (skip === undefined || limit === undefined || others.length > 0) {
    throw new MongoError(31272, '$slice array argument should be of form [skip, limit]')
  }
  if (!isNumeric(skip)) throw new MongoError(31257, `$slice limit must be a number, but got ${typeName(skip.type)}`)
  if (!isNumeric(limit)) throw new MongoError(31258, `$slice limit must be a number, but got ${typeName(limit.type)}`)
  if (clamped(limit) <= 0) throw new MongoError(31259, '$slice limit must be positive')
  return { kind: 'slice', skip: clamped(skip), limit: clamped(limit) }
}

/** Clamped to the range of an int32. */
function clamped(value: NumericValue): number {
  const number = Math.trunc(toDouble(value)) || 0
  return Math.max(-2147483647, Math.min(2147483647, number))
}
