/** `$project`, `$addFields`, `$set` and `$unset`. */

import { isNumeric } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, falseValue, type Value } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { printDocument, printElement } from '../errors/print.ts'
import { isTrue, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import type { Compiler } from '../expressions/core/scope.ts'
import { findOperator } from '../expressions/operators/table.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { compileProjection } from '../projection/projection.ts'
import { addFields, ComputedNode, omit, pick, project } from './projection-tree.ts'
import { type CompileStage, change, documentBytes, type Stage } from './stage.ts'

/** Adds the name of the stage to errors. */
function named<T>(name: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new MongoError(error.code, `Invalid ${name} :: caused by :: ${error.message}`)
  }
}

function isFlag(value: Value): boolean {
  return value.type === bsonType.bool || isNumeric(value)
}

class ProjectionReader {
  readonly root = new ComputedNode()
  readonly #compiler: Compiler
  isInclusion: boolean | undefined
  isIdExcluded = false
  isIdIncluded = false

  constructor(compiler: Compiler) {
    this.#compiler = compiler
  }

  /** Recurses as deep as documents nest. */
  read(spec: BsonDocument, prefix: readonly string[]): void {
    for (const [name, value] of spec.fields) {
      if (name.startsWith('$') && prefix.length > 0) refuse(31325, `Unknown expression ${name}`)
      if (name.endsWith('.$')) refuse(31324, 'Cannot use positional projection in aggregation projection')
      const path = [...prefix, ...checkedPath(name)]
      if (isFlag(value)) this.#readFlag(path, isTrue(value))
      else if (value.type === bsonType.document && !isExpression(value)) this.#readInner(path, value)
      else this.#readComputed(path, value)
    }
  }

  #readFlag(path: readonly string[], isIncluded: boolean): void {
    const pathText = path.join('.')
    this.#checkFree(path)
    const isId = pathText === '_id'
    if (isId && !isIncluded) {
      this.isIdExcluded = true
      return
    }
    if (isId) this.isIdIncluded = true
    else if (isIncluded && this.isInclusion === false) {
      refuse(31253, `Cannot do inclusion on field ${pathText} in exclusion projection`)
    } else if (!isIncluded && this.isInclusion === true) {
      refuse(31254, `Cannot do exclusion on field ${pathText} in inclusion projection`)
    } else this.isInclusion = isIncluded
    this.root.include(path)
  }

  #readInner(path: readonly string[], value: BsonDocument): void {
    if (value.isEmpty) {
      refuse(51270, 'An empty sub-projection is not a valid value. Found empty object at path')
    }
    this.read(value, path)
  }

  #readComputed(path: readonly string[], value: Value): void {
    if (this.isInclusion === false) {
      if (value.type === bsonType.document) {
        refuse(31252, 'Cannot use expression other than $meta in exclusion projection')
      }
      refuse(31310, `Cannot use an expression ${printElement(path.join('.'), value)} in an exclusion projection`)
    }
    this.isInclusion = true
    this.#checkFree(path)
    this.root.compute(path, this.#compiler.compile(value))
  }

  #checkFree(path: readonly string[]): void {
    let node = this.root
    for (const [at, name] of path.entries()) {
      const child = node.children.get(name)
      const isLast = at === path.length - 1
      if (isLast && node.has(name)) refuse(31250, `Path collision at ${path.join('.')}`)
      if (isLast || (child === undefined && !node.has(name))) return
      if (child === undefined) {
        const rest = path.slice(at + 1).join('.')
        refuse(31249, `Path collision at ${path.join('.')} remaining portion ${rest}`)
      }
      node = child
    }
  }
}

function isExpression(value: BsonDocument): boolean {
  const [first] = value.fields
  if (first?.[0].startsWith('$') !== true) return false
  if (first[0] === '$elemMatch') refuse(168, 'Cannot use $elemMatch in this context')
  if (findOperator(first[0]) === undefined) refuse(31325, `Unknown expression ${first[0]}`)
  return true
}

export const projectStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) return refuse(15969, '$project specification must be an object')
  return named(name, () => compileProject(spec, expressions, name))
}

