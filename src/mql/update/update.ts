/**
 * The entry point of updates: an update document or pipeline is compiled once, then applied to the bytes of
 * each document.
 *
 *   const update = compileUpdate(spec, { arrayFilters, pipeline })
 *   const { document, isChanged } = update.apply(bytes, { position, isInsert: false, now })
 *
 * As in MongoDB, an update is a replacement when its first field is not an operator, and a pipeline when it
 * is an array. Fields that no operator touches keep their bytes. The caller limits the size of the result.
 */

import { spend } from '../../base/work.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { bsonDepthMax } from '../../document/bson/validate.ts'
import type { BsonArray, BsonDocument, Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { applyTree, type UpdateTree } from './apply.ts'
import { compileArrayFilters } from './array-filters.ts'
import { addToSet, pop, pull, pullAll } from './array-modifiers.ts'
import { bit, currentDate, inc, max, min, mul, set, setOnInsert, unset } from './field-modifiers.ts'
import {
  levelsOfOperand,
  type ModifierFactory,
  printOperandField,
  printRawValue,
  type Rename,
  rawValue,
  type UpdateContext,
} from './modifier.ts'
import { addModifier, type ElementFilter, FieldsNode } from './modifier-tree.ts'
import { push } from './push.ts'
import { parseRename, renameSource, renameTarget } from './rename.ts'
import { checkDocumentDepth, checkDollars, refuseSecondId, replaced, withTimestamps } from './replacement.ts'
import { refuseTopChanges } from './top-level-rules.ts'
import { filterIdentifier, updatePathParts } from './update-path.ts'

/** Compiles the stages of an update to a function from document to document. */
export type CompileUpdatePipeline = (stages: BsonArray) => (document: Uint8Array, context: UpdateContext) => Uint8Array

export interface UpdateOptions {
  readonly arrayFilters?: BsonArray | undefined
  /** The update changes all matching documents. */
  readonly isMulti?: boolean
  readonly pipeline?: CompileUpdatePipeline
  /** How strings compare in conditions, sorts and sets, and in `$min` and `$max`. */
  readonly collation?: Collation | undefined
}

export interface Updated {
  /** The given bytes themselves if nothing changed. */
  readonly document: Uint8Array
  readonly isChanged: boolean
}

export interface CompiledUpdate {
  readonly kind: 'operators' | 'replacement' | 'pipeline'
  /** Whether a path contains `$`. Then the caller must supply the index of the match. */
  readonly needsPosition: boolean
  apply(document: Uint8Array, context: UpdateContext): Updated
}

export function compileUpdate(spec: BsonDocument | BsonArray, options: UpdateOptions = {}): CompiledUpdate {
  const { arrayFilters, collation } = options
  const filters =
    arrayFilters === undefined ? new Map<string, ElementFilter>() : compileArrayFilters(arrayFilters, collation)
  if (spec.type === bsonType.array) return compilePipeline(spec, filters, options)
  if (firstName(spec)?.startsWith('$') === true) return compileOperators(spec, filters, collation)
  return compileReplacement(spec, options)
}

/** A replacement may have large values, so they are not read. */
function firstName(spec: BsonDocument): string | undefined {
  if (spec.raw === undefined) return spec.fields[0]?.[0]
  const cursor = new ElementCursor(spec.raw.bytes, spec.raw.start)
  return cursor.next() ? cursor.name() : undefined
}

function updated(before: Uint8Array, after: Uint8Array): Updated {
  const isChanged = Buffer.compare(before, after) !== 0
  return { document: isChanged ? after : before, isChanged }
}

function compileReplacement(spec: BsonDocument, { isMulti = false }: UpdateOptions): CompiledUpdate {
  if (isMulti) throw new MongoError(9, 'multi update is not supported for replacement-style update')
  const { raw } = spec
  const replacement = raw === undefined ? encodeDocument(spec) : raw.bytes.subarray(raw.start, raw.end)
  refuseSecondId(replacement)
  checkDocumentDepth(replacement)
  return {
    kind: 'replacement',
    needsPosition: false,
    apply: (document, context) => {
      // An insert may use names that begin with a dollar sign.
      if (!context.isInsert) checkDollars(replacement, () => true)
      return updated(document, replaced(document, withTimestamps(replacement, context)))
    },
  }
}

const updateStages: ReadonlySet<string> = new Set([
  '$addFields',
  '$set',
  '$project',
  '$unset',
  '$replaceRoot',
  '$replaceWith',
])

function compilePipeline(
  stages: BsonArray,
  filters: ReadonlyMap<string, ElementFilter>,
  { pipeline }: UpdateOptions,
): CompiledUpdate {
  if (filters.size > 0) throw new MongoError(9, 'arrayFilters may not be specified for pipeline-style updates')
  if (pipeline === undefined) throw new MongoError(238, 'Pipeline-style updates are not supported here')
  for (const stage of stages.elements) {
    if (stage.type !== bsonType.document) {
      throw new MongoError(14, "Each element of the 'pipeline' array must be an object")
    }
  }
  const transform = pipeline(stages)
  for (const stage of stages.elements) {
    const name = (stage as BsonDocument).fields[0]?.[0] ?? ''
    if (!updateStages.has(name)) throw new MongoError(72, `${name} is not allowed to be used within an update`)
  }
  return {
    kind: 'pipeline',
    needsPosition: false,
    apply: (document, context) => {
      const result = updated(document, replaced(document, transform(document, context)))
      if (result.isChanged) checkDocumentDepth(result.document)
      return result
    },
  }
}

const modifiers: Readonly<Record<string, ModifierFactory>> = {
  $addToSet: addToSet,
  $bit: bit,
  $currentDate: currentDate,
  $inc: inc,
  $max: max,
  $min: min,
  $mul: mul,
  $pop: pop,
  $pull: pull,
  $pullAll: pullAll,
  $push: push,
  $set: set,
  $setOnInsert: setOnInsert,
  $unset: unset,
}

/** All operators of updates. `$rename` is listed apart because it makes two modifiers. */
export const updateOperators: readonly string[] = [...Object.keys(modifiers), '$rename']

/** An update tree under construction. */
interface Growing extends UpdateTree {
  readonly root: FieldsNode
  readonly renames: Rename[]
  readonly usedFilters: Set<string>
  readonly collation: Collation | undefined
  isPositional: boolean
  /** Whether the result could nest deeper than a document may. */
  mayBeTooDeep: boolean
}

function compileOperators(
  spec: BsonDocument,
  filters: ReadonlyMap<string, ElementFilter>,
  collation: Collation | undefined,
): CompiledUpdate {
  const tree: Growing = {
    collation,
    root: new FieldsNode(),
    filters,
    renames: [],
    usedFilters: new Set(),
    isPositional: false,
    mayBeTooDeep: false,
  }
  for (const [operator, operand] of spec.fields) addOperator(tree, operator, operand)
  for (const name of filters.keys()) {
    if (!tree.usedFilters.has(name)) {
      throw new MongoError(
        9,
        `The array filter for identifier '${name}' was not used in the update ${printRawValue(rawValue(spec))}`,
      )
    }
  }
  const { root, isPositional, mayBeTooDeep } = tree
  return {
    kind: 'operators',
    needsPosition: isPositional,
    apply: (document, context) => {
      const result = updated(document, applyTree(tree, document, context))
      if (result.isChanged) {
        refuseTopChanges(root, document, result.document, context)
        if (mayBeTooDeep) checkDocumentDepth(result.document)
      }
      return result
    },
  }
}

/** Compiling a modifier takes about two microseconds. */
const modifierSteps = 100

function addOperator(tree: Growing, operator: string, operand: Value): void {
  if (operator === '$v') throw new MongoError(9, 'The $v update field is only recognized internally')
  const factory = Object.hasOwn(modifiers, operator) ? modifiers[operator] : undefined
  if (factory === undefined && operator !== '$rename') {
    throw new MongoError(
      9,
      `Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style update specified as an array`,
    )
  }
  if (operand.type !== bsonType.document) {
    throw new MongoError(
      9,
      `Modifiers operate on fields but we found type ${typeName(operand.type)} instead. For example: {$mod: ` +
        `{<field>: ...}} not {${printOperandField(operator, operand)}}`,
    )
  }
  for (const [path, value] of operand.fields) {
    spend(modifierSteps)
    if (factory === undefined) {
      const rename = parseRename(path, value)
      tree.renames.push(rename)
      addModifier(tree.root, rename.from, renameSource(rename))
      addModifier(tree.root, rename.to, renameTarget(rename))
      tree.mayBeTooDeep ||= rename.to.length > rename.from.length
      continue
    }
    const parts = updatePathParts(path)
    for (const part of parts) useFilter(tree, part, path)
    addModifier(tree.root, parts, factory(value, path, tree.collation))
    tree.isPositional ||= parts.includes('$')
    // One more level for the array that `$push` and `$addToSet` create.
    tree.mayBeTooDeep ||= parts.length + 1 + levelsOfOperand(value) > bsonDepthMax
  }
}

function useFilter({ filters, usedFilters }: Growing, part: string, path: string): void {
  const name = filterIdentifier(part)
  if (name === undefined || name === '') return
  if (!filters.has(name)) {
    throw new MongoError(2, `No array filter found for identifier '${name}' in path '${path}'`)
  }
  usedFilters.add(name)
}