function compileProject(spec: BsonDocument, expressions: Compiler, name: string): Stage {
  if (spec.isEmpty) refuse(51272, 'projection specification must have at least one field')
  const reader = new ProjectionReader(expressions)
  reader.read(spec, [])
  const { root, isIdExcluded } = reader
  if (root.computed.size === 0) {
    // Nothing is computed, so copying parts of the bytes is enough, unless the parts have origins.
    const { project: pickBytes } = compileProjection(spec, {})
    const isInclusion = reader.isInclusion ?? reader.isIdIncluded
    if (isInclusion ? !isIdExcluded : isIdExcluded) root.include(['_id'])
    return change(name, ({ root: document }) => {
      if (document.hasInnerOrigins()) return isInclusion ? pick(root, document) : omit(root, document)
      return BsonDocument.view(pickBytes(documentBytes(document)))
    })
  }
  if (!isIdExcluded && !root.has('_id')) root.include(['_id'])
  return change(name, context => project(root, context))
}

/** A nested document is either an expression or a list of fields, whose names must not contain dots. */
function readAddedFields(
  spec: BsonDocument,
  { root, whole, expressions }: { root: ComputedNode; whole: BsonDocument; expressions: Compiler },
  prefix: readonly string[],
): void {
  for (const [name, value] of spec.fields) {
    if (prefix.length > 0 && name.includes('.')) {
      refuse(40183, `cannot use dotted field name '${name}' in a sub object: ${printDocument(whole)}`)
    }
    const path = [...prefix, ...checkedPath(name)]
    if (value.type === bsonType.document && !value.isEmpty && !value.fields[0]![0].startsWith('$')) {
      const operator = value.fields.find(([inner]) => inner.startsWith('$'))
      if (operator !== undefined) refuseMixture(value, whole)
      readAddedFields(value, { root, whole, expressions }, path)
      continue
    }
    if (value.type === bsonType.document && value.fields.length > 1) refuseMixture(value, whole)
    refuseConflict(root, path, whole)
    root.compute(path, expressions.compile(value))
  }
}

function refuseMixture(value: BsonDocument, whole: BsonDocument): never {
  const problem = 'an expression specification must contain exactly one field, the name of the expression.'
  const found = `Found ${value.fields.length} fields in ${printDocument(value)}`
  return refuse(40181, `${problem} ${found}, while parsing object ${printDocument(whole)}`)
}

function refuseConflict(root: ComputedNode, path: readonly string[], whole: BsonDocument): void {
  let node = root
  for (const [at, name] of path.entries()) {
    const part = node.computed.get(name)
    if (part === undefined) return
    const isLast = at === path.length - 1
    if (isLast || typeof part === 'function') {
      const other = isLast ? path : path.slice(0, at + 1)
      const paths = `'${path.join('.')}' and '${other.join('.')}'`
      const problem = 'specification contains two conflicting paths. Cannot specify both'
      refuse(40176, `${problem} ${paths}: ${printDocument(whole)}`)
    }
    node = part as ComputedNode
  }
}

export const addFieldsStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) {
    return refuse(40272, `${name} specification stage must be an object, got ${nameOfType(spec)}`)
  }
  return named(name, () => {
    const root = new ComputedNode()
    readAddedFields(spec, { root, whole: spec, expressions }, [])
    if (root.computed.size === 0) return change(name, ({ root: document }) => document)
    return change(name, context => addFields(root, context))
  })
}

export const unsetStage: CompileStage = (spec, { expressions }, name) => {
  const paths = spec.type === bsonType.array ? spec.elements : [spec]
  if (spec.type !== bsonType.array && spec.type !== bsonType.string) {
    refuse(31002, '$unset specification must be a string or an array')
  }
  if (paths.length === 0) {
    refuse(31119, '$unset specification must be a string or an array with at least one field')
  }
  const fields = paths.map((path): [string, Value] => {
    if (path.type === bsonType.string) return [path.value, falseValue]
    return refuse(31120, '$unset specification must be a string or an array containing only string values')
  })
  return named(name, () => compileProject(BsonDocument.of(fields), expressions, name))
}
